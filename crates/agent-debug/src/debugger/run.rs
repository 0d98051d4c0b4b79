//! `continue`, `pause` and the steps.

use std::{sync::Arc, time::Duration};

use agent_tool_core::ToolError;

use super::{Debugger, halt::Left};
use crate::{
    error::{RequestError, of_request, running},
    protocol::outgoing::{self, Request, StepKind},
    report::{RunReport, RunState},
    session::{Live, MAX_REQUEST_TIME},
    state::{Halt, Phase, State},
};

/// How long `launch` and `continue` wait for a stop, unless they are told otherwise.
pub const LAUNCH_TIME: Duration = Duration::from_secs(20);

/// How long a step waits.
pub const STEP_TIME: Duration = Duration::from_secs(10);

/// How long `pause` waits.
pub const PAUSE_TIME: Duration = Duration::from_secs(5);

/// The longest wait that can be asked for.
pub const MAX_WAIT_TIME: Duration = Duration::from_mins(5);

/// What is said where a `continue` ends by a step.
const CUT_OFF: &str =
    "an earlier step that a stop had cut off came to its end here; call continue again to go on";

/// What resumes, and how long to wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RunArgs {
    /// The thread; the one that stopped last by default.
    pub thread: Option<i64>,
    /// How long to wait for the next stop.
    pub timeout: Option<Duration>,
}

/// One step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "it is chosen by the caller")]
pub enum Step {
    /// To the next line, over calls.
    Over,
    /// Into the call.
    In,
    /// Out of the function.
    Out,
}

impl RunArgs {
    /// The thread that stopped last, for the usual time.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// This thread.
    #[must_use]
    pub fn thread(mut self, thread: i64) -> Self {
        self.thread = Some(thread);
        self
    }

    /// Waits so long.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }
}

impl Debugger {
    /// Runs until the next stop. While the debuggee runs it waits again; a stop that no result has told of yet is told, and
    /// nothing is resumed.
    ///
    /// # Errors
    ///
    /// `no_session`, `session_ended`, `unknown_thread`, `unresponsive`, `adapter_died`, `adapter_refused`, `busy_session`.
    pub async fn resume(&self, args: &RunArgs) -> Result<RunReport, ToolError> {
        let _operating = self.operate("continue")?;
        let live = self.session().await?;
        let wait = args.timeout.unwrap_or(LAUNCH_TIME);
        let phase = live.shared.state().phase.clone();
        match phase {
            Phase::Stopped(halt) if halt.told => {
                let thread = self.thread(&live, &halt, args.thread).await?;
                let mut report = self.go(&live, halt, outgoing::resume(thread), wait, None).await?;
                if report.reason.as_deref() == Some("step") {
                    report.notes.push(CUT_OFF.to_owned());
                }
                Ok(report)
            }
            Phase::Stopped(_) => self.untold(&live, "continue").await,
            _ => self.halted(&live, wait).await,
        }
    }

    /// One step.
    ///
    /// # Errors
    ///
    /// As [`Debugger::resume`], and `running`.
    pub async fn step(&self, step: Step, args: &RunArgs) -> Result<RunReport, ToolError> {
        let (name, kind) = match step {
            Step::Over => ("step_over", StepKind::Over),
            Step::In => ("step_in", StepKind::In),
            Step::Out => ("step_out", StepKind::Out),
        };
        let _operating = self.operate(name)?;
        let (live, halt) = self.stopped().await?;
        if !halt.told {
            return self.untold(&live, name).await;
        }
        let thread = self.thread(&live, &halt, args.thread).await?;
        let wait = args.timeout.unwrap_or(STEP_TIME);
        self.go(&live, halt, outgoing::step(kind, thread), wait, Some(thread)).await
    }

    /// Stops the debuggee where it is. One that stands still is told of as it stands.
    ///
    /// # Errors
    ///
    /// `no_session`, `session_ended`, `running` while it starts, `unknown_thread`, `unresponsive`, `adapter_refused`.
    pub async fn pause(&self, args: &RunArgs) -> Result<RunReport, ToolError> {
        let live = self.session().await?;
        let wait = args.timeout.unwrap_or(PAUSE_TIME);
        let phase = live.shared.state().phase.clone();
        match phase {
            Phase::Starting => return Err(running("the program is being started")),
            Phase::Running { .. } => {}
            _ => {
                let mut report = self.halted(&live, wait).await?;
                if report.state == RunState::Stopped {
                    report.notes.push("it stood still already; nothing was paused".to_owned());
                }
                return Ok(report);
            }
        }
        let thread = self.running_thread(&live, args.thread).await?;
        live.shared.change(|state| state.pausing = true);
        let asked = live.ask(&outgoing::pause(thread), MAX_REQUEST_TIME).await;
        if let Err(error) = asked {
            live.shared.change(|state| state.pausing = false);
            if !matches!(live.shared.state().phase, Phase::Stopped(_) | Phase::Ended(_)) {
                return Err(of_request(error));
            }
        }
        self.halted(&live, wait).await
    }

    /// A stop that nobody was told of is told first: resuming would hide it.
    async fn untold(&self, live: &Arc<Live>, name: &str) -> Result<RunReport, ToolError> {
        let mut report = self.halted(live, LAUNCH_TIME).await?;
        report.notes.push(format!(
            "it had stopped in the meantime, so {name} resumed nothing; call it again to go on"
        ));
        Ok(report)
    }

    /// Resumes, and waits for what comes of it.
    async fn go(
        &self,
        live: &Arc<Live>,
        halt: Halt,
        request: Request,
        wait: Duration,
        stepped: Option<i64>,
    ) -> Result<RunReport, ToolError> {
        // An adapter that is resumed while it still stops threads can hang; one that answered for the stack is through.
        if halt.frames.is_none() {
            self.frames(live, &halt).await?;
        }
        live.settled(&halt).await;
        // The state changes before the request leaves, so a stop that is quicker than the answer is a new one.
        live.shared.change(State::resumed);
        let left = Left { stop: halt.number, stepped };
        let mut asked = live.ask_apart(request, move |state| state.resume_failed(halt));
        let halted = self.halted_after(live, wait, left);
        tokio::pin!(halted);
        tokio::select! {
            biased;
            answer = &mut asked => match answer {
                Ok(Err(error @ (RequestError::Refused(_) | RequestError::Late(..)))) => {
                    Err(of_request(error))
                }
                _ => halted.await,
            },
            report = &mut halted => report,
        }
    }
}
