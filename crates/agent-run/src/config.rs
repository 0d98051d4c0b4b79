//! The layered configuration: the checkout's (which may only narrow), the person's, the
//! environment's, the command line's. The last wins.

use std::{
    collections::BTreeMap,
    env, fs,
    path::{Path, PathBuf},
};

use agent_tiers::Surface;
use anyhow::{Context, Result};
use serde::Deserialize;

use crate::args::{Approve, Options, surface};

/// The checkout's own file, which may only narrow.
pub(crate) const CHECKOUT_FILE: &str = ".agent-run.toml";

/// What a checkout may say: all of it narrows or names, none of it runs or allows.
const CHECKOUT_KEYS: [&str; 4] = ["surface", "result_characters", "exclude", "languages"];

/// What holds for this run, and where each part that matters to trust came from.
#[derive(Debug)]
pub(crate) struct Config {
    pub roots: Vec<(Option<String>, PathBuf)>,
    pub surface: Surface,
    pub approve: Option<Approve>,
    pub trust: Trust,
    /// The most characters of one result that a model is sent.
    pub result_characters: Option<usize>,
    /// Globs that walks leave out.
    pub exclude: Vec<String>,
    /// File endings and the language ids that they stand for.
    pub languages: BTreeMap<String, String>,
    /// What was found in a file and not followed, with the reason.
    pub ignored: Vec<String>,
}

/// Whether the checkout's own programs may run, and who said so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trust {
    Untrusted,
    /// By `--trust`.
    Flag,
    /// By `AGENT_RUN_TRUST=1`.
    Environment,
    /// By the person's own file, which lists the path.
    Remembered,
}

impl Trust {
    pub(crate) fn is_trusted(self) -> bool {
        self != Trust::Untrusted
    }

    pub(crate) fn said_by(self) -> &'static str {
        match self {
            Trust::Untrusted => {
                "nobody said that this checkout is trusted; --trust, AGENT_RUN_TRUST=1 or `trusted` \
                 in your own configuration would"
            }
            Trust::Flag => "--trust",
            Trust::Environment => "AGENT_RUN_TRUST",
            Trust::Remembered => "`trusted` in your configuration",
        }
    }
}

/// The person's own file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct PersonFile {
    surface: Option<Surface>,
    approve: Option<Approve>,
    /// Canonical paths of checkouts that the person trusts.
    trusted: Vec<PathBuf>,
    result_characters: Option<usize>,
    exclude: Vec<String>,
    languages: BTreeMap<String, String>,
}

/// The checkout's file, once everything but its own keys was left out.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct CheckoutFile {
    surface: Option<Surface>,
    result_characters: Option<usize>,
    exclude: Vec<String>,
    languages: BTreeMap<String, String>,
}

impl Config {
    /// Reads all layers.
    pub(crate) fn load(options: &Options) -> Result<Self> {
        let roots = roots(&options.workspace)?;
        let working = &roots[0].1;
        let mut ignored = Vec::new();
        let checkout = checkout_file(working, &mut ignored);
        let person = person_file()?;

        let asked = options.surface.or(env_surface()?).or(person.surface).unwrap_or(Surface::Full);
        // A checkout may take tools away; it never gives one back.
        let surface = checkout.surface.map_or(asked, |theirs| narrower(asked, theirs));
        let result_characters = [checkout.result_characters, person.result_characters];
        let mut languages = person.languages;
        languages.extend(checkout.languages);
        Ok(Self {
            surface,
            approve: options.approve.or(env_approve()?).or(person.approve),
            trust: trust(options, &person.trusted, working),
            result_characters: result_characters.into_iter().flatten().min(),
            exclude: person.exclude.into_iter().chain(checkout.exclude).collect(),
            languages,
            ignored,
            roots,
        })
    }
}

fn roots(given: &[String]) -> Result<Vec<(Option<String>, PathBuf)>> {
    let given = if given.is_empty() { &[".".to_owned()] } else { given };
    let parsed = given.iter().map(|root| {
        let (name, path) = match root.split_once('=') {
            Some((name, path)) if !name.contains('/') && !Path::new(root).exists() => {
                (Some(name.to_owned()), path)
            }
            _ => (None, root.as_str()),
        };
        let path = fs::canonicalize(path)
            .with_context(|| format!("--workspace {root}: there is no such folder"))?;
        Ok((name, path))
    });
    parsed.collect()
}

/// A checkout's file that cannot be read narrows nothing, and is said to have been left alone.
fn checkout_file(working: &Path, ignored: &mut Vec<String>) -> CheckoutFile {
    let Ok(text) = fs::read_to_string(working.join(CHECKOUT_FILE)) else {
        return CheckoutFile::default();
    };
    let mut table: toml::Table = match toml::from_str(&text) {
        Ok(table) => table,
        Err(error) => {
            ignored
                .push(format!("{CHECKOUT_FILE} is not TOML and was ignored: {}", error.message()));
            return CheckoutFile::default();
        }
    };
    let foreign: Vec<String> =
        table.keys().filter(|key| !CHECKOUT_KEYS.contains(&key.as_str())).cloned().collect();
    for key in foreign {
        table.remove(&key);
        ignored.push(format!(
            "{CHECKOUT_FILE} sets `{key}`, which was ignored: a checkout may only narrow ({})",
            CHECKOUT_KEYS.join(", ")
        ));
    }
    table.try_into().unwrap_or_else(|error: toml::de::Error| {
        ignored.push(format!("{CHECKOUT_FILE} was ignored: {}", error.message()));
        CheckoutFile::default()
    })
}

fn person_file() -> Result<PersonFile> {
    let Some(path) = config_home().map(|home| home.join("agent-run/config.toml")) else {
        return Ok(PersonFile::default());
    };
    match fs::read_to_string(&path) {
        Ok(text) => toml::from_str(&text).with_context(|| format!("{}", path.display())),
        Err(_) => Ok(PersonFile::default()),
    }
}

fn config_home() -> Option<PathBuf> {
    env::var_os("XDG_CONFIG_HOME")
        .map(PathBuf::from)
        .filter(|path| path.is_absolute())
        .or_else(|| env::home_dir().map(|home| home.join(".config")))
}

fn env_surface() -> Result<Option<Surface>> {
    let Ok(name) = env::var("AGENT_RUN_SURFACE") else { return Ok(None) };
    surface(&name).map(Some).map_err(|takes| anyhow::anyhow!("AGENT_RUN_SURFACE={name} {takes}"))
}

fn env_approve() -> Result<Option<Approve>> {
    let Ok(name) = env::var("AGENT_RUN_APPROVE") else { return Ok(None) };
    serde_json::from_value(serde_json::Value::String(name.clone()))
        .map(Some)
        .with_context(|| format!("AGENT_RUN_APPROVE={name} takes all, ask or none"))
}

fn trust(options: &Options, trusted: &[PathBuf], working: &Path) -> Trust {
    if options.trust {
        Trust::Flag
    } else if env::var("AGENT_RUN_TRUST").is_ok_and(|value| value == "1") {
        Trust::Environment
    } else if trusted.iter().any(|path| fs::canonicalize(path).is_ok_and(|path| path == working)) {
        Trust::Remembered
    } else {
        Trust::Untrusted
    }
}

fn narrower(a: Surface, b: Surface) -> Surface {
    let rank = |surface| match surface {
        Surface::Full => 1,
        _ => 0,
    };
    if rank(b) < rank(a) { b } else { a }
}
