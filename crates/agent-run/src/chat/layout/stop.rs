//! Where a debugger stands: why, at which line, and how it got there.

use serde_json::Value;

use super::{counted, line_of, lines_of};
use crate::style::{ALERT, CODE, FAINT, PLACE, STRONG, in_style};

/// So many frames are shown, and so many variables; both are in the result whole.
const FRAMES: usize = 6;
const VARIABLES: usize = 8;

/// So many lines of the program's output are shown, the last ones.
const OUTPUT: usize = 6;

/// A stop, or that the program runs or ended. None for what is neither.
pub(super) fn stop(data: &Value) -> Option<(String, Vec<String>)> {
    let state = data["state"].as_str()?;
    data.get("frames")?;
    let mut lines = Vec::new();
    let reason = data["reason"].as_str().unwrap_or_default();
    let mut head = in_style(STRONG, if reason.is_empty() { state } else { reason }).to_string();
    let frame = &data["frame"];
    if let Some(place) = place(frame) {
        head = format!(
            "{head} at {} in {}",
            in_style(PLACE, place),
            line_of(frame["function"].as_str()?)
        );
    }
    if let Some(code) = data["exit_code"].as_i64() {
        head = format!("{head}, exit code {code}");
    }
    lines.push(head);
    lines.extend(data["description"].as_str().into_iter().flat_map(lines_of));
    if let (Some(line), Some(text)) = (frame["line"].as_u64(), frame["text"].as_str()) {
        let number = in_style(FAINT, format!("{line:>5} │"));
        lines.push(format!("{} {number} {}", in_style(ALERT, "→"), in_style(CODE, line_of(text))));
    }
    let frames = data["frames"].as_array()?;
    let below = frames.iter().skip(1);
    lines.extend(below.clone().take(FRAMES).filter_map(|frame| {
        let function = line_of(frame["function"].as_str()?);
        let place = place(frame).unwrap_or_default();
        Some(format!("  from {function} {}", in_style(FAINT, place)))
    }));
    more(&mut lines, below.count().saturating_sub(FRAMES), "frame");
    let variables = data["locals"]["variables"].as_array().map(Vec::as_slice).unwrap_or_default();
    lines.extend(variables.iter().take(VARIABLES).filter_map(|variable| {
        let (name, value) = (variable["name"].as_str()?, variable["value"].as_str()?);
        Some(format!("  {} = {}", line_of(name), line_of(value)))
    }));
    more(&mut lines, variables.len().saturating_sub(VARIABLES), "variable");
    for breakpoint in data["breakpoints"].as_array().into_iter().flatten() {
        let Some(status) = breakpoint["status"].as_str().filter(|status| *status != "set") else {
            continue;
        };
        let place = place(breakpoint).unwrap_or_default();
        lines.push(in_style(ALERT, format!("the breakpoint {place} is {status}")).to_string());
    }
    let output: Vec<String> = lines_of(data["output"].as_str().unwrap_or_default()).collect();
    let skipped = output.len().saturating_sub(OUTPUT);
    if !output.is_empty() {
        lines.push(in_style(FAINT, "output:").to_string());
    }
    more(&mut lines, skipped, "line");
    lines.extend(output.into_iter().skip(skipped).map(|line| format!("  {line}")));
    lines.extend(
        data["notes"].as_array().into_iter().flatten().filter_map(Value::as_str).flat_map(lines_of),
    );
    Some((state.to_owned(), lines))
}

fn place(frame: &Value) -> Option<String> {
    let file = line_of(frame["file"].as_str()?);
    Some(match frame["line"].as_u64() {
        Some(line) => format!("{file}:{line}"),
        None => file,
    })
}

fn more(lines: &mut Vec<String>, count: usize, what: &str) {
    if count > 0 {
        lines.push(in_style(FAINT, format!("  … {} more", counted(count, what))).to_string());
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::chat::layout::tests::told;

    #[test]
    fn a_stop_is_its_reason_its_line_and_its_frames() {
        let frame = |function: &str, line: u32| json!({"function": function, "file": "src/a.py", "line": line, "user": true});
        let mut top = frame("add", 7);
        top["text"] = json!("    return a + b");
        let frames: Vec<_> = (0..9).map(|depth| frame(&format!("f{depth}"), depth)).collect();
        let (summary, lines) = told(
            "debug",
            json!({
                "state": "stopped", "reason": "breakpoint", "description": null, "frame": top, "frames": frames,
                "exit_code": null, "breakpoints": [{"file": "src/a.py", "line": 90, "status": "pending"}],
                "output": "one\ntwo\n", "notes": ["no symbols"],
                "locals": {"frame": 1, "variables": [{"name": "a", "value": "1"}], "more": 0},
            }),
        );
        assert_eq!(summary, "stopped");
        assert_eq!(
            lines[..3],
            [
                "breakpoint at src/a.py:7 in add",
                "→     7 │     return a + b",
                "  from f1 src/a.py:1"
            ]
        );
        assert_eq!(
            lines[8..],
            [
                "  … 2 frames more",
                "  a = 1",
                "the breakpoint src/a.py:90 is pending",
                "output:",
                "  one",
                "  two",
                "no symbols"
            ]
        );
        let ended = json!({"state": "ended", "reason": "exited", "frame": null, "frames": [], "exit_code": 3});
        assert_eq!(
            told("debug", ended),
            ("ended".to_owned(), vec!["exited, exit code 3".to_owned()])
        );
        assert_eq!(told("debug", json!({"threads": []})).1, ["as the model reads it"]);
    }
}
