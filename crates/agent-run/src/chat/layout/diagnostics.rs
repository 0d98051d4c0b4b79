//! Diagnostics: by severity, each at its place.

use anstyle::Style;
use serde_json::Value;

use super::{counted, line_of};
use crate::style::{ASKS, FAINT, PLACE, REMOVED, in_style};

const SEVERITIES: [(&str, &str, Style); 4] = [
    ("error", "error", REMOVED),
    ("warning", "warning", ASKS),
    ("information", "remark", FAINT),
    ("hint", "hint", FAINT),
];

/// The answer of `diagnostics`. None for another action's.
pub(super) fn diagnostics(data: &Value) -> Option<(String, Vec<String>)> {
    let all = data["diagnostics"].as_array()?;
    let state = data["state"].as_str()?;
    let mut lines = Vec::new();
    let mut counts = Vec::new();
    for (severity, word, style) in SEVERITIES {
        let of_it = || all.iter().filter(|one| one["severity"] == severity);
        match of_it().count() {
            0 => continue,
            count => counts.push(counted(count, word)),
        }
        for one in of_it() {
            let place = format!(
                "{}:{}:{}",
                line_of(one["file"].as_str()?),
                one["line"].as_u64()?,
                one["column"].as_u64()?
            );
            let code = one["code"]
                .as_str()
                .map(|code| in_style(FAINT, format!(" {}", line_of(code))).to_string());
            let mut message = one["message"].as_str()?.lines();
            let first = line_of(message.next().unwrap_or_default());
            lines.push(format!(
                "{} {}{} {first}",
                in_style(style, word),
                in_style(PLACE, place),
                code.unwrap_or_default()
            ));
            lines.extend(message.map(|line| format!("  {}", line_of(line))));
        }
    }
    let summary = match (state, counts.is_empty()) {
        ("clean", _) => "clean".to_owned(),
        ("unknown", true) => {
            format!("not known: {}", line_of(data["why"].as_str().unwrap_or_default()))
        }
        ("unknown", false) => format!("{}, not confirmed", counts.join(", ")),
        (_, false) => counts.join(", "),
        (state, true) => state.to_owned(),
    };
    Some((summary, lines))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::chat::layout::tests::told;

    #[test]
    fn errors_come_first_and_each_has_its_place() {
        let one = |severity: &str, line: u32, message: &str| json!({"file": "a.py", "line": line, "column": 5, "severity": severity, "code": "x1", "message": message});
        let all = [
            one("warning", 9, "unused"),
            one("error", 2, "no such name\nsee there"),
            one("error", 3, "bad"),
        ];
        let (summary, lines) =
            told("lsp", json!({"diagnostics": all, "state": "dirty", "why": ""}));
        assert_eq!(summary, "2 errors, 1 warning");
        assert_eq!(
            lines,
            [
                "error a.py:2:5 x1 no such name",
                "  see there",
                "error a.py:3:5 x1 bad",
                "warning a.py:9:5 x1 unused"
            ]
        );
        let unknown = json!({"diagnostics": [], "state": "unknown", "why": "still indexing"});
        assert_eq!(told("lsp", unknown).0, "not known: still indexing");
        assert_eq!(told("lsp", json!({"diagnostics": [], "state": "clean", "why": ""})).0, "clean");
    }
}
