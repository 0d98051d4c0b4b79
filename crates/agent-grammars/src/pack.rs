//! Grammars from a folder of shared libraries, by way of `tree-sitter-language-pack`.
//!
//! Loading a library runs its code, so the folder has to be one that nobody else can write to.

use std::path::Path;

use tree_sitter_language_pack::LanguageRegistry;

use crate::error::GrammarError;
use crate::grammar::{Grammar, Origin};
use crate::platform;
use crate::profile::{BARE, Profile};
use crate::registry::Grammars;

/// Nothing is known of these languages: a fragment is parsed as a file.
static UNKNOWN: Profile = BARE;

impl Grammars {
    /// Adds the grammars in `folder`, files named `libtree_sitter_<id>.so` (`.dylib`, `.dll`), and
    /// gives their ids. A grammar that is known already under its id or an alias stays as it is.
    ///
    /// # Errors
    /// [`GrammarErrorKind::LoadFailed`](crate::GrammarErrorKind::LoadFailed) where the path is not
    /// absolute, is no folder, may be written by others than its owner, or a library in it cannot
    /// be loaded.
    pub fn add_folder(&mut self, folder: &Path) -> Result<Vec<String>, GrammarError> {
        check_folder(folder)?;
        let registry = LanguageRegistry::with_libs_dir(folder.to_owned());
        registry.add_extra_libs_dir(folder.to_owned());
        let known = registry.available_languages();
        let mut added = Vec::new();
        for symbol in symbols(folder) {
            let Some(id) = id_of(&symbol, &known) else { continue };
            if self.by_id(id).is_ok() {
                continue;
            }
            let language = registry.get_language(id).map_err(|error| {
                GrammarError::load_failed(format!(
                    "the grammar of {id} in {} cannot be loaded ({error}); build it again for this \
                     machine, or remove it",
                    folder.display()
                ))
            })?;
            let origin = Origin::Folder { path: folder.to_owned() };
            self.add(Grammar::new(id, language, &UNKNOWN, origin)?);
            added.push(id.to_owned());
        }
        Ok(added)
    }

    /// Downloads what the language pack has for `ids` into its cache folder, and adds that folder.
    ///
    /// # Errors
    /// [`GrammarErrorKind::LoadFailed`](crate::GrammarErrorKind::LoadFailed) where a download
    /// fails, and as [`Self::add_folder`].
    #[cfg(feature = "language-pack-download")]
    pub fn download(&mut self, ids: &[&str]) -> Result<Vec<String>, GrammarError> {
        let folder = tree_sitter_language_pack::download(ids)
            .and_then(|_| tree_sitter_language_pack::cache_dir())
            .map_err(|error| {
                GrammarError::load_failed(format!(
                    "{} cannot be downloaded ({error}); check the network, or put the libraries \
                     into a folder and load that",
                    ids.join(", ")
                ))
            })?;
        self.add_folder(Path::new(&folder))
    }
}

/// Whether files of this name are of the language `id`, as the language pack's table has it.
pub(crate) fn claims(id: &str, path: &Path) -> bool {
    path.to_str()
        .and_then(tree_sitter_language_pack::detect_language_from_path)
        .is_some_and(|found| found == id)
}

/// The names of the C functions of the libraries in a folder, sorted.
fn symbols(folder: &Path) -> Vec<String> {
    let prefix = format!("{}tree_sitter_", std::env::consts::DLL_PREFIX);
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut symbols: Vec<_> = entries
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let symbol = name.strip_prefix(&prefix)?;
            Some(symbol.strip_suffix(std::env::consts::DLL_SUFFIX)?.to_owned())
        })
        .collect();
    symbols.sort();
    symbols
}

/// The pack's id for a C function: nearly always its name (`json`), but `csharp` for `c_sharp`.
fn id_of<'k>(symbol: &str, known: &'k [String]) -> Option<&'k str> {
    let spellings = [symbol.to_owned(), symbol.to_lowercase(), symbol.replace('_', "")];
    let mut ids = known.iter().map(String::as_str);
    ids.find(|id| spellings.iter().any(|spelling| spelling == id))
}

fn check_folder(folder: &Path) -> Result<(), GrammarError> {
    let refuse = |why: &str| {
        let folder = folder.display();
        Err(GrammarError::load_failed(format!("the grammar folder {folder} {why}")))
    };
    if !folder.is_absolute() {
        return refuse("is not absolute; give its whole path");
    }
    let Ok(metadata) = std::fs::metadata(folder) else {
        return refuse("cannot be read; give an existing folder");
    };
    if !metadata.is_dir() {
        return refuse("is no folder; give the folder that holds the libraries");
    }
    if platform::others_can_write(&metadata) {
        return refuse("can be written by others than its owner; take that right from them first");
    }
    Ok(())
}
