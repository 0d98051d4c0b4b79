//! Text of a server on its way to a model or a person.

use std::{fmt, time::Duration};

use agent_tool_core::{clip, for_person};
use serde_json::{Map, Value};

/// Stands where a character was that nobody sees and a model reads.
const REMOVED: char = '\u{FFFD}';

/// The least length of a value that is looked for to be hidden: what is shorter stands everywhere.
const SECRET_BYTES: usize = 6;

/// The names of fields by which the protocol is read, as far as they are so long.
const FIELDS: &[&str] = &[
    "additionalProperties",
    "annotations",
    "arguments",
    "capabilities",
    "content",
    "default",
    "description",
    "format",
    "inputRequests",
    "inputSchema",
    "isError",
    "message",
    "method",
    "mimeType",
    "nextCursor",
    "outputSchema",
    "params",
    "pattern",
    "progress",
    "progressToken",
    "properties",
    "protocolVersion",
    "readOnlyHint",
    "requestState",
    "requestedSchema",
    "required",
    "resource",
    "resultType",
    "serverInfo",
    "structuredContent",
    "supported",
    "supportedVersions",
    "version",
];

/// A text as it may be read: without escape sequences, control characters and what reorders text or is invisible.
pub(crate) fn clean(text: &str) -> String {
    without_invisible(&for_person(text))
}

/// A text for a card, which shows every control character by itself: what takes no room is shown here.
pub(crate) fn for_card(text: &str) -> String {
    without_invisible(text)
}

fn without_invisible(text: &str) -> String {
    text.chars().map(|c| if is_invisible(c) { REMOVED } else { c }).collect()
}

/// The same on one line, of at most so many characters.
pub(crate) fn clean_line(text: &str, limit: usize) -> String {
    let line = clean(text).split_whitespace().collect::<Vec<_>>().join(" ");
    clip(&line, limit).text
}

/// A time in seconds, to the thousandth.
pub(crate) fn seconds(time: Duration) -> String {
    ((time.as_secs_f64() * 1_000.0).round() / 1_000.0).to_string()
}

/// Unicode's tag characters spell ASCII that no screen shows; the others take no room either.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{e0000}'..='\u{e007f}' | '\u{200b}' | '\u{2060}'..='\u{2064}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}')
}

/// The values that a server was given and that nobody else is to read, each with the name of its variable.
#[derive(Clone, Default)]
pub(crate) struct Secrets(Vec<(String, String)>);

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|(name, _)| name)).finish()
    }
}

impl Secrets {
    /// The longest first: one may begin with another.
    pub(crate) fn new(values: impl IntoIterator<Item = (String, String)>) -> Self {
        let mut values: Vec<_> =
            values.into_iter().filter(|(_, value)| value.len() >= SECRET_BYTES).collect();
        values.sort_by_key(|(_, value)| std::cmp::Reverse(value.len()));
        Self(values)
    }

    /// The text with `[NAME]` for each value.
    pub(crate) fn hidden(&self, text: String) -> String {
        self.0.iter().fold(text, |text, (name, value)| match text.contains(value) {
            true => text.replace(value, &format!("[{name}]")),
            false => text,
        })
    }

    /// The same in every string of a value and in every name of a field. The protocol's own names stay: they tell nothing, and
    /// without them there is no message.
    pub(crate) fn hidden_in(&self, value: &mut Value) {
        match value {
            _ if self.0.is_empty() => {}
            Value::String(text) => *text = self.hidden(std::mem::take(text)),
            Value::Array(items) => items.iter_mut().for_each(|item| self.hidden_in(item)),
            Value::Object(fields) => {
                fields.values_mut().for_each(|field| self.hidden_in(field));
                if fields.keys().any(|name| self.is_told_by(name)) {
                    *fields = self.renamed(std::mem::take(fields));
                }
            }
            _ => {}
        }
    }

    fn is_told_by(&self, name: &str) -> bool {
        !FIELDS.contains(&name) && self.0.iter().any(|(_, value)| name.contains(value))
    }

    /// The fields under names without secrets. Two that are alike by then are numbered, since none may go.
    fn renamed(&self, fields: Map<String, Value>) -> Map<String, Value> {
        let (told, mut renamed): (Map<_, _>, Map<_, _>) =
            fields.into_iter().partition(|(name, _)| self.is_told_by(name));
        for (name, value) in told {
            let name = self.hidden(name);
            let numbered = (2..).map(|number| format!("{name} ({number})"));
            let mut names = std::iter::once(name.clone()).chain(numbered);
            let free = names.find(|name| !renamed.contains_key(name));
            renamed.insert(free.unwrap_or(name), value);
        }
        renamed
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_nobody_sees_is_shown() {
        assert_eq!(
            clean("a\u{1b}[31mb\u{202e}c\u{e0041}\u{200b}d"),
            "ab\u{fffd}c\u{fffd}\u{fffd}d"
        );
        assert_eq!(clean_line(" a\n\n b\tc ", 100), "a b c");
        assert_eq!(clean_line("abcdef", 4), "abcd… 2 more characters");
    }

    #[test]
    fn a_time_is_no_longer_than_it_is_read() {
        assert_eq!(seconds(Duration::from_nanos(19_999_999_839)), "20");
        assert_eq!(seconds(Duration::from_millis(400)), "0.4");
    }

    #[test]
    fn a_secret_is_hidden_under_its_name_and_the_longer_one_first() {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let secrets = Secrets::new([
            pair("SHORT", "abc"),
            pair("TOKEN", "tok-123"),
            pair("LONG_TOKEN", "tok-123-456"),
        ]);
        let hidden = secrets.hidden("abc tok-123-456 and tok-123".to_owned());
        assert_eq!(hidden, "abc [LONG_TOKEN] and [TOKEN]");
        let mut value = json!({"tok-123": ["x tok-123", 1]});
        secrets.hidden_in(&mut value);
        assert_eq!(value, json!({"[TOKEN]": ["x [TOKEN]", 1]}));
    }

    #[test]
    fn a_secret_is_hidden_in_the_names_of_fields_too_and_no_field_is_lost() {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let secrets = Secrets::new([pair("TOKEN", "tok-123"), pair("WORD", "content")]);
        let mut value = json!({"content": 1, "tok-123": {"a tok-123": "content"}, "[TOKEN]": 2});
        secrets.hidden_in(&mut value);
        let expected = json!({"content": 1, "[TOKEN] (2)": {"a [TOKEN]": "[WORD]"}, "[TOKEN]": 2});
        assert_eq!(value, expected);
    }
}
