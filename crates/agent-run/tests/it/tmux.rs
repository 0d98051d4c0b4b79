//! A real terminal with a shell in it.

use std::{
    fs,
    path::Path,
    process::Command,
    thread,
    time::{Duration, Instant},
};

use agent_testkit::model::ModelServer;

use crate::home::Home;

/// How long anything may take to appear.
const PATIENCE: Duration = Duration::from_secs(60);

/// A terminal of tmux, gone when it is dropped. Its server is its own.
pub(crate) struct Terminal<'a> {
    home: &'a Home,
}

impl<'a> Terminal<'a> {
    /// A terminal in the checkout. `None`, with a word about it, where there is no tmux.
    #[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
    pub(crate) fn open(home: &'a Home) -> Option<Self> {
        if Command::new("tmux").arg("-V").output().is_err() {
            assert!(
                std::env::var_os("AGENT_TESTS_LIVE").is_none(),
                "run `cargo xtask setup` first: there is no tmux"
            );
            eprintln!("skipped: there is no tmux; `cargo xtask setup` installs it");
            return None;
        }
        let terminal = Self { home };
        // The prompt is known, and every command is a line of its own.
        let shell = "env PS1='> ' sh";
        terminal.tmux(&["-f", "/dev/null", "new-session", "-d", "-x", "180", "-y", "60", shell]);
        terminal.tmux(&["set-option", "-g", "history-limit", "10000"]);
        terminal.shows("> ");
        Some(terminal)
    }

    pub(crate) fn tmux(&self, args: &[&str]) -> String {
        let mut command = Command::new("tmux");
        command.arg("-S").arg(self.home.home.path().join("tmux")).args(args);
        command.current_dir(self.home.checkout.path()).env_remove("TMUX");
        self.home.adopt(&mut command);
        let output = command.output().expect("it starts");
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Types a line and presses enter.
    pub(crate) fn types(&self, line: &str) {
        self.tmux(&["send-keys", "-l", line]);
        self.tmux(&["send-keys", "Enter"]);
    }

    /// Runs `agent-run` with these arguments; `status N` follows once it has ended.
    pub(crate) fn agent_run(&self, args: &str) {
        self.types(&format!("'{}' {args}; echo status $?", env!("CARGO_BIN_EXE_agent-run")));
    }

    /// Presses a key by its name in tmux.
    pub(crate) fn presses(&self, key: &str) {
        self.tmux(&["send-keys", key]);
    }

    /// Clears the screen and what scrolled off it.
    pub(crate) fn clears(&self) {
        self.types("clear");
        self.until("an empty screen", |screen| screen.trim() == ">");
        self.tmux(&["clear-history"]);
    }

    /// Clears what scrolled off the screen and, by Ctrl-L, the screen of a program with a line editor.
    pub(crate) fn clears_screen(&self) {
        self.presses("C-l");
        self.tmux(&["clear-history"]);
    }

    /// Waits until the last request of a model's server offers such tools.
    pub(crate) fn until_requests(&self, server: &ModelServer, holds: impl Fn(&[String]) -> bool) {
        let began = Instant::now();
        let last = || server.requests().last().map(agent_testkit::model::Received::tools);
        while !last().is_some_and(|tools| holds(&tools)) {
            assert!(began.elapsed() < PATIENCE, "{:?}\n{}", last(), self.screen());
            thread::yield_now();
        }
    }

    pub(crate) fn screen(&self) -> String {
        self.tmux(&["capture-pane", "-p", "-J", "-S", "-"])
    }

    /// Waits until the screen has these words on it.
    pub(crate) fn shows(&self, words: &str) -> String {
        self.until(words, |screen| screen.contains(words))
    }

    /// Says something in a conversation, once it takes it.
    pub(crate) fn says(&self, line: &str) {
        self.until_prompt();
        self.types(line);
    }

    /// Waits until a conversation takes the next line: its prompt is the last thing on the screen.
    pub(crate) fn until_prompt(&self) {
        self.until("a prompt", |screen| screen.trim_end().ends_with('\u{203a}'));
    }

    /// Waits until a card is to be answered: its prompt is the last thing on the screen.
    pub(crate) fn until_card(&self) -> String {
        self.until("a card", |screen| screen.trim_end().ends_with("answer>"))
    }

    /// Types without pressing enter.
    pub(crate) fn begins(&self, text: &str) {
        self.tmux(&["send-keys", "-l", text]);
    }

    /// Types a text key by key with so much time between two, and does something before the key of this number.
    pub(crate) fn types_slowly(
        &self,
        text: &str,
        pause: Duration,
        (number, act): (usize, impl Fn()),
    ) {
        for (index, key) in text.chars().enumerate() {
            if index == number {
                act();
            }
            self.tmux(&["send-keys", "-l", &key.to_string()]);
            thread::sleep(pause);
        }
        self.tmux(&["send-keys", "Enter"]);
    }

    /// Sends the program in the terminal a signal, such as `-INT`.
    pub(crate) fn signals(&self, signal: &str) {
        let child = self.child().to_string();
        let sent = Command::new("kill").args([signal, &child]).status();
        assert!(sent.expect("it runs").success());
    }

    /// The process that the terminal's shell runs in the foreground.
    fn child(&self) -> u32 {
        let shell = self.tmux(&["display-message", "-p", "#{pane_pid}"]);
        let path = format!("/proc/{0}/task/{0}/children", shell.trim());
        let children = fs::read_to_string(path).expect("its children");
        children.split_whitespace().next().and_then(|id| id.parse().ok()).expect("a child")
    }

    /// Waits until the screen has these words so many times.
    pub(crate) fn shows_times(&self, words: &str, times: usize) -> String {
        self.until(words, |screen| screen.matches(words).count() >= times)
    }

    /// Waits until a file that something else writes is as wanted.
    pub(crate) fn until_file(&self, path: &Path, holds: impl Fn(&[u8]) -> bool) -> Vec<u8> {
        let began = Instant::now();
        loop {
            let bytes = fs::read(path).unwrap_or_default();
            if holds(&bytes) {
                return bytes;
            }
            let text = String::from_utf8_lossy(&bytes);
            assert!(began.elapsed() < PATIENCE, "waited in vain for {}: {text}", path.display());
            thread::yield_now();
        }
    }

    pub(crate) fn until(&self, what: &str, holds: impl Fn(&str) -> bool) -> String {
        let began = Instant::now();
        loop {
            let screen = self.screen();
            if holds(&screen) {
                return screen;
            }
            assert!(began.elapsed() < PATIENCE, "waited in vain for {what}:\n{screen}");
            thread::yield_now();
        }
    }
}

impl Drop for Terminal<'_> {
    fn drop(&mut self) {
        let mut command = Command::new("tmux");
        command.arg("-S").arg(self.home.home.path().join("tmux")).arg("kill-server");
        let _ = command.output();
    }
}
