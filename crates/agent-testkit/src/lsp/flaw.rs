//! Messages that are wrong in one way each.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::wire;

/// Bytes in a script.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Raw {
    /// Text, in UTF-8.
    Text(String),
    /// Bytes that are no text.
    Bytes(Vec<u8>),
}

/// What is wrong, or only unusual, with one message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Flaw {
    /// A line of text stands before the header.
    Noise,
    /// The header's lines end with LF alone.
    BareLineFeed,
    /// No space stands after the header's colon.
    NoSpace,
    /// A second header, `Content-Type`: the protocol allows it.
    ContentType,
    /// The header's name is in lower case.
    LowerCase,
    /// The body is no JSON.
    BrokenJson,
    /// The body is JSON and no message: a number.
    NoObject,
    /// The message has no `jsonrpc`.
    NoJsonrpc,
    /// An error response whose id is `null`, in place of the message.
    NullId,
    /// A `padding` of so many bytes in the message's params.
    Huge(usize),
    /// Header and half of the body, and no more. Follow it with `exit`.
    Half,
}

const NOISE: &str = "starting up, please wait ...\n";

impl Flaw {
    /// The bytes to write for a message.
    pub(crate) fn bytes(self, message: &Value) -> Vec<u8> {
        match self {
            Self::Noise => [NOISE.as_bytes(), &wire::frame(message)].concat(),
            Self::BareLineFeed => headed(message, "Content-Length: {}\n\n"),
            Self::NoSpace => headed(message, "Content-Length:{}\r\n\r\n"),
            Self::ContentType => headed(
                message,
                "Content-Length: {}\r\nContent-Type: application/vscode-jsonrpc; charset=utf-8\r\n\r\n",
            ),
            Self::LowerCase => headed(message, "content-length: {}\r\n\r\n"),
            Self::BrokenJson => b"Content-Length: 5\r\n\r\n{oops".to_vec(),
            Self::NoObject => wire::frame(&json!(42)),
            Self::NoJsonrpc => {
                let mut message = message.clone();
                if let Value::Object(fields) = &mut message {
                    // The others stay in their order, whatever the map does with a field that goes.
                    let fields_left = std::mem::take(fields).into_iter();
                    *fields = fields_left.filter(|(name, _)| name != "jsonrpc").collect();
                }
                wire::frame(&message)
            }
            Self::NullId => wire::frame(&json!({
                "jsonrpc": "2.0", "id": null, "error": {"code": -32700, "message": "parse error"},
            })),
            Self::Huge(bytes) => {
                let mut message = message.clone();
                message["params"]["padding"] = "y".repeat(bytes).into();
                wire::frame(&message)
            }
            Self::Half => {
                let whole = wire::frame(message);
                let body = message.to_string().len();
                whole[..whole.len() - body / 2].to_vec()
            }
        }
    }
}

fn headed(message: &Value, header: &str) -> Vec<u8> {
    let body = message.to_string();
    let header = header.replace("{}", &body.len().to_string());
    [header.as_bytes(), body.as_bytes()].concat()
}
