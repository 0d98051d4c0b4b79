//! A report as lines for the model.

use std::{collections::BTreeMap, fmt::Write as _};

use agent_tool_core::clip;

use super::{FileNews, Origin, Report};
use crate::{
    diagnostic::{self, Diagnostic, Severity, State},
    ledger::{New, Since, Unsettled, others::listed},
};

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

impl Report {
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

    /// The lines of what settled since the last result, with the write that it belongs to.
    pub(crate) fn late_text(&self) -> String {
        let text = self.text_with("(may predate that write)");
        match self.of.as_slice() {
            [] => format!("since the last result: {text}"),
            of => format!("since the last result, of the earlier write of {}: {text}", listed(of)),
        }
    }

    /// The news of written files or of others, as sure as this.
    fn of(&self, origin: Origin, since: Since) -> Vec<FileNews> {
        let files = self.new.iter().filter(|news| news.origin == origin).map(|news| FileNews {
            new: news.new.iter().filter(|new| new.since == since).cloned().collect(),
            ..news.clone()
        });
        files.filter(|news| !news.new.is_empty()).collect()
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
