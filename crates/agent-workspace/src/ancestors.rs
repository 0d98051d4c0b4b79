//! The ignore rules that stand above the start of a walk.

use std::path::{Path, PathBuf};

use ignore::{
    Match,
    gitignore::{Gitignore, GitignoreBuilder},
};

const RULE_FILES: [&str; 2] = [".gitignore", ".ignore"];

/// Where a walk begins to read rules, so that those above its start hold.
///
/// In a git repository they are read up to the repository's top. Outside one the walk would read on up to `/`, and a
/// person who keeps a `.gitignore` with `*` in the home folder would find every workspace empty; so there the rules end
/// at the workspace's root.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Ancestors {
    /// The folder that the walk begins at: the root, or the start when no rule above it counts.
    pub(crate) base: PathBuf,
    /// True when rules above `base` hold.
    pub(crate) above_base: bool,
}

impl Ancestors {
    /// No rule above the start holds.
    pub(crate) fn none(start: &Path) -> Self {
        Self { base: start.to_owned(), above_base: false }
    }

    pub(crate) fn of(root: &Path, start: &Path) -> Self {
        let git_top = root.ancestors().find(|folder| folder.join(".git").exists());
        if is_ignored(git_top.unwrap_or(root), start) {
            // It was named all the same, so the rule that names it does not hold for what is in it.
            return Self::none(start);
        }
        Self { base: root.to_owned(), above_base: git_top.is_some_and(|top| top != root) }
    }
}

/// The deepest rule that says anything decides.
fn is_ignored(top: &Path, start: &Path) -> bool {
    let above = start.ancestors().skip(1);
    for folder in above.take_while(|folder| folder.starts_with(top)) {
        let Some(rules) = rules_of(folder) else {
            continue;
        };
        match rules.matched_path_or_any_parents(start, true) {
            Match::Ignore(_) => return true,
            Match::Whitelist(_) => return false,
            Match::None => {}
        }
    }
    false
}

fn rules_of(folder: &Path) -> Option<Gitignore> {
    let mut builder = GitignoreBuilder::new(folder);
    let mut any = false;
    for name in RULE_FILES {
        let file = folder.join(name);
        if file.is_file() {
            any = true;
            // A line that is no glob is left out, as git does.
            let _ = builder.add(file);
        }
    }
    any.then(|| builder.build().ok()).flatten()
}
