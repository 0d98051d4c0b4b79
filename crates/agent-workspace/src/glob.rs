//! Globs that narrow a walk. They never widen it: an ignored file stays ignored whatever the glob says.

use std::path::Path;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use crate::{Error, ErrorKind, Result};

#[derive(Debug, Clone)]
pub(crate) struct Globs {
    include: Option<GlobSet>,
    exclude: Option<GlobSet>,
}

impl Globs {
    pub(crate) fn new(globs: &[String]) -> Result<Self> {
        let (exclude, include): (Vec<_>, Vec<_>) =
            globs.iter().partition(|glob| glob.starts_with('!'));
        Ok(Self {
            include: set(include.iter().map(|glob| glob.as_str()))?,
            exclude: set(exclude.iter().map(|glob| &glob[1..]))?,
        })
    }

    /// Holds a file against the globs, by its path from the root and by its path from the start of the walk: a model
    /// that searches `src` writes globs from either.
    pub(crate) fn takes(&self, from_root: &Path, from_start: &Path) -> bool {
        let named = |set: &GlobSet| set.is_match(from_root) || set.is_match(from_start);
        self.include.as_ref().is_none_or(named) && !self.excludes(from_root, from_start)
    }

    pub(crate) fn has_excludes(&self) -> bool {
        self.exclude.is_some()
    }

    pub(crate) fn excludes(&self, from_root: &Path, from_start: &Path) -> bool {
        self.exclude.as_ref().is_some_and(|set| set.is_match(from_root) || set.is_match(from_start))
    }
}

fn set<'a>(globs: impl Iterator<Item = &'a str>) -> Result<Option<GlobSet>> {
    let mut builder = GlobSetBuilder::new();
    let mut empty = true;
    for glob in globs {
        empty = false;
        let failed = |error: globset::Error| {
            Error::new(
                ErrorKind::InvalidGlob,
                format!(
                    "`{glob}` is no glob ({}); write one like `*.rs` or `src/**/*.ts`, or give a literal path as the path",
                    error.kind()
                ),
            )
        };
        for pattern in anchored(glob) {
            let compiled =
                GlobBuilder::new(&pattern).literal_separator(true).build().map_err(failed)?;
            builder.add(compiled);
        }
    }
    if empty {
        return Ok(None);
    }
    let set = builder.build().map_err(|error| {
        Error::new(
            ErrorKind::InvalidGlob,
            format!("the globs are too large together ({error}); give fewer"),
        )
    })?;
    Ok(Some(set))
}

/// As in a `.gitignore`: without a slash a glob names files and folders at any depth, and a folder means what is in it.
fn anchored(glob: &str) -> [String; 2] {
    let trimmed = glob.strip_prefix("./").unwrap_or(glob);
    let body = trimmed.trim_end_matches('/');
    let pattern = match body.strip_prefix('/') {
        Some(rooted) => rooted.to_owned(),
        None if body.contains('/') => body.to_owned(),
        None => format!("**/{body}"),
    };
    let below = format!("{pattern}/**");
    [pattern, below]
}
