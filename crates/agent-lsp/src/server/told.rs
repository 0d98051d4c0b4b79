//! What a server has told of its own accord: diagnostics, progress, status, what it can do since.

use std::{
    collections::{BTreeMap, HashMap, HashSet, VecDeque},
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use serde_json::Value;
use tokio::{sync::watch, time::timeout_at};

use crate::table::Check;

/// How many files' published diagnostics are kept. A server publishes for every file of a large
/// project at times; those beyond are counted.
const MAX_FILES: usize = 4_000;

/// How many diagnostics of one file are kept as they were sent; those beyond are counted.
pub(crate) const MAX_PER_FILE: usize = 1_000;

/// How many bytes of published texts are kept, about; what goes beyond is counted.
const MAX_BYTES: usize = 32 << 20;

/// How many characters of a text of the server are kept.
pub(super) const MESSAGE_CHARS: usize = 300;

/// How many of a status are: what of it matters may stand after the output of a program.
const STATUS_CHARS: usize = 64 << 10;

/// How many tokens of progress are kept that have ended.
const MAX_ENDED: usize = 64;

/// The state, and a bell that rings when it changes.
#[derive(Debug)]
pub(crate) struct Told {
    state: Mutex<State>,
    bell: watch::Sender<u64>,
}

#[derive(Debug, Default)]
pub(crate) struct State {
    published: HashMap<PathBuf, Published>,
    /// About how many bytes those are.
    bytes: usize,
    /// How many publishes were beyond [`MAX_FILES`] or [`MAX_BYTES`].
    pub unkept: usize,
    /// Files that were closed: an empty publish for one says nothing of it.
    closed: HashSet<PathBuf>,
    /// What the server says it does with files, where it says that.
    builds: HashMap<PathBuf, Build>,
    progress: BTreeMap<String, Progress>,
    ended: VecDeque<Ended>,
    status: Option<Status>,
    registered: BTreeMap<String, (String, Value)>,
    /// Counts what changed in it.
    pub registrations: u64,
    /// How many messages of the server made no sense.
    pub nonsense: usize,
    /// What the last of them was.
    pub last_nonsense: String,
    publishes: u64,
    /// Counts the server's wishes that answers be asked for anew.
    pub refreshes: u64,
    /// Whether it logged that it knows its files.
    pub knows_files: bool,
    /// When it logged that it could not read the project, until it shows that.
    pub unloaded: Option<Instant>,
    /// How many times it logged so.
    pub logged_ready: u64,
    /// Nothing more will be told.
    gone: bool,
    sequence: u64,
}

/// The last publish for a file.
#[derive(Clone, Debug)]
pub(crate) struct Published {
    pub version: Option<i64>,
    pub diagnostics: Vec<Value>,
    /// How many more there were than are kept.
    pub cut: usize,
    bytes: usize,
    pub at: Instant,
    /// Counts what the server told: larger is later.
    pub sequence: u64,
    /// The last publish for the file before it that had more, if there was one.
    longer: Option<Longer>,
    /// Whether the server said right after it that it is idle, where it said what it does.
    was_last: Option<bool>,
}

/// What a server said last that it does with a file.
#[derive(Clone, Copy, Debug)]
struct Build {
    is_idle: bool,
    at: Instant,
}

/// A publish that was longer than one that came after it.
#[derive(Clone, Copy, Debug)]
struct Longer {
    sequence: u64,
    len: usize,
}

impl Published {
    /// Whether one that came since `sequence` had more.
    pub(crate) fn has_shrunk_since(&self, sequence: u64) -> bool {
        self.longer.is_some_and(|longer| longer.sequence > sequence)
    }

    fn len(&self) -> usize {
        self.diagnostics.len() + self.cut
    }

    /// The last one that had more than `len`, up to this.
    fn longer_than(&self, len: usize) -> Option<Longer> {
        if self.len() > len {
            return Some(Longer { sequence: self.sequence, len: self.len() });
        }
        self.longer.filter(|longer| longer.len > len)
    }
}

/// Work that the server says it is doing.
#[derive(Clone, Debug)]
pub(crate) struct Progress {
    /// What the server had told when it began.
    pub began: u64,
    pub title: String,
    pub message: Option<String>,
    pub percentage: Option<u64>,
}

/// Work that came to its end.
#[derive(Clone, Debug)]
pub(crate) struct Ended {
    pub token: String,
    pub title: String,
    /// What the server had told when it began.
    pub began: u64,
    /// When it ended.
    pub at: Instant,
    /// What the server had told when it ended.
    pub sequence: u64,
    /// What it said last that it was at.
    pub last_report: Option<String>,
}

/// What `experimental/serverStatus` said last.
#[derive(Clone, Debug)]
pub(crate) struct Status {
    pub health: String,
    pub quiescent: bool,
    pub message: Option<String>,
}

impl Default for Told {
    fn default() -> Self {
        Self { state: Mutex::default(), bell: watch::Sender::new(0) }
    }
}

impl Told {
    pub(crate) fn look(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the state and rings the bell.
    pub(crate) fn change(&self, change: impl FnOnce(&mut State)) {
        {
            let mut state = self.look();
            state.sequence += 1;
            change(&mut state);
        }
        self.bell.send_modify(|count| *count += 1);
    }

    /// Takes note of what was told to the server, which is nothing that it told.
    pub(crate) fn note(&self, note: impl FnOnce(&mut State)) {
        note(&mut self.look());
    }

    /// Nothing more will be told: whoever waits is to know.
    pub(crate) fn end(&self) {
        self.change(|state| state.gone = true);
    }

    /// Whether nothing more will be told.
    pub(crate) fn is_over(&self) -> bool {
        self.look().gone
    }

    /// Waits until `found` finds something in the state, until nothing more will be told, or until
    /// `deadline`.
    pub(crate) async fn until<T>(
        &self,
        deadline: Instant,
        mut found: impl FnMut(&State) -> Option<T>,
    ) -> Option<T> {
        let mut bell = self.bell.subscribe();
        loop {
            bell.mark_unchanged();
            {
                let state = self.look();
                let found = found(&state);
                if found.is_some() || state.gone {
                    return found;
                }
            }
            match timeout_at(deadline.into(), bell.changed()).await {
                Ok(Ok(())) => {}
                Ok(Err(_)) | Err(_) => return found(&self.look()),
            }
        }
    }

    /// Waits until nothing that `watched` gives has changed for so long, or until `deadline`; false
    /// where the deadline came first, or the end.
    pub(crate) async fn quiet<T: PartialEq>(
        &self,
        long: Duration,
        deadline: Instant,
        watched: impl Fn(&State) -> T,
    ) -> bool {
        let mut last = watched(&self.look());
        loop {
            let end = (Instant::now() + long).min(deadline);
            let changed = self.until(end, |state| {
                let now = watched(state);
                (now != last).then_some(now)
            });
            match changed.await {
                Some(now) => last = now,
                None => return end < deadline && !self.is_over(),
            }
        }
    }
}

impl State {
    /// Counts what the server told so far.
    pub(crate) fn sequence(&self) -> u64 {
        self.sequence
    }

    /// How often diagnostics were published, kept or not.
    pub(crate) fn publishes(&self) -> u64 {
        self.publishes
    }

    pub(crate) fn published(&self, file: &Path) -> Option<&Published> {
        self.published.get(file)
    }

    pub(crate) fn all_published(&self) -> impl Iterator<Item = (&PathBuf, &Published)> {
        self.published.iter()
    }

    pub(crate) fn publish(&mut self, file: PathBuf, version: Option<i64>, mut list: Vec<Value>) {
        self.publishes += 1;
        if list.is_empty() && self.closed.contains(&file) {
            return;
        }
        let is_older = |known: &Published| match (known.version, version) {
            (Some(known), Some(version)) => version < known,
            _ => false,
        };
        if self.published.get(&file).is_some_and(is_older) {
            return;
        }
        let longer = self.published.get(&file).and_then(|known| known.longer_than(list.len()));
        let cut = list.len().saturating_sub(MAX_PER_FILE);
        list.truncate(MAX_PER_FILE);
        let bytes = list.iter().map(weight).sum();
        self.forget(&file);
        if self.published.len() >= MAX_FILES || self.bytes + bytes > MAX_BYTES {
            self.unkept += 1;
            return;
        }
        self.bytes += bytes;
        let (at, sequence) = (Instant::now(), self.sequence);
        let published = Published {
            version,
            diagnostics: list,
            cut,
            bytes,
            at,
            sequence,
            longer,
            was_last: None,
        };
        self.published.insert(file, published);
    }

    /// The server is at work on a file, or idle.
    pub(crate) fn set_build(&mut self, file: PathBuf, is_idle: bool) {
        if let Some(published) = self.published.get_mut(&file) {
            published.was_last.get_or_insert(is_idle);
        }
        self.builds.insert(file, Build { is_idle, at: Instant::now() });
    }

    /// Whether what was published for a file is the last for now, as far as the server says what it does: it was idle right
    /// after it, or has been for so long.
    pub(crate) fn is_built(&self, file: &Path, quiet: Duration) -> bool {
        let (Some(build), Some(published)) = (self.builds.get(file), self.published.get(file))
        else {
            return true;
        };
        let last = build.at.max(published.at);
        published.was_last == Some(true) || build.is_idle && last.elapsed() >= quiet
    }

    /// A file is open from now on.
    pub(crate) fn opened(&mut self, file: &Path) {
        self.closed.remove(file);
    }

    /// A file was closed: what was published for it says nothing any more.
    pub(crate) fn closed(&mut self, file: PathBuf) {
        self.forget(&file);
        self.builds.remove(&file);
        self.closed.insert(file);
    }

    fn forget(&mut self, file: &Path) {
        if let Some(published) = self.published.remove(file) {
            self.bytes -= published.bytes;
        }
    }

    /// The work that is going on, by token.
    pub(crate) fn progress(&self) -> &BTreeMap<String, Progress> {
        &self.progress
    }

    /// The work that ended last, the latest at the end.
    pub(crate) fn ended(&self) -> impl DoubleEndedIterator<Item = &Ended> {
        self.ended.iter()
    }

    /// The checks of a compiler that ended last, the latest at the end.
    pub(crate) fn checks<'a>(
        &'a self,
        check: &'a Check,
    ) -> impl DoubleEndedIterator<Item = &'a Ended> {
        self.ended().filter(|end| end.token.starts_with(&check.progress))
    }

    /// Whether one is under way.
    pub(crate) fn is_checking(&self, check: &Check) -> bool {
        self.checking(check).next().is_some()
    }

    /// Those that are under way.
    pub(crate) fn checking<'a>(&'a self, check: &'a Check) -> impl Iterator<Item = &'a Progress> {
        let running = self.progress.iter();
        running.filter(|(token, _)| token.starts_with(&check.progress)).map(|(_, running)| running)
    }

    pub(crate) fn status(&self) -> Option<&Status> {
        self.status.as_ref()
    }

    pub(crate) fn set_status(&mut self, value: &Value) {
        self.status = Some(Status {
            health: text(&value["health"]).unwrap_or_else(|| "ok".to_owned()),
            quiescent: value["quiescent"].as_bool().unwrap_or(true),
            message: value["message"]
                .as_str()
                .filter(|message| !message.is_empty())
                .map(|message| message.chars().take(STATUS_CHARS).collect()),
        });
    }

    pub(crate) fn set_progress(&mut self, value: &Value) {
        let token = match &value["token"] {
            Value::String(token) => token.clone(),
            token => token.to_string(),
        };
        let value = &value["value"];
        let percentage = value["percentage"].as_u64();
        match value["kind"].as_str() {
            Some("begin") => {
                let title = text(&value["title"]).unwrap_or_default();
                let (began, message) = (self.sequence, text(&value["message"]));
                let progress = Progress { began, title, message, percentage };
                self.progress.insert(token, progress);
            }
            Some("report") => {
                if let Some(progress) = self.progress.get_mut(&token) {
                    progress.message = text(&value["message"]).or(progress.message.take());
                    progress.percentage = percentage.or(progress.percentage);
                }
            }
            Some("end") => {
                let Some(progress) = self.progress.remove(&token) else { return };
                if self.ended.len() == MAX_ENDED {
                    self.ended.pop_front();
                }
                let Progress { began, title, message: last_report, .. } = progress;
                let (at, sequence) = (Instant::now(), self.sequence);
                self.ended.push_back(Ended { token, title, began, at, sequence, last_report });
            }
            // Partial results, which this client does not ask for.
            _ => {}
        }
    }

    /// It logged that it could not read the project.
    pub(crate) fn set_unloaded(&mut self) {
        self.unloaded = Some(Instant::now());
    }

    /// What it logged is known by its progress, where one of this title runs, or the last one that ended had it.
    pub(crate) fn shown(&mut self, title: &str) {
        let runs = self.progress.values().any(|running| running.title == title);
        if runs || self.ended.back().is_some_and(|end| end.title == title) {
            self.unloaded = None;
        }
    }

    /// What the server registered for a method since it began.
    pub(crate) fn registered(&self, method: &str) -> Option<&Value> {
        self.registered.values().find(|(known, _)| known == method).map(|(_, options)| options)
    }

    /// All that it registered for a method.
    pub(crate) fn all_registered<'a>(&'a self, method: &'a str) -> impl Iterator<Item = &'a Value> {
        self.registered
            .values()
            .filter(move |(known, _)| known == method)
            .map(|(_, options)| options)
    }

    pub(crate) fn register(&mut self, registration: &Value) {
        if let (Some(id), Some(method)) = (text(&registration["id"]), text(&registration["method"]))
        {
            self.registrations += 1;
            self.registered.insert(id, (method, registration["registerOptions"].clone()));
        }
    }

    pub(crate) fn unregister(&mut self, registration: &Value) {
        if let Some(id) = registration["id"].as_str() {
            self.registrations += 1;
            self.registered.remove(id);
        }
    }

    /// Counts a message that made no sense.
    pub(crate) fn odd(&mut self, what: &str) {
        self.nonsense += 1;
        self.last_nonsense = what.chars().take(MESSAGE_CHARS).collect();
    }
}

/// About how many bytes a value takes.
fn weight(value: &Value) -> usize {
    let inner = match value {
        Value::String(text) => text.len(),
        Value::Array(list) => list.iter().map(weight).sum(),
        Value::Object(fields) => {
            fields.iter().map(|(name, value)| name.len() + weight(value)).sum()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    };
    size_of::<Value>() + inner
}

fn text(value: &Value) -> Option<String> {
    value.as_str().map(|text| text.chars().take(MESSAGE_CHARS).collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A publish of about this many bytes.
    fn list(bytes: usize) -> Vec<Value> {
        vec![json!({ "range": {}, "message": "y".repeat(bytes) })]
    }

    #[test]
    fn ten_thousand_publishes_for_a_file_are_counted_and_one_is_kept() {
        let mut state = State::default();
        for version in 0..10_000 {
            state.publish("/a".into(), Some(version), list(1_000));
        }
        assert_eq!((state.publishes(), state.unkept), (10_000, 0));
        assert_eq!(state.all_published().count(), 1);
        assert_eq!(state.bytes, list(1_000).iter().map(weight).sum::<usize>());
    }

    #[test]
    fn publishes_for_many_files_are_kept_up_to_a_number_of_bytes() {
        let mut state = State::default();
        let one: usize = list(20_000).iter().map(weight).sum();
        for number in 0..3_000 {
            state.publish(format!("/{number}").into(), None, list(20_000));
        }
        let kept = MAX_BYTES / one;
        assert_eq!(state.all_published().count(), kept);
        assert_eq!((state.unkept, state.bytes), (3_000 - kept, kept * one));
        // A file that was closed makes room.
        state.closed("/0".into());
        state.publish("/2999".into(), None, list(20_000));
        assert_eq!((state.all_published().count(), state.bytes), (kept, kept * one));
    }

    #[test]
    fn a_list_is_kept_up_to_its_first_thousand() {
        let mut state = State::default();
        state.publish("/a".into(), None, vec![json!({}); MAX_PER_FILE + 7]);
        let published = state.published(Path::new("/a")).unwrap();
        assert_eq!((published.diagnostics.len(), published.cut), (MAX_PER_FILE, 7));
    }
}
