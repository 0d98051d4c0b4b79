//! A checkout, a change of five files in it, and a picture of a whole tree.

use std::{
    collections::BTreeMap,
    fs, io,
    os::unix::fs::{MetadataExt, PermissionsExt, symlink},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use agent_edits::{Edits, Executable, Hook, Operation, Plan};
use agent_workspace::{FileContent, Workspace, WorkspacePath};
use tempfile::TempDir;

/// A checkout and a state folder beside it.
pub(crate) struct Fixture {
    pub(crate) outer: TempDir,
    pub(crate) workspace: Workspace,
}

impl Fixture {
    pub(crate) fn new() -> Self {
        let outer = tempfile::tempdir().unwrap();
        fs::create_dir(outer.path().join("checkout")).unwrap();
        let workspace = Workspace::open(outer.path().join("checkout")).unwrap();
        Self { outer, workspace }
    }

    /// The files of [`five`].
    pub(crate) fn with_five() -> Self {
        let fixture = Self::new();
        make_five(&fixture.root());
        fixture
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.outer.path().join("checkout")
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.outer.path().join("state")
    }

    pub(crate) fn put(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.root().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, bytes).unwrap();
        path
    }

    pub(crate) fn edits(&self) -> Edits {
        Edits::open(&self.workspace, self.state()).unwrap()
    }

    pub(crate) fn path(&self, text: &str) -> WorkspacePath {
        self.workspace.resolve(text).unwrap()
    }

    pub(crate) fn read(&self, text: &str) -> FileContent {
        self.workspace.read(&self.path(text)).unwrap()
    }

    /// Past the workspace, whose root may have been moved.
    pub(crate) fn read_raw(&self, name: &str) -> Vec<u8> {
        fs::read(self.root().join(name)).unwrap()
    }

    pub(crate) fn plan(&self) -> Plan {
        Plan::new(&self.workspace)
    }

    /// A plan that writes each file.
    pub(crate) fn writes(&self, files: &[(&str, &str)]) -> Plan {
        let mut plan = self.plan();
        for (name, bytes) in files {
            plan.write(&self.path(name), bytes.as_bytes().to_vec()).unwrap();
        }
        plan
    }

    pub(crate) fn tree(&self) -> Tree {
        tree(&self.root())
    }
}

pub(crate) const MODIFIED_BEFORE: &[u8] = b"\xEF\xBB\xBFone\r\ntwo\r\nthree";
pub(crate) const MODIFIED_AFTER: &[u8] = b"\xEF\xBB\xBFone\r\n2\r\nthree";
pub(crate) const LATIN1: &[u8] = b"caf\xE9\n";

/// More than a piece of a write, so that a failure can come in the middle of one.
pub(crate) fn big(byte: u8, len: usize) -> Vec<u8> {
    vec![byte; len]
}

pub(crate) const BIG_BEFORE: usize = 150_000;
pub(crate) const BIG_AFTER: usize = 200_000;

pub(crate) fn make_five(root: &Path) {
    let put = |name: &str, bytes: &[u8]| fs::write(root.join(name), bytes).unwrap();
    fs::create_dir(root.join("dir")).unwrap();
    put("modified", MODIFIED_BEFORE);
    fs::set_permissions(root.join("modified"), fs::Permissions::from_mode(0o754)).unwrap();
    put("deleted", LATIN1);
    fs::set_permissions(root.join("deleted"), fs::Permissions::from_mode(0o600)).unwrap();
    put("hard-a", &big(b'a', BIG_BEFORE));
    fs::hard_link(root.join("hard-a"), root.join("dir/hard-b")).unwrap();
    put("dir/target", b"");
    symlink("dir/target", root.join("link")).unwrap();
    put("untouched", b"untouched");
}

/// Modifies, creates in new folders, deletes, writes one of two hard links and writes through a link; three of these files
/// become executable, or cease to be.
pub(crate) fn five(workspace: &Workspace) -> Plan {
    let path = |text: &str| workspace.resolve(text).unwrap();
    let mut plan = Plan::new(workspace);
    plan.write(&path("modified"), MODIFIED_AFTER.to_vec()).unwrap();
    plan.create(&path("new/deep/created"), b"created".to_vec()).unwrap();
    plan.write(&path("hard-a"), big(b'b', BIG_AFTER)).unwrap();
    plan.write(&path("link"), b"through the link\n".to_vec()).unwrap();
    plan.delete(&path("deleted")).unwrap();
    plan.executable(&path("modified"), Executable::No).unwrap();
    plan.executable(&path("new/deep/created"), Executable::Yes).unwrap();
    plan.executable(&path("hard-a"), Executable::Yes).unwrap();
    plan
}

pub(crate) const FIVE: [&str; 5] =
    ["modified", "new/deep/created", "hard-a", "dir/target", "deleted"];

/// What becomes of the permission bits of a file.
type Bits = fn(u32) -> u32;

/// The tree after [`five`], told from the one before by hand and not by the code under test.
pub(crate) fn after_five(before: &Tree) -> Tree {
    let mut after = before.clone();
    const EXECUTE: u32 = 0o111;
    let keep = |mode: u32| mode;
    let set = |mode: u32| mode | (mode & 0o444) >> 2;
    let clear = |mode: u32| mode & !EXECUTE;
    let file =
        |after: &Tree, name: &str, bytes: Vec<u8>, bits: Bits| match after.get(Path::new(name)) {
            Some(Node::File { mode, same_as, .. }) => {
                Node::File { bytes, mode: bits(*mode), same_as: same_as.clone() }
            }
            other => panic!("{name} is {other:?}"),
        };
    let changed: [(&str, Vec<u8>, Bits); 4] = [
        ("modified", MODIFIED_AFTER.to_vec(), clear),
        ("hard-a", big(b'b', BIG_AFTER), set),
        ("dir/hard-b", big(b'b', BIG_AFTER), set),
        ("dir/target", b"through the link\n".to_vec(), keep),
    ];
    for (name, bytes, bits) in changed {
        let node = file(&after, name, bytes, bits);
        after.insert(name.into(), node);
    }
    after.remove(Path::new("deleted"));
    // A new file and a new folder have the mode that the umask leaves, as `untouched` and `dir` do.
    let Some(Node::File { mode, .. }) = before.get(Path::new("untouched")) else {
        panic!("no file");
    };
    let (bytes, mode) = (b"created".to_vec(), set(*mode));
    let created = Node::File { bytes, mode, same_as: "new/deep/created".into() };
    after.insert("new/deep/created".into(), created);
    for folder in ["new", "new/deep"] {
        after.insert(folder.into(), before[Path::new("dir")].clone());
    }
    after
}

/// Every name below a folder.
pub(crate) type Tree = BTreeMap<PathBuf, Node>;

#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Node {
    File {
        bytes: Vec<u8>,
        mode: u32,
        /// The first name of the same inode: hard links show in it.
        same_as: PathBuf,
    },
    Folder {
        mode: u32,
    },
    Link {
        target: PathBuf,
    },
}

/// Short, since a difference of trees is printed.
impl std::fmt::Debug for Node {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::File { bytes, mode, same_as } => {
                let head = String::from_utf8_lossy(&bytes[..bytes.len().min(24)]);
                write!(f, "{mode:o} {} bytes {head:?} as {}", bytes.len(), same_as.display())
            }
            Self::Folder { mode } => write!(f, "folder {mode:o}"),
            Self::Link { target } => write!(f, "-> {}", target.display()),
        }
    }
}

pub(crate) fn tree(root: &Path) -> Tree {
    let mut names = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.symlink_metadata().unwrap().is_dir() {
                folders.push(path.clone());
            }
            names.push(path);
        }
    }
    names.sort();
    let mut inodes = BTreeMap::new();
    let node = |path: PathBuf| {
        let name = path.strip_prefix(root).unwrap().to_owned();
        let found = path.symlink_metadata().unwrap();
        let node = if found.is_symlink() {
            Node::Link { target: fs::read_link(&path).unwrap() }
        } else if found.is_dir() {
            Node::Folder { mode: found.mode() }
        } else {
            let first = inodes.entry(found.ino()).or_insert_with(|| name.clone());
            Node::File {
                bytes: fs::read(&path).unwrap(),
                mode: found.mode(),
                same_as: first.clone(),
            }
        };
        (name, node)
    };
    names.into_iter().map(node).collect()
}

/// The names in a state folder but the lock.
pub(crate) fn left_in_state(state: &Path) -> Vec<PathBuf> {
    let mut names: Vec<_> = tree(state).into_keys().collect();
    names.retain(|name| name != Path::new("lock"));
    names
}

/// What to do at the n-th file operation, counted from when the hook is armed.
pub(crate) struct AtNth<F> {
    count: AtomicUsize,
    nth: AtomicUsize,
    act: F,
}

const UNARMED: usize = usize::MAX;

impl<F: Fn(usize, usize, Operation, &Path) -> io::Result<()> + Send + Sync + 'static> AtNth<F> {
    /// `act` is told the n that it waits for, the number of the operation from 0, and the operation.
    pub(crate) fn new(act: F) -> Arc<Self> {
        Arc::new(Self { count: AtomicUsize::new(0), nth: AtomicUsize::new(UNARMED), act })
    }

    pub(crate) fn arm(&self, nth: usize) {
        self.count.store(0, Ordering::SeqCst);
        self.nth.store(nth, Ordering::SeqCst);
    }

    /// The operations since the hook was armed.
    pub(crate) fn count(&self) -> usize {
        self.count.load(Ordering::SeqCst)
    }

    /// True when the operation that the hook waits for came.
    pub(crate) fn fired(&self) -> bool {
        self.count.load(Ordering::SeqCst) > self.nth.load(Ordering::SeqCst)
    }
}

impl<F> std::fmt::Debug for AtNth<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("AtNth")
    }
}

impl<F: Fn(usize, usize, Operation, &Path) -> io::Result<()> + Send + Sync> Hook for AtNth<F> {
    fn before(&self, operation: Operation, path: &Path) -> io::Result<()> {
        let nth = self.nth.load(Ordering::SeqCst);
        if nth == UNARMED {
            return Ok(());
        }
        let number = self.count.fetch_add(1, Ordering::SeqCst);
        (self.act)(nth, number, operation, path)
    }
}
