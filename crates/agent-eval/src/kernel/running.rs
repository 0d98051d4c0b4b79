//! The cell that runs: what it has shown, which calls it waits for, when it is stopped.

use std::{collections::BTreeMap, time::Duration};

use jupyter_protocol::Header;
use tokio::{sync::mpsc, time::Instant};

use super::{CellEvent, Job};
use crate::{
    budget::{Budget, CALLS_TIME, Ladder, Step},
    outcome::{CellError, Collector, HEAD_BYTES, Outcome, State, Status},
    wire::Stream,
};

/// Why a cell is being stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// It was silent for too long.
    Silence,
    /// Somebody asked for it.
    Asked,
    /// Nobody waits for its outcome any more.
    Forgotten,
}

#[derive(Debug)]
pub(super) struct Running {
    pub collector: Collector,
    pub events: mpsc::UnboundedSender<CellEvent>,
    pub calls: BTreeMap<String, Header>,
    pub error: Option<CellError>,
    pub reply: Option<Reply>,
    pub idle: bool,
    /// Whether output came since the last sign of life that was over what is kept.
    overflows: bool,
    budget: Budget,
    window: Duration,
    began: Instant,
    stopping: Option<(Stop, Ladder)>,
}

/// What the kernel said at the end.
#[derive(Debug)]
pub(super) struct Reply {
    pub ok: bool,
    pub began: bool,
    pub execution_count: u64,
    pub names: (Vec<String>, u64),
}

impl Running {
    pub(super) fn new(job: &Job, since: Collector) -> Self {
        let now = Instant::now();
        Self {
            collector: since,
            events: job.events.clone(),
            calls: BTreeMap::new(),
            error: None,
            reply: None,
            idle: false,
            overflows: false,
            budget: Budget::new(job.idle, now),
            window: job.idle,
            began: now,
            stopping: None,
        }
    }

    /// Takes output. Only what is kept is a sign of life, or a cell that prints for ever would live for ever.
    pub(super) fn text(&mut self, stream: Stream, bytes: Vec<u8>) {
        if self.collector.text(stream, &bytes) {
            self.alive();
            let _ = self.events.send(CellEvent::Output(bytes));
        } else {
            self.overflows = true;
        }
    }

    pub(super) fn alive(&mut self) {
        self.overflows = false;
        self.budget.activity(Instant::now());
    }

    pub(super) fn call_began(&mut self, id: String, header: Header) {
        self.calls.insert(id, header);
        self.budget.call_began();
    }

    /// The request that a reply is for; none if it was given up.
    pub(super) fn call_ended(&mut self, id: &str) -> Option<Header> {
        let header = self.calls.remove(id)?;
        self.budget.call_ended(Instant::now());
        Some(header)
    }

    /// Begins to stop it, unless that has begun.
    pub(super) fn stop(&mut self, why: Stop) {
        if self.stopping.is_none() {
            let wait = if self.calls.is_empty() { Duration::ZERO } else { CALLS_TIME };
            self.stopping = Some((why, Ladder::new(Instant::now() + wait)));
        }
    }

    pub(super) fn is_stopping(&self) -> bool {
        self.stopping.is_some()
    }

    /// When there is something to do: the time of silence is over, or a step of the stop is due.
    pub(super) fn wake(&self) -> Option<Instant> {
        match &self.stopping {
            Some((_, ladder)) => ladder.due(),
            None => self.budget.until(),
        }
    }

    /// Whether the time of silence is over.
    pub(super) fn is_silent(&self) -> bool {
        !self.is_stopping() && self.budget.until().is_some_and(|until| Instant::now() >= until)
    }

    /// The next step of the stop, once it is due.
    pub(super) fn step(&mut self) -> Option<Step> {
        let (_, ladder) = self.stopping.as_mut()?;
        ladder.take(Instant::now())
    }

    /// Whether both signs of its end have come.
    pub(super) fn is_over(&self) -> bool {
        self.idle && self.reply.is_some()
    }

    /// The outcome of a cell that ended with the kernel alive, or with `death`.
    pub(super) fn finish(mut self, death: Option<String>) -> Outcome {
        let reply = self.reply.take();
        let failed = reply.as_ref().is_some_and(|reply| !reply.ok);
        // A cell that went on to its end by itself while the stop began was not stopped.
        let stopped = self.stopping.filter(|_| failed || death.is_some()).map(|(why, _)| why);
        let status = match (stopped, &death) {
            (Some(Stop::Silence), _) => Status::TimedOut,
            (Some(Stop::Asked | Stop::Forgotten), _) => Status::Interrupted,
            (None, Some(_)) => Status::Died,
            (None, None) if failed => Status::Error,
            (None, None) => Status::Ok,
        };
        if status == Status::TimedOut {
            let window = seconds(self.window);
            self.collector.note(match self.overflows {
                true => format!(
                    "stopped: for {window} it showed nothing that is kept, since it had printed over {} KiB, and more buys no \
                     time; print less to run longer, and write long output to a file",
                    HEAD_BYTES >> 10
                ),
                false => {
                    format!("stopped: it showed nothing for {window}; print progress to run longer")
                }
            });
        }
        let state = if death.is_some() { State::Gone } else { State::Kept };
        let (shown, truncated) = self.collector.finish();
        let began = reply.as_ref().is_none_or(|reply| reply.began);
        let (execution_count, names) =
            reply.map(|reply| (reply.execution_count, reply.names)).unwrap_or_default();
        Outcome {
            status,
            execution_count,
            shown,
            error: self.error,
            state,
            new_interpreter: false,
            names,
            duration: self.began.elapsed(),
            truncated,
            began,
            death,
            label: String::new(),
        }
    }
}

fn seconds(time: Duration) -> String {
    match time.as_secs() {
        0 => format!("{} ms", time.as_millis()),
        whole => format!("{whole} s"),
    }
}
