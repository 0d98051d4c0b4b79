//! From a model's string to a contained path.

use std::path::{Component, Path, PathBuf};

use crate::{Error, ErrorKind, Result, Workspace, WorkspacePath, uri_to_path};

impl Workspace {
    /// The place that a string names: relative with `/` (in the first root), absolute inside a root, `name:rel` when
    /// there are several roots, or a `file://` URI. The string is a path and never a glob: brackets stand for themselves.
    ///
    /// `..` is resolved by the letters, as a person reads it, and not through links. Nothing needs to exist there.
    ///
    /// # Errors
    /// `outside_workspace` when the path leads out, `invalid_path` when it is empty, has a NUL byte or is a broken URI.
    pub fn resolve(&self, text: &str) -> Result<WorkspacePath> {
        if text.is_empty() {
            return Err(Error::new(
                ErrorKind::InvalidPath,
                "the path is empty; write `.` for the working directory",
            ));
        }
        if text.contains('\0') {
            return Err(Error::new(
                ErrorKind::InvalidPath,
                "the path has a NUL byte; write it without",
            ));
        }
        let path = self.place(text)?;
        Ok(self.with_raw_names(path))
    }

    fn place(&self, text: &str) -> Result<WorkspacePath> {
        if text.get(..7).is_some_and(|head| head.eq_ignore_ascii_case("file://")) {
            return self.resolve_absolute(&uri_to_path(text)?, text);
        }
        if Path::new(text).is_absolute() {
            return self.resolve_absolute(Path::new(text), text);
        }
        let (root, rel) = self.split_root(text);
        WorkspacePath::normalised(root, Path::new(rel)).ok_or_else(|| self.outside(text))
    }

    /// A prefix counts only when a root has that name, so that a file with a colon in its name needs no escape.
    fn split_root<'a>(&self, text: &'a str) -> (usize, &'a str) {
        if self.roots().len() > 1
            && let Some((name, rel)) = text.split_once(':')
            && let Some(root) = self.roots().iter().position(|root| root.name() == name)
        {
            return (root, rel.trim_start_matches('/'));
        }
        (0, text)
    }

    fn resolve_absolute(&self, absolute: &Path, text: &str) -> Result<WorkspacePath> {
        let absolute = without_dots(absolute);
        self.contain(&absolute)
            // The path may come through a link above the root, as /tmp does on some systems.
            .or_else(|| self.contain(&canonical_prefix(&absolute)))
            .ok_or_else(|| self.outside(text))
    }

    pub(crate) fn outside(&self, text: &str) -> Error {
        let roots: Vec<_> =
            self.roots().iter().map(|root| format!("`{}`", root.path().display())).collect();
        Error::new(
            ErrorKind::OutsideWorkspace,
            format!(
                "`{text}` is outside the workspace {}; name a path inside it, relative to `{}`",
                roots.join(", "),
                self.roots()[0].path().display(),
            ),
        )
    }

    /// A name that is not UTF-8 was shown with U+FFFD. Where the string has one and no such name exists, the one name of
    /// the folder that is shown so is meant.
    fn with_raw_names(&self, path: WorkspacePath) -> WorkspacePath {
        if !path.rel().to_string_lossy().contains('\u{FFFD}') {
            return path;
        }
        let mut found = WorkspacePath::of_root(path.root());
        for component in path.rel().components() {
            let name = component.as_os_str();
            let literal = WorkspacePath::new_unchecked(path.root(), &found.rel().join(name));
            found = if name.to_string_lossy().contains('\u{FFFD}')
                && self.identity(&literal).is_err()
            {
                self.shown_as(&found, &name.to_string_lossy()).unwrap_or(literal)
            } else {
                literal
            };
        }
        found
    }

    fn shown_as(&self, folder: &WorkspacePath, shown: &str) -> Option<WorkspacePath> {
        let mut same =
            self.names(folder).ok()?.into_iter().filter(|name| name.to_string_lossy() == shown);
        let name = same.next()?;
        let alone = same.next().is_none();
        alone.then(|| WorkspacePath::new_unchecked(folder.root(), &folder.rel().join(name)))
    }
}

fn without_dots(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => {
                out.pop();
            }
            Component::CurDir => {}
            other => out.push(other),
        }
    }
    out
}

/// The path with the links of its existing part resolved. It only finds the root; the open holds the containment.
fn canonical_prefix(path: &Path) -> PathBuf {
    for ancestor in path.ancestors() {
        if let Ok(canonical) = std::fs::canonicalize(ancestor)
            && let Ok(rest) = path.strip_prefix(ancestor)
        {
            return canonical.join(rest);
        }
    }
    path.to_owned()
}
