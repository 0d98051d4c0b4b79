//! One wording and one place for cutting text.

/// A text that may have been cut.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Clipped {
    /// The text, with the remark that it was cut where it was.
    pub text: String,
    /// How many characters were left out.
    pub cut: usize,
}

/// Keeps the first `limit` characters and says how many more there were.
///
/// ```
/// # use agent_tool_core::clip;
/// assert_eq!(clip("abcdef", 4).text, "abcd… 2 more characters");
/// assert_eq!(clip("abcd", 4).cut, 0);
/// ```
#[must_use]
pub fn clip(text: &str, limit: usize) -> Clipped {
    let Some((end, _)) = text.char_indices().nth(limit) else {
        return Clipped { text: text.to_owned(), cut: 0 };
    };
    let cut = text[end..].chars().count();
    Clipped { text: format!("{}… {}", &text[..end], more(cut, "character")), cut }
}

/// Keeps head and tail, `limit` characters together, with a line in between that says how much
/// was left out and, where there is one, `where_rest` tells how to see it.
#[must_use]
pub fn clip_middle(text: &str, limit: usize, where_rest: Option<&str>) -> Clipped {
    let total = text.chars().count();
    if total <= limit {
        return Clipped { text: text.to_owned(), cut: 0 };
    }
    let head = limit * 2 / 3;
    let tail = limit - head;
    let at = |n: usize| text.char_indices().nth(n).map_or(text.len(), |(index, _)| index);
    let cut = total - limit;
    let hint = where_rest.map(|rest| format!("; {rest}")).unwrap_or_default();
    let text = format!(
        "{}\n… {}{hint} …\n{}",
        &text[..at(head)],
        more(cut, "character"),
        &text[at(total - tail)..]
    );
    Clipped { text, cut }
}

fn more(count: usize, unit: &str) -> String {
    counted(count, &format!("more {unit}"))
}

/// A number with what it counts, in the plural where it is not one: with an `s`, and `es` after `ch`.
///
/// ```
/// # use agent_tool_core::counted;
/// assert_eq!(counted(1, "more file"), "1 more file");
/// assert_eq!(counted(0, "file"), "0 files");
/// assert_eq!(counted(2, "match"), "2 matches");
/// ```
#[must_use]
pub fn counted(count: usize, one: &str) -> String {
    let plural = match count {
        1 => "",
        _ if one.ends_with("ch") => "es",
        _ => "s",
    };
    format!("{count} {one}{plural}")
}
