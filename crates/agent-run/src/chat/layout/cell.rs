//! Cells and commands: what they wrote, what went wrong, what they came to.

use serde_json::Value;

use super::{counted, line_of, lines_of};
use crate::style::{ADDED, ALERT, FAINT, REMOVED, in_style};

/// A cell of `eval`.
pub(super) fn cell(data: &Value) -> Option<(String, Vec<String>)> {
    let status = data["status"].as_str()?;
    let text = |key: &str| data[key].as_str().unwrap_or_default();
    let mut lines: Vec<String> = lines_of(text("stdout")).collect();
    lines.extend(lines_of(text("stderr")).map(|line| in_style(REMOVED, line).to_string()));
    for shown in data["displays"].as_array().into_iter().flatten() {
        lines.extend(shown["text/plain"].as_str().into_iter().flat_map(lines_of));
    }
    lines.extend(text("pager").lines().map(line_of));
    if let Some(result) = data["result"]["text/plain"].as_str() {
        let mut result = lines_of(result);
        let first = result.next().unwrap_or_default();
        lines.push(format!("{} {first}", in_style(ADDED, "→")));
        lines.extend(result.map(|line| format!("  {line}")));
    }
    let error = &data["error"];
    if let Some(name) = error["name"].as_str() {
        for line in error["traceback"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            lines.extend(lines_of(line).map(|line| in_style(FAINT, line).to_string()));
        }
        let said =
            format!("{}: {}", line_of(name), line_of(error["value"].as_str().unwrap_or_default()));
        lines.push(in_style(ALERT, said).to_string());
    }
    if let Some(died) = data["died"].as_str() {
        lines.extend(lines_of(died).map(|line| in_style(ALERT, line).to_string()));
    }
    let place = line_of(text("label").split(',').next().unwrap_or_default());
    let cut = if data["truncated"] == true { ", cut" } else { "" };
    Some((format!("{status}{cut}, {place}"), lines))
}

/// A command of `shell`.
pub(super) fn command(data: &Value) -> Option<(String, Vec<String>)> {
    let ending = &data["ending"];
    let how = ending["how"].as_str()?;
    let lines: Vec<String> = lines_of(data["output"].as_str()?).collect();
    let end = match (how, ending["code"].as_i64(), ending["signal"].as_i64()) {
        ("exited", Some(0), _) => "exit code 0".to_owned(),
        ("exited", Some(code), _) => in_style(ALERT, format!("exit code {code}")).to_string(),
        (_, _, Some(signal)) => in_style(ALERT, format!("signal {signal}")).to_string(),
        (how, ..) => in_style(ALERT, how.replace('_', " ")).to_string(),
    };
    let dropped = match data["dropped_bytes"].as_u64() {
        Some(dropped @ 1..) => format!(", {dropped} bytes not kept"),
        _ => String::new(),
    };
    let changed = match data["files_changed"].as_u64().and_then(|count| usize::try_from(count).ok())
    {
        Some(count @ 1..) => format!(", {} changed", counted(count, "file")),
        _ => String::new(),
    };
    let written = counted(lines.len(), "line");
    Some((format!("{end}, {written}{dropped}{changed}"), lines))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::chat::layout::tests::told;

    #[test]
    fn a_cell_is_its_output_its_error_and_its_value() {
        let label = "Python 3.11.7 (search path), /usr/bin/python3, on host";
        let (summary, lines) = told(
            "eval",
            json!({
                "status": "ok", "stdout": "one\n\u{1b}[2Jtwo\n", "stderr": "careful\n", "displays": [],
                "result": {"text/plain": "[1,\n 2]"}, "error": null, "truncated": false, "label": label,
            }),
        );
        assert_eq!(summary, "ok, Python 3.11.7 (search path)");
        assert_eq!(lines, ["one", "two", "careful", "→ [1,", "   2]"]);
        let (summary, lines) = told(
            "eval",
            json!({
                "status": "error", "stdout": "", "stderr": "", "result": null, "label": label,
                "error": {"name": "KeyError", "value": "'a'", "traceback": ["line 1"]},
            }),
        );
        assert!(summary.starts_with("error"), "{summary}");
        assert_eq!(lines, ["line 1", "KeyError: 'a'"]);
    }

    #[test]
    fn a_command_is_its_end_and_the_end_of_its_output() {
        let output: String = (1..=20).map(|number| format!("{number}\n")).collect();
        let data = json!({"ending": {"how": "exited", "code": 3}, "output": output, "dropped_bytes": 0, "files_changed": 2});
        let (summary, lines) = told("shell", data);
        assert_eq!(summary, "exit code 3, 20 lines, 2 files changed");
        assert_eq!(
            (lines.len(), lines[0].as_str(), lines[12].as_str()),
            (13, "… 8 lines before: /open 7", "20")
        );
    }
}
