//! File URIs as servers spell them. Two spellings are compared by the path that they name, never as strings: servers
//! escape other characters than we do, and some do not escape `#` and `%` at all.

use std::{
    fs,
    path::{Path, PathBuf},
};

use agent_workspace::{Workspace, WorkspacePath, path_to_uri, uri_to_path};
use async_lsp::lsp_types::Url;

const SCHEME: &str = "file://";
const ESCAPED_PERCENT: &str = "%25";

/// A name with more escapes is read in one way: each more doubles the ways.
const MAX_ESCAPES: usize = 8;

/// Where a URI leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// A file of the workspace.
    Inside(WorkspacePath),
    /// An absolute path outside of it, such as that of a standard library: shown, never written.
    Outside(PathBuf),
    /// Something that is no file here: another scheme (`untitled:`, `jdt:`), or a URI that is broken.
    NoFile(String),
}

/// The URI of an absolute path, every byte but letters, digits and `-._~/` escaped, so that no server reads it otherwise.
///
/// # Panics
/// Never: the text that is parsed is escaped.
#[must_use]
#[expect(clippy::expect_used, reason = "an escaped file URI parses")]
pub fn of_path(path: &Path) -> Url {
    Url::parse(&path_to_uri(path)).expect("an escaped file URI is one")
}

/// The absolute path that a file URI means, or `None` when it is no file URI of this machine.
///
/// A server that leaves `#` or `%` as they are is understood by what exists: a `#` is a letter of the path when there is such
/// a file and begins a fragment otherwise, and a `%41` is itself where no file has an `A` there. `exists` is asked only
/// where the spelling leaves a choice.
pub fn to_path(uri: &str, exists: impl Fn(&Path) -> bool) -> Option<PathBuf> {
    let rest = uri.get(SCHEME.len()..)?;
    let (before, fragment) = rest.split_once('#').map_or((rest, None), |(a, b)| (a, Some(b)));
    if fragment.is_none() && !before.contains('%') {
        return uri_to_path(uri).ok();
    }
    let glued = fragment.is_some().then(|| existing(uri, &exists)).flatten();
    let before = &uri[..SCHEME.len() + before.len()];
    glued
        .or_else(|| existing(before, &exists))
        .or_else(|| uri_to_path(before).ok())
        .or_else(|| uri_to_path(&before.replace('%', ESCAPED_PERCENT)).ok())
}

/// The path of the first reading of a URI that exists, each folder decided before what is in it.
fn existing(uri: &str, exists: impl Fn(&Path) -> bool) -> Option<PathBuf> {
    if let Ok(path) = uri_to_path(uri)
        && exists(&path)
    {
        return Some(path);
    }
    let rest = uri.get(SCHEME.len()..)?;
    let (host, names) = rest.split_once('/')?;
    let mut so_far = format!("{}{host}", &uri[..SCHEME.len()]);
    let mut found = None;
    for name in names.split('/') {
        let (uri, path) = readings(name).find_map(|reading| {
            let uri = format!("{so_far}/{reading}");
            let path = uri_to_path(&uri).ok()?;
            exists(&path).then_some((uri, path))
        })?;
        so_far = uri;
        found = Some(path);
    }
    found
}

/// The ways to read the escapes of one name: all as escapes first, then with ever more of them as themselves.
fn readings(name: &str) -> impl Iterator<Item = String> + use<'_> {
    let pieces: Vec<&str> = name.split('%').collect();
    let escapes = pieces.len() - 1;
    let choices = if escapes > MAX_ESCAPES { 0..1 } else { 0..1_usize << escapes };
    choices.map(move |literal| {
        let mut reading = pieces[0].to_owned();
        for (index, piece) in pieces[1..].iter().enumerate() {
            reading.push_str(if literal >> index & 1 == 1 { ESCAPED_PERCENT } else { "%" });
            reading.push_str(piece);
        }
        reading
    })
}

/// Where a URI of a server leads, seen from a workspace. A path through other links than the agent's is found too
/// (clangd answers with real paths), and comes back as the workspace spells it.
#[must_use]
pub fn locate(workspace: &Workspace, uri: &str) -> Target {
    let Some(path) = to_path(uri, |path| path.symlink_metadata().is_ok()) else {
        return Target::NoFile(uri.to_owned());
    };
    let inside = workspace.contain(&path).or_else(|| workspace.contain(&real(&path)));
    match inside {
        Some(path) => Target::Inside(path),
        None => Target::Outside(path),
    }
}

/// Whether two URIs name the same file: by their paths, links resolved as far as they exist.
#[must_use]
pub fn same_file(one: &str, other: &str) -> bool {
    let path = |uri| to_path(uri, |path| path.symlink_metadata().is_ok());
    match (path(one), path(other)) {
        (Some(one), Some(other)) => one == other || real(&one) == real(&other),
        _ => one == other,
    }
}

/// The path with the links of its existing part resolved.
fn real(path: &Path) -> PathBuf {
    for ancestor in path.ancestors() {
        if let Ok(canonical) = fs::canonicalize(ancestor)
            && let Ok(rest) = path.strip_prefix(ancestor)
        {
            // Joining nothing would add a slash.
            return if rest.as_os_str().is_empty() { canonical } else { canonical.join(rest) };
        }
    }
    path.to_owned()
}
