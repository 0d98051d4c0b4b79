//! Which interpreter a cell gets.
//!
//! In this order: the person's active virtual environment (`VIRTUAL_ENV`), the checkout's `.venv` or `venv` where the checkout is
//! trusted, the configured path, `python3` of the search path. Inside a container or on another machine nothing of the host's
//! counts: there it is the configured name or `python3`.

use std::path::{Path, PathBuf};

use agent_process::{
    Finder, Found, Missing, Place, Wanted,
    find::{Origin, Why},
};

use crate::Language;

/// Prints the interpreter itself, past shims and launchers, then its version.
const PYTHON_PROBE: [&str; 3] =
    ["-I", "-c", "import sys; print(sys.executable + '\\t' + sys.version.split()[0])"];

const NODE_PROBE: [&str; 2] = ["-p", "process.execPath + '\\t' + process.versions.node"];

/// The oldest interpreters that are taken.
const OLDEST: [(Language, (u32, u32)); 2] =
    [(Language::Python, (3, 8)), (Language::JavaScript, (20, 12))];

/// Where virtual environments lie in a checkout.
const LOCAL: [&str; 2] = [".venv/bin", "venv/bin"];

/// The names on the search path and in a virtual environment.
const PYTHON: [&str; 2] = ["python3", "python"];
const NODE: &str = "node";

/// What the host and the person say of interpreters.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wishes {
    pub python: Option<PathBuf>,
    pub node: Option<PathBuf>,
    pub virtual_env: Option<PathBuf>,
}

/// An interpreter that answered.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Chosen {
    /// Its absolute path, past shims.
    pub program: PathBuf,
    /// Its version: `3.11.7`.
    pub version: String,
    /// Why it was this one: `VIRTUAL_ENV`, `.venv`, `configured`, `search path`.
    pub by: String,
    /// What came before it and was not taken, with the reason.
    pub passed_over: Vec<String>,
    /// Virtual environments that were passed over because nobody trusts the checkout that they lie in.
    pub untrusted: Vec<PathBuf>,
}

/// Looks for interpreters and remembers the answers.
#[derive(Debug)]
pub(crate) struct Chooser {
    finder: Finder,
    /// The same without a search path, for places that are named.
    named: Finder,
    place: Place,
    wishes: Wishes,
}

impl Chooser {
    pub(crate) fn new(finder: Finder, place: Place, wishes: Wishes) -> Self {
        let named = finder.clone().search_path("");
        Self { finder, named, place, wishes }
    }

    pub(crate) fn forget(&self) {
        self.finder.forget();
        self.named.forget();
    }

    /// The interpreter for a language, or words about why there is none.
    pub(crate) async fn choose(&self, language: Language) -> Result<Chosen, String> {
        let chosen = match language {
            Language::Python => self.python().await,
            Language::JavaScript => self.node().await,
        }?;
        let (_, oldest) = OLDEST.into_iter().find(|(of, _)| *of == language).unwrap_or(OLDEST[0]);
        if number(&chosen.version) < oldest {
            return Err(format!(
                "{} is version {}, and cells need {}.{} or newer; configure another one",
                chosen.program.display(),
                chosen.version,
                oldest.0,
                oldest.1
            ));
        }
        Ok(chosen)
    }

    async fn python(&self) -> Result<Chosen, String> {
        let (mut passed_over, mut untrusted) = (Vec::new(), Vec::new());
        if let Some(folder) = &self.wishes.virtual_env {
            let wanted = python().configured(folder.join("bin/python3"));
            match self.named.find(&wanted, &self.place).await {
                Ok(found) => return Ok(chosen(&found, "VIRTUAL_ENV", passed_over)),
                Err(missing) => {
                    passed_over.extend(reasons(&missing));
                    untrusted.extend(untrusted_environments(&missing));
                }
            }
        }
        let local = LOCAL.iter().fold(python(), |wanted, folder| wanted.local(folder));
        match self.named.find(&local, &self.place).await {
            Ok(found) => {
                let by = folder_name(&found.path);
                return Ok(Chosen { untrusted, ..chosen(&found, &by, passed_over) });
            }
            Err(missing) => {
                passed_over.extend(reasons(&missing));
                untrusted.extend(untrusted_environments(&missing));
            }
        }
        untrusted.dedup();
        let mut wanted = python();
        if let Some(path) = &self.wishes.python {
            wanted = wanted.configured(path);
        }
        let found = self.finder.find(&wanted, &self.place).await;
        found
            .map(|found| Chosen { untrusted, ..chosen(&found, by(&found), passed_over) })
            .map_err(|missing| missing.to_string())
    }

    async fn node(&self) -> Result<Chosen, String> {
        let mut wanted = Wanted::new(NODE).probe(NODE_PROBE);
        if let Some(path) = &self.wishes.node {
            wanted = wanted.configured(path);
        }
        let found = self.finder.find(&wanted, &self.place).await;
        found
            .map(|found| chosen(&found, by(&found), Vec::new()))
            .map_err(|missing| missing.to_string())
    }
}

fn python() -> Wanted {
    Wanted::new(PYTHON[0]).or(PYTHON[1]).probe(PYTHON_PROBE)
}

fn chosen(found: &Found, by: &str, mut passed_over: Vec<String>) -> Chosen {
    let (program, version) = found.version.split_once('\t').unwrap_or(("", &found.version));
    let program = Path::new(program);
    passed_over.extend(found.passed_over.iter().map(ToString::to_string));
    Chosen {
        program: if program.is_absolute() { program.to_owned() } else { found.path.clone() },
        version: version.to_owned(),
        by: by.to_owned(),
        passed_over,
        untrusted: Vec::new(),
    }
}

fn by(found: &Found) -> &'static str {
    match found.origin {
        Origin::Configured => "configured",
        _ => "search path",
    }
}

fn reasons(missing: &Missing) -> impl Iterator<Item = String> {
    missing.passed_over.iter().map(ToString::to_string)
}

/// The folders of the environments whose interpreters a trusted checkout would have had taken.
fn untrusted_environments(missing: &Missing) -> impl Iterator<Item = PathBuf> {
    let of_checkout = missing.passed_over.iter().filter(|over| over.why == Why::NotTrusted);
    let folders = of_checkout.filter_map(|over| over.path.parent()?.parent().map(Path::to_owned));
    let folders: std::collections::BTreeSet<_> = folders.collect();
    folders.into_iter()
}

/// The name of the virtual environment that a `bin/python3` belongs to.
fn folder_name(program: &Path) -> String {
    let folder = program.parent().and_then(Path::parent).and_then(Path::file_name);
    folder.map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

fn number(version: &str) -> (u32, u32) {
    let mut parts = version.split('.').map(|part| part.parse().unwrap_or_default());
    (parts.next().unwrap_or_default(), parts.next().unwrap_or_default())
}
