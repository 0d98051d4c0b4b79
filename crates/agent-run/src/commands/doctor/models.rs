//! The models and workers that a person named, and what the rest lack. No key is ever shown.

use std::env;

use agent_process::CommandLine;

use super::{Group, GroupWords, Missing};
use crate::{
    models::ModelConfig,
    workers::{WorkerConfig, WorkersConfig},
};

const MODEL: GroupWords = GroupWords {
    no_tools: "of a conversation",
    nothing: "none can be asked",
    having: "named",
    lacking: "missing",
    remedy: "since",
    between: ", ",
};

const WORKERS: GroupWords = GroupWords {
    no_tools: "vibe_*, while vibe mode is on",
    nothing: "none is configured",
    having: "configured",
    lacking: "missing",
    remedy: "since",
    between: ", ",
};

/// The model of a conversation.
pub(super) fn model(model: &ModelConfig) -> Group {
    let (mut has, mut missing) = (Vec::new(), Vec::new());
    if model.name.is_empty() {
        missing.push(Missing {
            what: vec!["a model".to_owned()],
            how: "none is named; give --model NAME, or `[model]` in your own config.toml"
                .to_owned(),
        });
    } else {
        look(model, String::new(), &mut has, &mut missing);
    }
    Group { name: "model", tools: Vec::new(), has, missing, words: MODEL }
}

/// What serves each tier of workers.
pub(super) fn workers(workers: &WorkersConfig) -> Group {
    let (mut has, mut missing) = (Vec::new(), Vec::new());
    for (tier, worker) in workers.tiers() {
        match worker {
            None => missing.push(Missing {
                what: vec![tier.to_string()],
                how: format!(
                    "it is not configured; give --worker '{tier}=COMMAND', or `[worker.{tier}]` in your own config.toml"
                ),
            }),
            Some(WorkerConfig::Model(model)) => {
                look(model, format!("{tier}: "), &mut has, &mut missing);
            }
            Some(worker @ WorkerConfig::Command(line)) => match CommandLine::parse(line) {
                Ok(_) => has.push(format!("{tier}: {}", worker.in_words())),
                Err(why) => {
                    missing.push(Missing { what: vec![tier.to_string()], how: why.to_string() });
                }
            },
        }
    }
    Group { name: "workers", tools: Vec::new(), has, missing, words: WORKERS }
}

/// A model with the variable of its key, and whether that is set.
fn look(model: &ModelConfig, tier: String, has: &mut Vec<String>, missing: &mut Vec<Missing>) {
    let said = format!("{tier}{}", model.in_words());
    match model.key_variable() {
        None => has.push(format!("{said}, without a key")),
        Some(name) if env::var_os(name).is_some_and(|value| !value.is_empty()) => {
            has.push(format!("{said}, its key in {name}"));
        }
        Some(name) => missing.push(Missing {
            what: vec![format!("the key of {said}")],
            how: format!("{name} is not set"),
        }),
    }
}
