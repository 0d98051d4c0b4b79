//! What a write did to the diagnostics: as lines for the model, and as data.

mod data;
mod text;
mod why;

pub use self::{
    data::{LateDiagnostics, WriteDiagnostics},
    text::{BACK_LIMIT, FILE_LIMIT, FLOOD, FLOOD_SHOWN, OTHER_FILE_LIMIT, OTHER_FILES_LIMIT},
};
use super::{New, Others, Pending, Since};
use crate::diagnostic::{self, Diagnostic, Severity, State};

/// The difference that a write made.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// The new diagnostics, file by file: written files first in the order of the write, then others.
    pub new: Vec<FileNews>,
    /// What was there before and is not told any more: fixed, or hidden by a new error of its file.
    pub fixed: Vec<Diagnostic>,
    /// What of that was there before and was never told.
    pub untold: Vec<Diagnostic>,
    /// What was told as perhaps hidden after an earlier write, and is told again as it was.
    pub back: Vec<Diagnostic>,
    /// What is still to come.
    pub pending: Vec<Pending>,
    /// Written files of which no server gave a settled snapshot.
    pub unseen: Vec<String>,
    /// What is known of the written files.
    pub state: State,
    /// All that the written files have now, as far as it is known.
    pub remaining: Vec<Diagnostic>,
    /// How many errors other files had before, when they were looked at last.
    pub elsewhere: usize,
    /// What is known of the files beside the written ones.
    pub others: Others,
    /// Whether all that was written is gone.
    pub(super) nothing_is_there: bool,
    /// The written files that were not there before.
    pub(super) made: Vec<String>,
    /// The written files.
    files: Vec<String>,
    /// Whether it is of written files at all.
    has_written: bool,
    /// The files of the earlier writes that it belongs to, where it settled late.
    pub(super) of: Vec<String>,
}

/// The news of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct FileNews {
    /// The file as shown.
    pub file: String,
    /// Whether the write was to it.
    pub origin: Origin,
    /// Errors first, then by place.
    pub new: Vec<New>,
}

/// Whether a file was written or only suffers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Origin {
    /// It was written.
    #[default]
    Written,
    /// Another one was.
    Other,
}

impl Report {
    pub(super) fn new<'a>(written: impl IntoIterator<Item = &'a str>) -> Self {
        let of = |file: &str| FileNews {
            file: file.to_owned(),
            origin: Origin::Written,
            new: Vec::new(),
        };
        let new: Vec<FileNews> = written.into_iter().map(of).collect();
        Self {
            has_written: !new.is_empty(),
            of: Vec::new(),
            elsewhere: 0,
            others: Others::default(),
            nothing_is_there: false,
            made: Vec::new(),
            files: new.iter().map(|news| news.file.clone()).collect(),
            new,
            fixed: Vec::new(),
            untold: Vec::new(),
            back: Vec::new(),
            pending: Vec::new(),
            unseen: Vec::new(),
            state: State::Unknown,
            remaining: Vec::new(),
        }
    }

    pub(super) fn written(&self) -> impl Iterator<Item = &str> {
        self.new.iter().filter(|news| news.origin == Origin::Written).map(|news| news.file.as_str())
    }

    pub(super) fn add(
        &mut self,
        file: &str,
        new: Vec<New>,
        fixed: Vec<Diagnostic>,
        back: Vec<Diagnostic>,
    ) {
        self.fixed.extend(fixed);
        self.back.extend(back);
        match self.new.iter_mut().find(|news| news.file == file) {
            Some(news) => news.new.extend(new),
            None => self.new.push(FileNews { file: file.to_owned(), origin: Origin::Other, new }),
        }
    }

    /// Puts everything in the order of printing. What two servers say alike at one line is said once.
    pub(super) fn finish(&mut self) {
        for news in &mut self.new {
            let names = &self.others.names;
            news.new.sort_by_key(|new| {
                let Diagnostic { severity, line, column, message, .. } = &new.diagnostic;
                // Of what may be older, what speaks of the change comes first.
                let is_likely = names.iter().any(|name| message.contains(name.as_str()));
                let is_older = new.since != Since::ThisEdit && !is_likely;
                (*severity, is_older, *line, *column)
            });
            let mut kept: Vec<New> = Vec::with_capacity(news.new.len());
            for new in news.new.drain(..) {
                if !kept.iter().any(|other| other.diagnostic.says_the_same(&new.diagnostic)) {
                    kept.push(new);
                }
            }
            news.new = kept;
        }
        self.new.retain(|news| !news.new.is_empty());
        // Stable: written files keep the order of the write.
        self.new.sort_by(|a, b| {
            let name = |news: &FileNews| match news.origin {
                Origin::Written => String::new(),
                Origin::Other => news.file.clone(),
            };
            (a.origin, name(a)).cmp(&(b.origin, name(b)))
        });
        diagnostic::sort(&mut self.fixed);
        diagnostic::sort(&mut self.untold);
        diagnostic::sort(&mut self.back);
        self.back.dedup_by(|a, b| a.says_the_same(b));
        diagnostic::sort(&mut self.remaining);
        self.remaining.dedup_by(|a, b| a.says_the_same(b));
    }

    /// Whether a file was written.
    pub(super) fn is_of(&self, file: &str) -> bool {
        self.files.iter().any(|written| written == file)
    }

    /// How many errors are new in other files.
    pub(super) fn new_elsewhere(&self) -> usize {
        let others = self.new.iter().filter(|news| news.origin == Origin::Other);
        others.map(|news| news.new.len()).sum()
    }

    /// Whether there is nothing to tell but that nothing changed.
    #[must_use]
    pub fn is_quiet(&self) -> bool {
        self.new.is_empty()
            && self.fixed.is_empty()
            && self.back.is_empty()
            && self.pending.is_empty()
    }

    /// What is new and may hide what was told of a file: in that file, and for one beside the written ones in those too, unless
    /// they were made: of what was not there nobody knew anything.
    pub(super) fn new_that_may_hide(&self, file: &str) -> impl Iterator<Item = &Diagnostic> {
        let is_written = self.is_of(file);
        let may = move |news: &&FileNews| {
            let may_others = news.origin == Origin::Written && !self.made.contains(&news.file);
            news.file == file || !is_written && may_others
        };
        self.new.iter().filter(may).flat_map(|news| &news.new).map(|new| &new.diagnostic)
    }

    /// Whether a new error may hide it: after a slip of syntax a server looks no further, and what others know of that file is
    /// no more than what it could read.
    fn may_be_hidden(&self, gone: &Diagnostic) -> bool {
        self.new_that_may_hide(&gone.file).any(|new| new.severity == Severity::Error)
    }
}
