use std::path::{Path, PathBuf};

use tree_sitter::{LANGUAGE_VERSION, Language, MIN_COMPATIBLE_LANGUAGE_VERSION, Parser};

use crate::error::GrammarError;
use crate::profile::Profile;

/// Where the tables of a grammar come from. A result names it, because two grammars of one
/// language (forks) disagree about node kinds.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Origin {
    /// Linked into this program, from this crate.
    Bundled {
        /// The name of the grammar crate.
        crate_name: &'static str,
    },
    /// Loaded while the program runs, from this folder.
    Folder {
        /// The absolute path of the folder.
        path: PathBuf,
    },
}

impl std::fmt::Display for Origin {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Bundled { crate_name } => write!(formatter, "bundled ({crate_name})"),
            Self::Folder { path } => write!(formatter, "loaded from {}", path.display()),
        }
    }
}

/// A language: its id, its parse tables, and its [`Profile`].
#[derive(Clone, Debug)]
pub struct Grammar {
    id: String,
    language: Language,
    profile: &'static Profile,
    origin: Origin,
}

impl Grammar {
    /// Binds parse tables to a profile under an id.
    ///
    /// # Errors
    /// [`GrammarErrorKind::IncompatibleGrammar`](crate::GrammarErrorKind::IncompatibleGrammar)
    /// where the tables are of an ABI that this tree-sitter does not run.
    pub fn new(
        id: impl Into<String>,
        language: Language,
        profile: &'static Profile,
        origin: Origin,
    ) -> Result<Self, GrammarError> {
        let id = id.into();
        let abi = language.abi_version();
        if !(MIN_COMPATIBLE_LANGUAGE_VERSION..=LANGUAGE_VERSION).contains(&abi) {
            return Err(GrammarError::incompatible(
                &id,
                abi,
                MIN_COMPATIBLE_LANGUAGE_VERSION,
                LANGUAGE_VERSION,
            ));
        }
        Ok(Self { id, language, profile, origin })
    }

    /// The id that a user writes, such as `rust`.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The parse tables.
    #[must_use]
    pub fn language(&self) -> &Language {
        &self.language
    }

    /// What a matcher has to know about the language.
    #[must_use]
    pub fn profile(&self) -> &'static Profile {
        self.profile
    }

    /// Where the tables come from.
    #[must_use]
    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    /// A parser of this language. Making one is cheap, but a thread that parses many files keeps
    /// its own.
    #[must_use]
    #[expect(clippy::missing_panics_doc, reason = "the ABI was checked when the grammar was made")]
    pub fn parser(&self) -> Parser {
        let mut parser = Parser::new();
        parser.set_language(&self.language).expect("the ABI was checked by `Grammar::new`");
        parser
    }

    /// Whether files of this name are of this language, by whole name or by extension.
    #[must_use]
    pub fn claims(&self, path: &Path) -> bool {
        let name = path.file_name().and_then(|name| name.to_str());
        if name.is_some_and(|name| self.profile.file_names.contains(&name)) {
            return true;
        }
        #[cfg(feature = "language-pack")]
        if matches!(self.origin, Origin::Folder { .. }) {
            return crate::pack::claims(&self.id, path);
        }
        let Some(extension) = path.extension().and_then(|extension| extension.to_str()) else {
            return false;
        };
        // An exact hit first: `.C` and `.H` are C++, `.c` and `.h` are C.
        self.profile.extensions.contains(&extension)
    }
}
