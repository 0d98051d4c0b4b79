//! What an untrusted checkout has a say in: whether a server is started in it, and what that finds on its
//! search path.
//!
//! Some servers run what a checkout's files name, and no setting of theirs ends that: cargo runs the
//! `rustc-wrapper` of a `.cargo/config.toml`, rustup the toolchain that a `rust-toolchain` points to, a
//! language server for TypeScript the `tsserver.js` that it finds. Where such a file is, they are not started.
//!
//! rustup is told of a toolchain besides, so that it reads no file of the checkout at all: one may come after the start,
//! and a channel that is named would be fetched.

mod rustup;

use std::{
    env,
    ffi::OsString,
    fs,
    io::Read,
    path::{Path, PathBuf},
};

use agent_process::{Found, Program, find::Why};
use agent_workspace::Workspace;

use crate::table::{Known, Naming, Server, matches};

/// What marks the top of a checkout that is worked on in a part.
const REPOSITORY: &str = ".git";

/// How much of a file is looked into, in bytes. One that is longer counts as if it held anything.
const LOOKED_INTO: u64 = 64 * 1024;

/// What version managers read whose programs stand on the search path for those of every language: the files that name a
/// version, each with what in it can be a folder in the place of one.
const VERSIONS: [(&str, &[&str]); 8] = [
    (".tool-versions", &["path:", "/", "\\"]),
    (".python-version", FOLDER),
    (".node-version", FOLDER),
    (".ruby-version", FOLDER),
    (".go-version", FOLDER),
    (".java-version", FOLDER),
    (".php-version", FOLDER),
    (".perl-version", FOLDER),
];

const FOLDER: &[&str] = &["/", "\\"];

/// The program that Volta's links lead to.
const SHIM: &str = "volta-shim";

/// The variables that name a folder of programs.
const FOLDERS: [&str; 2] = ["VIRTUAL_ENV", "CONDA_PREFIX"];

/// The first file that makes a server run what a checkout names, at its root or above it.
pub(super) fn named_by(workspace: &Workspace, root: &Path, row: &Server) -> Option<PathBuf> {
    let folders = folders(workspace, root);
    let found = |naming: &Naming| folders.iter().find_map(|folder| names(folder, naming));
    row.untrusted_without.iter().find_map(found).or_else(|| {
        folders.iter().find_map(|folder| {
            VERSIONS.iter().find_map(|(file, with)| with_any(folder, file, with.iter().copied()))
        })
    })
}

/// The checkout's program that is run in the place of the one that was found: Volta's shim hands on to that of a package that
/// the project depends on.
pub(super) fn handed_on(program: &Path, workspace: &Workspace, root: &Path) -> Option<PathBuf> {
    let stands_for = program.canonicalize().ok()?;
    if stands_for.file_stem()? != SHIM {
        return None;
    }
    let own = Path::new("node_modules/.bin").join(program.file_name()?);
    folders(workspace, root)
        .into_iter()
        .map(|folder| folder.join(&own))
        .find(|path| path.symlink_metadata().is_ok())
}

/// The root and the folders above it, as far as the checkout goes: to the root of the run, and on to the top
/// of the repository that this is a part of.
fn folders<'a>(workspace: &Workspace, root: &'a Path) -> Vec<&'a Path> {
    let above: Vec<_> = root.ancestors().collect();
    let is_run = |folder: &&Path| workspace.roots().iter().any(|run| run.path() == *folder);
    let is_top = |folder: &&Path| folder.join(REPOSITORY).symlink_metadata().is_ok();
    let run = above.iter().position(is_run).unwrap_or_default();
    let top = above.iter().position(is_top).unwrap_or_default();
    above.into_iter().take(run.max(top) + 1).collect()
}

fn names(folder: &Path, naming: &Naming) -> Option<PathBuf> {
    match naming {
        Naming::There(pattern) => there(folder, pattern),
        Naming::With { file, with } => with_any(folder, file, with.iter().map(String::as_str)),
        Naming::Other { file, other_than: Known::RustupChannel } => {
            let is_other =
                |path: &PathBuf| !text(path).is_some_and(|text| rustup::is_channel(&text));
            there(folder, file).filter(is_other)
        }
    }
}

/// The file where it has one of these texts, or may have.
fn with_any<'a>(
    folder: &Path,
    file: &str,
    mut with: impl Iterator<Item = &'a str>,
) -> Option<PathBuf> {
    let path = there(folder, file)?;
    let text = text(&path);
    with.any(|part| text.as_ref().is_none_or(|text| text.contains(part))).then_some(path)
}

/// What is in a file. Nothing is known of one that is long, is not text, or is no file, which may never end.
fn text(path: &Path) -> Option<String> {
    if !path.metadata().ok()?.is_file() {
        return None;
    }
    let mut text = String::new();
    fs::File::open(path).ok()?.take(LOOKED_INTO + 1).read_to_string(&mut text).ok()?;
    (text.len() as u64 <= LOOKED_INTO).then_some(text)
}

fn there(folder: &Path, pattern: &str) -> Option<PathBuf> {
    if !pattern.starts_with('*') {
        let path = folder.join(pattern);
        return path.symlink_metadata().is_ok().then_some(path);
    }
    let names = fs::read_dir(folder).ok()?.filter_map(|entry| Some(entry.ok()?.file_name()));
    let mut fits = names.filter(|name| name.to_str().is_some_and(|name| matches(pattern, name)));
    Some(folder.join(fits.next()?))
}

/// The program with a search path that has none of the checkout's folders, and no relative one, and with the person's own
/// toolchain of Rust.
pub(super) fn beside(program: Program, workspace: &Workspace, root: &Path) -> Program {
    let is_inside = |folder: &Path| {
        let real = folder.canonicalize();
        let real = real.as_deref().unwrap_or(folder);
        workspace
            .roots()
            .iter()
            .any(|root| real.starts_with(root.path()) || folder.starts_with(root.path()))
    };
    let path = env::var_os("PATH").unwrap_or_default();
    let kept = env::split_paths(&path).filter(|folder| folder.is_absolute() && !is_inside(folder));
    let program = program.env("PATH", env::join_paths(kept).unwrap_or_else(|_| OsString::new()));
    let inside = FOLDERS
        .into_iter()
        .filter(|name| env::var_os(name).is_some_and(|folder| is_inside(Path::new(&folder))));
    let program = inside.fold(program, |program, name| program.without_env(name));
    match rustup::chosen_for(root) {
        Some(toolchain) => program.env(rustup::TOOLCHAIN, toolchain),
        None => program,
    }
}

/// The programs of the checkout that stood before the one that was found and were not taken.
pub(super) fn passed_over(found: &Found) -> Option<String> {
    let refused = found.passed_over.iter().filter(|passed| passed.why == Why::NotTrusted);
    let refused: Vec<_> = refused.map(ToString::to_string).collect();
    (!refused.is_empty()).then(|| refused.join("; "))
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_shim_that_hands_on_to_a_program_of_the_checkout_is_told() {
        let outer = tempfile::tempdir().unwrap();
        let (home, root) = (outer.path().join("home"), outer.path().join("checkout"));
        let local = root.join("node_modules/.bin");
        for folder in [&home, &local, &root.join("src")] {
            fs::create_dir_all(folder).unwrap();
        }
        fs::write(home.join("volta-shim"), "").unwrap();
        fs::write(home.join("other"), "").unwrap();
        symlink("volta-shim", home.join("tsc")).unwrap();
        symlink("other", home.join("tsgo")).unwrap();
        let workspace = Workspace::open(&root).unwrap();
        let root = workspace.roots()[0].path().to_owned();
        let told = |name: &str| handed_on(&home.join(name), &workspace, &root.join("src"));
        assert_eq!(told("tsc"), None);
        for name in ["tsc", "tsgo"] {
            fs::write(local.join(name), "").unwrap();
        }
        assert_eq!(told("tsc"), Some(root.join("node_modules/.bin/tsc")));
        assert_eq!(told("tsgo"), None);
    }
}
