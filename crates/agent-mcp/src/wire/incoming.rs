//! One message of a server, read as far as it can be.

use std::{borrow::Cow, sync::Arc};

use agent_process::frame::parse_json;
use agent_tool_core::Secrets;
use rmcp::{
    RoleClient,
    model::{
        CustomRequest, CustomResult, ErrorCode, ErrorData, JsonRpcMessage,
        ProgressNotificationParam, RequestId, ServerRequest, ServerResult,
    },
    service::RxJsonRpcMessage,
};
use serde_json::{Value, json};

use super::{form, skim::Skim};

/// The code under which an answer over the limit fails its call: none that a server can send.
pub(crate) const TOO_LARGE: i32 = i32::MIN;

/// The same for one that is no JSON which can be read.
pub(crate) const UNREADABLE: i32 = i32::MIN + 1;

/// What every message has in it, and only those have that are no answers.
const IN_ALL: &[u8] = b"\"jsonrpc\"";
const IN_QUESTIONS: &[u8] = b"\"method\"";

/// What of a result goes back to the server.
const GIVEN_BACK: [&str; 2] = ["requestState", "nextCursor"];

/// What a server asks before it answers, each question under a name.
const QUESTIONS: &str = "inputRequests";

/// A message.
#[derive(Debug)]
pub(crate) enum Incoming {
    Request {
        id: RequestId,
        method: String,
        params: Value,
    },
    Notification {
        method: String,
        params: Value,
    },
    Result {
        id: RequestId,
        result: Value,
    },
    /// An answer that is an error; without an id where the server could not read the request's.
    Error {
        id: Option<RequestId>,
        error: ErrorData,
    },
}

impl Incoming {
    /// Reads a line; none where it is no message.
    pub(super) fn read(line: &[u8]) -> Option<Self> {
        let Ok(Value::Object(mut fields)) = parse_json(line) else { return None };
        let id = fields.remove("id").map(|id| request_id(&id));
        let params = fields.remove("params").unwrap_or_default();
        if let Some(method) = fields.remove("method") {
            let method = method.as_str()?.to_owned();
            return Some(match id {
                None => Self::Notification { method, params },
                Some(id) => Self::Request { id: id?, method, params },
            });
        }
        if let Some(error) = fields.remove("error") {
            return Some(Self::Error { id: id.flatten(), error: error_of(error) });
        }
        let result = fields.remove("result")?;
        Some(Self::Result { id: id??, result })
    }

    /// Reads of an answer whom it is for, where the rest of it cannot be read: some writers put `NaN` where JSON has none. None where
    /// it may be no answer.
    pub(super) fn read_in_part(line: &[u8]) -> Option<Self> {
        let error = serde_json::from_slice::<Value>(line).err()?;
        let has = |part: &[u8]| line.windows(part.len()).any(|window| window == part);
        let is_answer = line.trim_ascii().ends_with(b"}") && has(IN_ALL) && !has(IN_QUESTIONS);
        let mut skim = Skim::default();
        skim.take(line);
        let id = skim.id().filter(|_| is_answer)?;
        let message = format!("it cannot be read as JSON: {error}");
        Some(Self::Error {
            id: Some(id),
            error: ErrorData::new(ErrorCode(UNREADABLE), message, None),
        })
    }

    /// How far a call is, where that is what the message tells.
    pub(super) fn progress(&self) -> Option<ProgressNotificationParam> {
        match self {
            Self::Notification { method, params } if method == "notifications/progress" => {
                serde_json::from_value(params.clone()).ok()
            }
            _ => None,
        }
    }

    pub(super) fn too_large(id: RequestId, bytes: u64) -> Self {
        let message = format!("its answer of {bytes} bytes was too large");
        let error = ErrorData::new(ErrorCode(TOO_LARGE), message, Some(json!({"bytes": bytes})));
        Self::Error { id: Some(id), error }
    }

    /// Takes the server's secrets out of it. What a client has to give back as it came stays.
    pub(super) fn hide(&mut self, secrets: &Secrets) {
        match self {
            Self::Request { method, params, .. } if method == form::METHOD => {
                form::hide(params, secrets);
            }
            Self::Request { params, .. } | Self::Notification { params, .. } => {
                secrets.hidden_in(params);
            }
            Self::Result { result, .. } => {
                // The questions' names go back with the answers.
                let questions = result.get_mut(QUESTIONS).map(Value::take);
                let given_back = GIVEN_BACK.map(|key| result.get_mut(key).map(Value::take));
                secrets.hidden_in(result);
                for (key, value) in GIVEN_BACK.into_iter().zip(given_back) {
                    if let Some(value) = value {
                        result[key] = value;
                    }
                }
                if let Some(mut questions) = questions {
                    match &mut questions {
                        Value::Object(questions) => {
                            questions
                                .values_mut()
                                .for_each(|asked| form::hide_question(asked, secrets));
                        }
                        other => secrets.hidden_in(other),
                    }
                    result[QUESTIONS] = questions;
                }
            }
            Self::Error { error, .. } => {
                let message = std::mem::take(&mut error.message);
                error.message = Cow::Owned(secrets.hidden(message.into_owned()));
                error.data.iter_mut().for_each(|data| secrets.hidden_in(data));
            }
        }
    }

    /// The message as the SDK takes it, with what a server says left as it came; none for what nobody here listens to.
    pub(super) fn for_the_sdk(self) -> Option<RxJsonRpcMessage<RoleClient>> {
        Some(match self {
            Self::Result { id, result } => {
                JsonRpcMessage::response(ServerResult::CustomResult(CustomResult(result)), id)
            }
            Self::Error { id, error } => JsonRpcMessage::error(error, id),
            Self::Request { id, method, params } => {
                let request = match method.as_str() {
                    "ping" => ServerRequest::PingRequest(Default::default()),
                    _ => ServerRequest::CustomRequest(CustomRequest::new(method, Some(params))),
                };
                JsonRpcMessage::request(request, id)
            }
            // Logging is deprecated, and the tools of a run are those that it began with.
            Self::Notification { .. } => return None,
        })
    }
}

/// An id as servers write it. A number that is whole is the same with `.0`.
fn request_id(id: &Value) -> Option<RequestId> {
    match id {
        Value::String(text) => Some(RequestId::String(Arc::from(text.as_str()))),
        Value::Number(number) => {
            #[expect(clippy::cast_possible_truncation, reason = "bounded and without a fraction")]
            let whole = |float: f64| {
                (float.fract() == 0.0 && float.abs() < f64::from(u32::MAX)).then_some(float as i64)
            };
            let whole = number.as_i64().or_else(|| number.as_f64().and_then(whole));
            whole.map(RequestId::Number)
        }
        _ => None,
    }
}

fn error_of(error: Value) -> ErrorData {
    let code = error.get("code").and_then(Value::as_i64).and_then(|code| i32::try_from(code).ok());
    let code = code.filter(|code| *code != TOO_LARGE).unwrap_or_default();
    let message = match error.get("message").and_then(Value::as_str) {
        Some(message) => message.to_owned(),
        None => error.to_string(),
    };
    ErrorData::new(ErrorCode(code), Cow::Owned(message), error.get("data").cloned())
}
