//! Finding a program that exists, answers, and lies where the person trusts.
//!
//! A name on the search path says little: a rustup proxy exists and fails, a wrapper outlives what it wraps, and a checkout
//! can bring a program of the same name. So a program is found only if it answers a probe in a neutral folder, and what was
//! passed over is said with the reason.

mod candidates;
mod probe;

use std::{
    collections::HashMap,
    ffi::OsString,
    fmt,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::sync::OnceCell;

use crate::Launcher;

/// How long a probe may take, unless a [`Wanted`] says otherwise.
pub const PROBE_TIME: Duration = Duration::from_secs(10);

/// The most lines of error output that are kept of a probe that failed.
pub const MAX_PROBE_LINES: usize = 5;

/// The most characters of a version line, and of a line of error output.
pub const MAX_PROBE_LINE_CHARS: usize = 200;

/// Whether the person trusts the checkout.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Trust {
    /// Nothing found inside it is started.
    #[default]
    Untrusted,
    /// Its own programs come first.
    Trusted,
}

/// Where to look.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Place {
    pub(crate) roots: Vec<PathBuf>,
    pub(crate) trust: Trust,
}

/// Which program to look for. Two that are equal share an answer.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Wanted {
    pub(crate) names: Vec<String>,
    pub(crate) numbered: bool,
    pub(crate) configured: Option<PathBuf>,
    pub(crate) local_folders: Vec<PathBuf>,
    pub(crate) more_folders: Vec<PathBuf>,
    pub(crate) probe: Option<Vec<String>>,
    pub(crate) probe_time: Duration,
    pub(crate) at_least: Option<String>,
}

/// Where a program was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Origin {
    /// The path that was configured.
    Configured,
    /// A folder inside the checkout.
    Local,
    /// The search path.
    SearchPath,
    /// One of [`Wanted::also_in`].
    MoreFolders,
}

/// A program that answered.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Found {
    /// Its absolute path, links not resolved: what it does may depend on the name that it is called by.
    pub path: PathBuf,
    /// Where it was found.
    pub origin: Origin,
    /// The first line that the probe printed; empty if it printed none or there was no probe.
    pub version: String,
    /// What came before it and was not taken.
    pub passed_over: Vec<PassedOver>,
}

/// Why no program was found.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Missing {
    /// The names that were looked for.
    pub names: Vec<String>,
    /// What was there and was not taken; empty if there was nothing.
    pub passed_over: Vec<PassedOver>,
}

/// A file that was not taken.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PassedOver {
    /// Its path.
    pub path: PathBuf,
    /// Why it was not taken.
    pub why: Why,
}

/// Why a file was not taken.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Why {
    /// It lies inside the checkout, which is not trusted, or a link leads there.
    NotTrusted,
    /// The configured path is neither absolute nor a mere name.
    Relative,
    /// The configured path names no file.
    NoFile,
    /// The configured path names a folder.
    Folder,
    /// It may not be executed.
    NotExecutable,
    /// The probe failed.
    ProbeFailed {
        /// How it ended: `exited with code 1`.
        exit: String,
        /// The first lines of its error output, or of its output if that was empty.
        lines: Vec<String>,
    },
    /// The probe did not end in time.
    TimedOut(Duration),
    /// It is older than [`Wanted::at_least`].
    TooOld {
        /// What the probe printed.
        version: String,
        /// What was wanted.
        at_least: String,
    },
    /// It could not be started.
    NotStarted(String),
}

/// Finds programs and remembers the answers. However many ask for the same at once, it is probed once. Clones share the
/// answers.
#[derive(Debug, Clone)]
pub struct Finder {
    launcher: Launcher,
    search_path: Option<OsString>,
    answers: Arc<Mutex<Answers>>,
}

type Answer = Result<Found, Missing>;
type Answers = HashMap<(Wanted, Place), Arc<OnceCell<Answer>>>;

impl Place {
    /// A checkout's roots, the nearest first; local folders are looked for in each. Nothing here counts as trusted.
    pub fn new<R: Into<PathBuf>>(roots: impl IntoIterator<Item = R>) -> Self {
        Self { roots: roots.into_iter().map(Into::into).collect(), trust: Trust::Untrusted }
    }

    /// What the person said about the checkout.
    pub fn trust(mut self, trust: Trust) -> Self {
        self.trust = trust;
        self
    }
}

impl Wanted {
    /// A program of this name on the search path that exits with 0 when it is called with `--version`.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            names: vec![name.into()],
            numbered: false,
            configured: None,
            local_folders: Vec::new(),
            more_folders: Vec::new(),
            probe: Some(vec!["--version".to_owned()]),
            probe_time: PROBE_TIME,
            at_least: None,
        }
    }

    /// Another name, taken when none of the ones before is found.
    pub fn or(mut self, name: impl Into<String>) -> Self {
        self.names.push(name.into());
        self
    }

    /// After the mere names, looks for `name-19` and the like too, the highest number first.
    pub fn or_numbered(mut self) -> Self {
        self.numbered = true;
        self
    }

    /// The one that the person's configuration names: an absolute path, or a mere name for the search path. Nothing else is
    /// tried then, since another one would not be what they asked for.
    pub fn configured(mut self, path: impl Into<PathBuf>) -> Self {
        self.configured = Some(path.into());
        self
    }

    /// A folder inside the checkout that comes before the search path, such as `node_modules/.bin`.
    pub fn local(mut self, folder: impl Into<PathBuf>) -> Self {
        self.local_folders.push(folder.into());
        self
    }

    /// An absolute folder that comes after the search path, such as `/usr/lib/llvm-19/bin`.
    pub fn also_in(mut self, folder: impl Into<PathBuf>) -> Self {
        self.more_folders.push(folder.into());
        self
    }

    /// What the probe calls it with.
    pub fn probe<A: Into<String>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        self.probe = Some(args.into_iter().map(Into::into).collect());
        self
    }

    /// Takes an executable file as it is: for programs that have no such question.
    pub fn unprobed(mut self) -> Self {
        self.probe = None;
        self
    }

    /// Passes over one whose probe prints a lesser version, or none, where what is older is something else: `7`, `3.10`.
    pub fn at_least(mut self, version: impl Into<String>) -> Self {
        self.at_least = Some(version.into());
        self
    }

    /// How long the probe may take; [`PROBE_TIME`] by default.
    pub fn probe_time(mut self, time: Duration) -> Self {
        self.probe_time = time;
        self
    }
}

impl Finder {
    /// A finder that starts its probes with this launcher and searches the environment's `PATH`.
    pub fn new(launcher: Launcher) -> Self {
        Self { launcher, search_path: std::env::var_os("PATH"), answers: Arc::default() }
    }

    /// Searches this path instead.
    pub fn search_path(mut self, path: impl Into<OsString>) -> Self {
        self.search_path = Some(path.into());
        self.answers = Arc::default();
        self
    }

    /// Finds the program, or says why not. The answer stays until [`Finder::forget`]; dropping the future forgets nothing
    /// that another caller waits for.
    ///
    /// # Errors
    ///
    /// [`Missing`], with everything that was there and not taken.
    pub async fn find(&self, wanted: &Wanted, place: &Place) -> Result<Found, Missing> {
        let cell = self.answers().entry((wanted.clone(), place.clone())).or_default().clone();
        cell.get_or_init(|| self.search(wanted, place)).await.clone()
    }

    /// Forgets all answers: something was installed, or the person said `reload`.
    pub fn forget(&self) {
        self.answers().clear();
    }

    async fn search(&self, wanted: &Wanted, place: &Place) -> Answer {
        let search_path = self.search_path.as_deref().unwrap_or_default();
        let listed = candidates::list(wanted, place, search_path);
        let mut passed_over = Vec::new();
        for candidate in listed {
            let refused = match candidate.refused {
                Some(why) => why,
                None => match probe::ask(&self.launcher, &candidate.path, wanted)
                    .await
                    .and_then(|version| new_enough(version, wanted))
                {
                    Ok(version) => {
                        return Ok(Found {
                            path: candidate.path,
                            origin: candidate.origin,
                            version,
                            passed_over,
                        });
                    }
                    Err(why) => why,
                },
            };
            passed_over.push(PassedOver { path: candidate.path, why: refused });
        }
        Err(Missing { names: wanted.names.clone(), passed_over })
    }

    fn answers(&self) -> MutexGuard<'_, Answers> {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.names.join(" or ");
        match self.passed_over.as_slice() {
            [] => write!(f, "{names} was not found; install it or put it on the search path"),
            [one] => write!(f, "{names} cannot be used: {one}"),
            many => {
                write!(f, "{names} cannot be used:")?;
                for (index, one) in many.iter().enumerate() {
                    let same = |other: &&PassedOver| other.why == one.why;
                    if many[..index].iter().any(|other| same(&other)) {
                        continue;
                    }
                    write!(f, "\n- {one}")?;
                    let rest = many[index + 1..].iter().filter(same);
                    let rest: Vec<_> = rest.map(|one| one.path.display().to_string()).collect();
                    if !rest.is_empty() {
                        write!(f, "\n- the same holds for {}", rest.join(", "))?;
                    }
                }
                Ok(())
            }
        }
    }
}

impl std::error::Error for Missing {}

impl fmt::Display for PassedOver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        show(f, &self.path, &self.why)
    }
}

fn show(f: &mut fmt::Formatter<'_>, path: &Path, why: &Why) -> fmt::Result {
    let path = path.display();
    match why {
        Why::NotTrusted => {
            write!(f, "{path} is there but the checkout is not trusted; trusting it would use it")
        }
        Why::Relative => write!(f, "{path} is configured; it has to be an absolute path or a name"),
        Why::NoFile => write!(f, "{path} is configured and does not exist"),
        Why::Folder => write!(f, "{path} is configured and is a folder; name the program in it"),
        Why::NotExecutable => write!(f, "{path} may not be executed"),
        Why::ProbeFailed { exit, lines } => {
            write!(f, "{path} is there, and when it was tried it {exit}")?;
            lines.iter().try_for_each(|line| write!(f, "; {line}"))
        }
        Why::TimedOut(time) => write!(f, "{path} did not answer in {:.1} s", time.as_secs_f64()),
        Why::TooOld { version, at_least } if version.is_empty() => {
            write!(f, "{path} prints no version, and it has to be {at_least} or newer")
        }
        Why::TooOld { version, at_least } => {
            write!(f, "{path} is {version}, and it has to be {at_least} or newer")
        }
        Why::NotStarted(why) => f.write_str(why),
    }
}

fn new_enough(version: String, wanted: &Wanted) -> Result<String, Why> {
    match &wanted.at_least {
        Some(least) if numbers(&version) < numbers(least) => {
            Err(Why::TooOld { version, at_least: least.clone() })
        }
        _ => Ok(version),
    }
}

/// The first number of a text with what follows after dots: of `Version 5.9.3-beta` 5, 9 and 3.
fn numbers(text: &str) -> Vec<u64> {
    let start = text.find(|character: char| character.is_ascii_digit()).unwrap_or(text.len());
    let parts = text[start..].split('.').map(|part| {
        let end = part.find(|character: char| !character.is_ascii_digit());
        (&part[..end.unwrap_or(part.len())], end.is_some())
    });
    let mut numbers = Vec::new();
    for (digits, is_last) in parts {
        let Ok(number) = digits.parse() else { break };
        numbers.push(number);
        if is_last {
            break;
        }
    }
    numbers
}
