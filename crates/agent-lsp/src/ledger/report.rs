//! What a write did to the diagnostics: as lines for the model, and as data.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
};

use agent_tool_core::clip;
use serde::Serialize;

use super::{New, Others, OthersData, Pending, Since, Unsettled, others::listed};
use crate::diagnostic::{self, Diagnostic, Severity, State};

/// At most so many lines for one written file.
pub const FILE_LIMIT: usize = 10;
/// More new errors than this in one file of one write are one line, with the first [`FLOOD_SHOWN`].
pub const FLOOD: usize = 40;
/// See [`FLOOD`].
pub const FLOOD_SHOWN: usize = 3;
/// At most so many other files.
pub const OTHER_FILES_LIMIT: usize = 5;
/// At most so many lines for another file.
pub const OTHER_FILE_LIMIT: usize = 3;
/// At most so many places of what is back again, or was fixed untold.
pub const BACK_LIMIT: usize = 5;

/// A longer message is cut.
const MESSAGE_LIMIT: usize = 400;
/// Above what may be older than the write.
const PERHAPS_NEW: &str = "perhaps new, nothing is known from before";
/// At most so many diagnostics in one list of the data.
const DATA_LIMIT: usize = 50;

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

    /// The lines of what settled since the last result, with the write that it belongs to.
    pub(crate) fn late_text(&self) -> String {
        let text = self.text_with("(may predate that write)");
        match self.of.as_slice() {
            [] => format!("since the last result: {text}"),
            of => format!("since the last result, of the earlier write of {}: {text}", listed(of)),
        }
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

    /// The lines for the model, without an end of line at the end.
    #[must_use]
    pub fn text(&self) -> String {
        self.text_with("(may predate this edit)")
    }

    /// The same, with these words behind what may be older.
    fn text_with(&self, doubt: &str) -> String {
        let mut out = String::new();
        let written = self.of(Origin::Written, Since::ThisEdit);
        let others = self.of(Origin::Other, Since::ThisEdit);
        let in_doubt = self.of(Origin::Written, Since::PerhapsBefore);
        let others_in_doubt = self.of(Origin::Other, Since::PerhapsBefore);
        let limits = (usize::MAX, FILE_LIMIT);
        print_files(&mut out, "new diagnostics", &written, limits, doubt);
        print_files(&mut out, PERHAPS_NEW, &in_doubt, limits, doubt);
        let limits = (OTHER_FILES_LIMIT, OTHER_FILE_LIMIT);
        print_files(&mut out, "new in other files", &others, limits, doubt);
        let title = "perhaps new in other files, of which nothing is known from before";
        print_files(&mut out, title, &others_in_doubt, limits, doubt);
        let owed = self.of(Origin::Other, Since::EarlierEdit);
        let title = "perhaps of an earlier write, in other files that were not looked at since it";
        print_files(&mut out, title, &owed, limits, doubt);
        let (hidden, fixed): (Vec<_>, Vec<_>) =
            self.fixed.iter().partition(|gone| self.may_be_hidden(gone));
        if !fixed.is_empty() {
            line(&mut out, &self.fixed_line(&fixed));
        }
        if !hidden.is_empty() {
            let counts = diagnostic::counts(hidden);
            line(&mut out, &format!("not told any more, fixed or hidden by a new error: {counts}"));
        }
        if !self.back.is_empty() {
            let (counts, places) = (diagnostic::counts(&self.back), places(&self.back));
            line(&mut out, &format!("back again, hidden until now: {counts} ({places})"));
        }
        let nothing_new = written.is_empty() && in_doubt.is_empty();
        if nothing_new && self.open().is_empty() && self.has_written {
            let alone = self.new.is_empty() && self.pending.is_empty();
            let is_plain = alone || self.state == State::Clean || self.nothing_is_there;
            let place = if is_plain { "" } else { "in what was written: " };
            line(&mut out, &format!("{place}{}", self.why()));
        }
        self.print_pending(&mut out);
        self.others.lines().iter().for_each(|left| line(&mut out, left));
        out.truncate(out.trim_end().len());
        out
    }

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

    /// The news of written files or of others, as sure as this.
    fn of(&self, origin: Origin, since: Since) -> Vec<FileNews> {
        let files = self.new.iter().filter(|news| news.origin == origin).map(|news| FileNews {
            new: news.new.iter().filter(|new| new.since == since).cloned().collect(),
            ..news.clone()
        });
        files.filter(|news| !news.new.is_empty()).collect()
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

    /// What is gone, whose doing it is as far as that is known, and what of it nobody was told of.
    fn fixed_line(&self, fixed: &[&Diagnostic]) -> String {
        let by = match self.others.changed.as_slice() {
            [] => String::new(),
            files => format!(", by this write or by what else changed ({})", listed(files)),
        };
        let untold: Vec<_> =
            self.untold.iter().filter(|gone| !self.may_be_hidden(gone)).cloned().collect();
        let untold = match untold.len() {
            0 => String::new(),
            n if n == fixed.len() => format!(", never told before ({})", places(&untold)),
            n => format!(", {n} of them never told before ({})", places(&untold)),
        };
        format!("fixed{by}: {}{untold}", diagnostic::counts(fixed.iter().copied()))
    }

    /// Each written file that is waited for has a line. Where there is none, the others have one for each server and
    /// reason: as long as a written file is waited for, nobody takes the rest for known.
    fn print_pending(&self, out: &mut String) {
        let mut others: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        for pending in &self.pending {
            let file = pending.ticket.file();
            let how = match pending.why {
                Unsettled::NotLookedFor { .. } => "unknown",
                _ => "pending",
            };
            let why = format!("({}: {})", pending.ticket.server(), pending.why.words());
            match pending.origin {
                Origin::Written => line(out, &format!("diagnostics {how} for {file} {why}")),
                Origin::Other => others.entry(format!("{how} {why}")).or_default().push(file),
            }
        }
        let is_said = self.pending.iter().any(|pending| pending.origin == Origin::Written);
        for (how, files) in others.into_iter().filter(|_| !is_said) {
            let (how, why) = how.split_once(' ').unwrap_or_default();
            let more = files.len().saturating_sub(OTHER_FILES_LIMIT);
            let mut names = files[..files.len() - more].join(", ");
            if more > 0 {
                let _ = write!(names, " and {more} more");
            }
            line(out, &format!("diagnostics {how} for other files: {names} {why}"));
        }
    }

    /// What has to come before the state is known.
    fn open(&self) -> Vec<&Pending> {
        let written = self.pending.iter().filter(|pending| pending.origin == Origin::Written);
        let written: Vec<_> = written.collect();
        if written.is_empty() && self.state == State::Unknown {
            return self.pending.iter().collect();
        }
        written
    }

    /// What the state rests on.
    fn why(&self) -> String {
        let pending: Vec<_> = self
            .open()
            .iter()
            .map(|pending| format!("{}: {}", pending.ticket.server(), pending.why.words()))
            .collect();
        let new: usize = self
            .new
            .iter()
            .filter(|news| news.origin == Origin::Written)
            .map(|news| news.new.len())
            .sum();
        let old = self.remaining.len().saturating_sub(new);
        if self.nothing_is_there && self.has_written {
            return self.why_of_nothing(&pending);
        }
        if let Some(configured) = self.others.configured().filter(|_| !self.has_written) {
            return match (pending.as_slice(), new) {
                ([], _) => format!("{configured}{}", self.elsewhere()),
                _ => format!("{configured}; not confirmed yet ({})", pending.join(", ")),
            };
        }
        match (self.state, pending.is_empty()) {
            (_, false) => format!("not confirmed yet ({})", pending.join(", ")),
            _ if !self.unseen.is_empty() => {
                format!("not confirmed: no server looked at {}", self.unseen.join(", "))
            }
            (State::Clean, true) => {
                let others = if self.others.is_whole() {
                    ", confirmed"
                } else {
                    ", and not every other file was looked at"
                };
                format!("no errors or warnings in what was written{others}{}", self.elsewhere())
            }
            (_, true) if new == 0 => format!("no new diagnostics; {old} from before"),
            (_, true) => format!("{new} new, {old} from before"),
        }
    }
}

impl Report {
    /// What the state rests on where nothing of what was written is left.
    fn why_of_nothing(&self, pending: &[String]) -> String {
        let looked_at = self.others.looked_at.len();
        let seen = match looked_at {
            0 if self.others.names.is_empty() => "no other file was looked at".to_owned(),
            0 => format!("no other file that names {} was looked at", self.others.quoted()),
            1 => "1 other file was looked at".to_owned(),
            n => format!("{n} other files were looked at"),
        };
        let news = match looked_at {
            0 => "",
            _ if self.new.is_empty() => ", with no new errors",
            _ => "",
        };
        let wait = match pending {
            [] => String::new(),
            _ => format!("; not confirmed yet ({})", pending.join(", ")),
        };
        format!("what was written is gone; {seen}{news}{}{wait}", self.elsewhere())
    }

    /// The errors of other files that are none of this write's.
    fn elsewhere(&self) -> String {
        match self.elsewhere {
            0 => String::new(),
            1 => "; other files had 1 error when they were looked at last".to_owned(),
            n => format!("; other files had {n} errors when they were looked at last"),
        }
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

impl Unsettled {
    /// The reason in words.
    #[must_use]
    pub fn words(&self) -> String {
        match self {
            Self::TimedOut { waiting_for } => waiting_for.clone(),
            Self::NotLookedFor { why } => why.clone(),
            Self::NotLookedAt(_) => "it is one too many".to_owned(),
            Self::Partial => "more is to come".to_owned(),
            Self::Outdated => "the answer was for an older text".to_owned(),
            Self::Closed => "the file was closed".to_owned(),
            Self::Crashed => "the server ended".to_owned(),
        }
    }
}

fn print_files(
    out: &mut String,
    title: &str,
    files: &[FileNews],
    (most, limit): (usize, usize),
    doubt: &str,
) {
    if files.is_empty() {
        return;
    }
    line(out, &format!("{title}: {}", diagnostic::counts(all(files))));
    files.iter().take(most).for_each(|news| print_file(out, news, limit, doubt));
    match files.len().saturating_sub(most) {
        0 => {}
        1 => line(out, "and 1 more file"),
        more => line(out, &format!("and {more} more files")),
    }
}

fn print_file(out: &mut String, news: &FileNews, limit: usize, doubt: &str) {
    let errors = news.new.iter().filter(|new| new.diagnostic.severity == Severity::Error).count();
    let flood = errors > FLOOD;
    let limit = if flood { FLOOD_SHOWN } else { limit };
    if flood {
        line(
            out,
            &format!(
                "{}: {}; the first {FLOOD_SHOWN}:",
                news.file,
                diagnostic::counts(all(std::slice::from_ref(news)))
            ),
        );
    } else {
        line(out, &news.file);
    }
    for new in news.new.iter().take(limit) {
        line(out, &format!("  {}", describe(new, doubt)));
    }
    if news.new.len() > limit && !flood {
        line(out, &format!("  and {} more", news.new.len() - limit));
    }
}

fn describe(new: &New, doubt: &str) -> String {
    let Diagnostic { line, column, severity, code, message, source, .. } = &new.diagnostic;
    let code = code.as_deref().map(|code| format!("[{code}]")).unwrap_or_default();
    let message =
        clip(message.trim(), MESSAGE_LIMIT).text.replace("\r\n", "\n").replace('\n', "\n    ");
    let source = source.as_deref().map(|source| format!(" ({source})")).unwrap_or_default();
    let since = match new.since {
        Since::ThisEdit => String::new(),
        Since::PerhapsBefore | Since::EarlierEdit => format!(" {doubt}"),
    };
    format!("{line}:{column} {}{code} {message}{source}{since}", severity.as_str())
}

/// Where the first of some are: `a.py:3, b.py:7 and 2 more`.
fn places(all: &[Diagnostic]) -> String {
    let shown = all.iter().take(BACK_LIMIT);
    let shown =
        shown.map(|one| format!("{}:{}", one.file, one.line)).collect::<Vec<_>>().join(", ");
    match all.len().saturating_sub(BACK_LIMIT) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

fn all(files: &[FileNews]) -> impl Iterator<Item = &Diagnostic> {
    files.iter().flat_map(|news| &news.new).map(|new| &new.diagnostic)
}

fn line(out: &mut String, text: &str) {
    // Writing to a string does not fail.
    let _ = writeln!(out, "{text}");
}
