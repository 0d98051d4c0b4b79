//! Searches: the files, each with the lines that matched.

use serde_json::Value;

use super::{counted, line_of};
use crate::style::{FAINT, PLACE, in_style};

/// The matches of `search` and `ast_grep`. None where the result is of files or of counts.
pub(super) fn matches(data: &Value) -> Option<(String, Vec<String>)> {
    let matches = data["matches"].as_array()?;
    let total = data["total"].as_u64().and_then(|total| usize::try_from(total).ok())?;
    if matches.is_empty() && total > 0 {
        return None;
    }
    let mut lines = Vec::new();
    let mut files = 0;
    let mut last = "";
    for found in matches {
        let file = found["file"].as_str()?;
        if file != last {
            files += 1;
            let count = matches.iter().filter(|other| other["file"] == file).count();
            let count = in_style(FAINT, format!("({count})"));
            lines.push(format!("{} {count}", in_style(PLACE, line_of(file))));
            last = file;
        }
        let number = in_style(FAINT, format!("{:>5}", found["line"].as_u64()?));
        let text = found["text"].as_str().unwrap_or_default();
        let (first, rest) = text
            .split_once('\n')
            .map_or((text, 0), |(first, rest)| (first, 1 + rest.matches('\n').count()));
        let more = match rest {
            0 => String::new(),
            rest => in_style(FAINT, format!(" … {} more", counted(rest, "line"))).to_string(),
        };
        lines.push(format!("{number} {}{more}", line_of(first)));
    }
    let mut summary = match total {
        0 => "no match".to_owned(),
        total => format!("{} in {}", counted(total, "match"), counted(files, "file")),
    };
    if data["more"] == true || total > matches.len() {
        summary = match total > matches.len() {
            true => format!("{} of {total} matches", matches.len()),
            false => format!("{summary}, and more that were not looked for"),
        };
    }
    let skipped = data["skipped_total"]
        .as_u64()
        .or_else(|| data["skipped"].as_array().map(|skipped| skipped.len() as u64));
    if let Some(skipped @ 1..) = skipped {
        summary = format!("{summary}, {skipped} not searched");
    }
    Some((summary, lines))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::chat::layout::tests::told;

    #[test]
    fn a_search_is_its_files_with_their_lines() {
        let at =
            |file: &str, line: u32, text: &str| json!({"file": file, "line": line, "text": text});
        let found = [at("a.rs", 3, "fn a() {\n}\n"), at("a.rs", 12, "a();"), at("b.rs", 1, "a();")];
        let (summary, lines) =
            told("ast_grep", json!({"matches": found, "total": 3, "more": false}));
        assert_eq!(summary, "3 matches in 2 files");
        assert_eq!(
            lines,
            ["a.rs (2)", "    3 fn a() { … 2 lines more", "   12 a();", "b.rs (1)", "    1 a();"]
        );
        let (summary, _) =
            told("search", json!({"matches": [at("a", 1, "x")], "total": 90, "more": true}));
        assert_eq!(summary, "1 of 90 matches");
        let (summary, lines) =
            told("search", json!({"matches": [], "total": 0, "skipped": ["big.bin"]}));
        assert_eq!((summary.as_str(), lines.len()), ("no match, 1 not searched", 0));
        let many: Vec<_> = (1..=40).map(|line| at("a.rs", line, "x")).collect();
        let (_, lines) = told("search", json!({"matches": many, "total": 40}));
        assert_eq!((lines.len(), lines[14].as_str()), (15, "… 27 lines more: /open 7"));
    }
}
