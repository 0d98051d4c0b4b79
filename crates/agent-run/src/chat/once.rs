//! One prompt, answered without a person: as text, as an object, or as a line for each thing that happens.

use std::{
    collections::HashMap,
    io::{self, Write as _},
    process::ExitCode,
    sync::{Mutex, MutexGuard, PoisonError},
};

use agent_loop::{Agent, Conversation, Turn, TurnEvent, Watch};
use agent_tiers::ResultLine;
use agent_tool_core::{CallId, ErrorKind, for_person};
use anyhow::Result;
use serde::Serialize;
use serde_json::{Value, json};

use super::{
    saved::{Journal, Stage},
    show::summary,
};
use crate::{
    args::Printed,
    edge, signals,
    style::{FAINT, in_style, remark},
};

/// The tool that asks a person, which is not there where nobody is.
const ASK_USER: &str = "ask_user";

/// A turn that something else than the model's own end ended.
const NOT_DONE: u8 = 1;

/// Answers, and says by the exit code whether the model was done.
pub(super) async fn once(
    agent: &Agent,
    conversation: &mut Conversation,
    journal: &Journal,
    printed: Printed,
) -> Result<ExitCode> {
    let stream = Stream { journal, printed, seen: Mutex::default() };
    let turn = agent.turn(conversation, &stream).await;
    let refused = std::mem::take(&mut stream.seen().refused);
    match printed {
        Printed::Text => {
            if !turn.text.is_empty() {
                writeln!(io::stdout().lock(), "{}", turn.text)?;
            }
            if !turn.end.is_done() {
                remark(turn.end.sentence());
            }
        }
        Printed::Json => line(&object(agent, &turn, &refused))?,
        Printed::StreamJson => {
            let mut last = object(agent, &turn, &refused);
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

fn object(agent: &Agent, turn: &Turn, refused: &[Refused]) -> Value {
    let mut object = serde_json::to_value(turn).unwrap_or_default();
    object["ok"] = turn.end.is_done().into();
    object["said"] = turn.end.sentence().into();
    object["model"] = agent.model().name().into();
    object["refused"] = json!(refused);
    object
}

fn line(value: &Value) -> Result<()> {
    Ok(writeln!(io::stdout().lock(), "{value}")?)
}

/// Keeps the journal and prints what happens: all of it where that is asked for, and on standard error what a person would miss
/// in the answer.
struct Stream<'a> {
    journal: &'a Journal,
    printed: Printed,
    seen: Mutex<Seen>,
}

#[derive(Default)]
struct Seen {
    /// What the calls are about.
    about: HashMap<CallId, String>,
    refused: Vec<Refused>,
}

/// A call that was not made for want of a person, or of their leave.
#[derive(Serialize)]
struct Refused {
    call_id: CallId,
    tool: String,
    /// What it was to be, in short.
    about: String,
    code: String,
}

impl Stream<'_> {
    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes a call, and what became of it where that is a refusal.
    fn note(&self, event: &TurnEvent) {
        match event {
            TurnEvent::CallStarted { call_id, name, args } => {
                self.seen().about.insert(call_id.clone(), summary(name, args));
            }
            TurnEvent::CallFinished { call_id, name, result, .. } => {
                let about = self.seen().about.remove(call_id).unwrap_or_default();
                let Err(error) = &**result else { return };
                // With nobody there, there is no such tool: what it asks is not answered all the same.
                if error.kind != ErrorKind::Denied && name != ASK_USER {
                    return;
                }
                let (tool, code) = (name.clone(), error.code.clone().into_owned());
                let refused = Refused { call_id: call_id.clone(), tool, about, code };
                if self.printed != Printed::StreamJson {
                    remark(in_style(FAINT, refused.in_words()));
                }
                self.seen().refused.push(refused);
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

impl Refused {
    fn in_words(&self) -> String {
        let what = format!("{} {}", edge::word(&self.tool), self.about);
        let what = for_person(what.trim());
        if self.tool == ASK_USER {
            return format!("not asked: {what} ({}); nobody is there to answer", self.code);
        }
        let hint = match &*self.code {
            "no_approver" => "; `--approve all` lets such calls through",
            _ => "",
        };
        format!("refused: {what} ({}){hint}", self.code)
    }
}

impl Watch for Stream<'_> {
    fn event(&self, event: TurnEvent) {
        self.note(&event);
        if let TurnEvent::Message(message) = &event {
            self.journal.add(message);
        }
        if let TurnEvent::CallStarted { call_id, .. } = &event {
            self.journal.stage(call_id, Stage::Begun);
        }
        if self.printed != Printed::StreamJson {
            return;
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
