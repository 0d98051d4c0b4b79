//! What holds for a run, each with the layer that it comes from.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::{Value, json};

use super::Config;
use crate::{
    args::{Approve, Options},
    models::{ModelConfig, Provider},
    workers::WorkerConfig,
};

/// One setting as it holds.
#[derive(Debug, Serialize)]
pub(crate) struct Setting {
    /// The name, as configuration files have it.
    pub key: Cow<'static, str>,
    /// The value; null where nothing is set.
    pub value: Value,
    /// The layers that it comes from, the strongest first; `default` where none has it.
    pub from: Vec<&'static str>,
}

/// Which layers have a say in each setting, kept while they are read.
#[derive(Debug, Default)]
pub(crate) struct Origins {
    given: Vec<(Cow<'static, str>, &'static str)>,
}

impl Origins {
    /// Notes that a layer sets a key. The strongest layer is noted first.
    pub(super) fn note(
        &mut self,
        key: impl Into<Cow<'static, str>>,
        layer: &'static str,
        given: bool,
    ) {
        if given {
            self.given.push((key.into(), layer));
        }
    }

    /// The layer whose value holds where only one does.
    fn one(&self, key: &str) -> Vec<&'static str> {
        self.all(key).into_iter().take(1).collect()
    }

    fn all(&self, key: &str) -> Vec<&'static str> {
        let of_key = self.given.iter().filter(|(known, _)| *known == key);
        let layers: Vec<_> = of_key.map(|(_, layer)| *layer).collect();
        if layers.is_empty() { vec!["default"] } else { layers }
    }
}

impl Config {
    /// Everything that holds, in the order of the guide.
    pub(crate) fn settings(&self, default_approve: Approve) -> Vec<Setting> {
        let one = |key: &'static str, value| Setting {
            key: key.into(),
            value,
            from: self.origins.one(key),
        };
        let all = |key: &'static str, value| Setting {
            key: key.into(),
            value,
            from: self.origins.all(key),
        };
        let of_chat = |key: &'static str, value: Approve| Setting {
            key: key.into(),
            value: json!(value),
            from: self.origins.one("approve"),
        };
        // Without a person there is nobody to ask.
        let of_prompt = self.approve.filter(|approve| *approve == Approve::All);
        let servers = self.mcp.described().map(|(name, words)| {
            let key = format!("mcp.{name}");
            Setting { from: self.origins.one(&key), key: key.into(), value: json!(words) }
        });
        let roots: Vec<_> = self.roots.iter().map(|(_, path)| path).collect();
        let eval = &self.eval;
        let model = &self.model;
        let settings = vec![
            one("workspace", json!(roots)),
            one("surface", json!(self.surface)),
            one("approve", json!(self.approve.unwrap_or(default_approve))),
            of_chat("approve (chat)", self.approve.unwrap_or(Approve::Ask)),
            of_chat("approve (chat -p)", of_prompt.unwrap_or(Approve::None)),
            Setting {
                key: "trust".into(),
                value: json!(self.trust.is_trusted()),
                from: vec![self.trust.layer()],
            },
            one("result_characters", json!(self.result_characters)),
            all("exclude", json!(self.exclude)),
            all("languages", json!(self.languages)),
            one("server", json!(self.server_ids)),
            one("model.provider", json!(model.provider.as_str())),
            one("model.name", json!(model.name)),
            one("model.url", json!(model.shown_url())),
            one("model.key", json!(model.key_variable())),
            one("model.context", json!(model.context)),
            one("model.output", json!(model.output)),
            one("model.images", json!(model.images)),
            one("worker.fast", json!(self.workers.fast.as_ref().map(WorkerConfig::described))),
            one("worker.good", json!(self.workers.good.as_ref().map(WorkerConfig::described))),
            all("mcp", json!(self.mcp.names().collect::<Vec<_>>())),
            one("eval.python", json!(eval.python)),
            one("eval.node", json!(eval.node)),
            one("eval.sandbox", json!(eval.sandbox)),
            one("eval.sandbox_folder", json!(eval.sandbox_folder)),
            one("eval.idle_seconds", json!(eval.idle_seconds)),
            one("eval.memory_mb", json!(eval.memory_mb)),
            one("eval.processes", json!(eval.processes)),
        ];
        settings.into_iter().chain(servers).collect()
    }
}

/// Notes what a model's settings come from: a flag names it, and takes the rest away where it names another provider.
pub(super) fn of_model(
    origins: &mut Origins,
    options: &Options,
    person: Option<&ModelConfig>,
    model: &ModelConfig,
) {
    origins.note("model.name", "flags", options.model.is_some());
    let Some(person) = person else {
        let other = model.provider != Provider::default();
        return origins.note("model.provider", "flags", options.model.is_some() && other);
    };
    let same = person.provider == model.provider;
    origins.note("model.provider", if same { "person" } else { "flags" }, true);
    let given = [
        ("model.name", !person.name.is_empty()),
        ("model.url", person.url.is_some()),
        ("model.key", person.key.is_some()),
        ("model.context", person.context.is_some()),
        ("model.output", person.output.is_some()),
        ("model.images", person.images.is_some()),
    ];
    for (key, given) in given {
        origins.note(key, "person", given && same);
    }
}

/// Notes what the command line sets.
pub(super) fn of_flags(origins: &mut Origins, options: &Options) {
    let names_tier = |tier: &str| {
        let tiers = options.worker.iter().filter_map(|flag| flag.split_once('='));
        tiers.into_iter().any(|(named, _)| named.trim() == tier)
    };
    let flags = [
        ("workspace", !options.workspace.is_empty()),
        ("surface", options.surface.is_some()),
        ("approve", options.approve.is_some()),
        ("mcp", !options.mcp.is_empty()),
        ("worker.fast", names_tier("fast")),
        ("worker.good", names_tier("good")),
        ("eval.sandbox", options.sandbox.is_some()),
        ("eval.sandbox_folder", options.sandbox_folder.is_some()),
    ];
    for (key, given) in flags {
        origins.note(key, "flags", given);
    }
}
