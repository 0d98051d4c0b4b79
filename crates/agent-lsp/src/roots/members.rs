//! The members of a workspace as globs of folders below it.

use std::path::Path;

use globset::{GlobBuilder, GlobMatcher};

/// Which folders below one belong to it. The last glob that names a folder decides.
#[derive(Debug, Default)]
pub(super) struct Members {
    rules: Vec<(GlobMatcher, Takes)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Takes {
    In,
    Out,
}

impl Members {
    /// Everything below.
    pub(super) fn everything() -> Self {
        let mut members = Self::default();
        members.rule("**", Takes::In);
        members
    }

    /// Globs that take in, and others that take out again with all that is below them.
    pub(super) fn of<'a>(
        members: impl IntoIterator<Item = &'a str>,
        exclude: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        let mut all = Self::default();
        members.into_iter().for_each(|glob| all.rule(glob, Takes::In));
        for glob in exclude {
            all.rule(glob, Takes::Out);
            all.rule(&format!("{}/**", glob.trim_end_matches('/')), Takes::Out);
        }
        all
    }

    /// Globs of which those with `!` in front take out.
    pub(super) fn with_negations<'a>(globs: impl IntoIterator<Item = &'a str>) -> Self {
        let mut all = Self::default();
        for glob in globs {
            match glob.strip_prefix('!') {
                Some(glob) => all.rule(glob, Takes::Out),
                None => all.rule(glob, Takes::In),
            }
        }
        all
    }

    /// Takes one more folder in, unless it was taken out.
    pub(super) fn add(&mut self, folder: &str) {
        if let Some(glob) = glob(&globset::escape(clean(folder))) {
            self.rules.insert(0, (glob, Takes::In));
        }
    }

    /// Whether a folder below belongs; the folder itself always does.
    pub(super) fn contains(&self, below: &Path) -> bool {
        below.as_os_str().is_empty()
            || self
                .rules
                .iter()
                .rfind(|(glob, _)| glob.is_match(below))
                .is_some_and(|(_, takes)| *takes == Takes::In)
    }

    /// What is no glob names nothing.
    fn rule(&mut self, text: &str, takes: Takes) {
        if let Some(glob) = glob(clean(text)) {
            self.rules.push((glob, takes));
        }
    }
}

fn clean(text: &str) -> &str {
    text.trim_start_matches("./").trim_end_matches('/')
}

fn glob(text: &str) -> Option<GlobMatcher> {
    let glob = GlobBuilder::new(text).literal_separator(true).build().ok()?;
    Some(glob.compile_matcher())
}
