use std::collections::BTreeMap;

use serde_json::Value;

/// What a request speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Anthropic's messages.
    Anthropic,
    /// OpenAI's chat completions.
    OpenAi,
}

/// A request as it came.
#[derive(Clone, Debug, PartialEq)]
pub struct Received {
    /// What it speaks.
    pub format: Format,
    /// Its path.
    pub path: String,
    /// Its headers, names in lower case.
    pub headers: BTreeMap<String, String>,
    /// Its body.
    pub body: Value,
}

/// What a server was asked so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Log {
    /// The requests in the order in which they came.
    pub requests: Vec<Received>,
    /// How many answers were left by their client before they were complete.
    pub left: usize,
    /// How many requests no rule fitted.
    pub unanswered: usize,
}

impl Received {
    /// The names of the tools that are offered, in their order.
    #[must_use]
    pub fn tools(&self) -> Vec<String> {
        let tools = self.body["tools"].as_array().into_iter().flatten();
        let names = tools.map(|tool| match self.format {
            Format::Anthropic => &tool["name"],
            Format::OpenAi => &tool["function"]["name"],
        });
        names.map(|name| name.as_str().unwrap_or_default().to_owned()).collect()
    }

    /// The messages, the system text of OpenAI's format among them.
    #[must_use]
    pub fn messages(&self) -> &[Value] {
        self.body["messages"].as_array().map(Vec::as_slice).unwrap_or_default()
    }

    /// The system text.
    #[must_use]
    pub fn system(&self) -> String {
        match self.format {
            Format::Anthropic => text(&self.body["system"]),
            Format::OpenAi => {
                let system = self.messages().iter().filter(|message| message["role"] == "system");
                system.map(text).collect::<Vec<_>>().join("\n")
            }
        }
    }

    /// The text of all messages since the model's last answer.
    #[must_use]
    pub fn last(&self) -> String {
        let messages = self.messages();
        let answer = messages.iter().rposition(|message| message["role"] == "assistant");
        let since = &messages[answer.map_or(0, |index| index + 1)..];
        let said = since.iter().filter(|message| message["role"] != "system");
        said.map(text).collect::<Vec<_>>().join("\n")
    }

    /// The images in the messages, each as its media type and its bytes in base64.
    #[must_use]
    pub fn images(&self) -> Vec<(String, String)> {
        let mut found = Vec::new();
        collect_images(&self.body["messages"], &mut found);
        found
    }

    /// The key that the request carries.
    #[must_use]
    pub fn key(&self) -> Option<&str> {
        let bearer =
            self.headers.get("authorization").and_then(|value| value.strip_prefix("Bearer "));
        self.headers.get("x-api-key").map(String::as_str).or(bearer)
    }
}

/// All text in a message, wherever a format puts it.
fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(text).collect::<Vec<_>>().join("\n"),
        Value::Object(fields) if fields.contains_key("content") => text(&fields["content"]),
        Value::Object(fields) => fields.get("text").map(text).unwrap_or_default(),
        _ => String::new(),
    }
}

fn collect_images(value: &Value, found: &mut Vec<(String, String)>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| collect_images(item, found)),
        Value::Object(fields) => {
            let own = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            match value["type"].as_str() {
                Some("image") => {
                    let source = &value["source"];
                    found.push((own(&source["media_type"]), own(&source["data"])));
                }
                Some("image_url") => {
                    let url = own(&value["image_url"]["url"]);
                    let parts =
                        url.strip_prefix("data:").and_then(|url| url.split_once(";base64,"));
                    let (mime, data) = parts.unwrap_or(("", url.as_str()));
                    found.push((mime.to_owned(), data.to_owned()));
                }
                _ => fields.values().for_each(|field| collect_images(field, found)),
            }
        }
        _ => {}
    }
}
