//! Files that name what a write changes and that nobody opened: most servers look at open files alone.

use std::{
    ops::Range,
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use agent_workspace::{MAX_SEARCH_BYTES, WorkspacePath};
use futures::future::join_all;
use memchr::memmem;
use serde_json::{Value, json};
use similar::{Algorithm, DiffTag, capture_diff_slices_deadline};

use super::Target;
use crate::{
    Lsp,
    ledger::{Beside, Observed, Snapshot as Seen, Unsettled},
    position::Document,
    server::{Checks, Readiness, requests::DocumentSymbol, words},
    supervisor::{Running, Slot},
    table::{self, Role, Server, Wait},
};

/// How many of them are opened for one write.
const USERS: usize = 10;

/// How long files are looked for after the server took all the time there was.
const SEARCH: Duration = Duration::from_millis(200);

/// How many names are looked for.
const NAMES: usize = 20;

/// What a server is asked for the names of a file.
const SYMBOLS: &str = "textDocument/documentSymbol";

/// The kinds of the protocol whose inside nobody else names: method, constructor, function.
const CALLABLE: [u64; 3] = [6, CONSTRUCTOR, 12];

/// Others name it by what it makes.
const CONSTRUCTOR: u64 = 9;

/// So begins what others do not name, such as `__init__`.
const SPECIAL: &str = "__";

/// How a line begins that gives others names and that no server lists as a symbol: a macro, and what is handed on.
const GIVES_NAMES: [&str; 3] = ["#define", "export", "pub use"];

/// Names of files that are named by their folder.
const OF_FOLDER: [&str; 4] = ["__init__", "index", "mod", "lib"];

/// What is known of the files that name what a write changes, before a server is told of it.
#[derive(Debug, Default)]
pub(super) struct Users {
    /// The names.
    pub names: Vec<String>,
    /// The files that were opened for it.
    pub opened: Vec<WorkspacePath>,
    /// The files that were too many.
    left: Vec<WorkspacePath>,
    /// Why they are not known.
    pub unknown: Vec<String>,
    /// The files that were written before, as shown, for which others were not looked at until now.
    pub earlier: Vec<String>,
    /// Whether the server cannot be shown all files as they were when others were looked at last: what it says now of those
    /// that name what changed is no baseline.
    pub is_past: bool,
    /// The texts from before that it was shown.
    shown: Vec<(WorkspacePath, Arc<Document>)>,
}

/// A file with what changed in it.
struct Changed<'a> {
    file: &'a WorkspacePath,
    shown: String,
    existed: bool,
    before: Option<&'a str>,
    after: Option<&'a str>,
}

/// Why the names of what changed are not known.
enum Untold {
    /// They may be by the next write.
    Yet(String),
    Never(String),
}

impl Users {
    /// Whether the server still has the texts from before: a look for what comes late sends it those of the disk.
    pub(super) fn are_shown(&self, running: &Running) -> bool {
        self.shown.iter().all(|(file, text)| running.client.has_text(file, text))
    }

    /// Those that were too many, as observed.
    pub(super) fn left<'a>(
        &'a self,
        lsp: &'a Lsp,
        running: &'a Running,
    ) -> impl Iterator<Item = Observed> + use<'a> {
        self.left.iter().map(|file| {
            let why = Seen::Unsettled(Unsettled::NotLookedAt(Beside::Named));
            Observed::new(lsp.show(file), &running.id, why)
        })
    }
}

impl Lsp {
    /// Until when what is there before a write is looked for: a server that starts with the write gets as long as there is.
    pub(super) fn until(&self, running: &Running, deadline: Instant) -> Instant {
        let now = Instant::now();
        let short = now + self.shared.waits.baseline;
        let long = now + deadline.saturating_duration_since(now) / 3;
        let until = match running.client.readiness() {
            Readiness::Busy(_) => short.max(long),
            Readiness::Ready if running.client.age() < YOUNG => short.max(long),
            _ => short,
        };
        until.min(deadline)
    }

    /// Opens them before the server is told of the write, so that what is said of them then is known from before.
    pub(super) async fn open_users(
        &self,
        targets: &[Target],
        running: &Arc<Running>,
        until: Instant,
    ) -> Users {
        let client = &running.client;
        if !self.has_to_open(client.row()) {
            return Users::default();
        }
        let _used = running.hold();
        let room = until.saturating_duration_since(Instant::now()).min(SEARCH);
        let mine: Vec<&Target> = targets
            .iter()
            .filter(|target| target.serves(running) && client.row().is_used(target.file.rel()))
            .collect();
        let key = running.key();
        let earlier = self.shared.debts.of(&key);
        let owed = self.shared.debts.owe(&key, mine.iter().copied());
        let is_mine = |file: &WorkspacePath| mine.iter().any(|target| target.file == *file);
        let asked = matches!(client.wait(), Wait::Pull {} | Wait::TsserverSync { .. });
        let mut debt = Users {
            earlier: earlier.files.keys().map(|file| self.show(file)).collect(),
            is_past: !(earlier.files.is_empty() || asked && earlier.files.keys().all(is_mine)),
            ..Users::default()
        };
        let texts: Vec<_> = earlier
            .files
            .iter()
            .filter(|(file, _)| !is_mine(file))
            .map(|(file, before)| (file, before, self.text_of(file)))
            .collect();
        let others = texts.iter().map(|(file, before, after)| Changed {
            file,
            shown: self.show(file),
            existed: true,
            before: Some(before),
            after: after.as_deref(),
        });
        let written = mine.iter().map(|target| {
            let before = earlier.files.get(&target.file);
            Changed {
                file: &target.file,
                shown: target.shown.clone(),
                existed: target.existed || before.is_some(),
                before: before.or(target.before.as_ref()).map(String::as_str),
                after: target.after.as_deref(),
            }
        });
        let changes: Vec<_> = written.chain(others).collect();
        let named = changes.iter().map(|changed| self.changed_names(changed, running, until));
        let (mut names, mut unknown, mut is_paid) = (Vec::new(), Vec::new(), true);
        for named in join_all(named).await {
            match named {
                Ok(named) => names.extend(named),
                Err(Untold::Never(why)) => unknown.push(format!("{}: {why}", running.id)),
                Err(Untold::Yet(why)) => {
                    is_paid = false;
                    unknown.push(format!("{}: {why}", running.id));
                }
            }
        }
        for changed in &changes {
            if let (Some(before), Some(has)) = (changed.before, client.text_of(changed.file)) {
                debt.is_past |= has.text() != Document::new(before).text();
                debt.shown.push((changed.file.clone(), has));
            }
        }
        if owed.is_cut {
            let why = "too many files were written since others were looked at";
            unknown.push(format!("{}: {why}", running.id));
        }
        let pay = || {
            if is_paid {
                self.shared.debts.paid(&key, &owed);
            }
        };
        // Those that come first are looked for first.
        let mut known = std::collections::HashSet::new();
        names.retain(|name| !name.is_empty() && known.insert(name.clone()));
        names.truncate(NAMES);
        if names.is_empty() {
            pay();
            return Users { unknown, ..debt };
        }
        // Who took all the time to name them leaves some to look for them.
        let until = until.max(Instant::now() + room);
        let search = {
            let (lsp, running, names) = (self.clone(), Arc::clone(running), names.clone());
            tokio::task::spawn_blocking(move || {
                let finders: Vec<_> = names.iter().map(memmem::Finder::new).collect();
                let has = |text: &[u8]| finders.iter().any(|name| has_word(text, name));
                lsp.unopened_with(&running, until, has)
            })
        };
        let Ok(Ok(Some(mut files))) = tokio::time::timeout_at(until.into(), search).await else {
            let why = "those that name what changed were not found in time";
            unknown.push(format!("{}: {why}", running.id));
            return Users { names, unknown, ..debt };
        };
        pay();
        files.retain(|file| targets.iter().all(|target| target.file != *file));
        let left = files.split_off(USERS.min(files.len()));
        for file in &files {
            // What the write changed is not to be told yet, as it is where files are sent.
            if let Ok(text) = self.shared.workspace.read_up_to(file, MAX_SEARCH_BYTES) {
                client.open_before(file, Document::decode(&text.bytes));
            }
        }
        Users { names, opened: files, left, unknown, ..debt }
    }

    /// Whether a server looks at the files that a write may break only where they are open.
    pub(super) fn has_to_open(&self, row: &Server) -> bool {
        let is_checked = matches!(row.wait, Wait::CompilerOnSave(_))
            && self.shared.supervisor.checks() == Checks::Run;
        row.users == table::Users::Opened && row.role == Role::Full && !is_checked
    }

    /// The names of what stood on the lines that a write changed, as the server knows them from before; of a file that is gone
    /// its own and those at its top.
    async fn changed_names(
        &self,
        target: &Changed<'_>,
        running: &Arc<Running>,
        until: Instant,
    ) -> Result<Vec<String>, Untold> {
        if !target.existed {
            return Ok(Vec::new());
        }
        let mut names = Vec::new();
        if target.after.is_none() {
            names.extend(stem(target.file.rel()));
        }
        let before = match (target.before, target.after) {
            (Some(before), _) => before,
            (None, None) => return Ok(names),
            (None, Some(_)) => {
                let why = format!("what changed in {} is not known", target.shown);
                return Err(Untold::Never(why));
            }
        };
        let changes = changed(before, target.after.unwrap_or_default(), until);
        if changes.is_empty() {
            return Ok(names);
        }
        if running.client.offers(SYMBOLS).is_none() {
            return Err(Untold::Never("it names no symbols".to_owned()));
        }
        let synced = running.client.show_again(target.file, Document::new(before));
        let params = json!({ "textDocument": { "uri": running.client.uri(target.file) } });
        let symbols = match running.client.ask::<DocumentSymbol>(params, until).await {
            Ok(symbols) => symbols,
            Err(_) if target.after.is_none() => return Ok(names),
            Err(error) => return Err(Untold::Yet(words(&error))),
        };
        if !running.client.has_text(target.file, &synced.document) {
            return Err(Untold::Yet(format!("{} was sent anew meanwhile", target.shown)));
        }
        if target.after.is_none() {
            let top = symbols.as_array().into_iter().flatten();
            names.extend(top.map(|symbol| name_of(symbol).to_owned()));
            return Ok(names);
        }
        for change in changes {
            if !collect(&symbols, None, std::slice::from_ref(&change), &mut names) {
                let lines = before.lines().skip(change.start).take(change.len());
                let lines = lines.filter(|line| {
                    GIVES_NAMES.iter().any(|begin| line.trim_start().starts_with(begin))
                });
                names.extend(lines.flat_map(words_of).map(str::to_owned));
            }
        }
        Ok(names)
    }
}

impl Lsp {
    /// The text that a file has now; none where it is gone.
    fn text_of(&self, file: &WorkspacePath) -> Option<String> {
        let content = self.shared.workspace.read_up_to(file, MAX_SEARCH_BYTES).ok()?;
        Some(Document::decode(&content.bytes).text().to_owned())
    }

    /// Takes note of a write whose server could not be asked, so that the next one looks at what it broke.
    pub(super) fn owe_what_nobody_took(&self, target: &Target) {
        let Ok(candidates) = self.shared.supervisor.candidates(&target.file) else { return };
        for missing in target.missing.iter().filter(|missing| !missing.is_untrusted()) {
            let is_it = |slot: &Slot| missing.id.as_ref() == Some(&slot.key().id);
            let slots = candidates.iter().map(|candidate| &candidate.slot);
            for slot in slots.filter(|slot| is_it(slot) && self.has_to_open(slot.row())) {
                if slot.row().is_used(target.file.rel()) {
                    self.shared.debts.owe(slot.key(), [target]);
                }
            }
        }
    }
}

/// How long a server is taken for one that may still read the project, whatever it says.
const YOUNG: Duration = Duration::from_secs(5);

/// What others call a file.
fn stem(path: &Path) -> Option<String> {
    let stem = path.file_stem()?.to_str()?;
    let stem = stem.strip_suffix(".d").unwrap_or(stem);
    let folder = || path.parent()?.file_name()?.to_str();
    let name = if OF_FOLDER.contains(&stem) { folder().unwrap_or(stem) } else { stem };
    Some(name.to_owned())
}

/// The words of a line that may be names.
fn words_of(line: &str) -> impl Iterator<Item = &str> {
    const KEYWORDS: [&str; 12] = [
        "define",
        "export",
        "pub",
        "use",
        "from",
        "const",
        "function",
        "class",
        "type",
        "interface",
        "default",
        "let",
    ];
    let words = line.split(|c: char| !(c.is_alphanumeric() || c == '_'));
    words.filter(|word| word.len() > 1 && !KEYWORDS.contains(word))
}

fn name_of(symbol: &Value) -> &str {
    last_word(symbol["name"].as_str().unwrap_or_default())
}

/// The lines of the text before, from 0, that are others now; an empty range is where lines came in.
fn changed(before: &str, after: &str, until: Instant) -> Vec<Range<usize>> {
    let (old, new): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    let ops = capture_diff_slices_deadline(Algorithm::Myers, &old, &new, Some(until));
    let changed = ops.iter().filter(|op| op.tag() != DiffTag::Equal);
    changed.map(similar::DiffOp::old_range).collect()
}

/// The innermost symbols that a change touches; whether there is one.
fn collect(
    symbols: &Value,
    container: Option<&str>,
    changed: &[Range<usize>],
    into: &mut Vec<String>,
) -> bool {
    let mut found = false;
    for symbol in symbols.as_array().into_iter().flatten() {
        let range = match &symbol["location"] {
            Value::Null => &symbol["range"],
            location => &location["range"],
        };
        let line =
            |end: &str| range[end]["line"].as_u64().and_then(|line| usize::try_from(line).ok());
        let (Some(first), Some(last)) = (line("start"), line("end")) else { continue };
        let touches = |change: &Range<usize>| match change.is_empty() {
            true => first < change.start && change.start <= last,
            false => change.start <= last && first < change.end,
        };
        if !changed.iter().any(touches) {
            continue;
        }
        found = true;
        let kind = symbol["kind"].as_u64().unwrap_or_default();
        let name = name_of(symbol);
        let is_inside =
            !CALLABLE.contains(&kind) && collect(&symbol["children"], Some(name), changed, into);
        if !is_inside {
            let is_special = kind == CONSTRUCTOR || name.starts_with(SPECIAL);
            let named = container.filter(|_| is_special).unwrap_or(name);
            into.extend((!named.is_empty()).then(|| named.to_owned()));
        }
    }
    found
}

/// Whether a text has a name that is no part of a longer one.
fn has_word(text: &[u8], name: &memmem::Finder<'_>) -> bool {
    let in_word = |byte: Option<&u8>| {
        byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_' || !byte.is_ascii())
    };
    name.find_iter(text).any(|at| {
        let before = at.checked_sub(1).and_then(|before| text.get(before));
        !in_word(before) && !in_word(text.get(at + name.needle().len()))
    })
}

/// `area` of `(Shape).area`
fn last_word(name: &str) -> &str {
    let end = name.trim_end_matches(|c: char| !(c.is_alphanumeric() || c == '_'));
    let begin = end.rfind(|c: char| !(c.is_alphanumeric() || c == '_'));
    begin.map_or(end, |at| {
        end[at..].trim_start_matches(|c: char| !(c.is_alphanumeric() || c == '_'))
    })
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use serde_json::{Value, json};

    use super::{changed, collect};

    fn symbol(name: &str, kind: u64, lines: [u64; 2], children: Value) -> Value {
        let range = json!({"start": {"line": lines[0]}, "end": {"line": lines[1]}});
        json!({"name": name, "kind": kind, "range": range, "children": children})
    }

    #[test]
    fn the_innermost_names_that_others_may_use_are_those_of_a_change() {
        let text = "class A:\n    def __init__(self):\n        x = 1\n    def m(self):\n        y = 2\nB = 3\n";
        let local = symbol("y", 13, [4, 4], json!([]));
        let methods = json!([
            symbol("__init__", 6, [1, 2], json!([])),
            symbol("(A).m", 6, [3, 4], json!([local])),
        ]);
        let symbols = json!([symbol("A", 5, [0, 4], methods), symbol("B", 13, [5, 5], json!([]))]);
        let names = |after: &str| {
            let mut names = Vec::new();
            let until = Instant::now() + Duration::from_secs(60);
            collect(&symbols, None, &changed(text, after, until), &mut names);
            names
        };
        assert_eq!(names(&text.replace("y = 2", "y = 4")), ["m"]);
        assert_eq!(names(&text.replace("(self):\n        x", "(self, z):\n        x")), ["A"]);
        assert_eq!(names(&text.replace("B = 3\n", "")), ["B"]);
        assert_eq!(names(&text.replace("class A", "class C")), ["A"]);
        // What comes in between two of them changes none, within one it does.
        assert_eq!(names(&text.replace("B = 3", "C = 2\nB = 3")), [""; 0]);
        assert_eq!(names(&text.replace("        y", "        z = 0\n        y")), ["m"]);
        assert_eq!(names(""), ["A", "m", "B"]);
    }
}
