//! Which diagnostics a write made.
//!
//! For each file and server the ledger keeps the last *settled* snapshot, as a multiset of severity, code and message with the
//! positions in it masked. What a later snapshot has more of is new, what it has less of is fixed; what only moved is
//! neither. Everything that is no settled snapshot (a timeout, a publish for an older version, the empty list after a close)
//! is no news and replaces nothing: so nothing is forgotten because a server was slow, and nothing is told twice.
//!
//! One ledger belongs to one run. A server that was restarted keeps its entries: what it finds again is known.

mod diff;
mod fresh;
mod hidden;
mod key;
mod others;
mod report;

use std::collections::{BTreeMap, BTreeSet};

use crate::diagnostic::{Diagnostic, Severity, State};

pub(crate) use diff::without_shadows;
use diff::{Counted, Renaming, diff, without_renamed};
use fresh::FreshLines;
use hidden::Hidden;
use key::Key;

pub use others::{Beside, Configures, Others, OthersData};
pub use report::{
    BACK_LIMIT, FILE_LIMIT, FLOOD, FLOOD_SHOWN, LateDiagnostics, OTHER_FILE_LIMIT,
    OTHER_FILES_LIMIT, Origin, Report, WriteDiagnostics,
};

/// Why what comes late of a write does not speak for other files.
const AS_SAID: &str = "as the result of that write said";

/// The diagnostics that a run knows of.
#[derive(Debug, Clone, Default)]
pub struct Ledger {
    known: BTreeMap<String, BTreeMap<String, Counted>>,
    hidden: BTreeMap<String, Hidden>,
    /// What was told to whoever calls, by file: as new, or as asked for.
    told: BTreeMap<String, BTreeSet<Key>>,
    pending: BTreeMap<(String, String), Waiting>,
    /// The names that the next write changes everywhere.
    renaming: Vec<Renaming>,
    tickets: u64,
}

#[derive(Debug, Clone, Default)]
struct Waiting {
    number: u64,
    /// Whether the file was written, or lies beside one that was.
    origin: Origin,
    fresh: FreshLines,
    baseline: Baseline,
    /// The names that were changed everywhere since what is known.
    renaming: Vec<Renaming>,
    /// The names of what the write changed.
    names: Vec<String>,
    /// Whether the file was written by an earlier write, of which nothing could be said.
    is_owed: bool,
    /// The files of the writes that it is waited for after.
    of: Vec<String>,
    /// Whether its result said that not every other file was looked at.
    is_part: bool,
}

/// What is known of a file from before the write that is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Baseline {
    /// There was a file, and nothing is known of it unless the ledger says so.
    #[default]
    Unknown,
    /// There was no file, so there was no diagnostic.
    Empty,
}

/// A file that was written, with its texts for telling which lines are new. Files are named as shown, links followed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Written {
    /// The file as shown.
    pub file: String,
    /// The text before; `None` when there was no file.
    pub before: Option<String>,
    /// The text after; `None` when the file is gone.
    pub after: Option<String>,
}

/// What a server said of a file after a write, or that it said nothing that counts.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Observed {
    /// The file as shown.
    pub file: String,
    /// The server.
    pub server: String,
    /// What it said.
    pub snapshot: Snapshot,
}

/// A list of diagnostics that is final, or the reason why there is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Snapshot {
    /// Everything that the server finds in the text that was written.
    Settled(Vec<Diagnostic>),
    /// There is no such list, and what is waited for.
    Unsettled(Unsettled),
}

/// Why a snapshot is not settled.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unsettled {
    /// The time ran out while this was going on, such as `cargo check`.
    TimedOut {
        /// What goes on, in words.
        waiting_for: String,
    },
    /// More is to come: a first publish of syntax errors alone, or the empty one at the start of a compiler's run.
    Partial,
    /// It is not looked for, and nothing will come: why.
    NotLookedFor {
        /// In words.
        why: String,
    },
    /// It is a file beside the written ones that is one too many: nothing will come.
    NotLookedAt(Beside),
    /// It belongs to a version before the last sync.
    Outdated,
    /// It is the empty list after the document was closed.
    Closed,
    /// The server ended.
    Crashed,
}

/// A promise that a late snapshot of one file can be told, unless the file is written again before.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Ticket {
    file: String,
    server: String,
    number: u64,
}

/// A file whose diagnostics are still to come.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Pending {
    /// For [`Ledger::late`].
    pub ticket: Ticket,
    /// Whether the file was written, or lies beside one that was.
    pub origin: Origin,
    /// Why they are not there.
    pub why: Unsettled,
}

/// A diagnostic that a write made.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct New {
    /// The diagnostic.
    pub diagnostic: Diagnostic,
    /// Whether it is known not to have been there before.
    pub since: Since,
}

/// How sure it is that a diagnostic is new.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Since {
    /// It was not there before the write.
    ThisEdit,
    /// There was no snapshot before the write: it may be older.
    PerhapsBefore,
    /// There was none since an earlier write of the file itself, which may have made it.
    EarlierEdit,
}

impl Written {
    /// A file with its texts before and after.
    #[must_use]
    pub fn new(file: impl Into<String>, before: Option<&str>, after: Option<&str>) -> Self {
        Self {
            file: file.into(),
            before: before.map(str::to_owned),
            after: after.map(str::to_owned),
        }
    }
}

impl Observed {
    /// What a server said of a file.
    #[must_use]
    pub fn new(file: impl Into<String>, server: impl Into<String>, snapshot: Snapshot) -> Self {
        Self { file: file.into(), server: server.into(), snapshot }
    }
}

impl Ticket {
    /// The file as shown.
    #[must_use]
    pub fn file(&self) -> &str {
        &self.file
    }

    /// The server.
    #[must_use]
    pub fn server(&self) -> &str {
        &self.server
    }
}

impl Ledger {
    /// A ledger that knows nothing, for a run that begins. A sub-agent is a run of its own.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether a snapshot should be taken before a file is written: nothing is known of it from this server.
    #[must_use]
    pub fn needs_baseline(&self, file: &str, server: &str) -> bool {
        self.known(file, server).is_none()
    }

    /// Takes a settled snapshot from before a write. One that is waited for is left to [`Ledger::late`], which tells it.
    pub fn baseline(&mut self, file: &str, server: &str, settled: Vec<Diagnostic>) {
        if !self.pending.contains_key(&pair(file, server)) {
            self.remember(file, server, settled);
        }
    }

    /// Takes what was told without regard to the ledger, by a call that asked for all of a file's diagnostics.
    pub fn told(&mut self, file: &str, server: &str, settled: Vec<Diagnostic>) {
        self.pending.remove(&pair(file, server));
        self.told.entry(file.to_owned()).or_default().extend(settled.iter().map(Key::of));
        self.remember(file, server, settled);
    }

    /// A file is gone, and with it what was known.
    pub fn deleted(&mut self, file: &str) {
        self.known.remove(file);
        self.hidden.remove(file);
        self.told.remove(file);
        self.pending.retain(|(pending, _), _| pending != file);
    }

    /// A file has another name; what was known of it goes along.
    pub fn renamed(&mut self, from: &str, to: &str) {
        if from == to {
            return;
        }
        self.deleted(to);
        if let Some(mut servers) = self.known.remove(from) {
            servers.values_mut().for_each(|counted| counted.renamed(to));
            self.known.insert(to.to_owned(), servers);
        }
        if let Some(hidden) = self.hidden.remove(from) {
            self.hidden.insert(to.to_owned(), hidden);
        }
        if let Some(told) = self.told.remove(from) {
            self.told.insert(to.to_owned(), told);
        }
        self.pending.retain(|(pending, _), _| pending != from);
    }

    /// The write that is settled next gave a symbol another name everywhere: a message that differs by that name alone is the
    /// one that was there before.
    pub fn symbol_renamed(&mut self, old: &str, new: &str) {
        self.renaming.push(Renaming { old: old.to_owned(), new: new.to_owned() });
    }

    /// Takes everything that was observed after one write, or one batch of writes, and tells what is new: errors and warnings of
    /// the files that were written, and errors of others.
    pub fn settle(&mut self, written: &[Written], observed: Vec<Observed>) -> Report {
        self.settle_with(written, observed, Others::default())
    }

    /// The same, with what is known of who names what the write changed.
    pub fn settle_with(
        &mut self,
        written: &[Written],
        observed: Vec<Observed>,
        others: Others,
    ) -> Report {
        let mut report = Report::new(written.iter().map(|written| written.file.as_str()));
        report.others = others;
        let made = written.iter().filter(|written| written.before.is_none());
        report.made = made.map(|written| written.file.clone()).collect();
        for gone in written.iter().filter(|written| written.after.is_none()) {
            self.deleted(&gone.file);
        }
        let there = written.iter().filter(|written| written.after.is_some());
        let seen = |written: &Written| {
            let settled = |one: &Observed| matches!(one.snapshot, Snapshot::Settled(_));
            observed.iter().any(|one| one.file == written.file && settled(one))
        };
        report.unseen =
            there.filter(|written| !seen(written)).map(|written| written.file.clone()).collect();
        let configuring = report.others.configures.iter().map(|(file, _)| file);
        let mut of: Vec<String> = written.iter().map(|written| &written.file).cloned().collect();
        of.extend(configuring.cloned());
        of.dedup();
        let is_left =
            |one: &Observed| matches!(one.snapshot, Snapshot::Unsettled(Unsettled::NotLookedAt(_)));
        let is_part = !report.others.is_whole() || observed.iter().any(is_left);
        let fresh: Vec<FreshLines> = written.iter().map(FreshLines::of).collect();
        let renaming = std::mem::take(&mut self.renaming);
        for Observed { file, server, snapshot } in observed {
            let index = written.iter().position(|written| written.file == file);
            if index.is_some_and(|index| written[index].after.is_none()) {
                continue;
            }
            let mine = match index {
                Some(index) => Waiting::written(&written[index], fresh[index].clone()),
                None => Waiting::beside(),
            };
            let names = report.others.names.clone();
            let mine =
                Waiting { renaming: renaming.clone(), names, of: of.clone(), is_part, ..mine };
            match snapshot {
                Snapshot::Unsettled(Unsettled::NotLookedAt(beside)) => {
                    report.others.not_looked_at.push((file, beside));
                }
                Snapshot::Settled(now) => {
                    if mine.origin == Origin::Other {
                        report.others.looked_at.insert(file.clone());
                    }
                    let earlier = self.pending.remove(&pair(&file, &server));
                    let was_written = |earlier: &Waiting| earlier.origin == Origin::Written;
                    let is_owed =
                        mine.origin == Origin::Other && earlier.as_ref().is_some_and(was_written);
                    let waiting = Waiting { is_owed, ..mine.merged(earlier) };
                    self.tell(&mut report, &file, &server, now, &waiting);
                }
                Snapshot::Unsettled(why) => {
                    report.pending.push(self.wait(file, server, mine, why));
                }
            }
        }
        self.keep_hidden(&report);
        let nothing_is_there = written.iter().all(|written| written.after.is_none());
        report.nothing_is_there = nothing_is_there;
        let bears = |pending: &Pending| nothing_is_there || pending.origin == Origin::Written;
        let is_confirmed = report.unseen.is_empty() && !report.pending.iter().any(bears);
        self.count_remaining(&mut report, is_confirmed);
        report
    }

    /// Takes a snapshot that settled after its report was given, for the next result of the run. `None` when the file was
    /// written, settled or deleted again since, and where a file beside the written ones has nothing new.
    pub fn late(&mut self, ticket: &Ticket, settled: Vec<Diagnostic>) -> Option<Report> {
        let Ticket { file, server, number } = ticket;
        let key = pair(file, server);
        let waiting = match self.pending.remove(&key)? {
            waiting if waiting.number == *number => waiting,
            other => {
                self.pending.insert(key, other);
                return None;
            }
        };
        let mut report = match waiting.origin {
            Origin::Written => Report::new([file.as_str()]),
            Origin::Other => Report::new([]),
        };
        report.others.names.clone_from(&waiting.names);
        report.of.clone_from(&waiting.of);
        report.others.unknown.extend(waiting.is_part.then(|| AS_SAID.to_owned()));
        self.tell(&mut report, file, server, settled, &waiting);
        self.keep_hidden(&report);
        self.count_remaining(&mut report, true);
        // A file that was written was said to be waited for by name.
        (waiting.origin == Origin::Written || !report.is_quiet()).then_some(report)
    }

    /// Takes what was observed of files beside those of a write, named by what it wrote, that settled after its report was given. `None` where there is
    /// nothing new.
    pub fn late_beside(&mut self, of: Vec<String>, observed: Vec<Observed>) -> Option<Report> {
        let mut report = Report::new([]);
        report.of = of;
        for Observed { file, server, snapshot } in observed {
            let Snapshot::Settled(now) = snapshot else { continue };
            match self.pending.get(&pair(&file, &server)) {
                // It is told by its own ticket.
                Some(waiting) if waiting.origin == Origin::Written => {}
                _ => {
                    let waiting =
                        Waiting::beside().merged(self.pending.remove(&pair(&file, &server)));
                    self.tell(&mut report, &file, &server, now, &waiting);
                }
            }
        }
        self.keep_hidden(&report);
        self.count_remaining(&mut report, true);
        (!report.is_quiet()).then_some(report)
    }

    /// Whether what a ticket promises is still to come.
    #[must_use]
    pub fn is_waited_for(&self, ticket: &Ticket) -> bool {
        let waiting = self.pending.get(&pair(&ticket.file, &ticket.server));
        waiting.is_some_and(|waiting| waiting.number == ticket.number)
    }

    /// Compares a snapshot with what is known, puts the difference into the report, and the snapshot in its place.
    fn tell(
        &mut self,
        report: &mut Report,
        file: &str,
        server: &str,
        now: Vec<Diagnostic>,
        waiting: &Waiting,
    ) {
        let now = counted(now);
        let empty = Counted::default();
        let known = match waiting.baseline {
            Baseline::Empty => Some(self.known(file, server).unwrap_or(&empty)),
            Baseline::Unknown => self.known(file, server),
        };
        let (mut new, mut fixed) = match known {
            Some(known) => {
                let (new, fixed) = diff(known, &now, &waiting.fresh);
                let (new, fixed) = without_renamed(new, fixed, &waiting.renaming);
                let since = if waiting.is_owed { Since::EarlierEdit } else { Since::ThisEdit };
                let new = new.into_iter().map(|diagnostic| New { diagnostic, since });
                (new.collect::<Vec<_>>(), fixed)
            }
            None => {
                let errors = now.iter().filter(|found| found.severity == Severity::Error).cloned();
                let new = errors.map(|diagnostic| New { diagnostic, since: Since::PerhapsBefore });
                (new.collect(), Vec::new())
            }
        };
        if waiting.origin == Origin::Other {
            // Warnings of files that were not written are neither told when they come nor when they go.
            new.retain(|new| new.diagnostic.severity == Severity::Error);
            fixed.retain(|fixed| fixed.severity == Severity::Error);
        }
        let mut back = Vec::new();
        if let Some(hidden) = self.hidden.get_mut(file) {
            let is_back = |new: &mut New| hidden.gives_back(&new.diagnostic, &waiting.fresh);
            // Of equal ones the last is what the write made least likely.
            new.reverse();
            back.extend(new.extract_if(.., is_back).map(|new| new.diagnostic));
        }
        let told = self.told.entry(file.to_owned()).or_default();
        let untold = fixed.iter().filter(|gone| !told.contains(&Key::of(gone)));
        report.untold.extend(untold.cloned());
        told.extend(new.iter().map(|new| Key::of(&new.diagnostic)));
        report.add(file, new, fixed, back);
        self.put(file, server, now);
    }

    /// Keeps what may be hidden from now on, and forgets what nothing hides any more.
    fn keep_hidden(&mut self, report: &Report) {
        let gone = report.fixed.iter().map(|gone| gone.file.clone());
        // An error that comes while something is hidden may hide it too.
        let files: BTreeSet<String> = gone.chain(self.hidden.keys().cloned()).collect();
        for file in files {
            let fixed = report.fixed.iter().filter(|gone| gone.file == file);
            let new = report.new_that_may_hide(&file);
            self.hidden.entry(file.clone()).or_default().hide(fixed, new);
        }
        let known = &self.known;
        self.hidden.retain(|_, hidden| {
            hidden.look(|file, key| is_known(known, file, key));
            !hidden.is_empty()
        });
    }

    fn wait(&mut self, file: String, server: String, waiting: Waiting, why: Unsettled) -> Pending {
        self.tickets += 1;
        let number = self.tickets;
        let key = (file.clone(), server.clone());
        let waiting = Waiting { number, ..waiting }.merged(self.pending.remove(&key));
        let origin = waiting.origin;
        self.pending.insert(key, waiting);
        Pending { ticket: Ticket { file, server, number }, origin, why }
    }

    fn count_remaining(&self, report: &mut Report, is_confirmed: bool) {
        let all = report.written().filter_map(|file| self.known.get(file));
        let all: Vec<Diagnostic> =
            all.flat_map(BTreeMap::values).flat_map(|counted| counted.iter().cloned()).collect();
        report.state = match (all.is_empty(), is_confirmed) {
            (false, _) => State::Dirty,
            (true, false) => State::Unknown,
            (true, true) => State::Clean,
        };
        report.remaining = all;
        report.finish();
        let elsewhere = self.known.iter().filter(|(file, _)| !report.is_of(file));
        let known = elsewhere.flat_map(|(_, servers)| servers.values()).flat_map(Counted::iter);
        let errors = known.filter(|found| found.severity == Severity::Error).count();
        report.elsewhere = errors.saturating_sub(report.new_elsewhere());
        if report.nothing_is_there {
            // What is gone has no state; those that may have needed it have one.
            let is_seen = report.others.is_whole() && !report.others.looked_at.is_empty();
            let is_seen = is_seen && report.elsewhere == 0;
            report.state = match (report.new.is_empty(), is_confirmed && is_seen) {
                (false, _) => State::Dirty,
                (true, false) => State::Unknown,
                (true, true) => State::Clean,
            };
        }
    }

    fn known(&self, file: &str, server: &str) -> Option<&Counted> {
        self.known.get(file)?.get(server)
    }

    fn remember(&mut self, file: &str, server: &str, settled: Vec<Diagnostic>) {
        self.put(file, server, counted(settled));
        if let Some(hidden) = self.hidden.get_mut(file) {
            hidden.look(|file, key| is_known(&self.known, file, key));
        }
    }

    fn put(&mut self, file: &str, server: &str, counted: Counted) {
        self.known.entry(file.to_owned()).or_default().insert(server.to_owned(), counted);
    }
}

/// Whether some server is known to say this of a file.
fn is_known(known: &BTreeMap<String, BTreeMap<String, Counted>>, file: &str, key: &Key) -> bool {
    let mut servers = known.get(file).into_iter().flat_map(BTreeMap::values);
    servers.any(|counted| counted.keys().any(|known| known == key))
}

/// What counts of a snapshot.
fn counted(settled: Vec<Diagnostic>) -> Counted {
    Counted::of(without_shadows(settled))
}

impl Waiting {
    fn written(written: &Written, fresh: FreshLines) -> Self {
        let baseline = match written.before {
            Some(_) => Baseline::Unknown,
            None => Baseline::Empty,
        };
        Self { origin: Origin::Written, fresh, baseline, ..Self::default() }
    }

    fn beside() -> Self {
        let fresh = FreshLines::default();
        let baseline = Baseline::Unknown;
        Self { origin: Origin::Other, fresh, baseline, ..Self::default() }
    }

    /// With what was waited for before: a file that was written is still one when it is looked at again as one beside
    /// another, and one that was made is still new when it is written again.
    fn merged(self, earlier: Option<Self>) -> Self {
        let Some(mut earlier) = earlier else { return self };
        let is_part = self.is_part || earlier.is_part;
        let mut of = std::mem::take(&mut earlier.of);
        of.extend(self.of.iter().filter(|file| !of.contains(file)).cloned().collect::<Vec<_>>());
        let mut renaming = std::mem::take(&mut earlier.renaming);
        renaming.extend(self.renaming.iter().cloned());
        let both = match (self.origin, earlier.origin, earlier.baseline) {
            (Origin::Other, Origin::Written, _) => Self { number: self.number, ..earlier },
            (_, _, Baseline::Empty) => Self { baseline: Baseline::Empty, ..self },
            _ => self,
        };
        Self { renaming, of, is_part, ..both }
    }
}

fn pair(file: &str, server: &str) -> (String, String) {
    (file.to_owned(), server.to_owned())
}
