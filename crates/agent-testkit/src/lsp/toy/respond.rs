//! What the toy does at each message.

use serde_json::{Value, json};

use super::{
    Diagnostics, Disk, Says, Toy, Trigger, Versions, World, pull_options, takes_registration,
    words::{Role, Word},
    world::Source,
};
use crate::lsp::{
    Step, Version,
    server::{Message, State},
};

/// LSP `SymbolKind.Function`.
const FUNCTION: u8 = 12;
/// The token of the progress while it reads the project.
const INDEXING: &str = "toy/indexing";

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
            if pushes && changes =>
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
        steps.extend(status.then(|| server_status(State::BUSY)));
        steps.extend(analyzer.then_some(Step::AnalyzerStatus { analyzing: true }));
        steps.push(Step::Wait(indexing.ms));
        steps.extend(progress.then(|| Step::end(INDEXING)));
        steps.extend(status.then(|| server_status(State::QUIET)));
        steps.extend(analyzer.then_some(Step::AnalyzerStatus { analyzing: false }));
    }
    match toy.trigger {
        Trigger::Save if pushes => steps.extend(check(toy, state)),
        Trigger::Change if pushes && toy.indexing.is_some() => steps.push(Step::Check),
        Trigger::Save | Trigger::Change => {}
    }
    steps
}

impl State {
    const BUSY: bool = false;
    const QUIET: bool = true;
}

fn server_status(quiescent: bool) -> Step {
    Step::ServerStatus { health: "ok".to_owned(), quiescent, message: None }
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

impl World {
    fn locations<'a>(&self, words: impl Iterator<Item = (&'a Source, &'a Word)>) -> Value {
        words.map(|word| self.location(word)).collect()
    }

    /// The definition's line, and the comments above it.
    fn hover(&self, word: &Word) -> Value {
        let Some((source, definition)) = self.definitions(&word.name).next() else {
            return Value::Null;
        };
        let mut value = format!("```toy\n{}\n```", source.lines[definition.line].trim());
        let above = source.lines[..definition.line].iter().rev();
        let comments: Vec<&str> =
            above.map_while(|line| line.trim().strip_prefix('#')).map(str::trim).collect();
        for comment in comments.iter().rev() {
            value += &format!("\n\n{comment}");
        }
        json!({"contents": {"kind": "markdown", "value": value}})
    }

    fn document_symbols(&self, uri: &str) -> Value {
        let Some(source) = self.source(uri) else { return json!([]) };
        let symbol = |word: &Word| {
            let range = self.range(source, word.line, 0, source.lines[word.line].len());
            let selection = self.word_range(source, word);
            json!({
                "name": word.name, "kind": FUNCTION, "range": range, "selectionRange": selection,
            })
        };
        let definitions =
            source.words.iter().filter(|word| matches!(word.role, Role::Definition(_)));
        definitions.map(symbol).collect()
    }

    fn symbols(&self, query: &str) -> Value {
        let query = query.to_lowercase();
        let fits = |word: &Word| {
            matches!(word.role, Role::Definition(_)) && word.name.to_lowercase().contains(&query)
        };
        let symbol = |(source, word): (&Source, &Word)| {
            let location = self.location((source, word));
            json!({"name": word.name, "kind": FUNCTION, "location": location})
        };
        self.words().filter(|(_, word)| fits(word)).map(symbol).collect()
    }

    /// One quick fix where an undefined word is: a definition at the file's end.
    fn actions(&self, params: &Value) -> Value {
        let Some((source, word)) = self.word_at(params, &params["range"]["start"]) else {
            return json!([]);
        };
        if !self.undefined(source).any(|undefined| undefined == word) {
            return json!([]);
        }
        let last = source.lines.len() - 1;
        let end = self.range(source, last, source.lines[last].len(), source.lines[last].len());
        let edit = json!({"range": end, "newText": format!("\ndef {}", word.name)});
        json!([{
            "title": format!("define `{}`", word.name), "kind": "quickfix",
            "edit": {"changes": {source.uri.as_str(): [edit]}},
        }])
    }

    /// A full report, or that nothing changed. While it reads the project it finds nothing.
    fn report(&self, uri: &str, previous: &Value) -> Value {
        let items = if self.ready { self.diagnostics(uri) } else { Vec::new() };
        let id = json!(items).to_string();
        if *previous == id {
            return json!({"kind": "unchanged", "resultId": id});
        }
        json!({"kind": "full", "resultId": id, "items": items})
    }

    fn reports(&self) -> Value {
        let report = |source: &Source| {
            let mut report = self.report(&source.uri, &Value::Null);
            report["uri"] = source.uri.clone().into();
            report["version"] = json!(source.version);
            report
        };
        json!({"items": self.sources().map(report).collect::<Vec<_>>()})
    }
}
