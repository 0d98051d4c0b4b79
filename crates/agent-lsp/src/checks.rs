//! The projects' own checks: what is run for `diagnostics "*"`, and its output as diagnostics.

mod cargo;
mod dart;
mod files;
mod go;
mod pyright;
mod tsc;

use agent_tool_core::clip_middle;
use agent_workspace::{Workspace, WorkspacePath};
use serde::Deserialize;

use crate::{
    diagnostic::{self, Diagnostic, Severity, State},
    position::PositionEncoding,
};
use files::Files;

/// So much of what a check printed is quoted when it failed in another way than by finding something.
const SHOWN_OUTPUT: usize = 600;

/// A check that a project has by its kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum CheckKind {
    /// `cargo check`
    Cargo,
    /// `tsc --noEmit`
    Tsc,
    /// `pyright`
    Pyright,
    /// `basedpyright`
    Basedpyright,
    /// `go vet`
    Go,
    /// `dart analyze`
    Dart,
}

/// What a check printed, and how it ended.
#[derive(Debug, Clone, Copy)]
pub struct Output<'a> {
    /// Its standard output.
    pub stdout: &'a str,
    /// Its standard error.
    pub stderr: &'a str,
    /// Its exit code; `None` when it was killed, as by a limit of time.
    pub exit: Option<i32>,
}

/// What a check found.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Checked {
    /// Errors and warnings in the workspace's files, errors first, each once.
    pub diagnostics: Vec<Diagnostic>,
    /// How many more there were in files outside of the workspace.
    pub outside: usize,
    /// Clean only when the check ended well and said that there is nothing.
    pub state: State,
    /// What the state rests on, with the exit code.
    pub why: String,
}

/// A diagnostic as a tool printed it.
#[derive(Debug)]
struct Raw {
    /// Relative to the folder of the check, or absolute.
    file: String,
    /// From 1.
    line: usize,
    /// From 1, in units of the tool.
    column: usize,
    end_line: usize,
    severity: Severity,
    code: Option<String>,
    message: String,
}

/// What a parser made of an output.
#[derive(Debug, Default)]
struct Parsed {
    raw: Vec<Raw>,
    /// False when the output is not what the tool prints when it has done its work.
    complete: bool,
    /// What it left out, if it says so.
    left_out: Option<String>,
}

impl CheckKind {
    /// Every kind, in the order in which they are tried.
    pub const ALL: [Self; 6] =
        [Self::Cargo, Self::Tsc, Self::Basedpyright, Self::Pyright, Self::Go, Self::Dart];

    /// The program and its arguments, run in the project's folder.
    #[must_use]
    pub fn command(self) -> &'static [&'static str] {
        match self {
            // By itself it ends with the first crate that fails, and which that is is chance.
            Self::Cargo => &[
                "cargo",
                "check",
                "--workspace",
                "--all-targets",
                "--keep-going",
                "--message-format=json",
            ],
            Self::Tsc => &["tsc", "--noEmit", "--pretty", "false"],
            Self::Pyright => &["pyright", "--outputjson"],
            Self::Basedpyright => &["basedpyright", "--outputjson"],
            Self::Go => &["go", "vet", "-json", "./..."],
            Self::Dart => &["dart", "analyze", "--format=machine"],
        }
    }

    /// The files of which one must be in the project's folder.
    #[must_use]
    pub fn markers(self) -> &'static [&'static str] {
        match self {
            Self::Cargo => &["Cargo.toml"],
            Self::Tsc => &["tsconfig.json"],
            Self::Pyright | Self::Basedpyright => &[
                "pyrightconfig.json",
                "pyproject.toml",
                "setup.py",
                "setup.cfg",
                "requirements.txt",
            ],
            Self::Go => &["go.mod", "go.work"],
            Self::Dart => &["pubspec.yaml"],
        }
    }

    /// Reads the output of a run in `folder`. Columns become characters where the file can be read.
    #[must_use]
    pub fn read(
        self,
        output: &Output<'_>,
        workspace: &Workspace,
        folder: &WorkspacePath,
    ) -> Checked {
        let parsed = match self {
            Self::Cargo => cargo::parse(output),
            Self::Tsc => tsc::parse(output),
            Self::Pyright | Self::Basedpyright => pyright::parse(output),
            Self::Go => go::parse(output),
            Self::Dart => dart::parse(output),
        };
        let mut files = Files::new(workspace, folder, self.columns());
        let mut diagnostics: Vec<Diagnostic> = Vec::new();
        let mut outside = 0;
        let source = self.command()[0];
        for raw in parsed.raw.into_iter().filter(|raw| raw.severity.counts()) {
            match files.place(raw) {
                Some(found) => {
                    let found = found.with_source(source);
                    if !diagnostics.contains(&found) {
                        diagnostics.push(found);
                    }
                }
                None => outside += 1,
            }
        }
        diagnostic::sort(&mut diagnostics);
        let (state, mut why) = self.judge(output, parsed.complete, diagnostics.len() + outside);
        if let Some(left_out) = parsed.left_out {
            why = format!("{why}; {left_out}");
        }
        Checked { diagnostics, outside, state, why }
    }

    /// What a column of the tool counts.
    fn columns(self) -> PositionEncoding {
        match self {
            Self::Cargo => PositionEncoding::Utf32,
            Self::Go => PositionEncoding::Utf8,
            Self::Tsc | Self::Pyright | Self::Basedpyright | Self::Dart => PositionEncoding::Utf16,
        }
    }

    fn judge(self, output: &Output<'_>, complete: bool, found: usize) -> (State, String) {
        let command = self.command().join(" ");
        match output.exit {
            None => {
                (State::Unknown, format!("`{command}` did not end by itself, so this is not all"))
            }
            Some(0) if complete && found == 0 => {
                (State::Clean, format!("`{command}` ended with 0"))
            }
            Some(exit) if complete && found > 0 => {
                (State::Dirty, format!("`{command}` ended with {exit}"))
            }
            Some(exit) => {
                let said =
                    if output.stderr.trim().is_empty() { output.stdout } else { output.stderr };
                let said = clip_middle(said.trim(), SHOWN_OUTPUT, None).text;
                let why = format!(
                    "`{command}` ended with {exit} and its output is not that of a whole check: {said}"
                );
                (State::Unknown, why)
            }
        }
    }
}

impl Raw {
    fn new(file: &str, line: usize, column: usize, severity: Severity, message: &str) -> Self {
        Self {
            file: file.to_owned(),
            line,
            column,
            end_line: line,
            severity,
            code: None,
            message: message.to_owned(),
        }
    }
}
