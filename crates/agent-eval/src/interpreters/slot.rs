//! One language's interpreter, and the cells that take turns in it.

use std::sync::{Mutex as Lock, PoisonError};

use agent_tool_core::{Context, ErrorKind, Event, ToolError};
use serde_json::Value;
use tokio::sync::{Mutex, mpsc};

use super::{Cell, Inner, Interrupter, Start};
use crate::{
    Language,
    bridge::Calls,
    javascript,
    kernel::{CellEvent, Job, Kernel, NotStarted},
    outcome::{Outcome, Shown, State, Status},
    rewrite,
};

#[derive(Debug, Default)]
pub(super) struct Slot {
    kernel: Mutex<Option<Kept>>,
    running: Lock<Option<Interrupter>>,
}

/// An interpreter with what a reader knows it by.
#[derive(Debug)]
struct Kept {
    kernel: Kernel,
    label: String,
    /// Whether no cell has begun in it.
    unused: bool,
}

impl Slot {
    pub(super) async fn run(
        &self,
        inner: &Inner,
        cell: Cell,
        cx: &Context,
    ) -> Result<Outcome, ToolError> {
        let mut place = self.kernel.lock().await;
        if cell.start == Start::Reset
            && let Some(kept) = place.take()
        {
            kept.kernel.close().await;
        }
        if let Some(kept) = place.take_if(|kept| kept.kernel.ended().is_some()) {
            let how = match kept.kernel.take_aborted() {
                Some(_) => {
                    "it was killed, since the cell before was cancelled and no interrupt ended it"
                        .to_owned()
                }
                None => format!("{}, since the last cell", kept.kernel.ended().unwrap_or_default()),
            };
            return Ok(Outcome::not_run(&how, kept.label));
        }
        if place.is_none() {
            *place = Some(start(inner, cell.language).await?);
        }
        let Some(kept) = place.as_mut() else { return Err(vanished()) };
        let is_new = std::mem::take(&mut kept.unused);
        let _running = Running::new(self, &kept.kernel);
        let mut outcome = execute(inner, &kept.kernel, &cell, cx).await.unwrap_or_else(|| {
            Outcome::not_run(&kept.kernel.ended().unwrap_or_default(), String::new())
        });
        outcome.label.clone_from(&kept.label);
        outcome.new_interpreter = is_new;
        // Of a cell that was stopped it matters most that its variables are there.
        let by_itself = matches!(outcome.status, Status::Ok | Status::Error);
        if is_new && by_itself && outcome.state == State::Kept {
            outcome.state = State::New;
        }
        if outcome.state == State::Gone {
            drop(_running);
            if let Some(kept) = place.take() {
                kept.kernel.close().await;
            }
        }
        Ok(outcome)
    }

    pub(super) async fn start(
        &self,
        inner: &Inner,
        language: Language,
    ) -> Result<String, ToolError> {
        let mut place = self.kernel.lock().await;
        if let Some(kept) = place.as_ref() {
            return Ok(kept.label.clone());
        }
        Ok(place.insert(start(inner, language).await?).label.clone())
    }

    pub(super) fn interrupter(&self) -> Option<Interrupter> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) async fn close(&self) {
        if let Some(kept) = self.kernel.lock().await.take() {
            kept.kernel.close().await;
        }
    }

    fn set_running(&self, interrupter: Option<Interrupter>) {
        *self.running.lock().unwrap_or_else(PoisonError::into_inner) = interrupter;
    }
}

/// Lets the cell be interrupted from elsewhere for as long as it runs.
struct Running<'a>(&'a Slot);

impl<'a> Running<'a> {
    fn new(slot: &'a Slot, kernel: &Kernel) -> Self {
        slot.set_running(Some(kernel.interrupter()));
        Self(slot)
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.set_running(None);
    }
}

async fn start(inner: &Inner, language: Language) -> Result<Kept, ToolError> {
    let (interpreter, reasons) = inner.interpreter(language).await?;
    let shown = match interpreter.args.first() {
        Some(name) => format!("{name} in {}", inner.place()),
        None => interpreter.program.display().to_string(),
    };
    let kernel = Kernel::start(&inner.launcher, &interpreter).await.map_err(|why| match why {
        NotStarted::Process(error) => {
            let message = format!("the {} interpreter was not started: {error}", language.as_str());
            ToolError::new(ErrorKind::Unavailable, error.code(), message).with_source(error)
        }
        why => ToolError::new(
            ErrorKind::Unavailable,
            "kernel_not_started",
            format!("{shown} did not become a {} interpreter: {why}", language.as_str()),
        ),
    })?;
    let label = inner.label(language, &kernel.version, &kernel.executable, &reasons);
    Ok(Kept { kernel, label, unused: true })
}

/// Runs the cell and its calls; none where the kernel was gone before it could begin.
async fn execute(inner: &Inner, kernel: &Kernel, cell: &Cell, cx: &Context) -> Option<Outcome> {
    // What became of the cell before, if nobody was there to be told.
    let before = kernel.take_aborted();
    let (events, mut incoming) = mpsc::unbounded_channel();
    let about = about(cell);
    // Dropped in the order of declaration backwards: the calls first, then the events, by which the cell is stopped.
    kernel.execute(Job { code: cell.code.clone(), about, idle: inner.times.idle, events });
    let mut calls = Calls::new(cx, inner.times.call);
    loop {
        let event = tokio::select! {
            event = incoming.recv() => event?,
            Some((id, reply)) = calls.next() => {
                kernel.answer(id, reply);
                continue;
            }
        };
        match event {
            CellEvent::Output(bytes) => {
                cx.emit(Event::Output { text: String::from_utf8_lossy(&bytes).into_owned() });
            }
            CellEvent::Call { id, name, args } => calls.begin(id, name, args),
            CellEvent::CancelCall { id } => calls.cancel(&id),
            CellEvent::Done(mut outcome) => {
                let aborted = before.or_else(|| kernel.take_aborted());
                if let Some(aborted) = aborted {
                    outcome.shown.insert(0, Shown::Note(said_of(aborted.kept).to_owned()));
                }
                return Some(*outcome);
            }
        }
    }
}

fn said_of(kept: bool) -> &'static str {
    if kept {
        "the cell before was cancelled and interrupted; its variables so far are kept"
    } else {
        "the cell before was cancelled and had to be killed"
    }
}

/// For the kernel: the rewritten form, where there is one.
fn about(cell: &Cell) -> Value {
    match cell.language {
        Language::Python => match rewrite::rewrite(&cell.code) {
            std::borrow::Cow::Borrowed(_) => serde_json::json!({}),
            std::borrow::Cow::Owned(rewritten) => serde_json::json!({ "rewritten": rewritten }),
        },
        Language::JavaScript => javascript::prepare(&cell.code),
    }
}

fn vanished() -> ToolError {
    ToolError::new(
        ErrorKind::Failed,
        "kernel_not_started",
        "the interpreter did not stay; call again",
    )
}
