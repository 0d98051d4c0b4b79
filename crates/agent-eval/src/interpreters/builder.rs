//! What a host says of the interpreters of a run.

use std::{env, ffi::OsString, path::PathBuf, sync::Arc, time::Duration};

use agent_process::{Finder, Launcher, Place, Prefix, Trust};
use agent_workspace::Workspace;

use super::{Inner, Interpreters};
use crate::{
    budget::IDLE,
    environment::{Chooser, Wishes},
};

/// How long one bridged call may take, unless the host says otherwise. The tool's own bounds come first.
pub const CALL_WITHIN: Duration = Duration::from_secs(60 * 60);

/// Bounds of an interpreter's own, which the system holds it to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// The most memory in bytes: of addresses in Python and its children, each for itself. In Node of the heap alone, so what a
    /// `Buffer` or an `ArrayBuffer` holds is not bound.
    pub memory_bytes: Option<u64>,
    /// The most processes of the user who runs it, all those elsewhere counted, for Python and its children. It binds neither root
    /// nor Node.
    pub processes: Option<u64>,
}

/// Where the launcher's sandbox puts an interpreter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Site {
    /// On this machine's files, whatever else the sandbox takes away: the host's interpreters are looked for.
    #[default]
    Here,
    /// In a container or on another machine: these names are looked up there.
    Elsewhere {
        /// `python3`, or a path inside.
        python: String,
        /// `node`, or a path inside.
        node: String,
    },
}

impl Site {
    /// Where commands behind this prefix find their files.
    #[must_use]
    pub fn of(prefix: &Prefix) -> Self {
        match prefix.is_elsewhere() {
            true => Self::Elsewhere { python: "python3".to_owned(), node: "node".to_owned() },
            false => Self::Here,
        }
    }
}

/// Times of cells.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Times {
    pub idle: Duration,
    pub call: Duration,
}

/// Builds [`Interpreters`].
#[derive(Debug)]
#[must_use]
pub struct InterpretersBuilder {
    workspace: Workspace,
    launcher: Launcher,
    trust: Trust,
    wishes: Wishes,
    site: Site,
    environment: Vec<(OsString, OsString)>,
    limits: Limits,
    times: Times,
}

impl Interpreters {
    /// Interpreters that run in the working directory of a workspace, started with this launcher and so through its sandbox.
    pub fn builder(workspace: Workspace, launcher: Launcher) -> InterpretersBuilder {
        InterpretersBuilder {
            workspace,
            launcher,
            trust: Trust::Untrusted,
            wishes: Wishes {
                virtual_env: env::var_os("VIRTUAL_ENV")
                    .filter(|path| !path.is_empty())
                    .map(PathBuf::from),
                ..Wishes::default()
            },
            site: Site::Here,
            environment: Vec::new(),
            limits: Limits::default(),
            times: Times { idle: IDLE, call: CALL_WITHIN },
        }
    }
}

impl InterpretersBuilder {
    /// What the person said of the checkout: only in a trusted one its own virtual environment is taken. Untrusted by default.
    pub fn trust(mut self, trust: Trust) -> Self {
        self.trust = trust;
        self
    }

    /// The Python of the person's configuration: an absolute path, or a name for the search path.
    pub fn python(mut self, path: impl Into<PathBuf>) -> Self {
        self.wishes.python = Some(path.into());
        self
    }

    /// The Node of the person's configuration.
    pub fn node(mut self, path: impl Into<PathBuf>) -> Self {
        self.wishes.node = Some(path.into());
        self
    }

    /// The person's active virtual environment, in the place of what `VIRTUAL_ENV` says.
    pub fn virtual_env(mut self, folder: Option<PathBuf>) -> Self {
        self.wishes.virtual_env = folder;
        self
    }

    /// Where the launcher's sandbox puts what it starts.
    pub fn site(mut self, site: Site) -> Self {
        self.site = site;
        self
    }

    /// Sets a variable of the interpreters' environment, whatever the launcher's rule says of its name.
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.environment.push((name.into(), value.into()));
        self
    }

    /// How long a cell may be silent; [`IDLE`] by default.
    pub fn idle(mut self, idle: Duration) -> Self {
        self.times.idle = idle;
        self
    }

    /// How long one bridged call may take; [`CALL_WITHIN`] by default.
    pub fn call_within(mut self, time: Duration) -> Self {
        self.times.call = time;
        self
    }

    /// The most memory in bytes that an interpreter may have.
    pub fn memory_bytes(mut self, bytes: u64) -> Self {
        self.limits.memory_bytes = Some(bytes);
        self
    }

    /// The most processes that its user may have.
    pub fn processes(mut self, count: u64) -> Self {
        self.limits.processes = Some(count);
        self
    }

    /// The interpreters. None is started by this.
    #[must_use]
    pub fn build(self) -> Interpreters {
        let roots = self.workspace.roots();
        let folder = roots.first().map(|root| root.path().to_owned()).unwrap_or_default();
        let place = Place::new(roots.iter().map(|root| root.path().to_owned())).trust(self.trust);
        let finder = Finder::new(self.launcher.clone());
        let inner = Inner {
            chooser: Chooser::new(finder, place, self.wishes),
            launcher: self.launcher,
            site: self.site,
            folder,
            environment: self.environment,
            limits: self.limits,
            times: self.times,
            slots: Default::default(),
        };
        Interpreters { inner: Arc::new(inner) }
    }
}
