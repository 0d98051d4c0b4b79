//! One prompt, answered without a person: as text, as an object, or as a line for each thing that happens.

use std::{
    collections::HashMap,
    convert::Infallible,
    io::{self, Write as _},
    process::ExitCode,
    sync::{Mutex, MutexGuard},
};

use agent_loop::{Agent, Conversation, Turn, TurnEvent, Watch};
use agent_tiers::{ResultLine, Run, Surface, Watcher, What};
use agent_tool_core::{CallId, Dispatch as _, ErrorKind, Limits, Secrets};
use agent_vibe::{Status, Workers};
use anyhow::Result;
use serde::Serialize;
use serde_json::{Value, json};

use super::{
    discreet::Discreet,
    saved::{Journal, Stage},
    show::{NOTHING, summary},
};
use crate::{
    args::Printed,
    assemble::{Assembled, end_workers},
    edge, lock, signals,
    style::{FAINT, in_style, remark},
};

/// The tool that asks a person, which is not there where nobody is.
const ASK_USER: &str = "ask_user";

/// What a call of a tool that is not on the surface is refused with.
const UNKNOWN_TOOL: &str = "unknown_tool";

/// A turn that something else than the model's own end ended, or that came to nothing.
const NOT_DONE: u8 = 1;

/// Answers one prompt, keeps the journal and prints what happens: all of it where that is asked for, and on standard error what
/// a person would miss in the answer.
pub(super) struct Once<'a> {
    run: &'a Run,
    workers: Option<&'a Workers>,
    journal: &'a Journal,
    secrets: Secrets,
    printed: Printed,
    /// The tools that there are on a full surface.
    tools: Vec<String>,
    seen: Mutex<Seen>,
}

#[derive(Default)]
struct Seen {
    /// What the calls are about.
    about: HashMap<CallId, About>,
    refused: Vec<Refused>,
    /// For what the model's server was asked again last.
    failed: String,
}

/// A call that is under way.
struct About {
    tool: String,
    about: String,
    /// Who made it, where that is not the model itself.
    by: Option<String>,
}

/// A call that was not made for want of a person, of their leave, or of a tool on this surface.
#[derive(Serialize)]
struct Refused {
    call_id: CallId,
    tool: String,
    /// What it was to be, in short.
    about: String,
    code: String,
    /// The worker or the tool that made the call; none for the model's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<String>,
}

/// How a worker stood when the run ended.
#[derive(Serialize)]
pub(super) struct WorkerAtEnd {
    id: String,
    label: String,
    status: Status,
    /// Whether the end of the run killed it at its work.
    killed_at_end: bool,
}

impl<'a> Once<'a> {
    pub(super) fn new(
        assembled: &'a Assembled,
        journal: &'a Journal,
        secrets: Secrets,
        printed: Printed,
    ) -> Self {
        let full = assembled.run.view(Surface::Full, Limits::default());
        let tools = full.specs().iter().map(|spec| spec.name.clone()).collect();
        let (run, workers) = (&assembled.run, assembled.workers.as_ref());
        Self { run, workers, journal, secrets, printed, tools, seen: Mutex::default() }
    }

    /// One turn of the model's.
    pub(super) async fn turn(&self, agent: &Agent, conversation: &mut Conversation) -> Turn {
        let mut watcher = self.run.watch();
        let discreet = Discreet::new(self, &self.secrets);
        let turn = tokio::select! {
            turn = agent.turn(conversation, &discreet) => turn,
            never = self.look_at_others(&mut watcher) => match never {},
        };
        while let Some(watched) = watcher.try_next() {
            self.note_of_others(&watched.record.what);
        }
        turn
    }

    /// Ends the workers, and says how each stood.
    pub(super) async fn end_workers(&self) -> Vec<WorkerAtEnd> {
        let Some(workers) = self.workers else { return Vec::new() };
        let before = workers.list();
        let before: HashMap<_, _> =
            before.iter().map(|worker| (worker.worker_id.as_str(), worker.status)).collect();
        if let Some(killed) = end_workers(Some(workers)).await {
            remark(killed);
        }
        let after = workers.list().into_iter();
        let ended = after.map(|report| {
            // One that had ended before the end of the run ended as it did.
            let ended = before.get(report.worker_id.as_str()).copied();
            let status = ended.filter(|status| *status != Status::Running).unwrap_or(report.status);
            WorkerAtEnd {
                killed_at_end: ended == Some(Status::Running) && status == Status::Killed,
                id: report.worker_id,
                label: report.label,
                status,
            }
        });
        ended.collect()
    }

    /// Prints what a turn came to, and says by the exit code whether the model was done and said something.
    pub(super) fn say(
        &self,
        agent: &Agent,
        turn: &Turn,
        workers: &[WorkerAtEnd],
    ) -> Result<ExitCode> {
        let empty = turn.end.is_done() && turn.text.trim().is_empty();
        let ok = turn.end.is_done() && !empty;
        if self.printed == Printed::Text {
            if !turn.text.is_empty() {
                writeln!(io::stdout().lock(), "{}", self.secrets.hidden(turn.text.clone()))?;
            }
            match empty {
                true => remark(NOTHING),
                false if !ok => remark(edge::end(&turn.end)),
                false => {}
            }
        } else {
            let mut object = serde_json::to_value(turn).unwrap_or_default();
            object["ok"] = ok.into();
            object["said"] = turn.end.sentence().into();
            if empty {
                object["end"] = json!("empty");
                object["said"] = json!(NOTHING);
                remark(in_style(FAINT, NOTHING));
            }
            self.object(object, agent.model().name(), workers)?;
        }
        Ok(ExitCode::from(if ok { 0 } else { NOT_DONE }))
    }

    /// What is printed where a signal ended the program before the turn ended.
    pub(super) fn say_cut_off(
        &self,
        model: &str,
        why: signals::Ended,
        workers: &[WorkerAtEnd],
    ) -> Result<()> {
        match self.printed {
            Printed::Text => Ok(()),
            _ => self.object(cancelled(why), model, workers),
        }
    }

    fn object(&self, mut object: Value, model: &str, workers: &[WorkerAtEnd]) -> Result<()> {
        object["model"] = model.into();
        object["refused"] = json!(self.seen().refused);
        object["workers"] = json!(workers);
        self.secrets.hidden_in(&mut object);
        last_line(object, self.printed)
    }

    async fn look_at_others(&self, watcher: &mut Watcher) -> Infallible {
        while let Some(watched) = watcher.next().await {
            self.note_of_others(&watched.record.what);
        }
        std::future::pending().await
    }

    /// Notes the calls that workers and tools make, and which of them were refused.
    fn note_of_others(&self, what: &What) {
        match what {
            What::Started { call_id, callers, name, args, .. } => {
                let Some(caller) = callers.last() else { return };
                let (tool, about, by) =
                    (name.clone(), summary(name, args), Some(caller.name.clone()));
                self.seen().about.insert(call_id.clone(), About { tool, about, by });
            }
            What::Finished { call_id, error, .. } => {
                let others = |about: &About| about.by.is_some();
                if !self.seen().about.get(call_id).is_some_and(others) {
                    return;
                }
                let error = error.as_ref().map(|error| (error.kind, error.code.as_str()));
                self.note_end(call_id, error);
            }
            What::Cancelled { call_id, .. } => {
                self.seen().about.remove(call_id);
            }
            _ => {}
        }
    }

    /// Notes the end of a call, where it is a refusal.
    fn note_end(&self, call_id: &CallId, error: Option<(ErrorKind, &str)>) {
        let Some(About { tool, about, by }) = self.seen().about.remove(call_id) else { return };
        let Some((kind, code)) = error else { return };
        // With nobody there, there is no such tool: what it asks is not answered all the same.
        let hidden = code == UNKNOWN_TOOL && (tool == ASK_USER || self.tools.contains(&tool));
        if kind != ErrorKind::Denied && !hidden {
            return;
        }
        let (call_id, code) = (call_id.clone(), code.to_owned());
        let refused = Refused { call_id, tool, about, code, by };
        if self.printed != Printed::StreamJson {
            remark(in_style(FAINT, self.secrets.hidden(refused.in_words())));
        }
        self.seen().refused.push(refused);
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        lock(&self.seen)
    }

    /// Notes a call of the model's own, and what became of it where that is a refusal.
    fn note(&self, event: &TurnEvent) {
        match event {
            TurnEvent::CallStarted { call_id, name, args } => {
                let about = About { tool: name.clone(), about: summary(name, args), by: None };
                self.seen().about.insert(call_id.clone(), about);
            }
            TurnEvent::CallFinished { call_id, result, .. } => {
                let error = result.as_ref().as_ref().err();
                self.note_end(call_id, error.map(|error| (error.kind, error.code.as_ref())));
            }
            TurnEvent::Retrying { error, wait, time, most, .. } => {
                let mut seen = self.seen();
                let said = edge::retrying(error, &mut seen.failed, *wait, (*time, *most));
                drop(seen);
                remark(in_style(FAINT, said));
            }
            _ => {}
        }
    }
}

/// What is printed where a signal ended the program before it asked the model.
pub(super) fn cut_off_before_it_began(
    model: &str,
    printed: Printed,
    why: signals::Ended,
) -> Result<()> {
    if printed == Printed::Text {
        return Ok(());
    }
    let mut object = cancelled(why);
    object["model"] = model.into();
    object["refused"] = json!([]);
    object["workers"] = json!([]);
    last_line(object, printed)
}

fn cancelled(why: signals::Ended) -> Value {
    json!({"end": "cancelled", "ok": false, "said": format!("cancelled by {}", why.signal())})
}

fn last_line(mut object: Value, printed: Printed) -> Result<()> {
    if printed == Printed::StreamJson {
        object["type"] = json!("result");
    }
    line(&object)
}

fn line(value: &Value) -> Result<()> {
    Ok(writeln!(io::stdout().lock(), "{value}")?)
}

impl Refused {
    fn in_words(&self) -> String {
        let what = format!("{} {}", edge::word(&self.tool), edge::row(&self.about));
        let what = what.trim();
        let by = self.by.as_deref().map_or(String::new(), |by| format!(" by {}", edge::asker(by)));
        if self.tool == ASK_USER {
            return format!("not asked{by}: {what} ({}); nobody is there to answer", self.code);
        }
        let hint = match &*self.code {
            "no_approver" => "; `--approve all` lets such calls through",
            UNKNOWN_TOOL => "; this surface does not have it",
            _ => "",
        };
        format!("refused{by}: {what} ({}){hint}", self.code)
    }
}

impl Watch for Once<'_> {
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
        let mut told = match event {
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
        self.secrets.hidden_in(&mut told);
        // Who reads no more is seen when the result is printed.
        let _ = line(&told);
    }
}
