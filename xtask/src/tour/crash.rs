//! What a debugger adds: a crash with its reason, its frames and its variables in one call.

use anyhow::Result;
use serde_json::{Value, json};

use super::{host::Host, page::Page};

const FILE: &str = "tools/average.py";
const PROGRAM: &str = "def average(readings):
    total = sum(readings)
    return total / len(readings)


def report(days):
    for day, readings in days.items():
        print(day, average(readings))


report({\"monday\": [3, 4], \"tuesday\": []})
";

/// Where it crashes.
const LINE: u64 = 3;

/// What makes a folder a Python project, for the debugger.
const MARKER: &str = "tools/requirements.txt";

pub fn crash(host: &mut Host, page: &mut Page) -> Result<()> {
    page.chapter("A crash in one call of the debugger");
    for (path, content) in [(MARKER, ""), (FILE, PROGRAM)] {
        host.call(page, "write", json!({"path": path, "content": content}))?;
    }
    let stop = host.call(page, "debug", json!({"op": "launch", "program": FILE}))?;
    let data = &stop["data"];
    page.check(
        data["state"] == "stopped" && data["reason"] == "exception",
        "no breakpoint was set, and it stopped where it crashed",
    );
    page.check(
        data["frame"]["line"] == LINE && data["frame"]["function"] == "average",
        "the line and the function are in the one result",
    );
    let locals = data["locals"]["variables"].as_array().into_iter().flatten();
    let mut values = locals.map(|local| (&local["name"], &local["value"]));
    page.check(
        values.any(|(name, value)| name == "readings" && value == "[]"),
        "so are the variables of the first frame",
    );
    let asked = json!({"op": "evaluate", "expression": "len(readings) == 0"});
    let value = host.call(page, "debug", asked)?;
    page.check(value["data"]["result"] == "True", "an expression is evaluated in that frame");
    let gone: Value = host.call(page, "debug", json!({"op": "terminate"}))?;
    page.check(gone["data"]["ended"].is_string(), "the session is over");
    Ok(())
}
