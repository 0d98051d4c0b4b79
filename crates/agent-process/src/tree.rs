//! A process with everything that it started, found wherever it moved to.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, PoisonError},
};

use rustix::process::Signal;

use crate::{
    mark::{self, Mark},
    platform::{self, Entry},
};

/// How often a tree is looked at again while killing it finds processes that were not there before.
const ROUNDS: usize = 64;

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
        self.look().iter().map(|entry| entry.id).collect()
    }

    /// Sends SIGINT to the group of the leader alone, as a terminal does.
    pub fn interrupt(&self) {
        if self.look().iter().any(|entry| entry.group == self.leader) {
            let _ = platform::signal_group(self.leader, Signal::INT);
        }
    }

    /// Sends SIGTERM to the whole tree and says how many it found.
    pub fn terminate(&self) -> usize {
        signal_all(&self.look(), self.leader, Signal::TERM)
    }

    /// Sends SIGKILL to the whole tree, what appears meanwhile included, and says how many it found.
    pub fn kill(&self) -> usize {
        kill_all(self.leader, || self.look())
    }

    fn look(&self) -> Vec<Entry> {
        match platform::processes() {
            Some(all) => self.select(&all),
            None if platform::group_exists(self.leader) => vec![unlisted(self.leader)],
            None => Vec::new(),
        }
    }

    fn select(&self, all: &[Entry]) -> Vec<Entry> {
        let leads = all.iter().any(|entry| {
            entry.id == self.leader && self.started.is_some_and(|started| entry.started == started)
        });
        // Nothing of the tree is older than its leader, which spares most reads.
        let oldest = self.started.unwrap_or(0);
        let marked = |entry: &Entry| {
            entry.started >= oldest && self.mark.as_ref().is_some_and(|mark| mark.is_on(entry.id))
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

/// Kills everything that descends from the run, registered or not, and says how many it found.
pub(crate) fn sweep(run: &str) -> usize {
    kill_all(0, || {
        let all = platform::processes().unwrap_or_default();
        let marked = all.iter().filter(|entry| mark::is_of_run(entry.id, run));
        let mut found = marked.map(|entry| entry.id).collect();
        close_over_children(&all, &mut found);
        living(&all, &found)
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

/// A process with SIGKILL pending starts no other, so a round that finds none that is new has found all.
fn kill_all(group: u32, look: impl Fn() -> Vec<Entry>) -> usize {
    let mut seen = HashSet::new();
    for _ in 0..ROUNDS {
        let entries = look();
        let before = seen.len();
        seen.extend(entries.iter().map(|entry| (entry.id, entry.started)));
        if seen.len() == before {
            break;
        }
        signal_all(&entries, group, Signal::KILL);
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
