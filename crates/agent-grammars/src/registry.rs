use std::path::Path;
use std::sync::Arc;

use crate::error::GrammarError;
use crate::grammar::Grammar;
use crate::languages;

/// The grammars of a build, by id and by file name.
#[derive(Clone, Debug, Default)]
pub struct Grammars {
    grammars: Vec<Arc<Grammar>>,
}

impl Grammars {
    /// Those that the features of this build have linked in, in the order of their ids.
    #[must_use]
    pub fn bundled() -> Self {
        let mut grammars: Vec<_> = languages::bundled().into_iter().map(Arc::new).collect();
        grammars.sort_by(|left, right| left.id().cmp(right.id()));
        Self { grammars }
    }

    /// The grammar with this id or alias (`ts`, `py`, `c++`, …), whatever its case.
    ///
    /// # Errors
    /// [`GrammarErrorKind::UnknownLanguage`](crate::GrammarErrorKind::UnknownLanguage), with a
    /// message that lists the ids.
    pub fn by_id(&self, id: &str) -> Result<&Arc<Grammar>, GrammarError> {
        let asked = id.trim().to_ascii_lowercase();
        self.grammars
            .iter()
            .find(|grammar| grammar.id() == asked)
            .or_else(|| {
                self.grammars
                    .iter()
                    .find(|grammar| grammar.profile().aliases.contains(&asked.as_str()))
            })
            .ok_or_else(|| {
                let ids = self.ids().map(str::to_owned).collect();
                GrammarError::unknown_language(id, ids)
            })
    }

    /// The grammar that files of this name are written in, if one is known.
    #[must_use]
    pub fn for_path(&self, path: &Path) -> Option<&Arc<Grammar>> {
        self.grammars.iter().find(|grammar| grammar.claims(path)).or_else(|| {
            // `MAIN.PY` is Python still.
            let lowered = path.to_string_lossy().to_ascii_lowercase();
            self.grammars.iter().find(|grammar| grammar.claims(Path::new(&lowered)))
        })
    }

    /// The ids, sorted.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.grammars.iter().map(|grammar| grammar.id())
    }

    /// All grammars, in the order of their ids.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Grammar>> {
        self.grammars.iter()
    }

    /// Adds a grammar. One that is known under the same id stays and shadows the new one, because
    /// node kinds differ between forks and a pattern written for the first must keep its meaning.
    pub fn add(&mut self, grammar: Grammar) {
        match self.grammars.binary_search_by(|known| known.id().cmp(grammar.id())) {
            Ok(_) => {}
            Err(position) => self.grammars.insert(position, Arc::new(grammar)),
        }
    }
}
