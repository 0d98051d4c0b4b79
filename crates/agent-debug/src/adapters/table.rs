//! The rows. What differs between adapters stands here, and in `launch` what their launch takes.

use std::time::Duration;

/// How an adapter is talked to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wire {
    /// By its standard input and output.
    Pipes,
    /// It connects to a port of ours, named in its last argument. Its death and ours close the connection, and nobody else
    /// can take it.
    Calls(&'static str),
}

/// One adapter.
#[derive(Debug)]
pub(crate) struct Adapter {
    /// The name in arguments and results.
    pub(crate) id: &'static str,
    /// The names of its program.
    pub(crate) names: &'static [&'static str],
    /// Whether the program's name may end in a version, the highest of which is taken.
    pub(crate) numbered: bool,
    /// Folders of a checkout that come before the search path.
    pub(crate) local: &'static [&'static str],
    /// Folders that come after it: a parent, and how the name of a folder in it begins and what follows.
    pub(crate) beside: Option<(&'static str, &'static str, &'static str)>,
    /// What the program is asked, to see that it works.
    pub(crate) probe: &'static [&'static str],
    /// What is said when it does not answer as it should.
    pub(crate) install: &'static str,
    /// Files of a project's root, one of which has to be there.
    pub(crate) markers: &'static [&'static str],
    /// Endings of programs that are its own.
    pub(crate) extensions: &'static [&'static str],
    /// What starts it.
    pub(crate) args: &'static [&'static str],
    pub(crate) wire: Wire,
    /// What `initialize` calls it.
    pub(crate) protocol_id: &'static str,
    /// Exception filters that are turned on where they are offered, beside those that are on by default.
    pub(crate) filters: &'static [&'static str],
    /// Categories of output that are its own words: its debuggee writes to a terminal, which is one stream.
    pub(crate) own_words: &'static [&'static str],
    /// The number of the signal that it gives this exit code for, if one ended the debuggee.
    pub(crate) signal_of: fn(i64) -> i64,
    /// Whether a count of hits is a number alone, without an operator before it.
    pub(crate) plain_counts: bool,
    /// How long after a stop the debuggee is not resumed: the adapter may still be stopping threads, and hang.
    pub(crate) settles: Duration,
    /// As many characters has a value that the adapter cut.
    pub(crate) longest_value: usize,
    /// Why a pause may take effect late, where it may.
    pub(crate) pauses_late: Option<&'static str>,
    /// Whether a program that listens speaks the protocol itself, so that attaching starts nothing.
    pub(crate) listens: bool,
    /// What becomes of a program that was attached to when the session ends.
    pub(crate) after_attach: &'static str,
}

/// What gives exit codes to programs that ended by themselves alone.
fn no_signal(_code: i64) -> i64 {
    0
}

const ASK_DEBUGPY: &str = "import importlib.util as u, importlib.metadata as m, sys; \
                           sys.exit('it runs, and has no module named debugpy') if u.find_spec('debugpy') is None \
                           else print('debugpy', m.version('debugpy'))";

/// All adapters.
pub(crate) static ADAPTERS: [Adapter; 4] = [
    Adapter {
        id: "debugpy",
        names: &["python3", "python"],
        numbered: false,
        local: &[".venv/bin", "venv/bin"],
        beside: None,
        probe: &["-I", "-c", ASK_DEBUGPY],
        install: "install debugpy where the project's python is: .venv/bin/pip install debugpy",
        markers: &["pyproject.toml", "setup.py", "requirements.txt"],
        extensions: &["py"],
        args: &["-I", "-m", "debugpy.adapter"],
        wire: Wire::Pipes,
        protocol_id: "debugpy",
        filters: &["uncaught"],
        own_words: &[],
        signal_of: |code| 256 - code,
        plain_counts: false,
        settles: Duration::from_millis(100),
        longest_value: 1 << 16,
        pauses_late: Some(
            "takes effect when Python code runs again, which it does not within a call such as time.sleep",
        ),
        listens: true,
        after_attach: "it runs on when the session ends",
    },
    Adapter {
        id: "lldb",
        names: &["lldb-dap", "lldb-vscode"],
        numbered: true,
        local: &[],
        beside: Some(("/usr/lib", "llvm-", "bin")),
        probe: &["--version"],
        install: "install lldb of your system's packages, which brings lldb-dap",
        markers: &[
            "Cargo.toml",
            "CMakeLists.txt",
            "Makefile",
            "meson.build",
            "compile_commands.json",
        ],
        extensions: &[],
        args: &[],
        wire: Wire::Pipes,
        protocol_id: "lldb-dap",
        filters: &[],
        own_words: &["stderr"],
        signal_of: |code| code,
        plain_counts: true,
        settles: Duration::ZERO,
        longest_value: usize::MAX,
        pauses_late: None,
        listens: false,
        after_attach: "it runs on when the session ends, and its server ends itself",
    },
    Adapter {
        id: "delve",
        names: &["dlv"],
        numbered: false,
        local: &[],
        beside: None,
        probe: &["version"],
        install: "install delve, whose program is dlv",
        markers: &["go.mod"],
        extensions: &["go"],
        args: &["dap"],
        wire: Wire::Calls("--client-addr="),
        protocol_id: "go",
        filters: &["unrecovered-panic", "runtime-fatal-throw"],
        own_words: &[],
        signal_of: no_signal,
        plain_counts: false,
        settles: Duration::ZERO,
        longest_value: usize::MAX,
        pauses_late: None,
        listens: true,
        after_attach: "dlv ends it when the session ends, unless it was started with --accept-multiclient",
    },
    Adapter {
        id: "dart",
        names: &["dart"],
        numbered: false,
        local: &[],
        beside: None,
        probe: &["--version"],
        install: "install the Dart SDK",
        markers: &["pubspec.yaml"],
        extensions: &["dart"],
        args: &["debug_adapter"],
        wire: Wire::Pipes,
        protocol_id: "dart",
        filters: &["Unhandled"],
        own_words: &[],
        signal_of: no_signal,
        plain_counts: false,
        settles: Duration::ZERO,
        longest_value: usize::MAX,
        pauses_late: None,
        listens: false,
        after_attach: "it runs on when the session ends",
    },
];
