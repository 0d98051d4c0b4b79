//! One prompt, answered without a person: as text, as an object, or as a line for each thing that happens.

use std::{
    collections::HashMap,
    io::{self, Write as _},
    process::ExitCode,
    sync::{Mutex, PoisonError},
};

use agent_loop::{Agent, Conversation, Turn, TurnEvent, Watch};
use agent_tiers::ResultLine;
use agent_tool_core::{CallId, ErrorKind, for_person};
use anyhow::Result;
use serde_json::{Value, json};

use super::{saved::Journal, show::summary};
use crate::{
    args::Printed,
    edge, signals,
    style::{FAINT, in_style, remark},
};

/// A turn that something else than the model's own end ended.
const NOT_DONE: u8 = 1;

/// Answers, and says by the exit code whether the model was done.
pub(super) async fn once(
    agent: &Agent,
    conversation: &mut Conversation,
    journal: &Journal,
    printed: Printed,
) -> Result<ExitCode> {
    let stream = Stream { journal, printed, about: Mutex::default() };
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

/// What is printed where a signal ended the program before the turn ended.
pub(super) fn cut_off(model: &str, printed: Printed, why: signals::Ended) -> Result<()> {
    let said = format!("cancelled by {}", why.signal());
    let mut object = json!({"end": "cancelled", "ok": false, "said": said, "model": model});
    match printed {
        Printed::Text => return Ok(()),
        Printed::Json => {}
        Printed::StreamJson => object["type"] = json!("result"),
    }
    line(&object)
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

/// Keeps the journal and prints what happens: all of it where that is asked for, else on standard error what a person would miss
/// in the answer.
struct Stream<'a> {
    journal: &'a Journal,
    printed: Printed,
    /// What the calls are about.
    about: Mutex<HashMap<CallId, String>>,
}

impl Stream<'_> {
    /// Says which calls were refused, and what was asked again.
    fn say(&self, event: &TurnEvent) {
        match event {
            TurnEvent::CallFinished { call_id, name, result, .. } => {
                let Err(error) = &**result else { return };
                if error.kind != ErrorKind::Denied {
                    return;
                }
                let about =
                    self.about.lock().unwrap_or_else(PoisonError::into_inner).remove(call_id);
                let what = format!("{} {}", edge::word(name), about.unwrap_or_default());
                let hint = match &*error.code {
                    "no_approver" => "; `--approve all` lets such calls through",
                    _ => "",
                };
                let said = format!("refused: {} ({}){hint}", for_person(what.trim()), error.code);
                remark(in_style(FAINT, said));
            }
            TurnEvent::Retrying { error, wait, time, .. } => {
                let said = for_person(&error.to_string());
                let said =
                    format!("{said}; asked again in {:.1} s (time {time})", wait.as_secs_f64());
                remark(in_style(FAINT, said));
            }
            _ => {}
        }
    }
}

impl Watch for Stream<'_> {
    fn event(&self, event: TurnEvent) {
        if let TurnEvent::CallStarted { call_id, name, args } = &event {
            let about = summary(name, args);
            self.about
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .insert(call_id.clone(), about);
        }
        if let TurnEvent::Message(message) = &event {
            self.journal.add(message);
        }
        match self.printed {
            Printed::StreamJson => {}
            Printed::Json => return,
            Printed::Text => return self.say(&event),
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
