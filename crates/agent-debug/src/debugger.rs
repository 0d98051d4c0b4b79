//! The debugger of one conversation: at most one session, and the operations on it.

mod halt;
mod look;
mod run;
mod start;

use std::{
    fmt,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use agent_process::{Finder, Launcher, Trust};
use agent_tool_core::ToolError;
use agent_workspace::Workspace;
use tokio::{task::JoinHandle, time::Instant};

pub use self::{
    halt::MAX_FRAMES,
    run::{LAUNCH_TIME, MAX_WAIT_TIME, PAUSE_TIME, RunArgs, STEP_TIME, Step},
    start::{AttachArgs, LaunchArgs},
};
use crate::{
    adapters::{Checkout, Detected},
    breakpoints::{BreakpointState, MAX_BREAKPOINT_LINES, Place, Table, Terms},
    error::{busy, no_session, of_request, of_workspace, running, session_ended, unresponsive},
    report::{AdapterState, AdaptersReport, OutputReport, StatusReport},
    session::{How, Live, MAX_SESSION_TIME},
    source::Places,
    state::{End, Phase},
};

/// How long an end may take that something else began.
const END_TIME: Duration = Duration::from_secs(10);

/// The most bytes of output that one call gives.
pub const MAX_OUTPUT_SHOWN: usize = 16 << 10;

/// How much of what the adapter itself said goes with it.
const CONSOLE_SHOWN: usize = 2 << 10;

/// Drives one debuggee at a time. Clones share it; when the last one is dropped, no process of its session is left.
#[derive(Clone)]
pub struct Debugger {
    inner: Arc<Inner>,
}

struct Inner {
    checkout: Checkout,
    launcher: Launcher,
    places: Places,
    breakpoints: Arc<Mutex<Table>>,
    slot: Mutex<Slot>,
    operating: Mutex<Option<(&'static str, Instant)>>,
}

/// The session, also after its end.
struct Slot {
    live: Option<Arc<Live>>,
    task: Option<JoinHandle<()>>,
    next_id: i64,
}

/// Which breakpoints a file is to have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct BreakpointsArgs {
    /// The file, as the workspace resolves it.
    pub file: String,
    /// The lines, from 1; none clears the file.
    pub lines: Vec<u32>,
    /// Stop only where this expression holds.
    pub condition: Option<String>,
    /// Stop only at such a hit, as the adapter reads it.
    pub hit_condition: Option<String>,
    /// Write this and do not stop; expressions stand in braces.
    pub log_message: Option<String>,
}

/// Holds the place of an operation that changes the session.
struct Operating<'a> {
    inner: &'a Inner,
}

impl BreakpointsArgs {
    /// Breakpoints on these lines.
    #[must_use]
    pub fn new(file: impl Into<String>, lines: impl IntoIterator<Item = u32>) -> Self {
        Self { file: file.into(), lines: lines.into_iter().collect(), ..Self::default() }
    }

    /// The same that stop only where this expression holds.
    #[must_use]
    pub fn when(mut self, condition: impl Into<String>) -> Self {
        self.condition = Some(condition.into());
        self
    }
}

impl Debugger {
    /// A debugger for programs of this workspace, which starts adapters with this launcher. In an untrusted checkout it
    /// starts no program, and nothing that lies in the checkout. Needs a tokio runtime with I/O and time.
    #[must_use]
    pub fn new(workspace: Workspace, launcher: Launcher, trust: Trust) -> Self {
        let finder = Finder::new(launcher.clone());
        Self::with_finder(workspace, launcher, finder, trust)
    }

    /// The same with a finder of the host's own.
    #[must_use]
    pub fn with_finder(
        workspace: Workspace,
        launcher: Launcher,
        finder: Finder,
        trust: Trust,
    ) -> Self {
        let inner = Inner {
            places: Places::new(workspace.clone()),
            checkout: Checkout { workspace, finder, trust },
            launcher,
            breakpoints: Arc::default(),
            slot: Mutex::new(Slot { live: None, task: None, next_id: 1 }),
            operating: Mutex::default(),
        };
        Self { inner: Arc::new(inner) }
    }

    /// Whether programs of the checkout may be started.
    pub(crate) fn is_trusted(&self) -> bool {
        self.inner.checkout.trust != Trust::Untrusted
    }

    /// Which adapters fit here, and why the others do not.
    pub async fn adapters(&self) -> AdaptersReport {
        let checkout = &self.inner.checkout;
        checkout.finder.forget();
        let all = checkout.detect_all(None).await;
        AdaptersReport { adapters: all.iter().map(|one| self.adapter_state(one)).collect() }
    }

    fn adapter_state(&self, detected: &Detected) -> AdapterState {
        let mut why = detected.why_not();
        let interpreter = detected.interpreter.as_ref();
        let found = detected.program.as_ref().ok();
        if let (Some(python), Some(found)) = (interpreter, found)
            && *python != found.path
        {
            let shown = python.display();
            why = Some(format!("programs run in {shown}, which has no debugpy of its own"));
        }
        if self.inner.checkout.trust == Trust::Untrusted && why.is_none() {
            why = Some("the checkout is not trusted, so no program of it is started".to_owned());
        }
        AdapterState {
            id: detected.adapter.id.to_owned(),
            usable: detected.usable(),
            command: detected.command(),
            marker: detected.marker.as_ref().map(|marker| marker.to_string_lossy().into_owned()),
            why,
        }
    }

    /// Whether a session lives, and where it stands.
    #[must_use]
    pub fn status(&self) -> StatusReport {
        let mut breakpoints = self.table().states();
        let Some(live) = self.live() else {
            return StatusReport::none(breakpoints);
        };
        let state = live.shared.state();
        let (name, detail) = match &state.phase {
            Phase::Starting => ("starting", None),
            Phase::Running { since } => {
                ("running", Some(format!("for {} s", since.elapsed().as_secs())))
            }
            Phase::Stopped(halt) => {
                let known = state.last_stop.clone().filter(|_| halt.told);
                let words =
                    known.unwrap_or_else(|| format!("{}; continue shows where", halt.stop.reason));
                ("stopped", Some(words))
            }
            Phase::Ended(ended) => {
                let ago = ended.at.elapsed().as_secs();
                let last = state.last_stop.as_ref().map(|at| format!("; last stop: {at}"));
                ("ended", Some(format!("{ended}, {ago} s ago{}", last.unwrap_or_default())))
            }
        };
        let ended = matches!(state.phase, Phase::Ended(_));
        if ended {
            breakpoints.iter_mut().for_each(BreakpointState::outlive);
        }
        let age = live.started.elapsed();
        StatusReport {
            state: name.to_owned(),
            adapter: Some(live.command.clone()),
            program: Some(live.how.to_string()),
            pid: state.debuggee,
            age_s: Some(age.as_secs()),
            left_s: (!ended).then(|| MAX_SESSION_TIME.saturating_sub(age).as_secs()),
            detail,
            exit_code: state.exited.flatten(),
            unresponsive: state.unresponsive.clone().filter(|_| !ended),
            breakpoints,
            output_bytes: state.output.total(),
        }
    }

    /// Waits until a session that is being torn down is over, so that it is not told of as it last stood.
    pub(crate) async fn settled(&self) {
        let Some(live) = self.live() else { return };
        let over = |state: &mut crate::state::State| {
            let ended = matches!(state.phase, Phase::Ended(_));
            (ended || state.ending.is_none()).then_some(())
        };
        live.shared.wait(END_TIME, over).await;
    }

    /// Replaces the breakpoints of a file, now or for the next start, and says what became of each.
    ///
    /// # Errors
    ///
    /// `invalid_args`, `not_found`, those of the workspace, `unresponsive`, `busy_session`.
    pub async fn breakpoints(
        &self,
        args: &BreakpointsArgs,
    ) -> Result<Vec<BreakpointState>, ToolError> {
        let place = self.place(&args.file)?;
        if args.lines.contains(&0) {
            return Err(ToolError::invalid_args("debug: lines count from 1"));
        }
        if args.lines.len() > MAX_BREAKPOINT_LINES {
            return Err(ToolError::invalid_args(format!(
                "debug: `lines` takes at most {MAX_BREAKPOINT_LINES}"
            )));
        }
        if let Some(hits) = args.hit_condition.as_ref().filter(|hits| !counts_hits(hits)) {
            return Err(ToolError::invalid_args(format!(
                "debug: `hit_condition` came as {hits:?} but takes a count such as 3, or one after ==, >, >=, <, <= or % \
                 where the adapter reads that"
            )));
        }
        let operating = self.operate("breakpoints")?;
        let terms = Terms {
            condition: args.condition.clone(),
            hit_condition: args.hit_condition.clone(),
            log_message: args.log_message.clone(),
        };
        let live = self.live().filter(|live| live.takes_breakpoints());
        if let Some(live) = &live {
            live.responsive()?;
            live.takes(&terms)
                .map_err(|why| ToolError::invalid_args(format!("debug: {why}; leave it out")))?;
        }
        self.table().replace(&place, &args.lines, terms);
        let set = match &live {
            Some(live) => live.set_breakpoints(&place.path, &place.given).await,
            None => Ok(()),
        };
        let states = self.table().states_of(&place.path);
        self.table().tidy();
        drop(operating);
        set.map_err(of_request)?;
        Ok(states)
    }

    /// The last of the debuggee's output, also after its end.
    ///
    /// # Errors
    ///
    /// `no_session`.
    pub fn output(&self) -> Result<OutputReport, ToolError> {
        let live = self.live().ok_or_else(no_session)?;
        let mut state = live.shared.state();
        state.told = state.output.total();
        let piece = state.output.since(0, MAX_OUTPUT_SHOWN);
        Ok(OutputReport {
            output: piece.text,
            before: piece.before,
            dropped: state.output.dropped(),
            total: state.output.total(),
            console: state.console_tail(CONSOLE_SHOWN),
        })
    }

    /// Ends the session, whatever state it is in. Gives how it ended; none if there was none.
    pub async fn terminate(&self) -> Option<String> {
        let live = self.live()?;
        live.shared.end(End::Terminated);
        let ended = |state: &mut crate::state::State| match &state.phase {
            Phase::Ended(ended) => Some((ended.how == End::Terminated, ended.to_string())),
            _ => None,
        };
        match live.shared.wait(END_TIME, ended).await {
            Some((true, _)) if matches!(live.how, How::Attached(_)) => Some(format!(
                "detached from a program that was not started here; {}",
                live.adapter.after_attach
            )),
            Some((_, how)) => Some(how),
            None => {
                live.kill();
                Some("it was killed; its end took too long".to_owned())
            }
        }
    }

    /// Ends the session and waits until its last process is gone.
    pub async fn shutdown(&self) {
        self.terminate().await;
    }

    /// How many requests the session's adapter was sent.
    #[must_use]
    pub fn requests(&self) -> i64 {
        self.live().map_or(0, |live| live.requests())
    }

    fn place(&self, file: &str) -> Result<Place, ToolError> {
        let workspace = &self.inner.checkout.workspace;
        let path = workspace.resolve(file).map_err(of_workspace)?;
        let content = workspace.read(&path).map_err(of_workspace)?;
        let text = agent_workspace::Text::decode(&content.bytes);
        let given: PathBuf = workspace.absolute(&path);
        let length = u32::try_from(text.content.lines().count()).unwrap_or(u32::MAX);
        let real = std::fs::canonicalize(&given).unwrap_or_else(|_| given.clone());
        Ok(Place { path: real, given, shown: workspace.show(&path), length })
    }

    fn live(&self) -> Option<Arc<Live>> {
        self.slot().live.clone()
    }

    /// The session, which must live and answer.
    async fn session(&self) -> Result<Arc<Live>, ToolError> {
        let live = self.live().ok_or_else(no_session)?;
        // What is being torn down is over for whoever asks.
        let settled = |state: &mut crate::state::State| match &state.phase {
            Phase::Ended(ended) => Some(Err(session_ended(&ended.to_string()))),
            _ if state.ending.is_some() => None,
            _ => Some(Ok(())),
        };
        let settled = live.shared.wait(END_TIME, settled).await;
        settled.unwrap_or_else(|| Err(session_ended("it is being torn down")))?;
        live.responsive()?;
        Ok(live)
    }

    /// The session, whose debuggee must stand still.
    async fn stopped(&self) -> Result<(Arc<Live>, crate::state::Halt), ToolError> {
        let live = self.session().await?;
        let halt = match &live.shared.state().phase {
            Phase::Stopped(halt) => halt.clone(),
            Phase::Starting => return Err(running("the program is being started")),
            _ => return Err(running("the program runs")),
        };
        Ok((live, halt))
    }

    fn slot(&self) -> MutexGuard<'_, Slot> {
        self.inner.slot.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.inner.breakpoints.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the place of the one operation that may change the session. It is free again when the guard is dropped, a
    /// cancelled call's too.
    fn operate(&self, name: &'static str) -> Result<Operating<'_>, ToolError> {
        let mut operating = self.inner.operating();
        if let Some((other, since)) = *operating {
            return Err(busy(other, since.elapsed()));
        }
        *operating = Some((name, Instant::now()));
        Ok(Operating { inner: &self.inner })
    }
}

/// Adapters take what they cannot read for "always" or "never", and do not say so.
fn counts_hits(hits: &str) -> bool {
    let count = hits.trim().trim_start_matches(['=', '<', '>', '%']).trim();
    !count.is_empty() && count.bytes().all(|byte| byte.is_ascii_digit())
}

impl Live {
    fn responsive(&self) -> Result<(), ToolError> {
        match &self.shared.state().unresponsive {
            Some(what) => Err(unresponsive(what)),
            None => Ok(()),
        }
    }

    /// Whether breakpoints are sent at once: before its start has read them they are not, and after its end they wait.
    fn takes_breakpoints(&self) -> bool {
        let state = self.shared.state();
        state.ending.is_none() && matches!(state.phase, Phase::Running { .. } | Phase::Stopped(_))
    }
}

impl Inner {
    fn operating(&self) -> MutexGuard<'_, Option<(&'static str, Instant)>> {
        self.operating.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Operating<'_> {
    fn drop(&mut self) {
        *self.inner.operating() = None;
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        let slot = self.slot.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some(task) = slot.task.take() {
            task.abort();
        }
        if let Some(live) = slot.live.take() {
            live.kill();
        }
    }
}

impl fmt::Debug for Debugger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Debugger").field("status", &self.status().state).finish_non_exhaustive()
    }
}

impl fmt::Display for How {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Launched(program) => write!(f, "launched {program}"),
            Self::Attached(port) => write!(f, "attached to port {port}"),
        }
    }
}
