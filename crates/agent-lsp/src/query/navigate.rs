//! Where something is declared, implemented, used.

use std::{collections::BTreeMap, fmt::Write as _, path::PathBuf};

use agent_tool_core::{ToolError, clip, counted};
use agent_workspace::{MAX_SEARCH_BYTES, WorkspacePath};
use async_lsp::lsp_types::{Position, request::Request};
use serde_json::{Value, json};

use crate::{
    Lsp,
    location::{Evidence, Location, Locations},
    position::{Document, PositionEncoding},
    server::requests::{Definition, Implementation, References, TypeDefinition},
    uri::{self, Target},
};

/// How many locations an answer lists; all are counted.
pub const MAX_LOCATIONS: usize = 50;

/// How many characters of a line are shown.
const LINE_CHARS: usize = 200;

/// The questions whose answer is a list of places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Navigation {
    /// Where it is declared.
    Definition,
    /// Where its type is.
    TypeDefinition,
    /// Where it is implemented.
    Implementation,
    /// Every use.
    References,
}

/// A place as a server names it.
pub(crate) struct Linked {
    pub uri: String,
    pub range: Value,
}

/// Places in files, with their lines.
pub(crate) struct Places<'a> {
    lsp: &'a Lsp,
    encoding: PositionEncoding,
    documents: BTreeMap<PathBuf, Option<Document>>,
}

impl Lsp {
    /// The places that an occurrence of a symbol leads to: the workspace's files first.
    ///
    /// # Errors
    /// `symbol_required`, `symbol_not_found`, `ambiguous_symbol`, `no_server`, `not_ready`,
    /// `server_failed`, `unsupported`, and those of the path.
    pub async fn navigate(
        &self,
        what: Navigation,
        file: &str,
        line: usize,
        symbol: &str,
    ) -> Result<Locations, ToolError> {
        let asked = self.asked(file, line, symbol).await?;
        let whole = match what {
            Navigation::Definition | Navigation::TypeDefinition => true,
            Navigation::Implementation | Navigation::References => {
                let name = &asked.resolved.identifier;
                self.open_all_with(name, &asked.running, &asked.file, asked.deadline).await
            }
        };
        let (answer, evidence) = match what {
            Navigation::Definition => asked.ask::<Definition>(json!({})).await?,
            Navigation::TypeDefinition => asked.ask::<TypeDefinition>(json!({})).await?,
            Navigation::Implementation => asked.ask::<Implementation>(json!({})).await?,
            Navigation::References => {
                let params = json!({ "context": { "includeDeclaration": true } });
                asked.ask_ready::<References>(params).await?
            }
        };
        let evidence = match evidence {
            Evidence::Confirmed if !whole => Evidence::Partial,
            evidence => evidence,
        };
        let mut places = Places::new(self, asked.running.client.encoding());
        let (locations, total) = places.of(&targets(&answer));
        let more = total - locations.len();
        Ok(Locations { resolved: asked.resolved.at.clone(), locations, total, more, evidence })
    }
}

impl Navigation {
    /// The method of the protocol.
    #[must_use]
    pub fn method(self) -> &'static str {
        match self {
            Self::Definition => Definition::METHOD,
            Self::TypeDefinition => TypeDefinition::METHOD,
            Self::Implementation => Implementation::METHOD,
            Self::References => References::METHOD,
        }
    }

    /// What its places are called.
    pub(crate) fn noun(self) -> &'static str {
        match self {
            Self::Definition => "definition",
            Self::TypeDefinition => "type definition",
            Self::Implementation => "implementation",
            Self::References => "reference",
        }
    }
}

/// The places in an answer: one, a list, or links.
pub(crate) fn targets(answer: &Value) -> Vec<Linked> {
    let list = match answer {
        Value::Array(list) => list.as_slice(),
        Value::Null => &[],
        one => std::slice::from_ref(one),
    };
    let linked = list.iter().filter_map(|place| {
        let uri = place["uri"].as_str().or_else(|| place["targetUri"].as_str())?.to_owned();
        let range = [&place["targetSelectionRange"], &place["range"], &place["targetRange"]];
        let range = range.into_iter().find(|range| range.is_object())?.clone();
        Some(Linked { uri, range })
    });
    linked.collect()
}

impl<'a> Places<'a> {
    pub(crate) fn new(lsp: &'a Lsp, encoding: PositionEncoding) -> Self {
        Self { lsp, encoding, documents: BTreeMap::new() }
    }

    /// The first of the places, inside the workspace first, then by file and place, each once; and
    /// how many there are.
    pub(crate) fn of(&mut self, targets: &[Linked]) -> (Vec<Location>, usize) {
        let mut found: Vec<(bool, Location)> = Vec::new();
        for target in targets {
            let at = uri::locate(&self.lsp.shared.workspace, &target.uri);
            let outside = !matches!(at, Target::Inside(_));
            let location = self.location(&at, position(&target.range["start"]));
            found.push((outside, location));
        }
        let key =
            |(outside, at): &(bool, Location)| (*outside, at.file.clone(), at.line, at.column);
        found.sort_by_key(key);
        found.dedup_by_key(|found| key(found));
        let total = found.len();
        (found.into_iter().take(MAX_LOCATIONS).map(|(_, location)| location).collect(), total)
    }

    /// A place with its line, in characters.
    pub(crate) fn location(&mut self, at: &Target, position: Position) -> Location {
        let encoding = self.encoding;
        let (file, document) = match at {
            Target::Inside(file) => (self.lsp.show(file), self.inside(file)),
            Target::Outside(path) => (path.display().to_string(), self.outside(path)),
            Target::NoFile(uri) => (uri.clone(), None),
        };
        match document {
            Some(document) => {
                let place = document.place_of(position, encoding);
                let text = document.line(place.line).unwrap_or_default().trim();
                let text = clip(text, LINE_CHARS).text;
                Location { file, line: place.line, column: place.column, text }
            }
            None => Location {
                file,
                line: position.line as usize + 1,
                column: position.character as usize + 1,
                text: String::new(),
            },
        }
    }

    fn inside(&mut self, file: &WorkspacePath) -> Option<&Document> {
        let workspace = &self.lsp.shared.workspace;
        let read = || {
            let content = workspace.read_up_to(file, MAX_SEARCH_BYTES).ok()?;
            Some(Document::decode(&content.bytes))
        };
        self.documents.entry(workspace.absolute(file)).or_insert_with(read).as_ref()
    }

    fn outside(&mut self, path: &std::path::Path) -> Option<&Document> {
        let read = || Lsp::outside(path).map(Document::new);
        self.documents.entry(path.to_owned()).or_insert_with(read).as_ref()
    }
}

/// A position as JSON, whatever numbers are in it.
pub(crate) fn position(value: &Value) -> Position {
    let number = |value: &Value| value.as_u64().and_then(|number| u32::try_from(number).ok());
    Position::new(
        number(&value["line"]).unwrap_or_default(),
        number(&value["character"]).unwrap_or_default(),
    )
}

impl Locations {
    /// What the model reads: the places grouped by file.
    pub(crate) fn text(&self, what: Navigation, resolved: &str, method_owner: &str) -> String {
        let mut text = format!("{resolved}\n");
        let noun = what.noun();
        if self.locations.is_empty() {
            let _ = write!(text, "no {noun}: {method_owner} names none");
        } else {
            text.push_str(&counted(self.total, noun));
            if self.more > 0 {
                let _ = write!(text, ", the first {} of them", self.locations.len());
            }
            text.push(':');
            let mut file = "";
            for location in &self.locations {
                if location.file != file {
                    file = &location.file;
                    let _ = write!(text, "\n{file}");
                }
                let _ =
                    write!(text, "\n  {}:{}: {}", location.line, location.column, location.text);
            }
        }
        text.push_str(self.evidence.remark());
        text
    }
}

impl Evidence {
    /// What has to be said beside an answer, if anything.
    #[must_use]
    pub fn remark(self) -> &'static str {
        match self {
            Self::Confirmed => "",
            Self::StillIndexing => {
                "\nthe server still reads the project, so there may be more: ask again later"
            }
            Self::Partial => {
                "\nthe server does not know the whole project, so there may be more: search for the name too"
            }
            Self::TimedOut => "\na server did not answer in time, so there may be more",
            Self::Crashed => "\na server ended before it answered, so there may be more",
        }
    }
}
