//! Text of a server on its way to a model or a person.

use std::time::Duration;

use agent_tool_core::{Secrets, clip, for_person, with_traces};

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
    with_traces(&for_person(text)).replace(['\u{2028}', '\u{2029}'], "\u{FFFD}")
}

/// The same on one line, of at most so many characters.
pub(crate) fn clean_line(text: &str, limit: usize) -> String {
    let line = clean(text).split_whitespace().collect::<Vec<_>>().join(" ");
    clip(&line, limit).text
}

/// A server's own words within a sentence of ours: the same between backticks, which it does not have within.
pub(crate) fn quoted(text: &str, limit: usize) -> String {
    format!("`{}`", clean_line(text, limit).replace('`', "'"))
}

/// A server's own words on lines of their own, each behind a margin. Whatever a reader takes for the end of a line ends one.
pub(crate) fn behind_margin(text: &str) -> Vec<String> {
    let unix = text.replace("\r\n", "\n");
    let lines = unix.strip_suffix('\n').unwrap_or(&unix).split(ENDS_A_LINE);
    lines.map(|line| format!("> {line}")).collect()
}

/// What Unicode calls the end of a line.
const ENDS_A_LINE: [char; 7] = ['\n', '\r', '\u{b}', '\u{c}', '\u{85}', '\u{2028}', '\u{2029}'];

/// A time in seconds, to the thousandth.
pub(crate) fn seconds(time: Duration) -> String {
    ((time.as_secs_f64() * 1_000.0).round() / 1_000.0).to_string()
}

/// The values that a server was given and that nobody else is to read. The protocol's own names stay: they tell nothing, and
/// without them there is no message.
pub(crate) fn secrets(values: impl IntoIterator<Item = (String, String)>) -> Secrets {
    Secrets::new(values).keeping(FIELDS)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_nobody_sees_is_shown() {
        assert_eq!(
            clean("a\u{1b}[31mb\u{202e}c\u{e0041}\u{200b}d"),
            "ab\u{fffd}c<U+E0041><U+200B>d"
        );
        assert_eq!(clean("a\u{2028}b\u{85}"), "a\u{fffd}b\u{fffd}");
        assert_eq!(quoted("x`, y\nis `z", 100), "`x', y is 'z`");
        assert_eq!(behind_margin("a\u{2028}b\r\n\nc\n"), ["> a", "> b", "> ", "> c"]);
        assert_eq!(clean_line(" a\n\n b\tc ", 100), "a b c");
        assert_eq!(clean_line("abcdef", 4), "abcd… 2 more characters");
    }

    #[test]
    fn a_time_is_no_longer_than_it_is_read() {
        assert_eq!(seconds(Duration::from_nanos(19_999_999_839)), "20");
        assert_eq!(seconds(Duration::from_millis(400)), "0.4");
    }

    #[test]
    fn a_name_of_the_protocol_stays() {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let secrets = secrets([pair("TOKEN", "tok-1234"), pair("WORD", "progress")]);
        let mut value = json!({"progress": 1, "tok-1234": "progress"});
        secrets.hidden_in(&mut value);
        assert_eq!(value, json!({"progress": 1, "[TOKEN]": "[WORD]"}));
    }
}
