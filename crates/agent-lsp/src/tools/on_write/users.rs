//! Files that name what a write changes and that nobody opened: a server that is asked for diagnostics is asked about open files
//! alone.

use std::{ops::Range, sync::Arc, time::Instant};

use agent_workspace::MAX_SEARCH_BYTES;
use memchr::memmem;
use serde_json::{Value, json};
use similar::{Algorithm, DiffTag, capture_diff_slices_deadline};

use super::Target;
use crate::{
    Lsp,
    ledger::{Observed, Snapshot as Seen, Unsettled},
    position::Document,
    server::{Readiness, requests::DocumentSymbol},
    supervisor::Running,
    table::Wait,
};

/// How many of them are opened for one write.
const USERS: usize = 10;

/// How many names are looked for.
const NAMES: usize = 20;

/// The kinds of the protocol whose inside nobody else names: method, constructor, function.
const CALLABLE: [u64; 3] = [6, CONSTRUCTOR, 12];

/// Others name it by what it makes.
const CONSTRUCTOR: u64 = 9;

/// So begins what others do not name, such as `__init__`.
const SPECIAL: &str = "__";

impl Lsp {
    /// Opens them before the server is told of the write, so that what is said of them then is known from before. Gives those
    /// that were too many. Where there is no time to find them none is opened.
    pub(super) async fn open_users(
        &self,
        targets: &[Target],
        running: &Arc<Running>,
        until: Instant,
    ) -> Vec<Observed> {
        let client = &running.client;
        if !matches!(client.wait(), Wait::Pull {}) || client.readiness() != Readiness::Ready {
            return Vec::new();
        }
        let _used = running.hold();
        let mut names = Vec::new();
        for target in targets {
            if target.servers.iter().any(|one| Arc::ptr_eq(one, running)) {
                names.extend(self.changed_names(target, running, until).await);
            }
        }
        names.sort();
        names.dedup();
        names.truncate(NAMES);
        if names.is_empty() {
            return Vec::new();
        }
        let search = {
            let (lsp, running) = (self.clone(), Arc::clone(running));
            tokio::task::spawn_blocking(move || {
                let finders: Vec<_> = names.iter().map(memmem::Finder::new).collect();
                let has = |text: &[u8]| finders.iter().any(|name| has_word(text, name));
                lsp.unopened_with(&running, until, has)
            })
        };
        let Ok(Ok(Some(mut files))) = tokio::time::timeout_at(until.into(), search).await else {
            return Vec::new();
        };
        files.retain(|file| targets.iter().all(|target| target.file != *file));
        let rest = files.split_off(USERS.min(files.len()));
        for file in &files {
            // What the write changed is not to be told yet, as it is where files are sent.
            if let Ok(text) = self.shared.workspace.read_up_to(file, MAX_SEARCH_BYTES) {
                client.open_before(file, Document::decode(&text.bytes));
            }
        }
        rest.iter()
            .map(|file| {
                let why = format!(
                    "at most {USERS} files that name what a write changes are opened for it"
                );
                let why = Seen::Unsettled(Unsettled::NotLookedFor { why });
                Observed::new(self.show(file), &running.id, why)
            })
            .collect()
    }

    /// The names of what stood on the lines that a write changed, as the server knows them from before.
    async fn changed_names(
        &self,
        target: &Target,
        running: &Arc<Running>,
        until: Instant,
    ) -> Vec<String> {
        let Some(before) = &target.before else { return Vec::new() };
        let changed = changed(before, target.after.as_deref().unwrap_or_default(), until);
        running.client.open_before(&target.file, Document::new(before.as_str()));
        let params = json!({ "textDocument": { "uri": running.client.uri(&target.file) } });
        let symbols = running.client.ask::<DocumentSymbol>(params, until).await;
        let mut names = Vec::new();
        collect(&symbols.unwrap_or_default(), None, &changed, &mut names);
        names
    }
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
        let name = last_word(symbol["name"].as_str().unwrap_or_default());
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
