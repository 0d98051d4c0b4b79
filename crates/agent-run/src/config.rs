//! The layered configuration: the checkout's (which may only narrow), the person's, the
//! environment's, the command line's. The last wins.

mod settings;

use std::{
    collections::BTreeMap,
    env, fs, io,
    num::NonZero,
    path::{Path, PathBuf},
};

use agent_mcp::Servers;
use agent_tiers::Surface;
use agent_tool_core::Secrets;
use anyhow::{Context, Result, anyhow};
use serde::{Deserialize, Serialize};

use crate::{
    args::{Approve, Options, surface},
    edge, mcp,
    models::{ModelConfig, PROVIDER_KEYS},
    pictures,
    trust::{self, Trust},
    workers::WorkersConfig,
};

use self::settings::{Origins, of_flags, of_model};

/// The checkout's own file, which may only narrow.
pub(crate) const CHECKOUT_FILE: &str = ".agent-run.toml";

/// What a checkout may say: all of it narrows or names, none of it runs or allows.
const CHECKOUT_KEYS: [&str; 4] = ["surface", "result_characters", "exclude", "languages"];

/// What only a person may say.
const PERSON_KEYS: [&str; 6] = ["approve", "eval", "mcp", "model", "trusted", "worker"];

/// The environment's part of the configuration.
const VARIABLES: [&str; 4] =
    ["AGENT_RUN_SURFACE", "AGENT_RUN_APPROVE", "AGENT_RUN_TRUST", pictures::VARIABLE];

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
    /// The person's own rows of the server table, as TOML.
    pub servers: String,
    /// The ids of these rows.
    pub server_ids: Vec<String>,
    /// What the person says of interpreters.
    pub eval: Eval,
    /// The model of a conversation.
    pub model: ModelConfig,
    /// What background workers are.
    pub workers: WorkersConfig,
    /// The MCP servers whose tools are bridged in.
    pub mcp: Servers,
    /// What was found in a file and not followed, with the reason.
    pub ignored: Vec<String>,
    /// The text of the checkout's own file, where it has one.
    pub checkout_text: Option<String>,
    /// Where all of this came from, the weakest first.
    pub layers: Vec<Layer>,
    /// Which layer each setting comes from.
    pub origins: Origins,
}

/// One source of configuration, for `doctor` to say.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Layer {
    /// `checkout`, `person`, `environment` or `flags`.
    pub name: &'static str,
    /// The path of its file; none for what has no file.
    pub path: Option<PathBuf>,
    /// What it sets; none where there is no file.
    pub sets: Option<Vec<String>>,
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
    /// Interpreters.
    eval: Eval,
    /// The model of a conversation.
    model: Option<ModelConfig>,
    /// Background workers.
    worker: WorkersConfig,
    /// MCP servers, each under its name with the keys that hosts share.
    mcp: toml::Table,
    /// Language servers: rows that change those of the crate or add to them.
    server: Vec<toml::Table>,
}

/// What a person says of the interpreters of `eval`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Eval {
    /// A path, or a name for the search path.
    pub python: Option<PathBuf>,
    pub node: Option<PathBuf>,
    /// The command before the command, or `none`.
    pub sandbox: Option<String>,
    pub sandbox_folder: Option<PathBuf>,
    /// How long a cell may be silent. It is never none: such a cell could not begin.
    pub idle_seconds: Option<NonZero<u32>>,
    pub memory_mb: Option<NonZero<u32>>,
    pub processes: Option<NonZero<u32>>,
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
        let mut ignored: Vec<String> = pictures::unknown().into_iter().collect();
        let checkout_text = checkout_text(working)?;
        let mut checkout_table = checkout_table(checkout_text.as_deref(), &mut ignored)?;
        let person_path = config_home().map(|home| home.join("agent-run/config.toml"));
        let person_table = person_path.as_deref().map(person_table).transpose()?.flatten();
        let checkout = checkout_file(&checkout_table, checkout_text.as_deref())?;
        let person = person_file(person_path.as_deref(), person_table.clone())?;

        let asked = options.surface.or(env_surface()?).or(person.surface).unwrap_or(Surface::Full);
        // A checkout may take tools away; it never gives one back.
        let surface = checkout.surface.map_or(asked, |theirs| narrower(asked, theirs));
        if let Some(theirs) = checkout.surface.filter(|theirs| theirs.cap() > asked.cap()) {
            ignored.push(format!(
                "{CHECKOUT_FILE} sets `surface` to {theirs}, which was ignored: {asked} is asked for, and a checkout may only \
                 narrow"
            ));
            checkout_table.as_mut().map(|table| table.remove("surface"));
        }
        let mut origins = Origins::default();
        origins.note("surface", "checkout", surface != asked);
        of_flags(&mut origins, options);
        let env_approve = env_approve()?;
        origins.note("surface", "environment", env_surface()?.is_some());
        origins.note("approve", "environment", env_approve.is_some());
        origins.note("surface", "person", person.surface.is_some());
        origins.note("approve", "person", person.approve.is_some());
        note_lists(&mut origins, &checkout, &person);
        let server_ids = person.server.iter().filter_map(|row| row.get("id")?.as_str());
        let server_ids = server_ids.map(str::to_owned).collect();
        let layers =
            layers(options, working, &checkout_table, person_path.as_deref(), &person_table);
        let result_characters = [checkout.result_characters, person.result_characters];
        let servers = toml::to_string(&BTreeMap::from([("server", &person.server)]))
            .context("the servers of config.toml")?;
        let mut eval = person.eval;
        if options.sandbox.is_some() {
            eval.sandbox.clone_from(&options.sandbox);
            eval.sandbox_folder = None;
        }
        if options.sandbox_folder.is_some() {
            eval.sandbox_folder.clone_from(&options.sandbox_folder);
        }
        let own = person.model.clone().unwrap_or_default();
        let model = options.model.as_deref().map_or(Ok(own.clone()), |name| own.named(name))?;
        of_model(&mut origins, options, person.model.as_ref(), &model);
        let mut workers = person.worker;
        for flag in &options.worker {
            workers.take_flag(flag)?;
        }
        for model in std::iter::once(&model).chain(workers.models()) {
            model.check_name()?;
            model.check_key()?;
        }
        for name in mcp::servers(toml::Table::new(), &options.mcp)?.names() {
            origins.note(format!("mcp.{name}"), "flags", true);
        }
        for name in person.mcp.keys() {
            origins.note(format!("mcp.{name}"), "person", true);
        }
        origins.note("mcp", "person", !person.mcp.is_empty());
        let mcp = mcp::servers(person.mcp, &options.mcp)?;
        ignored.extend(mcp.remarks());
        let mut languages = person.languages;
        languages.extend(checkout.languages);
        Ok(Self {
            surface,
            approve: options.approve.or(env_approve).or(person.approve),
            trust: trust(options, &person.trusted, working, checkout_text.as_deref()),
            result_characters: result_characters.into_iter().flatten().min(),
            exclude: person.exclude.into_iter().chain(checkout.exclude).collect(),
            languages,
            servers,
            server_ids,
            eval,
            model,
            workers,
            mcp,
            ignored,
            checkout_text,
            layers,
            origins,
            roots,
        })
    }

    /// The canonical path of the working directory: the checkout that is trusted or not.
    pub(crate) fn working(&self) -> &Path {
        &self.roots[0].1
    }

    /// The keys of models and the tokens of MCP servers as they are now, which no result and no record has. The providers' own
    /// variables count, whatever model this is.
    pub(crate) fn secrets(&self) -> Secrets {
        let models = std::iter::once(&self.model).chain(self.workers.models());
        let keys = models.filter_map(ModelConfig::key_variable).chain(PROVIDER_KEYS);
        let keys = keys.filter_map(|name| Some((name.to_owned(), env::var(name).ok()?)));
        let trimmed = |(name, value): (String, String)| (name, value.trim().to_owned());
        Secrets::new(keys.map(trimmed).chain(self.mcp.secrets()))
    }

    /// The variables that hold keys of models and tokens of MCP servers, which no child gets but the one that they are for.
    pub(crate) fn key_variables(&self) -> impl Iterator<Item = String> {
        let models = std::iter::once(&self.model).chain(self.workers.models());
        let keys = models.filter_map(ModelConfig::key_variable).map(str::to_owned);
        keys.chain(self.mcp.variables())
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

/// A checkout's file that is there and cannot be read may narrow: without knowing how, no run begins.
fn checkout_text(working: &Path) -> Result<Option<String>> {
    match fs::read_to_string(working.join(CHECKOUT_FILE)) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(anyhow!(
            "{CHECKOUT_FILE} cannot be read ({error}), so it is not known what it takes away; put it right or remove it"
        )),
    }
}

/// What a checkout may say, without what it may not.
fn checkout_table(text: Option<&str>, ignored: &mut Vec<String>) -> Result<Option<toml::Table>> {
    let Some(text) = text else { return Ok(None) };
    let mut table: toml::Table = toml::from_str(text).map_err(|error| {
        anyhow!(
            "{CHECKOUT_FILE}{} is not TOML ({}), so it is not known what it takes away; put it right or remove it",
            line(text, &error),
            edge::message(error.message())
        )
    })?;
    let known = CHECKOUT_KEYS.join(", ");
    let foreign: Vec<String> =
        table.keys().filter(|key| !CHECKOUT_KEYS.contains(&key.as_str())).cloned().collect();
    for key in foreign {
        table.remove(&key);
        ignored.push(if PERSON_KEYS.contains(&key.as_str()) {
            format!("{CHECKOUT_FILE} sets `{key}`, which was ignored: a checkout may only narrow ({known})")
        } else {
            let key = edge::word(&key);
            format!("{CHECKOUT_FILE} sets `{key}`, which is unknown and was ignored; it may set {known}")
        });
    }
    Ok(Some(table))
}

/// A value that cannot be read was to narrow, so there is no run without it.
fn checkout_file(table: &Option<toml::Table>, text: Option<&str>) -> Result<CheckoutFile> {
    let Some(table) = table else { return Ok(CheckoutFile::default()) };
    let Err(error) = table.clone().try_into::<CheckoutFile>() else {
        return table.clone().try_into().map_err(Into::into);
    };
    // Only the text knows lines. What it says of other keys is not asked.
    let text = text.unwrap_or_default();
    let place = toml::from_str::<CheckoutFile>(text).err();
    let place = place.map(|error| line(text, &error)).unwrap_or_default();
    let wrong = table.iter().find(|(key, value)| {
        let alone = toml::Table::from_iter([((*key).clone(), (*value).clone())]);
        alone.try_into::<CheckoutFile>().is_err()
    });
    let (key, takes) = match wrong.map(|(key, _)| key.as_str()) {
        Some("surface") => ("surface", "\"full\", \"plan\" or \"read-only\""),
        Some("result_characters") => ("result_characters", "a whole number that is not negative"),
        Some("exclude") => ("exclude", "a list of globs, such as [\"vendor\"]"),
        _ => ("languages", "a table of file endings and language ids, such as { inc = \"php\" }"),
    };
    Err(anyhow!(
        "{CHECKOUT_FILE}{place}: `{key}` cannot be read ({}), and a run without it could do more than it allows; it takes \
         {takes}; put it right or remove it",
        edge::message(error.message())
    ))
}

/// Where in a file an error is, as far as it is known.
fn line(text: &str, error: &toml::de::Error) -> String {
    let before = error.span().and_then(|span| text.get(..span.start));
    before.map_or(String::new(), |before| format!(", line {}", before.matches('\n').count() + 1))
}

fn person_table(path: &Path) -> Result<Option<toml::Table>> {
    let said = || format!("{}", path.display());
    match fs::read_to_string(path) {
        Ok(text) => toml::from_str(&text).map(Some).with_context(said),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(said),
    }
}

fn person_file(path: Option<&Path>, table: Option<toml::Table>) -> Result<PersonFile> {
    let said = || path.unwrap_or(Path::new("config.toml")).display().to_string();
    table.map_or_else(|| Ok(PersonFile::default()), |table| table.try_into().with_context(said))
}

fn layers(
    options: &Options,
    working: &Path,
    checkout: &Option<toml::Table>,
    person_path: Option<&Path>,
    person: &Option<toml::Table>,
) -> Vec<Layer> {
    let keys = |table: &Option<toml::Table>| {
        table.as_ref().map(|table| table.keys().cloned().collect::<Vec<_>>())
    };
    let variables = VARIABLES.iter().filter(|name| env::var_os(name).is_some());
    let flags = [
        ("--surface", options.surface.is_some()),
        ("--approve", options.approve.is_some()),
        ("--trust", options.trust),
        ("--sandbox", options.sandbox.is_some()),
        ("--sandbox-folder", options.sandbox_folder.is_some()),
        ("--mcp", !options.mcp.is_empty()),
        ("--worker", !options.worker.is_empty()),
        ("--vibe", options.vibe),
    ];
    let flags = flags.iter().filter(|(_, given)| *given).map(|(flag, _)| (*flag).to_owned());
    vec![
        Layer { name: "checkout", path: Some(working.join(CHECKOUT_FILE)), sets: keys(checkout) },
        Layer { name: "person", path: person_path.map(Path::to_owned), sets: keys(person) },
        Layer {
            name: "environment",
            path: None,
            sets: Some(variables.map(|name| (*name).to_owned()).collect()),
        },
        Layer { name: "flags", path: None, sets: Some(flags.collect()) },
    ]
}

/// What both files may set. Of two bounds the smaller one holds; lists are joined.
fn note_lists(origins: &mut Origins, checkout: &CheckoutFile, person: &PersonFile) {
    let (theirs, own) = (checkout.result_characters, person.result_characters);
    origins.note(
        "result_characters",
        "checkout",
        theirs.is_some_and(|theirs| own.is_none_or(|own| theirs < own)),
    );
    origins.note("result_characters", "person", own.is_some());
    origins.note("exclude", "person", !person.exclude.is_empty());
    origins.note("exclude", "checkout", !checkout.exclude.is_empty());
    origins.note("languages", "checkout", !checkout.languages.is_empty());
    origins.note("languages", "person", !person.languages.is_empty());
    origins.note("worker.fast", "person", person.worker.fast.is_some());
    origins.note("worker.good", "person", person.worker.good.is_some());
    origins.note("server", "person", !person.server.is_empty());
    let eval = &person.eval;
    let cells = [
        ("eval.python", eval.python.is_some()),
        ("eval.node", eval.node.is_some()),
        ("eval.sandbox", eval.sandbox.is_some()),
        ("eval.sandbox_folder", eval.sandbox_folder.is_some()),
        ("eval.idle_seconds", eval.idle_seconds.is_some()),
        ("eval.memory_mb", eval.memory_mb.is_some()),
        ("eval.processes", eval.processes.is_some()),
    ];
    for (key, given) in cells {
        origins.note(key, "person", given);
    }
}

impl Layer {
    /// `person /home/…/config.toml: sets approve`.
    pub(crate) fn in_words(&self) -> String {
        let place = self.path.as_ref().map_or(String::new(), |path| format!(" {}", path.display()));
        let sets = match &self.sets {
            None => "no file".to_owned(),
            Some(keys) if keys.is_empty() => "sets nothing".to_owned(),
            Some(keys) => format!("sets {}", keys.join(", ")),
        };
        let narrows = match &self.sets {
            Some(_) if self.name == "checkout" => "; it may only narrow",
            _ => "",
        };
        format!("{}{place}: {sets}{narrows}", self.name)
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

fn trust(
    options: &Options,
    trusted: &[PathBuf],
    working: &Path,
    checkout_text: Option<&str>,
) -> Trust {
    if options.trust {
        Trust::Flag
    } else if env::var("AGENT_RUN_TRUST").is_ok_and(|value| value == "1") {
        Trust::Environment
    } else if trusted.iter().any(|path| fs::canonicalize(path).is_ok_and(|path| path == working)) {
        Trust::Configured
    } else {
        trust::recall(working, checkout_text)
    }
}

fn narrower(a: Surface, b: Surface) -> Surface {
    let rank = |surface| match surface {
        Surface::Full => 1,
        _ => 0,
    };
    if rank(b) < rank(a) { b } else { a }
}
