//! All files as the toy sees them at one moment.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    time::Instant,
};

use serde_json::{Value, json};

use super::{
    Columns, Toy, Trigger,
    words::{self, Role, Warning, Word},
};
use crate::lsp::{Encoding, Spelling, path_of, state::State};

/// The files, their words, and how columns count.
#[derive(Debug)]
pub(crate) struct World {
    sources: BTreeMap<PathBuf, Source>,
    pub(super) ready: bool,
    encoding: Encoding,
}

/// One file.
#[derive(Debug)]
pub(super) struct Source {
    pub(super) uri: String,
    pub(super) version: Option<i64>,
    pub(super) lines: Vec<String>,
    pub(super) words: Vec<Word>,
    pub(super) warnings: Vec<Warning>,
}

impl World {
    /// Open texts over the files, as queries see them.
    pub(crate) fn shown(state: &State, toy: &Toy) -> Self {
        let ready = is_ready(state, toy);
        let mut texts = BTreeMap::new();
        if ready {
            texts = state.documents.files(&state.roots, &toy.extensions);
        }
        for (path, document) in state.documents.open() {
            texts.insert(path.clone(), document.text.clone());
        }
        Self::new(state, toy, texts, ready)
    }

    /// The same, or the disk alone where a check on save looks.
    pub(crate) fn checked(state: &State, toy: &Toy) -> Self {
        match toy.trigger {
            Trigger::Change => Self::shown(state, toy),
            Trigger::Save => {
                let texts = state.documents.files(&state.roots, &toy.extensions);
                Self::new(state, toy, texts, true)
            }
        }
    }

    fn new(state: &State, toy: &Toy, texts: BTreeMap<PathBuf, String>, ready: bool) -> Self {
        let encoding = match toy.columns {
            Columns::Agreed => state.encoding,
            Columns::CodePoints => Encoding::Utf32,
        };
        let source = |(path, text): (PathBuf, String)| {
            let lines: Vec<String> = text
                .split('\n')
                .map(|line| line.strip_suffix('\r').unwrap_or(line).to_owned())
                .collect();
            let (words, warnings) = words::scan(&lines);
            let uri = spelled(state, toy, &path);
            let version = state.documents.open().get(&path).and_then(|open| open.version);
            (path, Source { uri, version, lines, words, warnings })
        };
        Self { sources: texts.into_iter().map(source).collect(), ready, encoding }
    }

    pub(crate) fn uris(&self) -> Vec<String> {
        self.sources.values().map(|source| source.uri.clone()).collect()
    }

    pub(super) fn source(&self, uri: &str) -> Option<&Source> {
        self.sources.get(&path_of(uri))
    }

    /// The word at a position of LSP, with its file.
    pub(super) fn word_at(&self, params: &Value, position: &Value) -> Option<(&Source, &Word)> {
        let source = self.source(params["textDocument"]["uri"].as_str()?)?;
        let line = usize::try_from(position["line"].as_u64()?).ok()?;
        let column = usize::try_from(position["character"].as_u64()?).ok()?;
        let byte = self.encoding.byte(source.lines.get(line)?, column);
        let at = |word: &&Word| word.line == line && (word.start..=word.end).contains(&byte);
        source.words.iter().find(at).map(|word| (source, word))
    }

    pub(super) fn sources(&self) -> impl Iterator<Item = &Source> {
        self.sources.values()
    }

    /// Every word of every file with its file, in order.
    pub(super) fn words(&self) -> impl Iterator<Item = (&Source, &Word)> {
        self.sources.values().flat_map(|source| source.words.iter().map(move |word| (source, word)))
    }

    pub(super) fn definitions<'a>(
        &'a self,
        name: &'a str,
    ) -> impl Iterator<Item = (&'a Source, &'a Word)> {
        self.words()
            .filter(move |(_, word)| word.name == name && matches!(word.role, Role::Definition(_)))
    }

    pub(super) fn range(&self, source: &Source, line: usize, start: usize, end: usize) -> Value {
        let text = &source.lines[line];
        let at = |byte| json!({"line": line, "character": self.encoding.column(text, byte)});
        json!({"start": at(start), "end": at(end)})
    }

    pub(super) fn word_range(&self, source: &Source, word: &Word) -> Value {
        self.range(source, word.line, word.start, word.end)
    }

    pub(super) fn location(&self, (source, word): (&Source, &Word)) -> Value {
        json!({"uri": source.uri, "range": self.word_range(source, word)})
    }
}

/// Whether the toy has read the project.
pub(super) fn is_ready(state: &State, toy: &Toy) -> bool {
    let read = state.ready_at.is_some_and(|ready_at| ready_at <= Instant::now());
    toy.indexing.is_none() || read
}

/// The URI of a file as the toy spells it.
pub(crate) fn spelled(state: &State, toy: &Toy, path: &Path) -> String {
    let open = state.documents.open().get(path);
    let clients = open.filter(|_| toy.spelling == Spelling::Client);
    clients.map_or_else(|| toy.spelling.spell(path), |open| open.uri.clone())
}
