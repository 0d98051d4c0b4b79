//! The run's state outside of the checkout: journals and results too long for a model.

use std::{
    env, fs, io,
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
    time::{SystemTime, UNIX_EPOCH},
};

use agent_edits::{Edits, ErrorKind};
use agent_workspace::Workspace;
use anyhow::{Context, Result};

/// Nobody but its owner reads what a run keeps.
const FOLDER_MODE: u32 = 0o700;
pub(crate) const FILE_MODE: u32 = 0o600;

/// What the name of a run begins with; the time of its start and its process follow.
pub(crate) const RUN_PREFIX: &str = "run-";

/// What puts it right where there is no usable state folder.
const PUT_RIGHT: &str = "name a folder that you can write by XDG_STATE_HOME";

/// Where this run keeps what outlives a call.
#[derive(Clone, Debug)]
pub(crate) struct State {
    /// None where this person has no place for it.
    home: Option<PathBuf>,
    run: String,
    problem: Option<String>,
}

impl State {
    /// `$XDG_STATE_HOME/agent-run`, made when it is not there. What only reads needs no state, so that there is none is no
    /// error here: [`State::problem`] says it to what does.
    pub(crate) fn open() -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let run = format!("{RUN_PREFIX}{}-{}", since.as_millis(), std::process::id());
        let home = Self::home_path();
        let mut state = Self { home: home.as_ref().ok().cloned(), run, problem: None };
        let made = home.and_then(|home| {
            create(&home)?;
            state
                .check_writable()
                .with_context(|| format!("the state folder {} cannot be written", home.display()))
        });
        state.problem = made.err().map(|error| format!("{error:#}; {PUT_RIGHT}"));
        state
    }

    /// Why nothing can be kept, and what puts it right.
    pub(crate) fn problem(&self) -> Option<&str> {
        self.problem.as_deref()
    }

    /// Where the state is, whether it is there or not.
    pub(crate) fn home_path() -> Result<PathBuf> {
        let home = env::var_os("XDG_STATE_HOME")
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
            .or_else(|| env::home_dir().map(|home| home.join(".local/state")))
            .context("there is no home folder and no XDG_STATE_HOME to keep the run's state in")?;
        Ok(home.join("agent-run"))
    }

    /// Whether a file can be made here, tried.
    fn check_writable(&self) -> io::Result<()> {
        let Some(home) = &self.home else { return Ok(()) };
        let probe = home.join(format!(".probe-{}", self.run));
        Self::write(&probe, b"")?;
        fs::remove_file(probe)
    }

    /// The folder that all runs of this person share.
    pub(crate) fn home(&self) -> Option<&Path> {
        self.home.as_deref()
    }

    /// Names this run among all that used this state.
    pub(crate) fn run(&self) -> &str {
        &self.run
    }

    /// The journals of changes in the state folder, opened. Without one, changes are refused and say why.
    pub(crate) fn edits(&self, workspace: &Workspace) -> agent_edits::Result<Edits> {
        let home = match (&self.problem, &self.home) {
            (None, Some(home)) => home,
            (problem, _) => {
                let why = problem.as_deref().unwrap_or(PUT_RIGHT);
                return Ok(Edits::without_state_folder(workspace, why));
            }
        };
        match Edits::open(workspace, home.join("journals")) {
            Err(error) if error.kind() == ErrorKind::StateFolder => {
                Ok(Edits::without_state_folder(workspace, format!("{error}; {PUT_RIGHT}")))
            }
            opened => opened,
        }
    }

    /// Where this run's long results go. The folder appears with the first of them.
    pub(crate) fn artifacts(&self) -> Option<PathBuf> {
        self.all_artifacts().map(|folder| folder.join(&self.run))
    }

    /// Where the long results of all runs are, one folder for each run.
    pub(crate) fn all_artifacts(&self) -> Option<PathBuf> {
        let home = self.home.as_ref().filter(|_| self.problem.is_none());
        home.map(|home| home.join("artifacts"))
    }

    /// Writes a new file that only its owner reads.
    pub(crate) fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
        if let Some(folder) = path.parent() {
            fs::DirBuilder::new().recursive(true).mode(FOLDER_MODE).create(folder)?;
        }
        let mut options = fs::OpenOptions::new();
        let mut file = options.write(true).create_new(true).mode(FILE_MODE).open(path)?;
        io::Write::write_all(&mut file, bytes)
    }

    /// Writes a file anew that only its owner reads: whoever reads it finds the old or the new whole.
    pub(crate) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
        let new = path.with_extension(format!("{}.new", std::process::id()));
        Self::write(&new, bytes)?;
        fs::rename(&new, path).inspect_err(|_| drop(fs::remove_file(&new)))
    }
}

fn create(folder: &Path) -> Result<()> {
    fs::DirBuilder::new()
        .recursive(true)
        .mode(FOLDER_MODE)
        .create(folder)
        .with_context(|| format!("cannot create the state folder {}", folder.display()))
}
