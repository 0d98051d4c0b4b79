//! A report as data.

use std::collections::BTreeSet;

use serde::Serialize;

use super::{Origin, Report};
use crate::{
    diagnostic::{Diagnostic, State},
    ledger::{OthersData, Pending, Since, Unsettled},
};

/// At most so many diagnostics in one list of the data.
const DATA_LIMIT: usize = 50;

/// The data of a write's diagnostics: those of the `diagnostics` answer, and what changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct WriteDiagnostics {
    /// What the written files have now, at most 50.
    pub diagnostics: Vec<Diagnostic>,
    /// What is known of the written files as they are now, whatever became of others; where nothing of them is left, of those
    /// that were looked at.
    pub state: State,
    /// What it rests on.
    pub why: String,
    /// What is new, in the written files and in others, at most 50.
    pub new: Vec<Diagnostic>,
    /// How many are new.
    pub new_total: usize,
    /// The errors of files of which nothing is known from right before the write, at most 50: new ones among them or not.
    pub perhaps_new: Vec<Diagnostic>,
    /// The files beside the written ones.
    pub others: OthersData,
    /// What is gone, where no new error may hide it, at most 50.
    pub fixed: Vec<Diagnostic>,
    /// How many of those were never told.
    pub fixed_untold: usize,
    /// What is gone from a file with a new error, or from others while a written file has one, which may only hide it, at most 50.
    pub perhaps_hidden: Vec<Diagnostic>,
    /// What was perhaps hidden after an earlier write and is told again, at most 50. It is not new.
    pub back: Vec<Diagnostic>,
    /// What is to come.
    pub pending: Vec<PendingFile>,
    /// What came since the last result of the run and belongs to earlier writes: it is in none of the other lists.
    pub late: Vec<LateDiagnostics>,
}

/// What settled after its write was answered, as data.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct LateDiagnostics {
    /// The files of the writes that it belongs to.
    pub of: Vec<String>,
    /// What is new, at most 50.
    pub new: Vec<Diagnostic>,
    /// The errors of files of which nothing is known from before, at most 50.
    pub perhaps_new: Vec<Diagnostic>,
    /// What is gone, where no new error may hide it, at most 50.
    pub fixed: Vec<Diagnostic>,
    /// What is gone and may only be hidden, at most 50.
    pub perhaps_hidden: Vec<Diagnostic>,
    /// What was perhaps hidden and is told again, at most 50.
    pub back: Vec<Diagnostic>,
}

/// A file whose diagnostics are to come, as data.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct PendingFile {
    /// The file as shown.
    pub file: String,
    /// The server.
    pub server: String,
    /// Why they are not there.
    pub why: String,
}

impl Report {
    /// The data of the report.
    #[must_use]
    pub fn data(&self) -> WriteDiagnostics {
        let since = |since| {
            let all = self.new.iter().flat_map(|news| &news.new);
            all.filter(move |new| new.since == since).map(|new| &new.diagnostic)
        };
        let beside = self.pending.iter().filter(|pending| pending.origin == Origin::Other);
        let beside: BTreeSet<_> = beside.map(|pending| pending.ticket.file()).collect();
        let first =
            |list: &mut dyn Iterator<Item = &Diagnostic>| list.take(DATA_LIMIT).cloned().collect();
        WriteDiagnostics {
            diagnostics: first(&mut self.remaining.iter()),
            state: self.state,
            why: self.why(),
            new: first(&mut since(Since::ThisEdit)),
            new_total: since(Since::ThisEdit).count(),
            perhaps_new: first(&mut since(Since::PerhapsBefore).chain(since(Since::EarlierEdit))),
            others: self.others.data(beside.len(), self.is_waited_for()),
            fixed: first(&mut self.fixed.iter().filter(|gone| !self.may_be_hidden(gone))),
            fixed_untold: self.untold.iter().filter(|gone| !self.may_be_hidden(gone)).count(),
            perhaps_hidden: first(&mut self.fixed.iter().filter(|gone| self.may_be_hidden(gone))),
            back: first(&mut self.back.iter()),
            pending: self.pending.iter().map(PendingFile::of).collect(),
            late: Vec::new(),
        }
    }

    /// Whether a written file is to come, after which the others are looked at.
    fn is_waited_for(&self) -> bool {
        self.pending.iter().any(|pending| {
            let comes = !matches!(pending.why, Unsettled::NotLookedFor { .. });
            comes && pending.origin == Origin::Written
        })
    }

    /// The same as data.
    pub(crate) fn late_data(&self) -> LateDiagnostics {
        let WriteDiagnostics { new, perhaps_new, fixed, perhaps_hidden, back, .. } = self.data();
        LateDiagnostics { of: self.of.clone(), new, perhaps_new, fixed, perhaps_hidden, back }
    }

    /// What is said of a write of which there is nothing to say, beside what came late.
    pub(crate) fn of_nothing() -> WriteDiagnostics {
        let why = "no server that runs takes what was written".to_owned();
        WriteDiagnostics { why, ..Self::new([]).data() }
    }
}

impl PendingFile {
    fn of(pending: &Pending) -> Self {
        Self {
            file: pending.ticket.file().to_owned(),
            server: pending.ticket.server().to_owned(),
            why: pending.why.words(),
        }
    }
}
