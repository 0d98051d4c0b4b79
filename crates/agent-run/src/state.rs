//! The run's state outside of the checkout: journals and results too long for a model.

use std::{
    env, fs, io,
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
    time::{SystemTime, UNIX_EPOCH},
};

use anyhow::{Context, Result};

/// Nobody but its owner reads what a run keeps.
const FOLDER_MODE: u32 = 0o700;
const FILE_MODE: u32 = 0o600;

/// Where this run keeps what outlives a call.
#[derive(Clone, Debug)]
pub(crate) struct State {
    home: PathBuf,
    run: String,
}

impl State {
    /// `$XDG_STATE_HOME/agent-run`, made when it is not there.
    pub(crate) fn open() -> Result<Self> {
        let home = Self::home_path()?;
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let run = format!("run-{}-{}", since.as_millis(), std::process::id());
        let state = Self { home, run };
        create(&state.home)?;
        Ok(state)
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
    pub(crate) fn check_writable(&self) -> io::Result<()> {
        let probe = self.home.join(format!(".probe-{}", self.run));
        Self::write(&probe, b"")?;
        fs::remove_file(probe)
    }

    /// The folder that all runs of this person share.
    pub(crate) fn home(&self) -> &Path {
        &self.home
    }

    /// Names this run among all that used this state.
    pub(crate) fn run(&self) -> &str {
        &self.run
    }

    /// Where transactions keep their journals.
    pub(crate) fn journals(&self) -> PathBuf {
        self.home.join("journals")
    }

    /// Where this run's long results go. The folder appears with the first of them.
    pub(crate) fn artifacts(&self) -> PathBuf {
        self.home.join("artifacts").join(&self.run)
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
