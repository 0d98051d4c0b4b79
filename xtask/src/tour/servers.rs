//! What a language server adds: a write that breaks the build says so, and a rename reaches every file.

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::{Checkout, host::Host, page::Page};

const FILE: &str = "web/src/list.ts";
const CALL: &str = "follow((entry) => this.put(entry), this.stop.signal);";
const BROKEN: &str = "follow((entry) => this.put(entry));";
const IMPORT: &str = "import { Entry, follow, listEntries } from \"./api\";";

pub fn servers(host: &mut Host, page: &mut Page, checkout: &Checkout) -> Result<()> {
    page.chapter("A write that breaks the build says so, once");
    let before = host.call(page, "lsp", json!({"action": "diagnostics", "file": FILE}))?;
    page.check(before["data"]["state"] == "clean", "clean, since the server said so of this text");

    let broken = replace(host, page, CALL, BROKEN)?;
    let line = broken["new"][0]["line"].clone();
    page.check(
        count(&broken["new"]) == 1 && line == checkout.line(FILE, BROKEN)?,
        "the write's own result has the new error, with its line",
    );
    let moved = replace(host, page, IMPORT, &format!("// The list of one day.\n{IMPORT}"))?;
    page.check(
        count(&moved["new"]) == 0 && moved["state"] == "dirty",
        "moved down a line it is not told again, and the file is not called clean",
    );
    let fixed = replace(host, page, BROKEN, CALL)?;
    page.check(
        count(&fixed["fixed"]) == 1 && fixed["state"] == "clean",
        "put right again, that is told, and the file is clean",
    );

    page.chapter("A rename by the language server, in all files or none");
    let declared = "export async function listEntries";
    let args = json!({"action": "references", "file": "web/src/api.ts",
        "line": checkout.line("web/src/api.ts", declared)?, "symbol": "listEntries"});
    let uses = host.call(page, "lsp", args)?["data"]["total"].clone();
    let args = json!({"file": FILE, "line": checkout.line(FILE, IMPORT)?,
        "symbol": "listEntries", "new_name": "entriesOf"});
    let renamed = host.call(page, "lsp_rename", args)?;
    page.check(
        renamed["data"]["renamed"] == uses && count(&renamed["data"]["files"]) == 2,
        "from a use: every reference in both files",
    );
    page.check(renamed["data"]["diagnostics"]["state"] == "clean", "and nothing is broken by it");
    let texts = checkout.texts("web/src")?;
    page.check(
        !texts.iter().any(|text| text.contains("listEntries")),
        "the old name stands nowhere any more",
    );
    Ok(())
}

/// Replaces a text in the file and gives what the result says of diagnostics.
fn replace(host: &mut Host, page: &mut Page, old: &str, new: &str) -> Result<Value> {
    let args = json!({"path": FILE, "old_string": old, "new_string": new});
    Ok(host.call(page, "edit", args)?["data"]["diagnostics"].clone())
}

fn count(list: &Value) -> usize {
    list.as_array().map_or(0, Vec::len)
}

impl Checkout {
    /// The number of the first line that holds a text.
    fn line(&self, file: &str, text: &str) -> Result<usize> {
        let whole = std::fs::read_to_string(self.0.join(file))?;
        let at = whole.lines().position(|line| line.contains(text));
        Ok(at.with_context(|| format!("{file} has no line with {text}"))? + 1)
    }
}
