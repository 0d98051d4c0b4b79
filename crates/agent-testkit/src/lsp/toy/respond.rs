//! What the toy does at each message.

use serde_json::{Value, json};

use super::{
    Diagnostics, Disk, Says, Toy, Trigger, Versions, World, pull_options, takes_registration,
    words::{Role, Word},
    world::{Source, is_ready},
};
use crate::lsp::{Step, Version, server::Message, state::State};

/// The token of the progress while it reads the project.
const INDEXING: &str = "toy/indexing";

#[derive(Clone, Copy, PartialEq, Eq)]
enum Now {
    Busy,
    Quiet,
}

/// The steps for a message; `None` for a request that it does not know.
pub(crate) fn steps(toy: &Toy, state: &State, message: &Message) -> Option<Vec<Step>> {
    let method = message.method.as_str();
    if message.id.is_some() {
        return result(toy, state, method, &message.params).map(|result| vec![Step::Reply(result)]);
    }
    let pushes = toy.pushes(&state.client);
    let (changes, saves) = (toy.trigger == Trigger::Change, toy.trigger == Trigger::Save);
    Some(match method {
        "initialized" => begin(toy, state, pushes),
        "textDocument/didOpen" | "textDocument/didChange" | "workspace/didChangeWatchedFiles"
            if pushes && changes && is_ready(state, toy) =>
        {
            settled(toy)
        }
        "textDocument/didSave" if pushes && saves => check(toy, state),
        "textDocument/didClose" if pushes => vec![Step::publish([]).version(Version::Absent)],
        _ => Vec::new(),
    })
}

fn result(toy: &Toy, state: &State, method: &str, params: &Value) -> Option<Value> {
    let world = World::shown(state, toy);
    let at = || world.word_at(params, &params["position"]);
    let uri = params["textDocument"]["uri"].as_str().unwrap_or_default();
    Some(match method {
        "textDocument/hover" => at().map_or(Value::Null, |(_, word)| world.hover(word)),
        "textDocument/definition" => {
            list(at(), |(_, word)| world.locations(world.definitions(&word.name)))
        }
        "textDocument/typeDefinition" => list(at(), |(_, word)| {
            let kinds = world.definitions(&word.name).filter_map(|(_, word)| kind(word));
            world.locations(kinds.flat_map(|kind| world.definitions(kind)))
        }),
        "textDocument/implementation" => list(at(), |(_, word)| {
            world.locations(world.words().filter(|(_, other)| kind(other) == Some(&word.name)))
        }),
        "textDocument/references" => list(at(), |(_, word)| {
            let all = params["context"]["includeDeclaration"] != false;
            let mine = |other: &Word| {
                other.name == word.name && (all || !matches!(other.role, Role::Definition(_)))
            };
            world.locations(world.words().filter(|(_, other)| mine(other)))
        }),
        "textDocument/documentSymbol" => world.document_symbols(uri),
        "workspace/symbol" => world.symbols(params["query"].as_str().unwrap_or_default()),
        "textDocument/codeAction" => world.actions(params),
        "textDocument/prepareRename" => at().map_or(Value::Null, |(source, word)| {
            let placeholder = &source.lines[word.line][word.start..word.end];
            json!({"range": world.word_range(source, word), "placeholder": placeholder})
        }),
        "textDocument/rename" => world.rename(params, toy.rename),
        "textDocument/diagnostic" => world.report(uri, &params["previousResultId"]),
        "workspace/diagnostic" => world.reports(),
        _ => return None,
    })
}

fn begin(toy: &Toy, state: &State, pushes: bool) -> Vec<Step> {
    let mut steps = Vec::new();
    let flag = |pointer: &str| state.client.pointer(pointer) == Some(&Value::Bool(true));
    if toy.disk == Disk::Watched && flag("/workspace/didChangeWatchedFiles/dynamicRegistration") {
        let patterns = toy.extensions.iter().map(|extension| format!("**/*.{extension}"));
        let watchers: Vec<Value> =
            patterns.map(|pattern| json!({"globPattern": pattern})).collect();
        steps.push(Step::Register {
            id: "toy-files".to_owned(),
            method: "workspace/didChangeWatchedFiles".to_owned(),
            options: json!({"watchers": watchers}),
        });
    }
    if let Diagnostics::LatePull(ms) = toy.diagnostics
        && takes_registration(&state.client)
    {
        steps.push(Step::Wait(ms));
        steps.push(Step::Register {
            id: "toy-diagnostics".to_owned(),
            method: "textDocument/diagnostic".to_owned(),
            options: pull_options(),
        });
    }
    if let Some(indexing) = &toy.indexing {
        let said = |says| indexing.says.contains(&says);
        let progress = said(Says::Progress) && flag("/window/workDoneProgress");
        let status = said(Says::ServerStatus) && flag("/experimental/serverStatusNotification");
        let analyzer = said(Says::AnalyzerStatus);
        if progress {
            steps.push(Step::create_progress(INDEXING));
            steps.push(Step::begin(INDEXING, "indexing"));
        }
        steps.extend(status.then(|| server_status(Now::Busy)));
        steps.extend(analyzer.then_some(Step::AnalyzerStatus { analyzing: true }));
        steps.push(Step::Wait(indexing.ms));
        steps.extend(progress.then(|| Step::end(INDEXING)));
        steps.extend(status.then(|| server_status(Now::Quiet)));
        steps.extend(analyzer.then_some(Step::AnalyzerStatus { analyzing: false }));
    }
    match toy.trigger {
        Trigger::Save if pushes => steps.extend(check(toy, state)),
        Trigger::Change if pushes && toy.indexing.is_some() => steps.push(Step::Check),
        Trigger::Save | Trigger::Change => {}
    }
    steps
}

fn server_status(now: Now) -> Step {
    Step::ServerStatus { health: "ok".to_owned(), quiescent: now == Now::Quiet, message: None }
}

/// The publishes after a change.
fn settled(toy: &Toy) -> Vec<Step> {
    let mut steps = Vec::new();
    if toy.settle_ms > 0 {
        steps.push(Step::Settle(toy.settle_ms));
    }
    steps.extend(publishes(toy));
    steps
}

/// A check on save, which a later save does not break off.
fn check(toy: &Toy, state: &State) -> Vec<Step> {
    let listens = state.client.pointer("/window/workDoneProgress") == Some(&Value::Bool(true));
    let token = toy.check_token.as_deref().filter(|_| listens);
    let mut steps = Vec::new();
    if let Some(token) = token {
        steps.extend([Step::create_progress(token), Step::begin(token, "check")]);
    }
    if toy.settle_ms > 0 {
        steps.push(Step::Wait(toy.settle_ms));
    }
    steps.extend(publishes(toy));
    steps.extend(token.map(Step::end));
    steps
}

fn publishes(toy: &Toy) -> Vec<Step> {
    let mut steps = Vec::new();
    if let Some(partial) = toy.partial {
        let version = toy.version();
        steps.push(Step::PublishToy { uri: None, version, first: Some(partial.first) });
        steps.push(Step::Wait(partial.ms));
    }
    steps.push(Step::Check);
    steps
}

fn list<'a>(
    at: Option<(&'a Source, &'a Word)>,
    found: impl Fn((&'a Source, &'a Word)) -> Value,
) -> Value {
    at.map_or_else(|| json!([]), found)
}

fn kind(word: &Word) -> Option<&String> {
    match &word.role {
        Role::Definition(kind) => kind.as_ref(),
        Role::Use => None,
    }
}

impl Toy {
    /// The version that its publishes carry.
    pub(crate) fn version(&self) -> Version {
        match self.versions {
            Versions::Synced => Version::Synced,
            Versions::Absent => Version::Absent,
        }
    }
}
