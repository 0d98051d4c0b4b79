//! Waiting for a stop or the end, and telling of it.

use std::{sync::Arc, time::Duration};

use agent_tool_core::{ToolError, clip};
use tokio::time::{Instant, sleep};

use super::{Debugger, END_TIME, look::all_scopes};
use crate::{
    error::{RequestError, adapter_died, of_request, unresponsive},
    ids::Kind,
    protocol::{ExceptionInfo, Frame, Scope, outgoing},
    report::{LocalsReport, RunReport, RunState, ThreadShown},
    session::{Live, MAX_REQUEST_TIME},
    source::FrameShown,
    state::{End, Ended, Halt, Phase, State},
};

/// The most frames of a stack.
pub const MAX_FRAMES: usize = 30;

/// How long an adapter that stopped at the entry may take to go on by itself.
const ENTRY_TIME: Duration = Duration::from_millis(200);

/// How long the last output before a crash is waited for.
const CRASH_OUTPUT_TIME: Duration = Duration::from_millis(50);

/// How long a flood before a crash is waited for.
const FLOOD_TIME: Duration = Duration::from_secs(1);

/// What is said where it is not over then.
const MORE_OUTPUT: &str =
    "more output of the program is still on its way here; output shows it once it has come";

/// What is said where debugpy let an exception end the program.
const NO_STOP: &str = "it ended by an exception at which debugpy does not stop, so there were no frames and variables to see: so it is \
                       with a SyntaxError of the program itself, and with a RecursionError, whose depth leaves the debugger none; the \
                       traceback is in the output";

/// How Python begins to tell of one, or tells of a file that it cannot read.
const TRACEBACKS: [&str; 3] =
    ["Traceback (most recent call last)", "SyntaxError: ", "IndentationError: "];

/// How much output a result of a stop shows.
const OUTPUT_BYTES: usize = 4 << 10;

/// How much room the variables at a crash have.
const LOCALS_BYTES: usize = 12 << 10;

/// The most characters of a description.
const DESCRIPTION_CHARS: usize = 1_000;

/// What is said of a crash of which no frame has a line.
const NO_LINES: &str = "no frame of it has a source line: the program was most likely built without debug information; build it \
                        with -g, or as a debug build, to see lines and variables";

/// What a wait came to.
enum Came {
    Stopped(Halt),
    Ended(Ended),
    Nothing,
}

/// What a wait for the next stop left behind.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Left {
    /// The number of the stop; 0 for none.
    pub(super) stop: u64,
    /// The thread that was stepped.
    pub(super) stepped: Option<i64>,
}

/// A stop's reason in one word, and whether the program crashed.
pub(super) struct Reason {
    word: String,
    pub(super) crash: bool,
}

impl Debugger {
    /// Waits for a stop or the end and tells of it, or that the debuggee runs on.
    pub(super) async fn halted(
        &self,
        live: &Arc<Live>,
        wait: Duration,
    ) -> Result<RunReport, ToolError> {
        self.halted_after(live, wait, Left::default()).await
    }

    /// The same, for a debuggee that was told to leave a stop: one that the adapter did not let go stands there again, and
    /// that is nothing new.
    pub(super) async fn halted_after(
        &self,
        live: &Arc<Live>,
        wait: Duration,
        left: Left,
    ) -> Result<RunReport, ToolError> {
        let deadline = Instant::now() + wait;
        loop {
            let time = deadline.saturating_duration_since(Instant::now());
            match came(live, time, left.stop).await {
                Came::Stopped(halt) => {
                    if let Some(report) = self.stop_report(live, &halt, left.stepped).await? {
                        return Ok(report);
                    }
                }
                Came::Ended(ended) => return self.end_report(live, &ended),
                Came::Nothing => {
                    live.responsive()?;
                    return Ok(self.running_report(live, wait));
                }
            }
        }
    }

    /// Tells of a stop; none if the debuggee moved on meanwhile.
    async fn stop_report(
        &self,
        live: &Arc<Live>,
        halt: &Halt,
        stepped: Option<i64>,
    ) -> Result<Option<RunReport>, ToolError> {
        let frames = match self.frames(live, halt).await {
            Ok(frames) => frames,
            Err(_) if !still(live, halt) => return Ok(None),
            Err(error) => return Err(error),
        };
        let reason = reason(live, halt, &frames);
        if is_exit(live, halt)
            && let Some(thread) = halt.stop.thread
        {
            live.settled(halt).await;
            live.shared.change(State::resumed);
            let again = halt.clone();
            live.ask_apart(outgoing::resume(thread), move |state| state.resume_failed(again));
            return Ok(None);
        }
        let mut report = RunReport::new(RunState::Stopped);
        report.description = self.description(live, halt, &reason).await;
        let thread = live.shared.state().thread_of(halt);
        report.thread = thread.map(|id| ThreadShown { id, name: None });
        report.frames = self.shown(live, &frames);
        report.frame = report.frames.first().cloned().map(|top| self.inner.places.with_text(top));
        if let Some(user) = report.frames.iter_mut().find(|frame| frame.user) {
            *user = self.inner.places.with_text(user.clone());
        }
        if reason.crash {
            live.shared.state().crashed = true;
            match self.crash_locals(live, &report.frames).await {
                Ok(locals) => report.locals = locals,
                Err(why) => report.notes.push(format!("the locals were not read: {why}")),
            }
            if !output_settled(live).await {
                report.notes.push(MORE_OUTPUT.to_owned());
            }
        }
        if reason.crash
            && !report.frames.is_empty()
            && report.frames.iter().all(|frame| frame.line.is_none())
        {
            report.notes.push(NO_LINES.to_owned());
        }
        report.reason = Some(reason.word);
        if let (Some(stepped), Some(stopped)) = (stepped, halt.stop.thread)
            && stepped != stopped
        {
            report
                .notes
                .push(format!("it stopped in another thread than {stepped}, which was stepped"));
        }
        report.notes.extend(trouble(live));
        report.output = new_output(live);
        let headline = report.headline();
        let words = headline.strip_prefix("stopped: ").unwrap_or(&headline).to_owned();
        let told = live.shared.change(|state| state.told(halt, words));
        Ok(told.then_some(report))
    }

    /// The stack of a stop, read once.
    pub(super) async fn frames(&self, live: &Live, halt: &Halt) -> Result<Vec<Frame>, ToolError> {
        if let Phase::Stopped(now) = &live.shared.state().phase
            && now.number == halt.number
            && let Some(frames) = &now.frames
        {
            return Ok(frames.clone());
        }
        let thread = match halt.stop.thread {
            Some(thread) => thread,
            None => self.any_thread(live).await?,
        };
        let request = outgoing::stack_trace(thread, MAX_FRAMES);
        let frames = match live.ask(&request, MAX_REQUEST_TIME).await {
            Ok(body) => Frame::all(&body),
            // A stop without a stack is a stop.
            Err(RequestError::Refused(_)) => Vec::new(),
            Err(error) => return Err(of_request(error)),
        };
        live.shared.change(|state| {
            if let Phase::Stopped(now) = &mut state.phase
                && now.number == halt.number
            {
                now.frames = Some(frames.clone());
                now.stop.thread = Some(thread);
            }
        });
        Ok(frames.into_iter().take(MAX_FRAMES).collect())
    }

    /// Frames under ids of ours.
    pub(super) fn shown(&self, live: &Live, frames: &[Frame]) -> Vec<FrameShown> {
        let mut state = live.shared.state();
        let frames = frames.iter().take(MAX_FRAMES);
        let shown = frames.map(|frame| {
            let id = state.ids.give(Kind::Frame, frame.id);
            self.inner.places.frame(frame, id)
        });
        shown.collect()
    }

    async fn description(&self, live: &Live, halt: &Halt, reason: &Reason) -> Option<String> {
        let stop = &halt.stop;
        let mut parts: Vec<String> = Vec::new();
        let short = stop.description.as_ref().filter(|text| !dull(text, &stop.reason));
        parts.extend(short.cloned());
        if let Some(text) = &stop.text
            && !parts.iter().any(|part| part.contains(text))
        {
            // One word beside a sentence is the exception's type.
            let at = if text.contains(char::is_whitespace) { parts.len() } else { 0 };
            parts.insert(at, text.clone());
        }
        let ask = reason.crash && stop.text.is_none() && live.capabilities().exception_info;
        let thread = live.shared.state().thread_of(halt);
        if ask && let Some(thread) = thread {
            let answer = live.ask(&outgoing::exception_info(thread), MAX_REQUEST_TIME).await;
            let info = answer.as_ref().map(ExceptionInfo::of).unwrap_or_default();
            let more = [info.id, info.description].into_iter().flatten();
            for more in more.filter(|text| !dull(text, &stop.reason)) {
                if !parts.iter().any(|part| part.contains(&more)) {
                    parts.push(more);
                }
            }
        }
        let said = clip(&parts.join(": "), DESCRIPTION_CHARS).text;
        (!said.is_empty()).then_some(said)
    }

    /// The variables of the first frame of the user's.
    async fn crash_locals(
        &self,
        live: &Live,
        frames: &[FrameShown],
    ) -> Result<Option<LocalsReport>, String> {
        let Some(frame) = frames.iter().find(|frame| frame.user).or(frames.first()) else {
            return Ok(None);
        };
        let frame = frame.id;
        let Ok(adapter) = live.shared.state().ids.adapter(Kind::Frame, frame) else {
            return Ok(None);
        };
        let scopes = all_scopes(live, adapter).await.map_err(|error| of_request(error).message)?;
        let cheap = |scope: &&Scope| !scope.expensive && scope.reference > 0;
        let locals = |scope: &&Scope| {
            scope.hint.as_deref() == Some("locals") || scope.name.to_lowercase().contains("local")
        };
        let found = scopes.iter().filter(cheap).find(locals).or(scopes.iter().find(cheap));
        let Some(scope) = found else { return Ok(None) };
        let variables = self.children(live, scope.reference, LOCALS_BYTES).await;
        let variables = variables.map_err(|error| error.message)?;
        Ok(Some(LocalsReport { frame, variables }))
    }

    fn end_report(&self, live: &Live, ended: &Ended) -> Result<RunReport, ToolError> {
        if let End::AdapterDied(how) = &ended.how {
            return Err(
                adapter_died(how).with_data(serde_json::json!({ "output": new_output(live) }))
            );
        }
        let mut report = RunReport::new(RunState::Ended);
        let word = match ended.how {
            End::TimeLimit => "time_limit",
            End::Terminated | End::Dropped => "terminated",
            _ => "exited",
        };
        report.reason = Some(word.to_owned());
        report.description = Some(ended.to_string());
        report.exit_code = ended.exit_code;
        report.output = new_output(live);
        let failed = ended.how == End::Exited && ended.exit_code.is_some_and(|code| code != 0);
        let told = TRACEBACKS.iter().any(|words| report.output.contains(words));
        if live.adapter.id == "debugpy" && failed && told && !live.shared.state().crashed {
            report.notes.push(NO_STOP.to_owned());
        }
        report.notes.extend(trouble(live));
        Ok(self.with_breakpoints(report))
    }

    fn running_report(&self, live: &Live, wait: Duration) -> RunReport {
        let mut report = RunReport::new(RunState::Running);
        report.output = new_output(live);
        report.notes.extend(trouble(live));
        let waited = format!("still running after {} s", seconds(wait));
        report.notes.push(match live.shared.state().pausing {
            false => {
                format!("{waited}; continue waits again, pause asks it to stop, terminate ends it")
            }
            true => {
                let late = live.adapter.pauses_late.unwrap_or("has not taken effect yet");
                format!("{waited}: the pause was sent and {late}; continue waits for it, terminate ends it")
            }
        });
        report
    }
}

/// A condition that cannot be evaluated makes adapters stop always or never.
fn trouble(live: &Live) -> Option<String> {
    let said = live.shared.state().condition_trouble()?;
    Some(format!("a breakpoint's condition could not be evaluated, so it decided nothing: {said}"))
}

/// Tenths as far as there are any.
fn seconds(time: Duration) -> f64 {
    (time.as_secs_f64() * 10.0).round() / 10.0
}

/// Waits until a while passes without output, for as long as a flood is waited for. Whether it was.
async fn output_settled(live: &Live) -> bool {
    let until = Instant::now() + FLOOD_TIME;
    loop {
        let before = live.shared.state().output.total();
        sleep(CRASH_OUTPUT_TIME).await;
        if live.shared.state().output.total() == before {
            return true;
        }
        if Instant::now() >= until {
            return false;
        }
    }
}

async fn came(live: &Live, wait: Duration, left: u64) -> Came {
    let found = |state: &mut State| match &state.phase {
        Phase::Ended(ended) => Some(Came::Ended(ended.clone())),
        _ if state.ending.is_some() => None,
        Phase::Stopped(halt) if halt.number > left => Some(Came::Stopped(halt.clone())),
        _ => None,
    };
    let Some(first) = live.shared.wait(wait, found).await else {
        // What has begun to end is told of as ended.
        if live.shared.state().ending.is_some() {
            return live.shared.wait(END_TIME, found).await.unwrap_or(Came::Nothing);
        }
        return Came::Nothing;
    };
    if let Came::Stopped(halt) = &first
        && halt.stop.reason == "entry"
    {
        let number = halt.number;
        let moved = move |state: &mut State| match &state.phase {
            Phase::Stopped(halt) if halt.number == number && state.ending.is_none() => None,
            _ => Some(()),
        };
        let since = halt.since.elapsed();
        if live.shared.wait(ENTRY_TIME.saturating_sub(since), moved).await.is_some() {
            return Box::pin(came(live, wait, left)).await;
        }
    }
    first
}

/// Whether the debuggee still stands at this stop.
fn still(live: &Live, halt: &Halt) -> bool {
    let state = live.shared.state();
    state.ending.is_none()
        && matches!(&state.phase, Phase::Stopped(now) if now.number == halt.number)
}

fn new_output(live: &Live) -> String {
    let mut state = live.shared.state();
    let piece = state.output.since(state.told, OUTPUT_BYTES);
    state.told = state.output.total();
    match piece.before {
        0 => piece.text,
        before => format!("… {before} bytes earlier (output shows more) …\n{}", piece.text),
    }
}

/// Adapters have their own words for what is one thing.
pub(super) fn reason(live: &Live, halt: &Halt, frames: &[Frame]) -> Reason {
    let stop = &halt.stop;
    let said = format!(
        "{} {}",
        stop.description.as_deref().unwrap_or_default(),
        stop.text.as_deref().unwrap_or_default()
    );
    let panics = live.panics.lock().map(|ids| ids.clone()).unwrap_or_default();
    let at_panic = stop.breakpoints.iter().any(|id| panics.contains(id))
        || (!panics.is_empty()
            && stop.reason.contains("breakpoint")
            && frames.first().is_some_and(|top| top.name.contains("rust_panic")));
    let word = |word: &str, crash| Reason { word: word.to_owned(), crash };
    if at_panic {
        return word("panic", true);
    }
    match stop.reason.as_str() {
        // A debugger that was about to step by itself stops by that.
        "exception" if halt.paused && said.contains("SIGSTOP") => word("pause", false),
        "step" if halt.paused => word("pause", false),
        "exception" if said.contains("signal SIG") => word("signal", true),
        "exception" if live.adapter.id == "delve" && stop.breakpoints.contains(&-1) => {
            word("panic", true)
        }
        "exception" | "panic" => word(&stop.reason, true),
        "signal" if halt.paused => word("pause", false),
        "signal" => word("signal", true),
        "" => word("stop", false),
        other => word(other, false),
    }
}

/// Python leaves a program by an exception, which is its end and no crash.
fn is_exit(live: &Live, halt: &Halt) -> bool {
    let said = [&halt.stop.text, &halt.stop.description];
    live.adapter.id == "debugpy"
        && halt.stop.reason == "exception"
        && said.into_iter().flatten().any(|text| text.trim() == "SystemExit")
}

/// Whether a description says no more than the reason.
fn dull(text: &str, reason: &str) -> bool {
    let text = text.trim().to_lowercase();
    text.is_empty()
        || text == reason.to_lowercase()
        || text == "signal"
        || text == "trace"
        || text == "exception"
        || text.starts_with("breakpoint ") && text.len() < "breakpoint 100.100".len()
        || text == "paused on breakpoint"
        || text.starts_with("step ")
        || text.starts_with("paused on ")
}

impl State {
    /// The thread of a stop; its adapter may have named it only when it was asked.
    pub(super) fn thread_of(&self, halt: &Halt) -> Option<i64> {
        match &self.phase {
            Phase::Stopped(now) if now.number == halt.number => now.stop.thread,
            _ => halt.stop.thread,
        }
    }

    /// A result tells of this stop. Whether it is still true.
    fn told(&mut self, halt: &Halt, words: String) -> bool {
        match &mut self.phase {
            Phase::Stopped(now) if now.number == halt.number => {
                now.told = true;
                self.last_stop = Some(words);
                true
            }
            _ => false,
        }
    }
}

impl Live {
    /// Waits until an adapter may be told to resume after this stop.
    pub(super) async fn settled(&self, halt: &Halt) {
        let left = self.adapter.settles.saturating_sub(halt.since.elapsed());
        // A timer takes a millisecond, be its time nothing.
        if !left.is_zero() {
            sleep(left).await;
        }
    }

    /// Fails where the adapter was given up.
    pub(super) fn given_up(&self) -> Option<ToolError> {
        self.shared.state().unresponsive.as_deref().map(unresponsive)
    }
}
