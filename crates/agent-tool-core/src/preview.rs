//! What a call would do, before it does it.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Clipped, FileChange, Tier, ToolSpec, clip};

/// What kind of thing a call is: the Agent Client Protocol's words, so that an adapter for an
/// editor is a mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
#[expect(missing_docs, reason = "each word is the protocol's own and says what it is")]
pub enum PreviewKind {
    Read,
    Edit,
    Delete,
    Move,
    Search,
    Execute,
    Think,
    Fetch,
    Other,
}

/// A place that a call is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Location {
    /// The path as the workspace shows it.
    pub path: String,
    /// The line, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
}

impl Location {
    /// A file as a whole.
    #[must_use]
    pub fn file(path: impl Into<String>) -> Self {
        Self { path: path.into(), line: None }
    }
}

/// What a call would do, made without side effects from the plan that the call itself applies.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Preview {
    /// One line that says what would be done.
    pub title: String,
    /// What kind of thing it is.
    pub kind: PreviewKind,
    /// What it is about, at length: a diff, a command, a cell.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub body: String,
    /// The places that it is about.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub locations: Vec<Location>,
    /// The files that it would change.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<FileChange>,
    /// Identifies the plan. An approval holds for this plan alone: the call makes its plan again
    /// and refuses with `Conflict` where the fingerprint differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
    /// Why it is asked about, where the tier does not say it truly: a card has it in place of that. It goes no further.
    #[serde(skip)]
    pub reason: Option<String>,
    /// Whether the call would change nothing, so that nobody need be asked about it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub changes_nothing: bool,
    /// Whether the body is a part of what there is to show. What the body itself says of that may be anybody's words.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
}

/// How many characters of the arguments the default preview shows.
const ARGUMENTS_LIMIT: usize = 20_000;

impl Preview {
    /// A preview with a title alone.
    #[must_use]
    pub fn new(kind: PreviewKind, title: impl Into<String>) -> Self {
        Self {
            title: title.into(),
            kind,
            body: String::new(),
            locations: Vec::new(),
            changes: Vec::new(),
            fingerprint: None,
            reason: None,
            changes_nothing: false,
            cut: false,
        }
    }

    /// The tool's name and the arguments, clipped: what is known of any tool.
    #[must_use]
    pub fn of_arguments(spec: &ToolSpec, args: &Value) -> Self {
        let kind = match spec.tier {
            Tier::Read => PreviewKind::Read,
            Tier::Write => PreviewKind::Edit,
            Tier::Exec => PreviewKind::Execute,
        };
        let body = serde_json::to_string_pretty(args).unwrap_or_default();
        Self::new(kind, format!("call {}", spec.name)).with_clipped(clip(&body, ARGUMENTS_LIMIT))
    }

    /// The same preview with this body, which is whole.
    #[must_use]
    pub fn with_body(mut self, body: impl Into<String>) -> Self {
        self.body = body.into();
        self.cut = false;
        self
    }

    /// The same preview with a body that may have been cut.
    #[must_use]
    pub fn with_clipped(mut self, body: Clipped) -> Self {
        self.cut = body.cut > 0;
        self.body = body.text;
        self
    }

    /// The same preview, of whose body a part is left out.
    #[must_use]
    pub fn showing_a_part(mut self) -> Self {
        self.cut = true;
        self
    }

    /// The same preview with these places.
    #[must_use]
    pub fn with_locations(mut self, locations: Vec<Location>) -> Self {
        self.locations = locations;
        self
    }

    /// The same preview with the changes, whose files become its locations.
    #[must_use]
    pub fn with_changes(mut self, changes: Vec<FileChange>) -> Self {
        self.locations.extend(changes.iter().map(|change| Location::file(&change.path)));
        self.changes = changes;
        self
    }

    /// The same preview bound to a plan.
    #[must_use]
    pub fn with_fingerprint(mut self, fingerprint: impl Into<String>) -> Self {
        self.fingerprint = Some(fingerprint.into());
        self
    }

    /// The same preview of a call that would change nothing. A plan that would change something by the time of the call
    /// has another fingerprint, so bind it to one where that can be.
    #[must_use]
    pub fn changing_nothing(mut self) -> Self {
        self.changes_nothing = true;
        self
    }
}
