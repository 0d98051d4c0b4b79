use serde::{Deserialize, Serialize};

/// In which order an adapter does its handshake, and what it leaves out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Manner {
    /// `initialized` comes once a launch was asked for, whose answer comes after the configuration.
    #[default]
    Debugpy,
    /// A launch is answered before `initialized`; every `seq` is 0; ids of old stops are answered with nothing.
    Lldb,
    /// `initialized` and the answer come one after the other, before the configuration; there is no `exited`, and the exit code
    /// stands in a line of text.
    Delve,
    /// `initialized` follows `initialize` at once; a launch is answered after the configuration, in the middle of events of its
    /// own; it stops at the entry and goes on by itself; there is no `exited`, and the exit code stands in a line of text.
    Dart,
}

/// A program to debug.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Toy {
    /// As which adapter it is debugged.
    pub manner: Manner,
    /// How many lines it has.
    pub lines: u32,
    /// The line at which it crashes.
    pub crash: Option<u32>,
    /// The exit code at its end.
    pub exit_code: i64,
    /// Runs for ever after the last line, until it is paused.
    pub spins: bool,
    /// How many milliseconds it runs before it stops or ends.
    pub run_ms: u64,
    /// Tells of a stop before it answers the request that led to it.
    pub stops_first: bool,
    /// A command of the shell that is the debuggee's process; what it starts outlives it.
    pub debuggee: Option<String>,
}

impl Default for Toy {
    fn default() -> Self {
        Self {
            manner: Manner::default(),
            lines: 10,
            crash: None,
            exit_code: 0,
            spins: false,
            run_ms: 0,
            stops_first: false,
            debuggee: None,
        }
    }
}

impl Toy {
    /// Ten lines that end with 0.
    #[must_use]
    pub fn new(manner: Manner) -> Self {
        Self { manner, ..Self::default() }
    }

    /// So many lines.
    #[must_use]
    pub fn lines(mut self, lines: u32) -> Self {
        self.lines = lines;
        self
    }

    /// Crashes at this line.
    #[must_use]
    pub fn crash(mut self, line: u32) -> Self {
        self.crash = Some(line);
        self
    }

    /// Ends with this code.
    #[must_use]
    pub fn exit_code(mut self, code: i64) -> Self {
        self.exit_code = code;
        self
    }

    /// Runs for ever after its last line.
    #[must_use]
    pub fn spinning(mut self) -> Self {
        self.spins = true;
        self
    }

    /// Runs so long before each stop.
    #[must_use]
    pub fn running(mut self, ms: u64) -> Self {
        self.run_ms = ms;
        self
    }

    /// Tells of stops first.
    #[must_use]
    pub fn stopping_first(mut self) -> Self {
        self.stops_first = true;
        self
    }

    /// Is a process that runs this command of the shell.
    #[must_use]
    pub fn process(mut self, command: impl Into<String>) -> Self {
        self.debuggee = Some(command.into());
        self
    }

    /// Where a breakpoint that is asked for is set.
    pub(super) fn bound(&self, line: u32) -> Option<u32> {
        let next = if has_code(line) { line } else { line + 1 };
        (1..=self.lines).contains(&next).then_some(next)
    }

    /// The lines that have code and come after this one.
    pub(super) fn after(&self, line: u32) -> impl Iterator<Item = u32> + use<> {
        (line + 1..=self.lines).filter(|line| has_code(*line))
    }
}

fn has_code(line: u32) -> bool {
    !line.is_multiple_of(5)
}
