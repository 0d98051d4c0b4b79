//! Jupyter's messages, as far as a cell needs them.

use agent_tool_core::clip;
use jupyter_protocol::{
    ExecuteRequest, ExecutionState, Header, JupyterMessage, JupyterMessageContent, Media,
    ReplyStatus, UnknownMessage,
};
use serde_json::{Map, Value, json};

/// The MIME types of one value. Order is the type's alone: the protocol's has none.
pub type Bundle = Map<String, Value>;

/// The bundle that the protocol's crate refuses as a whole where one field of it is unknown.
const DATA_RESOURCE: &str = "application/vnd.dataresource+json";

/// How many characters of a line that cannot be read are shown.
const SHOWN: usize = 200;

/// A message of the kernel.
#[derive(Clone, Debug)]
pub(crate) struct Message {
    /// The mark that both outputs must have passed before it; none where order does not matter.
    pub mark: Option<u64>,
    pub said: Said,
}

/// What the kernel says.
#[derive(Clone, Debug)]
pub(crate) enum Said {
    Starting {
        version: String,
        executable: String,
    },
    Busy,
    Idle,
    /// `left_out`: how many characters of its text the kernel left out.
    Display {
        data: Bundle,
        id: Option<String>,
        left_out: u64,
    },
    Update {
        data: Bundle,
        id: Option<String>,
        left_out: u64,
    },
    Clear,
    Result {
        data: Bundle,
        left_out: u64,
    },
    Error {
        name: String,
        value: String,
        traceback: Vec<String>,
    },
    /// `began`: whether anything of the cell ran.
    Reply {
        ok: bool,
        began: bool,
        execution_count: u64,
        names: Vec<String>,
        more_names: u64,
    },
    ToolRequest {
        header: Box<Header>,
        name: String,
        args: Value,
    },
    ToolCancel {
        id: String,
    },
    Other,
}

/// What a bridged call came to.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ToolReply {
    Value { value: Value, data: Value },
    Error { message: String, kind: String, code: String },
}

impl Message {
    /// Reads a line of the channel.
    ///
    /// # Errors
    ///
    /// Words for the result: what was shown there is lost, and a reader must know it.
    pub(crate) fn parse(line: &[u8]) -> Result<Self, String> {
        match serde_json::from_slice::<JupyterMessage>(line) {
            Ok(message) => Ok(Self::of(message)),
            Err(error) => {
                without_data_resource(line).map(Self::of).ok_or_else(|| unreadable(line, &error))
            }
        }
    }

    fn of(message: JupyterMessage) -> Self {
        let mark = message.metadata.get("mark").and_then(Value::as_u64);
        Self { mark, said: said(message) }
    }
}

/// A request to run a cell. `about` is for the kernel: the rewritten form, and what the language's front end found.
pub(crate) fn execute_request(code: &str, about: Value) -> Vec<u8> {
    let message: JupyterMessage = ExecuteRequest::new(code.to_owned()).into();
    line(&message.with_metadata(about))
}

/// The answer to a call of a tool.
pub(crate) fn tool_reply(request: &Header, reply: &ToolReply) -> Vec<u8> {
    let content = match reply {
        ToolReply::Value { value, data } => json!({"ok": true, "value": value, "data": data}),
        ToolReply::Error { message, kind, code } => {
            json!({"ok": false, "error": message, "kind": kind, "code": code})
        }
    };
    let content = UnknownMessage { msg_type: "tool_reply".to_owned(), content };
    let mut message: JupyterMessage = JupyterMessageContent::UnknownMessage(content).into();
    message.parent_header = Some(request.clone());
    line(&message)
}

fn line(message: &JupyterMessage) -> Vec<u8> {
    let mut line = serde_json::to_vec(message).unwrap_or_default();
    line.push(b'\n');
    line
}

fn said(message: JupyterMessage) -> Said {
    let metadata = message.metadata;
    let text = |name: &str| metadata[name].as_str().unwrap_or_default().to_owned();
    let left_out = metadata["left_out"].as_u64().unwrap_or_default();
    match message.content {
        JupyterMessageContent::Status(status) => match status.execution_state {
            ExecutionState::Busy => Said::Busy,
            ExecutionState::Idle => Said::Idle,
            ExecutionState::Starting => {
                Said::Starting { version: text("version"), executable: text("executable") }
            }
            _ => Said::Other,
        },
        JupyterMessageContent::DisplayData(display) => Said::Display {
            data: bundle(&display.data),
            id: display.transient.and_then(|transient| transient.display_id),
            left_out,
        },
        JupyterMessageContent::UpdateDisplayData(display) => {
            let id = display.transient.display_id;
            Said::Update { data: bundle(&display.data), id, left_out }
        }
        JupyterMessageContent::ClearOutput(_) => Said::Clear,
        JupyterMessageContent::ExecuteResult(result) => {
            Said::Result { data: bundle(&result.data), left_out }
        }
        JupyterMessageContent::ErrorOutput(error) => {
            Said::Error { name: error.ename, value: error.evalue, traceback: error.traceback }
        }
        JupyterMessageContent::ExecuteReply(reply) => Said::Reply {
            ok: matches!(reply.status, ReplyStatus::Ok),
            began: metadata["began"].as_bool().unwrap_or(true),
            execution_count: serde_json::to_value(reply.execution_count)
                .ok()
                .and_then(|count| count.as_u64())
                .unwrap_or_default(),
            names: metadata["names"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(|name| name.as_str().map(str::to_owned))
                .collect(),
            more_names: metadata["more"].as_u64().unwrap_or_default(),
        },
        JupyterMessageContent::UnknownMessage(other) => match other.msg_type.as_str() {
            "tool_request" => Said::ToolRequest {
                header: Box::new(message.header),
                name: other.content["name"].as_str().unwrap_or_default().to_owned(),
                args: other.content["arguments"].clone(),
            },
            "tool_cancel" => {
                Said::ToolCancel { id: other.content["id"].as_str().unwrap_or_default().to_owned() }
            }
            _ => Said::Other,
        },
        _ => Said::Other,
    }
}

fn bundle(media: &Media) -> Bundle {
    match serde_json::to_value(media) {
        Ok(Value::Object(bundle)) => bundle,
        _ => Bundle::new(),
    }
}

/// One part of a bundle that the types refuse must not take the others with it.
fn without_data_resource(line: &[u8]) -> Option<JupyterMessage> {
    let mut message: Value = serde_json::from_slice(line).ok()?;
    message.pointer_mut("/content/data")?.as_object_mut()?.remove(DATA_RESOURCE)?;
    serde_json::from_slice(&serde_json::to_vec(&message).ok()?).ok()
}

fn unreadable(line: &[u8], error: &serde_json::Error) -> String {
    let shown = clip(&String::from_utf8_lossy(line), SHOWN).text;
    format!("a message of the kernel could not be read and is missing here ({error}): {shown}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(kind: &str, metadata: Value, content: Value) -> Vec<u8> {
        let header = json!({"msg_id": "k1", "username": "", "session": "", "date": "1970-01-01T00:00:00Z",
            "msg_type": kind, "version": "5.4"});
        json!({"header": header, "parent_header": {}, "metadata": metadata, "content": content})
            .to_string()
            .into_bytes()
    }

    #[test]
    fn a_message_has_its_mark_and_what_it_says() {
        let line = message(
            "execute_result",
            json!({"mark": 7}),
            json!({"execution_count": 1, "data": {"text/plain": "2", "x/own": [1]}, "metadata": {}}),
        );
        let read = Message::parse(&line).unwrap();
        assert_eq!(read.mark, Some(7));
        let Said::Result { data, .. } = read.said else { panic!("{:?}", read.said) };
        assert_eq!(Value::Object(data), json!({"text/plain": "2", "x/own": [1]}));
    }

    #[test]
    fn a_part_that_the_types_refuse_takes_no_other_with_it() {
        let bad = json!({"data": [{"a": 1}]});
        let line = message(
            "display_data",
            json!({}),
            json!({"data": {DATA_RESOURCE: bad, "text/plain": "kept"}, "metadata": {}}),
        );
        let read = Message::parse(&line).unwrap();
        let Said::Display { data, .. } = read.said else { panic!("{:?}", read.said) };
        assert_eq!(Value::Object(data), json!({"text/plain": "kept"}));
    }

    #[test]
    fn what_cannot_be_read_is_said() {
        let line = message("display_data", json!({}), json!({"data": 5}));
        let words = Message::parse(&line).unwrap_err();
        assert!(words.starts_with("a message of the kernel could not be read"), "{words}");
        assert!(Message::parse(br#"{"header": "\ud800"}"#).is_err());
    }

    #[test]
    fn a_reply_names_the_request_and_is_one_line() {
        let line = message(
            "tool_request",
            json!({"mark": 1}),
            json!({"name": "read", "arguments": {"path": "x"}}),
        );
        let Said::ToolRequest { header, name, args } = Message::parse(&line).unwrap().said else {
            panic!()
        };
        assert_eq!((name.as_str(), args), ("read", json!({"path": "x"})));
        let reply =
            tool_reply(&header, &ToolReply::Value { value: json!("a\nb"), data: Value::Null });
        assert_eq!(reply.iter().filter(|byte| **byte == b'\n').count(), 1);
        let reply: Value = serde_json::from_slice(&reply).unwrap();
        assert_eq!(reply["parent_header"]["msg_id"], "k1");
        assert_eq!(reply["content"], json!({"ok": true, "value": "a\nb", "data": null}));
    }
}
