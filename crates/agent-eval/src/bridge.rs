//! The calls that a cell makes: each goes back into the run, with the cell's own call as its parent.

use std::{collections::BTreeMap, future::Future, pin::Pin, task::Poll, time::Duration};

use agent_tool_core::{Context, Part, ToolCall, ToolOutput, ToolResult};
use futures::{StreamExt as _, stream::FuturesUnordered};
use serde_json::{Value, json};
use tokio::{sync::oneshot, time::timeout};

use crate::wire::ToolReply;

type Answered = Pin<Box<dyn Future<Output = (String, Option<ToolReply>)> + Send>>;

/// The calls of one cell. Dropping it drops them.
pub(crate) struct Calls {
    cx: Context,
    within: Duration,
    running: FuturesUnordered<Answered>,
    cancels: BTreeMap<String, oneshot::Sender<()>>,
}

impl Calls {
    pub(crate) fn new(cx: &Context, within: Duration) -> Self {
        Self { cx: cx.clone(), within, running: FuturesUnordered::new(), cancels: BTreeMap::new() }
    }

    pub(crate) fn begin(&mut self, id: String, name: String, args: Value) {
        let (cancel, cancelled) = oneshot::channel::<()>();
        self.cancels.insert(id.clone(), cancel);
        let (cx, within) = (self.cx.clone(), self.within);
        self.running.push(Box::pin(async move {
            let call = timeout(within, cx.call(ToolCall::new(name.clone(), args)));
            let reply = tokio::select! {
                biased;
                _ = cancelled => None,
                done = call => Some(match done {
                    Ok(result) => reply(result),
                    Err(_) => ToolReply::Error {
                        message: format!("{name} did not end within {} s and was cancelled", within.as_secs()),
                        kind: "timeout".to_owned(),
                        code: "call_timed_out".to_owned(),
                    },
                }),
            };
            (id, reply)
        }));
    }

    /// Drops a call that nobody waits for any more.
    pub(crate) fn cancel(&mut self, id: &str) {
        self.cancels.remove(id);
    }

    /// The next call that is done; pending where none runs.
    pub(crate) async fn next(&mut self) -> Option<(String, ToolReply)> {
        loop {
            let done = std::future::poll_fn(|cx| match self.running.poll_next_unpin(cx) {
                Poll::Ready(None) => Poll::Pending,
                other => other,
            })
            .await?;
            self.cancels.remove(&done.0);
            if let (id, Some(reply)) = done {
                return Some((id, reply));
            }
        }
    }
}

fn reply(result: ToolResult) -> ToolReply {
    match result {
        Ok(output) => {
            let data = output.data.clone();
            ToolReply::Value { value: value(output), data }
        }
        Err(error) => ToolReply::Error {
            kind: error.kind.as_str().to_owned(),
            code: error.code.into_owned(),
            message: error.message,
        },
    }
}

/// A result as a cell wants it: its text as a string; what has no text as its structure; an image as a dictionary; several of
/// these as a list.
fn value(output: ToolOutput) -> Value {
    let images = output.parts.iter().any(|part| matches!(part, Part::Image { .. }));
    match output.parts.as_slice() {
        [] => output.data,
        [one] => part(one),
        parts if images => parts.iter().map(part).collect(),
        _ => Value::String(output.joined_text()),
    }
}

fn part(part: &Part) -> Value {
    match part {
        Part::Text { text } => Value::from(text.as_str()),
        Part::Image { mime, base64 } => json!({"data": base64, "mime": mime}),
        _ => Value::Null,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_is_what_a_cell_can_use() {
        assert_eq!(value(ToolOutput::text("a")), json!("a"));
        assert_eq!(value(ToolOutput::text("a").with_part(Part::text("b"))), json!("a\nb"));
        assert_eq!(value(ToolOutput::text("a").with_data(json!({"n": 1}))), json!("a"));
        assert_eq!(value(ToolOutput::default().with_data(json!({"n": 1}))), json!({"n": 1}));
        let image = Part::image("image/png", "AAAA");
        let shown = json!({"mime": "image/png", "data": "AAAA"});
        assert_eq!(value(ToolOutput::default().with_part(image.clone())), shown);
        assert_eq!(value(ToolOutput::text("a").with_part(image)), json!(["a", shown]));
    }
}
