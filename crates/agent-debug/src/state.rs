//! What is known of a session: one state, which the adapter's events and the operations change.

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use agent_tool_core::clip;
use tokio::{
    sync::watch,
    time::{Instant, timeout},
};

use crate::{
    adapters::Adapter,
    breakpoints::Table,
    ids::Ids,
    output::{MAX_CONSOLE_BYTES, MAX_OUTPUT_BYTES, Ring},
    protocol::{Event, Frame, Output, Stop},
    traceback::own_lines,
};

/// What delve and dart say where they send no event for it.
const EXIT_WORDS: [&str; 2] = ["has exited with status ", "Exited ("];

/// How lldb repeats the commands that it was given.
const ECHOES: [&str; 3] = ["(lldb) ", "Running initCommands:", "Running attachCommands:"];

/// What adapters say of a condition that is no expression, or fails.
const TROUBLES: [&str; 2] =
    ["error evaluating condition", "evaluating expression in conditional breakpoint"];

const TROUBLE_CHARS: usize = 400;

/// Signals by which programs end.
const SIGNALS: [(i64, &str); 11] = [
    (4, "SIGILL"),
    (5, "SIGTRAP"),
    (6, "SIGABRT"),
    (7, "SIGBUS"),
    (8, "SIGFPE"),
    (9, "SIGKILL"),
    (11, "SIGSEGV"),
    (13, "SIGPIPE"),
    (14, "SIGALRM"),
    (15, "SIGTERM"),
    (31, "SIGSYS"),
];

/// Signals that end a program as well, whose numbers are everyday exit codes.
const OTHER_SIGNALS: [(i64, &str); 5] =
    [(1, "SIGHUP"), (2, "SIGINT"), (3, "SIGQUIT"), (10, "SIGUSR1"), (12, "SIGUSR2")];

/// What dart says of a program that ended well.
const WELL: &str = "Exited.";

/// The state of a session, shared by the task that reads the adapter and those that operate it.
#[derive(Debug)]
pub(crate) struct Shared {
    state: Mutex<State>,
    breakpoints: Arc<Mutex<Table>>,
    changed: watch::Sender<u64>,
}

/// See [`Shared`].
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) phase: Phase,
    /// Why the session is about to end; while it is torn down the phase stays.
    pub(crate) ending: Option<End>,
    pub(crate) initialized: bool,
    /// Its start is done.
    pub(crate) began: bool,
    /// The debuggee ended, with this code where the adapter knows it.
    pub(crate) exited: Option<Option<i64>>,
    /// The debuggee's process.
    pub(crate) debuggee: Option<u32>,
    pub(crate) ids: Ids,
    /// When the debuggee moved on last.
    pub(crate) moved: Instant,
    pub(crate) output: Ring,
    /// What the adapter itself says.
    pub(crate) console: Ring,
    /// Up to where the adapter's words were read for conditions that it could not evaluate.
    heeded: u64,
    /// How much of the output a result has shown.
    pub(crate) told: u64,
    /// A request that the adapter never answered.
    pub(crate) unresponsive: Option<String>,
    /// A stop is asked for.
    pub(crate) pausing: bool,
    /// Where the debuggee stopped last, in words.
    pub(crate) last_stop: Option<String>,
    /// A stop at a crash was told.
    pub(crate) crashed: bool,
    /// The signal of the last stop, where it was one.
    last_signal: Option<(i64, &'static str)>,
    adapter: &'static Adapter,
    /// How many children the adapter's references have, where it counts them.
    pub(crate) children: HashMap<i64, i64>,
    /// Of which of the adapter's frames its reference to a scope tells.
    pub(crate) scopes: HashMap<i64, i64>,
    stops: u64,
}

/// Whether the debuggee runs.
#[derive(Clone, Debug)]
pub(crate) enum Phase {
    Starting,
    Running { since: Instant },
    Stopped(Halt),
    Ended(Ended),
}

/// One stop.
#[derive(Clone, Debug)]
pub(crate) struct Halt {
    /// The number of the stop in its session.
    pub(crate) number: u64,
    pub(crate) stop: Stop,
    pub(crate) since: Instant,
    /// The stack of the thread that stopped, once it was read. Nothing resumes before that.
    pub(crate) frames: Option<Vec<Frame>>,
    /// It was asked for by `pause`.
    pub(crate) paused: bool,
    /// A result has told of it.
    pub(crate) told: bool,
}

/// The end of a session.
#[derive(Clone, Debug)]
pub(crate) struct Ended {
    pub(crate) how: End,
    pub(crate) exit_code: Option<i64>,
    /// The signal that the exit code may stand for.
    pub(crate) signal: Option<&'static str>,
    /// What the adapter gave as the exit code of a program that a signal most likely ended, and that signal.
    pub(crate) not_a_code: Option<(i64, Option<&'static str>)>,
    pub(crate) at: Instant,
}

/// Why a session ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// The debuggee ended.
    Exited,
    /// `terminate`.
    Terminated,
    /// Its hard life was over.
    TimeLimit,
    /// The adapter ended by itself.
    AdapterDied(String),
    /// It never began.
    StartFailed(String),
    /// Its owner is gone.
    Dropped,
}

impl Shared {
    pub(crate) fn new(
        breakpoints: Arc<Mutex<Table>>,
        first_id: i64,
        adapter: &'static Adapter,
    ) -> Self {
        let state = State {
            phase: Phase::Starting,
            ending: None,
            initialized: false,
            began: false,
            exited: None,
            debuggee: None,
            ids: Ids::from(first_id),
            moved: Instant::now(),
            output: Ring::new(MAX_OUTPUT_BYTES),
            console: Ring::new(MAX_CONSOLE_BYTES),
            heeded: 0,
            told: 0,
            unresponsive: None,
            pausing: false,
            last_stop: None,
            crashed: false,
            last_signal: None,
            adapter,
            children: HashMap::new(),
            scopes: HashMap::new(),
            stops: 0,
        };
        Self { state: Mutex::new(state), breakpoints, changed: watch::Sender::new(0) }
    }

    /// The state, for as long as the guard is held and nothing is awaited.
    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn breakpoints(&self) -> MutexGuard<'_, Table> {
        self.breakpoints.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the state and wakes whoever waits for it.
    pub(crate) fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let changed = change(&mut self.state());
        self.changed.send_modify(|version| *version += 1);
        changed
    }

    /// Waits until `found` gives something; none once the time is over.
    pub(crate) async fn wait<T>(
        &self,
        limit: Duration,
        mut found: impl FnMut(&mut State) -> Option<T>,
    ) -> Option<T> {
        let mut changes = self.changed.subscribe();
        let waiting = async {
            loop {
                if let Some(found) = found(&mut self.state()) {
                    return Some(found);
                }
                if changes.changed().await.is_err() {
                    return None;
                }
            }
        };
        timeout(limit, waiting).await.ok().flatten()
    }

    /// Something happened in the adapter.
    pub(crate) fn event(&self, event: Event) {
        match event {
            // These alone can come by the hundred thousand, and nobody waits for them.
            Event::Output(output) => self.state().output(&output),
            Event::Other(_) => {}
            Event::Breakpoint { reason, breakpoint } => {
                self.breakpoints().changed(&reason, &breakpoint);
            }
            event => self.change(|state| state.event(event)),
        }
    }

    /// Bytes that the debuggee wrote past the adapter.
    pub(crate) fn written(&self, bytes: &[u8]) {
        self.state().output.push(bytes);
    }

    /// Something that the adapter says itself.
    pub(crate) fn console(&self, bytes: &[u8]) {
        self.state().console.push(bytes);
    }

    /// A request was answered that nobody waits for any more: the adapter is not lost.
    pub(crate) fn answered_late(&self) {
        self.change(|state| state.unresponsive = None);
    }

    /// The adapter closed its output.
    pub(crate) fn closed(&self) {
        self.change(|state| {
            let end = match state.exited {
                Some(_) => End::Exited,
                None => End::AdapterDied("it closed its output".to_owned()),
            };
            state.end(end);
        });
    }

    /// The session is to end, unless something else ends it already.
    pub(crate) fn end(&self, end: End) {
        self.change(|state| state.end(end));
    }
}

impl State {
    fn event(&mut self, event: Event) {
        match event {
            Event::Initialized => self.initialized = true,
            Event::Stopped(stop) => self.stopped(stop),
            Event::Continued { thread } => self.continued(thread),
            Event::Exited { code } => self.exited = Some(self.exited.flatten().or(code)),
            Event::Terminated => self.end(End::Exited),
            Event::Process { id } => self.debuggee = id.or(self.debuggee),
            Event::Output(_) | Event::Breakpoint { .. } | Event::Other(_) => {}
        }
    }

    fn stopped(&mut self, stop: Stop) {
        if self.ending.is_some() || matches!(self.phase, Phase::Ended(_) | Phase::Stopped(_)) {
            // Adapters tell of a stop once for each thread; the first is the one that stopped the others.
            return;
        }
        self.stops += 1;
        self.last_signal = signal_named(&stop);
        let paused = std::mem::take(&mut self.pausing);
        self.phase = Phase::Stopped(Halt {
            number: self.stops,
            stop,
            since: Instant::now(),
            frames: None,
            paused,
            told: false,
        });
    }

    fn continued(&mut self, thread: Option<i64>) {
        let Phase::Stopped(halt) = &self.phase else { return };
        let all = thread.is_none() || halt.stop.thread.is_none();
        if all || halt.stop.thread == thread {
            self.resumed();
        }
    }

    /// The debuggee runs again; what was seen of it holds no more. Gives the stop that is over.
    pub(crate) fn resumed(&mut self) -> Option<Halt> {
        self.ids.forget();
        self.children.clear();
        self.scopes.clear();
        self.moved = Instant::now();
        self.pausing = false;
        match std::mem::replace(&mut self.phase, Phase::Running { since: Instant::now() }) {
            Phase::Stopped(halt) => Some(halt),
            _ => None,
        }
    }

    /// The adapter did not resume after all.
    pub(crate) fn resume_failed(&mut self, halt: Halt) {
        if matches!(self.phase, Phase::Running { .. }) && self.stops == halt.number {
            self.phase = Phase::Stopped(halt);
        }
    }

    /// The session has begun, unless a stop was quicker than the answer.
    pub(crate) fn started(&mut self) {
        self.began = true;
        if matches!(self.phase, Phase::Starting) {
            self.phase = Phase::Running { since: Instant::now() };
        }
    }

    fn end(&mut self, end: End) {
        if !matches!(self.phase, Phase::Ended(_)) && self.ending.is_none() {
            self.ending = Some(end);
        }
    }

    /// The session is over and torn down.
    pub(crate) fn ended(&mut self, how: End) {
        self.ids.forget();
        let given = self.exited.flatten();
        let number = given.map(self.adapter.signal_of);
        // The number of the signal at which it stood last is most likely that signal, and no program ends with one below 0.
        let at_signal =
            self.last_signal.filter(|(signal, _)| Some(*signal) == number || given < Some(0));
        let not_a_code = given
            .filter(|code| at_signal.is_some() || *code < 0)
            .map(|code| (code, at_signal.map(|(_, name)| name)));
        let exit_code = given.filter(|_| not_a_code.is_none());
        let signal = exit_code.and(number).and_then(signal);
        let at = Instant::now();
        self.phase = Phase::Ended(Ended { how, exit_code, signal, not_a_code, at });
    }

    fn output(&mut self, output: &Output) {
        let category = output.category.as_deref().unwrap_or("stdout");
        if category == "telemetry" {
            return;
        }
        if matches!(category, "stdout" | "stderr") && !self.adapter.own_words.contains(&category) {
            self.output.push(output.text.as_bytes());
            return;
        }
        if let Some(code) = exit_code(&output.text) {
            self.exited.get_or_insert(Some(code));
        }
        // What an adapter says of its own end is of no use to anybody.
        if self.ending.is_none() {
            self.console.push(output.text.as_bytes());
        }
    }

    /// How many children a reference of the adapter's has.
    pub(crate) fn children_of(&self, reference: i64) -> Option<i64> {
        self.children.get(&reference).copied()
    }

    /// What the adapter said since the last time of a breakpoint's condition that it could not evaluate.
    pub(crate) fn condition_trouble(&mut self) -> Option<String> {
        let text = self.console.since(self.heeded, MAX_CONSOLE_BYTES).text;
        self.heeded = self.console.total();
        let first = TROUBLES.iter().find_map(|words| text.find(words))?;
        let begin = text[..first].rfind('\n').map_or(0, |end| end + 1);
        let text = text[begin..].trim();
        let (head, rest) = text.split_once('\n').unwrap_or((text, ""));
        // It is said again at each hit.
        let is_again = |line: &&str| TROUBLES.iter().any(|words| line.contains(words));
        let once: Vec<&str> = rest.lines().take_while(|line| !is_again(line)).collect();
        let why = own_lines(&once.join("\n"));
        Some(clip(format!("{head}\n{why}").trim_end(), TROUBLE_CHARS).text)
    }

    /// What the adapter itself said last.
    pub(crate) fn console_tail(&self, bytes: usize) -> String {
        let text = self.console.since(0, bytes).text;
        let lines = text.lines().filter(|line| !ECHOES.iter().any(|echo| line.starts_with(echo)));
        lines.collect::<Vec<_>>().join("\n").trim().to_owned()
    }
}

fn exit_code(text: &str) -> Option<i64> {
    if text.trim() == WELL {
        return Some(0);
    }
    let (_, rest) = EXIT_WORDS.iter().find_map(|words| text.split_once(words))?;
    let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '-').unwrap_or(rest.len());
    rest[..digits].parse().ok()
}

/// The signal that a stop names.
fn signal_named(stop: &Stop) -> Option<(i64, &'static str)> {
    let said = [&stop.description, &stop.text].into_iter().flatten();
    let mut words =
        said.flat_map(|text| text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_'));
    words.find_map(|word| {
        SIGNALS.iter().chain(&OTHER_SIGNALS).find(|(_, name)| *name == word).copied()
    })
}

/// The signal of this number, of those that end a program.
fn signal(number: i64) -> Option<&'static str> {
    SIGNALS.iter().find(|(signal, _)| *signal == number).map(|(_, name)| *name)
}

/// How it ended, in words.
impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let code = |f: &mut fmt::Formatter<'_>| match (self.exit_code, self.signal) {
            (Some(code), Some(signal)) => write!(
                f,
                " with exit code {code}, or by {signal}: the debugger gives {code} for both"
            ),
            (Some(code), None) => write!(f, " with exit code {code}"),
            (None, _) => match self.not_a_code {
                Some((code, Some(signal))) => write!(
                    f,
                    ", most likely by {signal}, at which it stood before; the debugger gives {code} as its exit code"
                ),
                Some((code, None)) => {
                    write!(
                        f,
                        "; its exit code is not known: the debugger gives {code}, which is none"
                    )
                }
                None => f.write_str("; its exit code is not known"),
            },
        };
        match &self.how {
            End::Exited => {
                f.write_str("the program ended")?;
                code(f)
            }
            End::Terminated => f.write_str("it was terminated"),
            End::TimeLimit => f.write_str("it was ended by the 30-minute limit"),
            End::AdapterDied(how) => write!(f, "the adapter died: {how}"),
            End::StartFailed(why) => write!(f, "it did not start: {why}"),
            End::Dropped => f.write_str("its owner is gone"),
        }
    }
}
