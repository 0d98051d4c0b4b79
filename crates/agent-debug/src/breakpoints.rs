//! Breakpoints by file and line, with what became of each.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use debug_types::types::SourceBreakpoint;
use serde::Serialize;

use crate::protocol::Breakpoint;

/// The most lines of one call.
pub const MAX_BREAKPOINT_LINES: usize = 100;

/// What stands there where an adapter gives no reason.
const NO_CODE: &str = "no code found there: the line has none, the file is no part of this program, or the program was \
                       built without debug information";

/// What stands there while no program runs.
const AT_START: &str = "it is set when a program starts";

/// What became of a breakpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Status {
    /// It is set where it was asked for.
    Set,
    /// It is set on another line.
    Moved,
    /// It will be set when a program starts, or when its code is loaded.
    Pending,
    /// It is not set.
    Unset,
}

/// A breakpoint and what became of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct BreakpointState {
    /// The path as the workspace shows it.
    pub file: String,
    /// The line where it is set, or else the one that was asked for.
    pub line: u32,
    /// The line that was asked for.
    pub requested: u32,
    /// What became of it.
    pub status: Status,
    /// Why it is not as it was asked for.
    pub message: Option<String>,
}

/// What holds for the breakpoints of a call beside their lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Terms {
    pub(crate) condition: Option<String>,
    pub(crate) hit_condition: Option<String>,
    pub(crate) log_message: Option<String>,
}

/// All breakpoints, of which a session knows.
#[derive(Debug, Default)]
pub(crate) struct Table {
    files: BTreeMap<PathBuf, File>,
}

#[derive(Debug)]
struct File {
    /// The path as it was asked for, where a link made it another one.
    given: PathBuf,
    shown: String,
    /// How many lines it had.
    length: u32,
    terms: Terms,
    lines: Vec<Line>,
}

#[derive(Debug)]
struct Line {
    requested: u32,
    id: Option<i64>,
    became: Became,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Became {
    Waiting,
    At(u32),
    Pending(Option<String>),
    Unset(Option<String>),
}

/// A file whose breakpoints are set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// Its real path.
    pub(crate) path: PathBuf,
    /// The path by which it was asked for.
    pub(crate) given: PathBuf,
    /// The path as the workspace shows it.
    pub(crate) shown: String,
    /// How many lines it has.
    pub(crate) length: u32,
}

impl Table {
    /// Replaces the breakpoints of a file.
    pub(crate) fn replace(&mut self, place: &Place, lines: &[u32], terms: Terms) {
        let mut lines: Vec<u32> = lines.to_vec();
        lines.sort_unstable();
        lines.dedup();
        let line = |requested| Line { requested, id: None, became: Became::Waiting };
        let file = File {
            given: place.given.clone(),
            shown: place.shown.clone(),
            length: place.length,
            terms,
            lines: lines.into_iter().map(line).collect(),
        };
        self.files.insert(place.path.clone(), file);
    }

    /// The files, by their real path and by the one that was asked for.
    pub(crate) fn paths(&self) -> Vec<(PathBuf, PathBuf)> {
        self.files.iter().map(|(path, file)| (path.clone(), file.given.clone())).collect()
    }

    /// What an adapter is sent for a file.
    pub(crate) fn wanted(&self, path: &Path) -> Vec<SourceBreakpoint> {
        let Some(file) = self.files.get(path) else { return Vec::new() };
        let breakpoint = |line: &Line| SourceBreakpoint {
            line: line.requested,
            column: None,
            condition: file.terms.condition.clone(),
            hit_condition: file.terms.hit_condition.clone(),
            log_message: file.terms.log_message.clone(),
        };
        file.lines.iter().map(breakpoint).collect()
    }

    /// What holds for a file's breakpoints beside their lines.
    pub(crate) fn terms(&self, path: &Path) -> Terms {
        self.files.get(path).map(|file| file.terms.clone()).unwrap_or_default()
    }

    /// Takes an adapter's answer for a file, in the order of what was sent.
    pub(crate) fn answered(&mut self, path: &Path, answers: &[Breakpoint]) {
        let Some(file) = self.files.get_mut(path) else { return };
        for (index, line) in file.lines.iter_mut().enumerate() {
            match answers.get(index) {
                Some(answer) => line.take(answer),
                None => line.became = Became::Unset(None),
            }
        }
        let empty = file.lines.is_empty();
        if empty {
            self.files.remove(path);
        }
    }

    /// An adapter did not take the breakpoints of a file at all.
    pub(crate) fn refused(&mut self, path: &Path, why: &str) {
        let Some(file) = self.files.get_mut(path) else { return };
        for line in &mut file.lines {
            line.became = Became::Unset(Some(why.to_owned()));
        }
    }

    /// Takes what an adapter tells later.
    pub(crate) fn changed(&mut self, reason: &str, breakpoint: &Breakpoint) {
        if breakpoint.id.is_none() {
            return;
        }
        let lines = self.files.values_mut().flat_map(|file| &mut file.lines);
        for line in lines.filter(|line| line.id == breakpoint.id) {
            if reason == "removed" {
                line.became = Became::Unset(Some("the adapter removed it".to_owned()));
            } else {
                line.take(breakpoint);
            }
        }
    }

    /// The session is over: all wait for the next one.
    pub(crate) fn reset(&mut self) {
        for line in self.files.values_mut().flat_map(|file| &mut file.lines) {
            line.id = None;
            line.became = Became::Waiting;
        }
    }

    /// Whether none of a file's breakpoints is set.
    pub(crate) fn none_set(&self, path: &Path) -> bool {
        let lines = self.files.get(path).map(|file| file.lines.as_slice()).unwrap_or_default();
        !lines.is_empty() && lines.iter().all(|line| !matches!(line.became, Became::At(_)))
    }

    /// What became of all of them.
    pub(crate) fn states(&self) -> Vec<BreakpointState> {
        self.files.values().flat_map(File::states).collect()
    }

    /// What became of those of one file.
    pub(crate) fn states_of(&self, path: &Path) -> Vec<BreakpointState> {
        self.files.get(path).map(File::states).unwrap_or_default()
    }

    /// Forgets files without breakpoints, whether or not an adapter was told.
    pub(crate) fn tidy(&mut self) {
        self.files.retain(|_, file| !file.lines.is_empty());
    }
}

impl Line {
    fn take(&mut self, answer: &Breakpoint) {
        self.id = answer.id.or(self.id);
        self.became = if answer.verified {
            Became::At(answer.line.unwrap_or(self.requested))
        } else if answer.reason.as_deref() == Some("pending") {
            Became::Pending(answer.message.clone())
        } else {
            Became::Unset(answer.message.clone())
        };
    }
}

impl File {
    fn states(&self) -> Vec<BreakpointState> {
        self.lines.iter().map(|line| self.state(line)).collect()
    }

    fn state(&self, line: &Line) -> BreakpointState {
        let requested = line.requested;
        let (status, at, message) = match &line.became {
            Became::Waiting => (Status::Pending, requested, Some(AT_START.to_owned())),
            Became::At(at) if *at == requested => (Status::Set, *at, None),
            Became::At(at) => {
                let why = if requested > self.length {
                    format!("the file has {} lines", self.length)
                } else {
                    format!("no code on line {requested}")
                };
                (Status::Moved, *at, Some(why))
            }
            Became::Pending(why) => {
                let why = why.clone().unwrap_or_else(|| "its code is not loaded yet".to_owned());
                (Status::Pending, requested, Some(why))
            }
            Became::Unset(why) => {
                let why = why.clone().unwrap_or_else(|| NO_CODE.to_owned());
                (Status::Unset, requested, Some(why))
            }
        };
        BreakpointState { file: self.shown.clone(), line: at, requested, status, message }
    }
}

impl BreakpointState {
    /// What becomes of it when its session is over: the next one sets it again.
    pub(crate) fn outlive(&mut self) {
        if matches!(self.status, Status::Set | Status::Moved) {
            self.status = Status::Pending;
            self.line = self.requested;
            self.message = Some(AT_START.to_owned());
        }
    }

    /// `src/main.rs:42 (moved from 41: no code on line 41)`.
    #[must_use]
    pub fn text(&self) -> String {
        let Self { file, line, requested, status, message } = self;
        let message = message.as_deref().unwrap_or_default();
        match status {
            Status::Set => format!("{file}:{line} set"),
            Status::Moved => format!("{file}:{line} set (moved from {requested}: {message})"),
            Status::Pending => format!("{file}:{line} pending: {message}"),
            Status::Unset => format!("{file}:{line} not set: {message}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::{Place, Status, Table, Terms};
    use crate::protocol::Breakpoint;

    fn answer(id: i64, verified: bool, line: u32) -> Breakpoint {
        Breakpoint { id: Some(id), verified, line: Some(line), ..Breakpoint::default() }
    }

    #[test]
    fn what_became_of_each_line_is_said() {
        let path = PathBuf::from("/w/a.py");
        let place = Place {
            path: path.clone(),
            given: path.clone(),
            shown: "a.py".to_owned(),
            length: 109,
        };
        let mut table = Table::default();
        table.replace(&place, &[609, 16, 18, 30, 16], Terms::default());
        assert_eq!(
            table.wanted(&path).iter().map(|b| b.line).collect::<Vec<_>>(),
            [16, 18, 30, 609]
        );
        let told = |table: &Table| {
            let states = table.states();
            states.iter().map(super::BreakpointState::text).collect::<Vec<_>>()
        };
        assert_eq!(told(&table)[0], "a.py:16 pending: it is set when a program starts");
        table.answered(
            &path,
            &[answer(1, true, 16), answer(2, true, 16), answer(3, false, 30), answer(4, true, 109)],
        );
        let expected = [
            "a.py:16 set",
            "a.py:16 set (moved from 18: no code on line 18)",
            "a.py:30 not set: no code found there: the line has none, the file is no part of this program, or the \
             program was built without debug information",
            "a.py:109 set (moved from 609: the file has 109 lines)",
        ];
        assert_eq!(told(&table), expected);
        table.changed("changed", &answer(3, true, 31));
        assert_eq!(table.states()[2].status, Status::Moved);
        table.changed("removed", &answer(1, true, 16));
        assert_eq!(table.states()[0].status, Status::Unset);
        table.reset();
        assert!(table.states().iter().all(|state| state.status == Status::Pending));
        assert!(!table.none_set(Path::new("/other")));
    }
}
