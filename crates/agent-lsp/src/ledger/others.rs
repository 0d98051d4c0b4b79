//! The files beside the written ones, and which of them nobody looked at.

use std::collections::BTreeSet;

use serde::Serialize;

/// At most so many names of files in a line.
const FILES_LIMIT: usize = 5;

/// At most so many names of what changed.
const NAMES_LIMIT: usize = 3;

/// At most so many files in the data.
const DATA_LIMIT: usize = 50;

/// Why it is not known while a written file is waited for.
const AFTER: &str = "others are looked at after the written files";

/// What looks at everything.
const ASK: &str = "`lsp` with the action diagnostics and the file \"*\" looks at all";

/// What is known of the files beside the written ones, which a write may have broken.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Others {
    /// The names of what the write changed, by which others are found.
    pub names: Vec<String>,
    /// Why it is not known which files name it, for each server that cannot tell.
    pub unknown: BTreeSet<String>,
    /// Those that were looked at after the write.
    pub looked_at: BTreeSet<String>,
    /// Those that were not, and will not be.
    pub not_looked_at: Vec<(String, Beside)>,
    /// Those that changed since the result before, by another hand than this write's: what is gone may be their doing.
    pub changed: Vec<String>,
    /// The files of earlier writes whose others were not looked at then, and are looked at with this one's.
    pub earlier: BTreeSet<String>,
    /// The written files that configure a server, each with it: any file may be another by that.
    pub configures: Vec<(String, String)>,
}

/// Why a file beside the written ones matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Beside {
    /// It names what the write changed.
    Named,
    /// It is open.
    Open,
}

/// The same as data.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct OthersData {
    /// How many other files were looked at after the write.
    pub looked_at: usize,
    /// Those that matter and were not, at most 50.
    pub not_looked_at: Vec<String>,
    /// How many matter, with those that are to come; null where that is not known.
    pub total: Option<usize>,
    /// Why it is not known.
    pub why: Option<String>,
    /// Those that changed since the result before by another hand, at most 50: what is gone may be their doing.
    pub changed: Vec<String>,
    /// The files of earlier writes whose others were not looked at then, and are looked at with this one's, at most 50.
    pub earlier: Vec<String>,
    /// The written files that configure a server: of its files those that are open are looked at.
    pub configures: Vec<Configures>,
}

/// A file that configures a server, as data.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Configures {
    /// The file as shown.
    pub file: String,
    /// The server.
    pub server: String,
}

impl Others {
    /// What a write changed, and why it is not known who names it.
    #[must_use]
    pub fn new(names: Vec<String>, unknown: impl IntoIterator<Item = String>) -> Self {
        Self { names, unknown: unknown.into_iter().collect(), ..Self::default() }
    }

    /// Whether nothing that matters was left out, as far as it is known.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.unknown.is_empty() && self.not_looked_at.is_empty() && self.configures.is_empty()
    }

    /// As data, where so many are to come, and where `waits` also what is found once the written files have settled.
    pub(super) fn data(&self, pending: usize, waits: bool) -> OthersData {
        let files = self.not_looked_at.iter().map(|(file, _)| file.clone());
        let mut why: Vec<_> = self.unknown.iter().map(String::as_str).collect();
        why.extend(waits.then_some(AFTER));
        let configured = self.configured();
        why.extend(configured.as_deref());
        let known = self.looked_at.len() + self.not_looked_at.len() + pending;
        OthersData {
            looked_at: self.looked_at.len(),
            not_looked_at: files.take(DATA_LIMIT).collect(),
            total: why.is_empty().then_some(known),
            why: (!why.is_empty()).then(|| why.join("; ")),
            changed: self.changed.iter().take(DATA_LIMIT).cloned().collect(),
            earlier: self.earlier.iter().take(DATA_LIMIT).cloned().collect(),
            configures: self
                .configures
                .iter()
                .take(DATA_LIMIT)
                .map(|(file, server)| Configures { file: file.clone(), server: server.clone() })
                .collect(),
        }
    }

    /// Which server a written file configures: `pyproject.toml configures ruff, so any file may be another by it`.
    pub(super) fn configured(&self) -> Option<String> {
        let mut files: Vec<&str> = self.configures.iter().map(|(file, _)| file.as_str()).collect();
        files.dedup();
        let all = files.into_iter().map(|file| {
            let of = self.configures.iter().filter(|(of, _)| of == file);
            let servers: Vec<&str> = of.map(|(_, server)| server.as_str()).collect();
            format!("{file} configures {}", servers.join(" and "))
        });
        let all: Vec<_> = all.collect();
        (!all.is_empty()).then(|| format!("{}, so any file may be another by it", all.join(", ")))
    }

    /// What was left out, a line each.
    pub(super) fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        if let Some(configured) = self.configured() {
            let seen = match self.looked_at.len() {
                0 => "no open file was looked at".to_owned(),
                1 => "1 open file was looked at".to_owned(),
                n => format!("{n} open files were looked at"),
            };
            lines.push(format!("{configured}; {seen}, others were not; {ASK}"));
        }
        for beside in [Beside::Named, Beside::Open] {
            let of = self.not_looked_at.iter().filter(|(_, why)| *why == beside);
            let files: Vec<&str> = of.map(|(file, _)| file.as_str()).collect();
            if files.is_empty() {
                continue;
            }
            let (subject, were) = match files.len() {
                1 => ("1 other file".to_owned(), "was"),
                n => (format!("{n} other files"), "were"),
            };
            let does = match (beside, files.len()) {
                (Beside::Named, 1) => format!("names {}", self.quoted()),
                (Beside::Named, _) => format!("name {}", self.quoted()),
                (Beside::Open, 1) => "is open".to_owned(),
                (Beside::Open, _) => "are open".to_owned(),
            };
            let files = listed(&files);
            lines.push(format!("{subject} {does} and {were} not looked at: {files}; {ASK}"));
        }
        if !self.earlier.is_empty() && !self.looked_at.is_empty() {
            let files: Vec<_> = self.earlier.iter().collect();
            lines.push(format!(
                "other files were looked at for the earlier write of {} as well, after which they were not",
                listed(&files)
            ));
        }
        if !self.unknown.is_empty() {
            let why: Vec<_> = self.unknown.iter().map(String::as_str).collect();
            lines.push(format!("other files were not looked at ({}); {ASK}", why.join("; ")));
        }
        lines
    }

    /// What changed: `` `area`, `Shape` or 3 more names ``
    pub(super) fn quoted(&self) -> String {
        let shown: Vec<_> =
            self.names.iter().take(NAMES_LIMIT).map(|name| format!("`{name}`")).collect();
        match self.names.len().saturating_sub(NAMES_LIMIT) {
            0 if shown.is_empty() => "what changed".to_owned(),
            0 => shown.join(" or "),
            more => format!("{} or one of {more} more names", shown.join(", ")),
        }
    }
}

/// The first of some files: `a.py, b.py and 2 more`.
pub(super) fn listed(files: &[impl AsRef<str>]) -> String {
    let shown: Vec<&str> = files.iter().take(FILES_LIMIT).map(AsRef::as_ref).collect();
    let shown = shown.join(", ");
    match files.len().saturating_sub(FILES_LIMIT) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}
