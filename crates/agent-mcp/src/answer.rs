//! What a server answers to a call, read leniently and bounded.

use agent_tool_core::{Part, clip};
use rmcp::model::ErrorData;
use serde_json::{Map, Value};

use crate::{text::clean, wire::string_of};

/// So many characters of text a result may have, before the budget of the run looks at it.
pub(crate) const MAX_TEXT_CHARS: usize = 200_000;

/// So many pieces of a result are read.
pub(crate) const MAX_PIECES: usize = 100;

/// So many pictures are passed on.
pub(crate) const MAX_IMAGES: usize = 10;

/// The largest picture, in characters of base64.
pub(crate) const MAX_IMAGE_CHARS: usize = 7 << 20;

/// So many characters of a structure are shown beside a text that is another one.
const CONTRADICTION_CHARS: usize = 2_000;

/// So many characters of a name, an address or a media type are shown.
const NAME_CHARS: usize = 200;

/// An answer.
#[derive(Debug, PartialEq)]
pub(crate) enum Answer {
    /// The tool's result.
    Complete(Outcome),
    /// The server asks first; the request is to be made again with the answers and with the server's own note.
    InputRequired { requests: Map<String, Value>, state: Option<String> },
}

/// A result.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Outcome {
    pub(crate) parts: Vec<Part>,
    pub(crate) structured: Option<Value>,
    /// The tool says that it failed.
    pub(crate) failed: bool,
    /// What is to be known of how it came about, in words of this side.
    pub(crate) notes: Vec<String>,
}

impl Answer {
    /// # Errors
    ///
    /// Why this is no answer to a call.
    pub(crate) fn read(answer: Value) -> Result<Self, String> {
        let Value::Object(mut fields) = answer else { return Err("it is no object".to_owned()) };
        match fields.get("resultType").map(|kind| kind.as_str().unwrap_or_default()) {
            // The older revisions do not say it.
            None | Some("complete") => {}
            Some("input_required") => return Self::input_required(fields),
            Some(other) => {
                return Err(format!(
                    "it is of a kind that is not known here, `{}`",
                    clip(&clean(other), 40).text
                ));
            }
        }
        if !["content", "structuredContent", "isError"].iter().any(|key| fields.contains_key(*key))
        {
            return Err("it has no content".to_owned());
        }
        let structured = fields.remove("structuredContent");
        let content = match fields.remove("content") {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::Array(content)) => content,
            Some(_) => return Err("its content is no list".to_owned()),
        };
        // Whether it failed is nothing to guess at.
        let failed = match fields.get("isError") {
            None | Some(Value::Null) => false,
            Some(Value::Bool(failed)) => *failed,
            Some(_) => return Err("its `isError` is neither true nor false".to_owned()),
        };
        let mut parts = parts(&content);
        if parts.is_empty()
            && let Some(structured) = &structured
        {
            let text = serde_json::to_string_pretty(structured).unwrap_or_default();
            parts.push(Part::text(clip(&clean(&text), MAX_TEXT_CHARS).text));
        }
        Ok(Self::Complete(Outcome { parts, structured, failed, notes: Vec::new() }))
    }

    fn input_required(mut fields: Map<String, Value>) -> Result<Self, String> {
        let requests = match fields.remove("inputRequests") {
            None | Some(Value::Null) => Map::new(),
            Some(Value::Object(requests)) => requests,
            Some(_) => return Err("what it asks is no object".to_owned()),
        };
        let state = match fields.remove("requestState") {
            Some(Value::String(state)) => Some(state),
            _ => None,
        };
        if requests.is_empty() && state.is_none() {
            return Err("it asks for nothing".to_owned());
        }
        Ok(Self::InputRequired { requests, state })
    }
}

impl Outcome {
    /// The protocol's error, as the failed result that it stands for.
    pub(crate) fn of_error(error: &ErrorData) -> Self {
        Self {
            parts: vec![Part::text(clip(&clean(&error.message), MAX_TEXT_CHARS).text)],
            structured: error.data.clone(),
            failed: true,
            notes: Vec::new(),
        }
    }

    /// The texts of it, without pictures.
    pub(crate) fn text(&self) -> String {
        self.texts().collect::<Vec<_>>().join("\n")
    }

    fn texts(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            Part::Text { text } => Some(text.as_str()),
            _ => None,
        })
    }

    /// The structure, where no text has it: a server may say in words what it gives in fields.
    pub(crate) fn unsaid_structure(&self) -> Option<String> {
        let structured = self.structured.as_ref().filter(|_| !self.texts_have_structure())?;
        let json = serde_json::to_string_pretty(structured).unwrap_or_default();
        // A text that was cut may have been the same.
        let room = MAX_TEXT_CHARS.saturating_sub(self.text().chars().count());
        (room > 0).then(|| format!("[its structured content]\n{}", clip(&clean(&json), room).text))
    }

    /// Whether the texts are the JSON of a structure, or the values of it: SDKs put a text, a number or a list under `result`, and
    /// give a list's values a text each.
    fn texts_have_structure(&self) -> bool {
        let is = |text: &str, value: &Value| {
            value.as_str() == Some(text)
                || serde_json::from_str::<Value>(text).is_ok_and(|text| text == *value)
        };
        let texts: Vec<&str> = self.texts().collect();
        let structured = self.structured.as_ref();
        let result = structured.and_then(|structured| structured.get("result")).or(structured);
        json_in(&texts.join("\n")).is_some()
            || match (texts.as_slice(), result) {
                (_, None) => false,
                ([text], Some(value)) if is(text, value) => true,
                (texts, Some(Value::Array(values))) => {
                    texts.len() == values.len() && texts.iter().zip(values).all(|(t, v)| is(t, v))
                }
                _ => false,
            }
    }

    /// The structure, where the text is the JSON of another one. An SDK that takes a list or a text for a result puts it under
    /// `result`, which is no other one.
    pub(crate) fn contradicted(&self) -> Option<String> {
        let structured = self.structured.as_ref()?;
        let text = json_in(&self.text())?;
        let wrapped = structured.as_object().filter(|fields| fields.len() == 1);
        let is_same =
            text == *structured || wrapped.and_then(|fields| fields.get("result")) == Some(&text);
        let shown = || clip(&clean(&structured.to_string()), CONTRADICTION_CHARS).text;
        (!is_same).then(shown)
    }
}

/// The object or the list that a text is.
pub(crate) fn json_in(text: &str) -> Option<Value> {
    let json: Option<Value> = serde_json::from_str(text).ok();
    json.filter(|json| json.is_object() || json.is_array())
}

fn parts(content: &[Value]) -> Vec<Part> {
    let mut parts = Vec::new();
    let (mut room, mut images) = (MAX_TEXT_CHARS, 0);
    for piece in content.iter().take(MAX_PIECES) {
        if let Some(image) = image(piece).filter(|_| images < MAX_IMAGES) {
            images += 1;
            parts.push(image);
            continue;
        }
        let said = clip(&said(piece), room);
        room = room.saturating_sub(said.text.chars().count());
        parts.push(Part::Text { text: said.text });
        if said.cut > 0 {
            break;
        }
    }
    let read = parts.len();
    if read < content.len() {
        parts.push(Part::text(format!(
            "[the result has {} pieces; the first {read} are shown]",
            content.len()
        )));
    }
    parts
}

fn image(piece: &Value) -> Option<Part> {
    let (data, mime) = (string_of(piece, "data")?, string_of(piece, "mimeType")?);
    let fits =
        string_of(piece, "type")? == "image" && data.len() <= MAX_IMAGE_CHARS && is_base64(data);
    let is_mime = mime.strip_prefix("image/").is_some_and(|kind| {
        !kind.is_empty()
            && kind.len() < 40
            && kind.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
    });
    (fits && is_mime).then(|| Part::image(mime, data))
}

fn is_base64(data: &str) -> bool {
    !data.is_empty()
        && data.len().is_multiple_of(4)
        && data.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte))
}

/// A piece as a text: itself, or what it is and how large.
fn said(piece: &Value) -> String {
    let name = |value: &Value, key: &str| {
        let shown = string_of(value, key).map(|value| crate::text::clean_line(value, NAME_CHARS));
        shown.unwrap_or_default()
    };
    let size = |value: &Value, key: &str| string_of(value, key).map_or(0, str::len);
    match string_of(piece, "type").unwrap_or_default() {
        "text" => match string_of(piece, "text") {
            Some(text) => clean(text),
            None => "[a piece of text without its text]".to_owned(),
        },
        kind @ ("image" | "audio") => format!(
            "[{kind} {}, {} characters of base64, not shown]",
            name(piece, "mimeType"),
            size(piece, "data")
        ),
        "resource_link" => {
            format!("[a link to the resource {} <{}>]", name(piece, "name"), name(piece, "uri"))
        }
        "resource" => {
            let resource = piece.get("resource").unwrap_or(&Value::Null);
            match string_of(resource, "text") {
                Some(text) => {
                    format!("[the resource <{}>]\n{}", name(resource, "uri"), clean(text))
                }
                None => format!(
                    "[the resource <{}>, {} characters of base64, not shown]",
                    name(resource, "uri"),
                    size(resource, "blob")
                ),
            }
        }
        "" => "[a piece that cannot be read, not shown]".to_owned(),
        _ => format!(
            "[a piece of a kind that is not known here, `{}`, not shown]",
            name(piece, "type")
        ),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn complete(answer: Value) -> Outcome {
        match Answer::read(answer).unwrap() {
            Answer::Complete(result) => result,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn every_kind_of_piece_is_shown_or_named_with_its_size() {
        let content = json!([
            {"type": "text", "text": "a\u{1b}[31mb"},
            {"type": "image", "mimeType": "image/png", "data": "AAAA"},
            {"type": "image", "mimeType": "text/html", "data": "AAAA"},
            {"type": "audio", "mimeType": "audio/wav", "data": "AAAAAAAA"},
            {"type": "resource_link", "name": "n", "uri": "file:///x"},
            {"type": "resource", "resource": {"uri": "u", "text": "t"}},
            {"type": "resource", "resource": {"uri": "u", "blob": "AAAA"}},
            {"type": "hologram"},
            {"type": "text"},
            7,
        ]);
        let result = complete(json!({"content": content}));
        assert_eq!(result.parts[1], Part::image("image/png", "AAAA"));
        assert_eq!(
            result.text(),
            "ab\n[image text/html, 4 characters of base64, not shown]\n[audio audio/wav, 8 characters of base64, not shown]\n\
             [a link to the resource n <file:///x>]\n[the resource <u>]\nt\n[the resource <u>, 4 characters of base64, not shown]\n\
             [a piece of a kind that is not known here, `hologram`, not shown]\n\
             [a piece of text without its text]\n[a piece that cannot be read, not shown]"
        );
    }

    #[test]
    fn what_is_too_much_is_cut_with_true_counts() {
        let long = complete(
            json!({"content": [{"type": "text", "text": "x".repeat(MAX_TEXT_CHARS + 5)}, {"type": "text", "text": "y"}]}),
        );
        assert!(long.text().contains("… 5 more characters"), "{}", long.text().len());
        assert!(long.text().ends_with("[the result has 2 pieces; the first 1 are shown]"));
        let many = vec![json!({"type": "text", "text": "x"}); MAX_PIECES + 50];
        assert!(
            complete(json!({"content": many}))
                .text()
                .ends_with("[the result has 150 pieces; the first 100 are shown]")
        );
    }

    #[test]
    fn a_structure_that_no_text_has_is_told() {
        let unsaid = |texts: &[&str], structure: Value| {
            let content: Vec<Value> =
                texts.iter().map(|text| json!({"type": "text", "text": text})).collect();
            complete(json!({"content": content, "structuredContent": structure})).unsaid_structure()
        };
        let files = json!({"files": ["a", "b"]});
        let shown = format!("[its structured content]\n{files:#}");
        assert_eq!(unsaid(&["Found 2."], files.clone()), Some(shown));
        for (same, structure) in [
            (&[r#"{"files": ["a", "b"]}"#][..], files),
            (&["hello"], json!({"result": "hello"})),
            (&["5"], json!({"result": 5})),
            (&["a", "{\n  \"n\": 1\n}"], json!({"result": ["a", {"n": 1}]})),
            (&["true"], json!(true)),
            // The JSON of another structure is told otherwise.
            (&[r#"{"n": 1}"#], json!({"n": 2})),
            (&["x".repeat(MAX_TEXT_CHARS + 5).as_str()], json!({"n": 2})),
            (&[], json!({"n": 2})),
        ] {
            assert_eq!(unsaid(same, structure), None);
        }
        assert_eq!(complete(json!({"content": []})).unsaid_structure(), None);
    }

    #[test]
    fn a_result_may_be_structure_alone_and_what_is_none_says_why() {
        let result = complete(
            json!({"resultType": "complete", "content": [], "structuredContent": {"n": 1}}),
        );
        assert_eq!(
            (result.text(), result.structured),
            ("{\n  \"n\": 1\n}".to_owned(), Some(json!({"n": 1})))
        );
        assert!(complete(json!({"content": [], "isError": true})).failed);
        assert!(!complete(json!({"content": [], "isError": false})).failed);
        assert!(!complete(json!({"content": [], "isError": null})).failed);
        for (wrong, said) in [
            (json!([]), "no object"),
            (json!({}), "no content"),
            (json!({"content": 1}), "no list"),
            (json!({"content": [], "isError": "true"}), "`isError` is neither true nor false"),
            (json!({"content": [], "isError": 1}), "`isError` is neither true nor false"),
            (json!({"resultType": "task"}), "`task`"),
            (json!({"resultType": "input_required"}), "asks for nothing"),
        ] {
            assert!(Answer::read(wrong).unwrap_err().contains(said));
        }
        let asks = json!({"resultType": "input_required", "inputRequests": {"a": {}}, "requestState": "s"});
        let requests = Map::from_iter([("a".to_owned(), json!({}))]);
        assert_eq!(
            Answer::read(asks),
            Ok(Answer::InputRequired { requests, state: Some("s".to_owned()) })
        );
    }
}
