//! A process with everything that it started, found wherever it moved to.

use std::{
    cell::RefCell,
    collections::{HashMap, HashSet},
    slice,
    sync::{Arc, Mutex, PoisonError},
};

use rustix::process::Signal;

use crate::{
    MARK_VARIABLE,
    mark::{Mark, is_of_run},
    platform::{self, Entry},
};

/// How often a tree is looked at again while killing it finds processes that were not there before.
const ROUNDS: usize = 64;

/// No group has this id.
const NO_GROUP: u32 = 0;

/// The tree of one process: its group, its descendants by parent, and whatever carries its mark (which finds those that
/// left the group and whose parent has ended). Zombies are not counted.
///
/// A process is known by its id and the time that it began. An id that the system has given to another process since is
/// left alone, and so is a group without its leader unless a member carries the mark. What was seen once stays a member
/// though its parent ends and it has no mark; clones share what was seen.
#[derive(Debug, Clone)]
pub struct Tree {
    leader: u32,
    started: Option<u64>,
    mark: Option<Mark>,
    seen: Arc<Mutex<HashSet<Birth>>>,
}

/// An id with the time that its process began.
type Birth = (u32, u64);

impl Tree {
    /// The tree of a process that something else started, such as a debuggee; none if there is no such process. It has no
    /// mark, so what left the tree is not found once its parent has ended.
    pub fn of(id: u32) -> Option<Self> {
        let entry = platform::process(id).filter(|entry| !entry.zombie);
        let exists = entry.is_some() || (!platform::LISTS && platform::group_exists(id));
        exists.then(|| Self::from_parts(id, entry.map(|entry| entry.started), None))
    }

    /// The tree of a child that has just been started and is not reaped yet.
    pub(crate) fn of_child(id: u32, mark: Mark) -> Self {
        let started = platform::process(id).map(|entry| entry.started);
        Self::from_parts(id, started, Some(mark))
    }

    pub(crate) fn from_parts(leader: u32, started: Option<u64>, mark: Option<Mark>) -> Self {
        Self { leader, started, mark, seen: Arc::default() }
    }

    pub(crate) fn started(&self) -> Option<u64> {
        self.started
    }

    pub(crate) fn mark(&self) -> Option<&Mark> {
        self.mark.as_ref()
    }

    /// The id of the process that the tree hangs from.
    pub fn id(&self) -> u32 {
        self.leader
    }

    /// The ids of those that live, in ascending order.
    pub fn members(&self) -> Vec<u32> {
        self.find(&Table::read()).iter().map(|entry| entry.id).collect()
    }

    /// Sends SIGINT to the group of the leader alone, as a terminal does.
    pub fn interrupt(&self) {
        if self.find(&Table::read()).iter().any(|entry| entry.group == self.leader) {
            let _ = platform::signal_group(self.leader, Signal::INT);
        }
    }

    /// Sends SIGTERM to the whole tree and says how many it found.
    pub fn terminate(&self) -> usize {
        terminate(slice::from_ref(self))
    }

    /// Sends SIGKILL to the whole tree, what appears meanwhile included, and says how many it found.
    pub fn kill(&self) -> usize {
        kill(slice::from_ref(self))
    }

    fn find(&self, table: &Table) -> Vec<Entry> {
        match &table.all {
            Some(all) => self.select(all, table),
            None if platform::group_exists(self.leader) => vec![unlisted(self.leader)],
            None => Vec::new(),
        }
    }

    fn select(&self, all: &[Entry], table: &Table) -> Vec<Entry> {
        let leads = all.iter().any(|entry| {
            entry.id == self.leader && self.started.is_some_and(|started| entry.started == started)
        });
        // Nothing of the tree is older than its leader, which spares most reads.
        let oldest = self.started.unwrap_or(0);
        let marked = |entry: &Entry| {
            let Some(mark) = &self.mark else { return false };
            entry.started >= oldest && table.mark_is(entry.id, |value| mark.is_in(value))
        };
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let is_member = |entry: &&Entry| seen.contains(&(entry.id, entry.started)) || marked(entry);
        let mut found: HashSet<u32> = all.iter().filter(is_member).map(|entry| entry.id).collect();
        let in_group = |entry: &&Entry| entry.group == self.leader && entry.started >= oldest;
        let group = all.iter().filter(in_group).map(|entry| entry.id);
        if leads {
            found.insert(self.leader);
            found.extend(group);
        } else if all.iter().filter(in_group).any(|entry| found.contains(&entry.id)) {
            found.extend(group);
        }
        close_over_children(all, &mut found);
        let living = living(all, &found);
        *seen = living.iter().map(|entry| (entry.id, entry.started)).collect();
        living
    }
}

/// The processes at one moment, with the marks that were asked for.
struct Table {
    /// None where the system cannot list them.
    all: Option<Vec<Entry>>,
    marks: RefCell<HashMap<u32, Option<Vec<u8>>>>,
}

impl Table {
    fn read() -> Self {
        Self { all: platform::processes(), marks: RefCell::default() }
    }

    fn mark_is(&self, id: u32, is: impl Fn(&[u8]) -> bool) -> bool {
        let mut marks = self.marks.borrow_mut();
        let read = || platform::environment_value(id, MARK_VARIABLE);
        marks.entry(id).or_insert_with(read).as_deref().is_some_and(is)
    }
}

pub(crate) fn any_lives(trees: &[Tree]) -> bool {
    let table = Table::read();
    trees.iter().any(|tree| !tree.find(&table).is_empty())
}

/// Sends SIGTERM to all of the trees.
pub(crate) fn terminate(trees: &[Tree]) -> usize {
    let table = Table::read();
    let signal_one = |tree: &Tree| signal_all(&tree.find(&table), tree.leader, Signal::TERM);
    trees.iter().map(signal_one).sum()
}

/// Kills all of the trees.
pub(crate) fn kill(trees: &[Tree]) -> usize {
    kill_all(|table| trees.iter().map(|tree| (tree.leader, tree.find(table))).collect())
}

/// Kills everything that descends from the run, registered or not, and says how many it found.
pub(crate) fn sweep(run: &str) -> usize {
    kill_all(|table| {
        let all = table.all.as_deref().unwrap_or_default();
        let is_ours = |entry: &&Entry| table.mark_is(entry.id, |value| is_of_run(value, run));
        let mut found = all.iter().filter(is_ours).map(|entry| entry.id).collect();
        close_over_children(all, &mut found);
        vec![(NO_GROUP, living(all, &found))]
    })
}

fn close_over_children(all: &[Entry], found: &mut HashSet<u32>) {
    let mut children: HashMap<u32, Vec<u32>> = HashMap::new();
    for entry in all {
        children.entry(entry.parent).or_default().push(entry.id);
    }
    let mut open: Vec<u32> = found.iter().copied().collect();
    while let Some(id) = open.pop() {
        for child in children.get(&id).into_iter().flatten() {
            if found.insert(*child) {
                open.push(*child);
            }
        }
    }
}

fn living(all: &[Entry], found: &HashSet<u32>) -> Vec<Entry> {
    let own = std::process::id();
    let lives = |entry: &&Entry| found.contains(&entry.id) && !entry.zombie && entry.id != own;
    let mut living: Vec<Entry> = all.iter().filter(lives).copied().collect();
    living.sort_by_key(|entry| entry.id);
    living
}

/// Kills what `find` finds, with the group that each part of it has as a whole. A process with SIGKILL pending starts no other,
/// so a round that finds none that is new has found all.
fn kill_all(find: impl Fn(&Table) -> Vec<(u32, Vec<Entry>)>) -> usize {
    let mut seen = HashSet::new();
    for _ in 0..ROUNDS {
        let found = find(&Table::read());
        let before = seen.len();
        seen.extend(found.iter().flat_map(|(_, entries)| entries).map(|e| (e.id, e.started)));
        if seen.len() == before {
            break;
        }
        for (group, entries) in found {
            signal_all(&entries, group, Signal::KILL);
        }
    }
    seen.len()
}

/// First what left the group, newest first, then the group in one step: a debuggee goes before the adapter that would leave
/// it behind.
fn signal_all(entries: &[Entry], group: u32, signal: Signal) -> usize {
    let (inside, outside): (Vec<&Entry>, Vec<&Entry>) =
        entries.iter().partition(|entry| entry.group == group);
    for entry in outside.into_iter().rev() {
        // Looked at again, since an id may have been given away since the list was made.
        if platform::process(entry.id).is_some_and(|now| now.started == entry.started) {
            let _ = platform::signal(entry.id, signal);
        }
    }
    if !inside.is_empty() {
        let _ = platform::signal_group(group, signal);
    }
    entries.len()
}

fn unlisted(leader: u32) -> Entry {
    Entry { id: leader, parent: 0, group: leader, started: 0, zombie: false }
}

#[cfg(test)]
mod tests {
    use std::{
        os::unix::process::{CommandExt, ExitStatusExt},
        process::{Child, Command},
    };

    use super::Tree;
    use crate::platform;

    fn sleeper() -> Child {
        Command::new("sleep").arg("1000").process_group(0).spawn().expect("sleep")
    }

    #[test]
    fn an_id_whose_process_began_at_another_time_is_left_alone() {
        let mut child = sleeper();
        let id = child.id();
        let started = platform::process(id).map(|entry| entry.started);
        let earlier = Tree::from_parts(id, started.map(|started| started - 1), None);
        assert_eq!((earlier.members(), earlier.kill(), earlier.terminate()), (vec![], 0, 0));
        assert_eq!(Tree::from_parts(id, None, None).kill(), 0, "an unknown time is no match");
        assert_eq!(child.try_wait().expect("a child"), None);
        assert_eq!(Tree::of(id).map(|tree| tree.kill()), Some(1));
        assert_eq!(child.wait().expect("a child").signal(), Some(9));
        assert!(Tree::of(id).is_none());
    }
}
