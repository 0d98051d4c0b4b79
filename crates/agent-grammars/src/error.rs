use std::fmt;

/// What went wrong when a grammar was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum GrammarErrorKind {
    /// No grammar has this id or alias.
    UnknownLanguage,
    /// A grammar was built for a version of tree-sitter that this one cannot run.
    IncompatibleGrammar,
    /// A grammar could not be loaded from the local folder.
    LoadFailed,
}

/// The error of this crate: a kind, and a message that says what to do next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GrammarError {
    kind: GrammarErrorKind,
    message: String,
    ids: Vec<String>,
}

impl GrammarError {
    pub(crate) fn unknown_language(asked: &str, ids: Vec<String>) -> Self {
        let message = format!(
            "unknown language {asked:?}; use one of the ids of this build: {}",
            ids.join(", ")
        );
        Self { kind: GrammarErrorKind::UnknownLanguage, message, ids }
    }

    pub(crate) fn incompatible(id: &str, found: usize, oldest: usize, newest: usize) -> Self {
        let message = format!(
            "the grammar of {id} has ABI {found}, and this build runs {oldest} to {newest}; \
             use a grammar that was generated for one of these"
        );
        Self { kind: GrammarErrorKind::IncompatibleGrammar, message, ids: Vec::new() }
    }

    #[cfg(feature = "language-pack")]
    pub(crate) fn load_failed(message: String) -> Self {
        Self { kind: GrammarErrorKind::LoadFailed, message, ids: Vec::new() }
    }

    /// What went wrong.
    #[must_use]
    pub fn kind(&self) -> GrammarErrorKind {
        self.kind
    }

    /// A stable name of the cause, in snake case.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self.kind {
            GrammarErrorKind::UnknownLanguage => "unknown_language",
            GrammarErrorKind::IncompatibleGrammar => "incompatible_grammar",
            GrammarErrorKind::LoadFailed => "grammar_load_failed",
        }
    }

    /// The ids that would have been known; empty for other kinds than
    /// [`GrammarErrorKind::UnknownLanguage`].
    #[must_use]
    pub fn known_ids(&self) -> &[String] {
        &self.ids
    }
}

impl fmt::Display for GrammarError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for GrammarError {}
