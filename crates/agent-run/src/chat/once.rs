//! One prompt, answered without a person: as text, as an object, or as a line for each thing that happens.

use std::{
    io::{self, Write as _},
    process::ExitCode,
};

use agent_loop::{Agent, Conversation, Turn, TurnEvent, Unwatched, Watch};
use agent_tiers::ResultLine;
use anyhow::Result;
use serde_json::{Value, json};

use super::saved::Journal;
use crate::{args::Printed, style::remark};

/// A turn that something else than the model's own end ended.
const NOT_DONE: u8 = 1;

/// Answers, and says by the exit code whether the model was done.
pub(super) async fn once(
    agent: &Agent,
    conversation: &mut Conversation,
    journal: &Journal,
    printed: Printed,
) -> Result<ExitCode> {
    let stream = Stream { journal, printed };
    let turn = agent.turn(conversation, &stream).await;
    match printed {
        Printed::Text => {
            if !turn.text.is_empty() {
                writeln!(io::stdout().lock(), "{}", turn.text)?;
            }
            if !turn.end.is_done() {
                remark(turn.end.sentence());
            }
        }
        Printed::Json => line(&object(agent, &turn))?,
        Printed::StreamJson => {
            let mut last = object(agent, &turn);
            last["type"] = json!("result");
            line(&last)?;
        }
    }
    Ok(ExitCode::from(if turn.end.is_done() { 0 } else { NOT_DONE }))
}

fn object(agent: &Agent, turn: &Turn) -> Value {
    let mut object = serde_json::to_value(turn).unwrap_or_default();
    object["ok"] = turn.end.is_done().into();
    object["said"] = turn.end.sentence().into();
    object["model"] = agent.model().name().into();
    object
}

fn line(value: &Value) -> Result<()> {
    Ok(writeln!(io::stdout().lock(), "{value}")?)
}

/// Keeps the journal and, where that is asked for, prints what happens.
struct Stream<'a> {
    journal: &'a Journal,
    printed: Printed,
}

impl Watch for Stream<'_> {
    fn event(&self, event: TurnEvent) {
        if let TurnEvent::Message(message) = &event {
            self.journal.add(message);
        }
        if self.printed != Printed::StreamJson {
            return Unwatched.event(event);
        }
        let told = match event {
            TurnEvent::Text(text) => json!({"type": "text", "text": text}),
            TurnEvent::CallStarted { call_id, name, args } => {
                json!({"type": "call", "call_id": call_id, "tool": name, "args": args})
            }
            TurnEvent::CallFinished { call_id, name, result, took } => {
                let mut told =
                    serde_json::to_value(ResultLine::new(name, &result)).unwrap_or_default();
                told["type"] = json!("call_result");
                told["call_id"] = json!(call_id);
                told["ms"] = json!(u64::try_from(took.as_millis()).unwrap_or(u64::MAX));
                told
            }
            TurnEvent::Retrying { error, wait, time, .. } => {
                let ms = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
                json!({"type": "retry", "error": error, "wait_ms": ms, "time": time})
            }
            TurnEvent::StepEnded { step, usage, .. } => {
                json!({"type": "step", "step": step, "usage": usage})
            }
            _ => return,
        };
        // Who reads no more is seen when the result is printed.
        let _ = line(&told);
    }
}
