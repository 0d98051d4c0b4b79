//! JSON-RPC 2.0, both ways: requests of our own, answers to the host's.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicU64, Ordering},
    },
};

use serde::Serialize;
use serde_json::{Value, json};
use tokio::sync::oneshot;

use super::{lines::Outbox, protocol::code};
use crate::lock;

/// Why a request was not carried out: for the protocol alone, a tool's error is a result.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RpcError {
    pub code: i64,
    pub message: String,
    pub data: Value,
}

impl RpcError {
    pub(crate) fn new(code: i64, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: Value::Null }
    }

    pub(crate) fn with_data(mut self, data: Value) -> Self {
        self.data = data;
        self
    }
}

/// What came on a line.
#[derive(Debug)]
pub(crate) enum Message {
    Request { id: Value, method: String, params: Value },
    Notification { method: String, params: Value },
    Response { id: Value, result: Result<Value, RpcError> },
}

impl Message {
    /// Reads a message.
    ///
    /// # Errors
    ///
    /// The id to answer under (null where none can be told) and the error.
    pub(crate) fn parse(text: &str) -> Result<Self, Box<(Value, RpcError)>> {
        let mut value: Value = serde_json::from_str(text).map_err(|error| {
            Box::new((Value::Null, RpcError::new(code::PARSE_ERROR, format!("no JSON: {error}"))))
        })?;
        // An id that is none is not repeated: the host could not find it again.
        let invalid = |id: Option<Value>, why: &str| {
            let id = id.filter(is_id).unwrap_or_default();
            Err(Box::new((id, RpcError::new(code::INVALID_REQUEST, why))))
        };
        if value.is_array() {
            return invalid(None, "batches are not taken; send one message a line");
        }
        let id = value.get("id").cloned();
        if value["jsonrpc"] != "2.0" {
            return invalid(id, "`jsonrpc` is not \"2.0\"");
        }
        match (value.get("method"), id) {
            (Some(Value::String(method)), id) => {
                let method = method.clone();
                let params = value.get_mut("params").map(Value::take).unwrap_or_default();
                match id {
                    None => Ok(Message::Notification { method, params }),
                    Some(id) if is_id(&id) => Ok(Message::Request { id, method, params }),
                    id => invalid(id, "`id` is neither a string nor an integer"),
                }
            }
            (Some(_), id) => invalid(id, "`method` is no string"),
            (None, Some(id)) if value.get("result").is_some() => {
                Ok(Message::Response { id, result: Ok(value["result"].take()) })
            }
            (None, Some(id)) if value["error"].is_object() => {
                let error = &value["error"];
                let message = error["message"].as_str().unwrap_or("no message").to_owned();
                let code = error["code"].as_i64().unwrap_or(code::INTERNAL_ERROR);
                Ok(Message::Response {
                    id,
                    result: Err(RpcError { code, message, data: error["data"].clone() }),
                })
            }
            (None, id) => invalid(id, "neither a request nor a response"),
        }
    }
}

fn is_id(id: &Value) -> bool {
    id.is_string() || id.is_i64() || id.is_u64()
}

/// The host, as the run sees it.
#[derive(Clone, Debug)]
pub(crate) struct Peer {
    outbox: Outbox,
    asked: Arc<Asked>,
}

#[derive(Debug, Default)]
struct Asked {
    last_id: AtomicU64,
    waiting: Mutex<HashMap<u64, oneshot::Sender<Result<Value, RpcError>>>>,
}

impl Peer {
    pub(crate) fn new(outbox: Outbox) -> Self {
        Self { outbox, asked: Arc::default() }
    }

    pub(crate) fn outbox(&self) -> &Outbox {
        &self.outbox
    }

    /// Asks the host. The request goes out at once; dropping the answer forgets it.
    pub(crate) fn request(&self, method: &str, params: &impl Serialize) -> Answer {
        let id = self.asked.last_id.fetch_add(1, Ordering::Relaxed) + 1;
        let (sender, receiver) = oneshot::channel();
        self.asked.lock().insert(id, sender);
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        Answer { id, receiver, asked: Arc::clone(&self.asked) }
    }

    pub(crate) fn notify(&self, method: &str, params: &impl Serialize) {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    pub(crate) fn respond(&self, id: &Value, result: Result<Value, RpcError>) {
        let message = match result {
            Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
            Err(RpcError { code, message, data }) => {
                let mut error = json!({"code": code, "message": message});
                if !data.is_null() {
                    error["data"] = data;
                }
                json!({"jsonrpc": "2.0", "id": id, "error": error})
            }
        };
        self.send(&message);
    }

    /// Brings an answer of the host to whoever asked. One that nobody waits for any more is
    /// forgotten: the asker was cancelled.
    ///
    /// # Errors
    ///
    /// What to log, where nothing was ever asked under this id.
    pub(crate) fn answered(
        &self,
        id: &Value,
        result: Result<Value, RpcError>,
    ) -> Result<(), String> {
        let last = self.asked.last_id.load(Ordering::Relaxed);
        let Some(id) = id.as_u64().filter(|id| (1..=last).contains(id)) else {
            return Err(format!("an answer with the id {id} was ignored: no request has it"));
        };
        if let Some(waiting) = self.asked.lock().remove(&id) {
            let _ = waiting.send(result);
        }
        Ok(())
    }

    /// Nobody will answer any more.
    pub(crate) fn hang_up(&self) {
        self.asked.lock().clear();
    }

    fn send(&self, message: &Value) {
        self.outbox.put(message.to_string());
    }
}

impl Asked {
    fn lock(&self) -> MutexGuard<'_, HashMap<u64, oneshot::Sender<Result<Value, RpcError>>>> {
        lock(&self.waiting)
    }
}

/// The host's answer to a request of ours, when it comes.
pub(crate) struct Answer {
    id: u64,
    receiver: oneshot::Receiver<Result<Value, RpcError>>,
    asked: Arc<Asked>,
}

impl Answer {
    /// Waits for it. A host that is gone answers with an error.
    pub(crate) async fn get(mut self) -> Result<Value, RpcError> {
        let gone = || Err(RpcError::new(code::CLOSING, "the host is gone"));
        (&mut self.receiver).await.unwrap_or_else(|_| gone())
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        self.asked.lock().remove(&self.id);
    }
}
