//! What workers of a run are made of: models in this process, or commands that a person named.

mod command;
mod model;

use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::{Arc, Mutex},
};

use agent_loop::Tally;
use agent_process::Launcher;
use agent_tool_core::{BoxFuture, Tier};
use agent_vibe::{Job, WorkError, WorkerFactory, WorkerTier};
use anyhow::{Context as _, Result, bail};
use serde::Deserialize;

use crate::models::ModelConfig;

use self::{command::CommandWorkers, model::ModelWorkers};

/// What a worker's models used, by the worker's id. A command's use is not known.
pub(crate) type WorkerUsage = Arc<Mutex<BTreeMap<String, Tally>>>;

/// The workers that a person configured.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct WorkersConfig {
    pub fast: Option<WorkerConfig>,
    pub good: Option<WorkerConfig>,
}

/// What the workers of a tier are.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(try_from = "toml::Table")]
pub(crate) enum WorkerConfig {
    /// Any agent program.
    Command(String),
    /// A loop in this process.
    Model(Box<ModelConfig>),
}

impl TryFrom<toml::Table> for WorkerConfig {
    type Error = String;

    fn try_from(table: toml::Table) -> Result<Self, String> {
        match table.get("command") {
            Some(toml::Value::String(line)) if table.len() == 1 => Ok(Self::Command(line.clone())),
            Some(_) => Err("`command` is a text and stands alone".to_owned()),
            None => {
                let model: ModelConfig = toml::Value::Table(table)
                    .try_into()
                    .map_err(|error| format!("neither a `command` nor a model: {error}"))?;
                match model.name.is_empty() {
                    true => {
                        Err("a worker takes a `command`, or a model with its `name`".to_owned())
                    }
                    false => Ok(Self::Model(Box::new(model))),
                }
            }
        }
    }
}

impl WorkerConfig {
    /// `command claude -p {brief}`, `model openai gpt-5`.
    pub(crate) fn in_words(&self) -> String {
        match self {
            Self::Command(line) => format!("command {line}"),
            Self::Model(model) => format!("model {}", model.in_words()),
        }
    }
}

impl WorkerConfig {
    /// The same with all that is said of a model.
    pub(crate) fn described(&self) -> String {
        match self {
            Self::Command(line) => format!("command {line}"),
            Self::Model(model) => format!("model {}", model.described()),
        }
    }
}

impl WorkersConfig {
    /// Both tiers with what serves them.
    pub(crate) fn tiers(&self) -> [(WorkerTier, Option<&WorkerConfig>); 2] {
        WorkerTier::ALL.map(|tier| (tier, self.of(tier)))
    }

    /// What is to be said where workers are turned on of which one is a command: nobody asks before what it does.
    pub(crate) fn consent(&self) -> Option<String> {
        let commands: Vec<String> = self
            .tiers()
            .into_iter()
            .filter_map(|(tier, worker)| match worker? {
                WorkerConfig::Command(line) => Some(format!("{tier} is the command `{line}`")),
                WorkerConfig::Model(_) => None,
            })
            .collect();
        (!commands.is_empty()).then(|| {
            format!(
                "workers: {}. It works on this machine by itself, and no card is shown before what it does: naming it and turning workers on is your consent",
                commands.join(", ")
            )
        })
    }

    fn of(&self, tier: WorkerTier) -> Option<&WorkerConfig> {
        match tier {
            WorkerTier::Fast => self.fast.as_ref(),
            WorkerTier::Good => self.good.as_ref(),
            _ => None,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Takes `fast=claude -p {brief}` in place of what is configured.
    pub(crate) fn take_flag(&mut self, flag: &str) -> Result<WorkerTier> {
        let tier_and_line =
            flag.split_once('=').map(|(tier, line)| (tier.trim().parse(), line.trim()));
        let (tier, line) = match tier_and_line {
            Some((Ok(tier), line)) if !line.is_empty() => (tier, line),
            _ => bail!(
                "--worker {flag} takes TIER=COMMAND with the tier fast or good, such as 'fast=claude -p {{brief}}'"
            ),
        };
        let worker = Some(WorkerConfig::Command(line.to_owned()));
        match tier {
            WorkerTier::Fast => self.fast = worker,
            _ => self.good = worker,
        }
        Ok(tier)
    }

    /// The models among them.
    pub(crate) fn models(&self) -> impl Iterator<Item = &ModelConfig> {
        [&self.fast, &self.good].into_iter().flatten().filter_map(|worker| match worker {
            WorkerConfig::Model(model) => Some(&**model),
            WorkerConfig::Command(_) => None,
        })
    }
}

/// The workers of a run.
pub(crate) struct Crew {
    fast: Option<Kind>,
    good: Option<Kind>,
}

enum Kind {
    Command(CommandWorkers),
    Model(ModelWorkers),
}

impl Crew {
    /// The workers of this configuration, whose commands are started in the folder. A command that is not there is an error now
    /// and not in the middle of a run.
    pub(crate) fn new(
        config: &WorkersConfig,
        launcher: &Launcher,
        folder: PathBuf,
        usage: &WorkerUsage,
    ) -> Result<Self> {
        let kind = |tier| -> Result<Option<Kind>> {
            Ok(match config.of(tier) {
                None => None,
                Some(WorkerConfig::Command(line)) => {
                    let workers = CommandWorkers::new(line, launcher.clone(), folder.clone());
                    Some(Kind::Command(workers.with_context(|| format!("the worker {tier}"))?))
                }
                Some(WorkerConfig::Model(model)) => {
                    Some(Kind::Model(ModelWorkers::new((**model).clone(), Arc::clone(usage))))
                }
            })
        };
        Ok(Self { fast: kind(WorkerTier::Fast)?, good: kind(WorkerTier::Good)? })
    }

    fn kind(&self, tier: WorkerTier) -> Option<&Kind> {
        match tier {
            WorkerTier::Fast => self.fast.as_ref(),
            WorkerTier::Good => self.good.as_ref(),
            _ => None,
        }
    }
}

impl WorkerFactory for Crew {
    fn serves(&self, tier: WorkerTier) -> bool {
        self.kind(tier).is_some()
    }

    fn refuses(&self, tier: WorkerTier, authority: Tier) -> Option<String> {
        match self.kind(tier) {
            Some(Kind::Command(workers)) => workers.refuses(authority),
            _ => None,
        }
    }

    fn start(&self, job: Job) -> BoxFuture<'static, Result<String, WorkError>> {
        match self.kind(job.tier()) {
            Some(Kind::Command(workers)) => workers.start(job),
            Some(Kind::Model(workers)) => workers.start(job),
            None => Box::pin(async { Err(WorkError::new("no worker serves this tier")) }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_is_a_command_or_a_model() {
        let read =
            |text: &str| toml::from_str::<WorkersConfig>(text).map_err(|error| error.to_string());
        let workers = read(
            "[fast]\ncommand = \"claude -p {brief}\"\n[good]\nname = \"m\"\nprovider = \"openai\"\n",
        );
        let workers = workers.expect("workers");
        assert_eq!(workers.fast, Some(WorkerConfig::Command("claude -p {brief}".to_owned())));
        assert_eq!(workers.models().map(|model| model.name.as_str()).collect::<Vec<_>>(), ["m"]);
        for (text, said) in [
            ("[fast]\ncommand = \"x\"\nname = \"m\"\n", "stands alone"),
            ("[fast]\ncommand = 3\n", "`command` is a text"),
            ("[fast]\n", "with its `name`"),
            ("[fast]\nname = \"m\"\nnmae = 1\n", "nmae"),
            ("[slow]\ncommand = \"x\"\n", "slow"),
        ] {
            let error = read(text).expect_err("an error");
            assert!(error.contains(said), "{text}: {error}");
        }
    }

    #[test]
    fn a_flag_names_a_tier_and_a_command() {
        let mut workers = WorkersConfig::default();
        workers.take_flag("fast=sh -c 'a=b'").expect("a worker");
        assert_eq!(workers.fast, Some(WorkerConfig::Command("sh -c 'a=b'".to_owned())));
        for wrong in ["claude", "slow=claude", "fast=", "good= "] {
            let error = workers.take_flag(wrong).expect_err("an error").to_string();
            assert!(error.contains("takes TIER=COMMAND"), "{error}");
        }
    }
}
