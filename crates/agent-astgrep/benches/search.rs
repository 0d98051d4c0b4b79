//! One search of the working directory, as a process whose time can be taken. `cargo xtask bench
//! astgrep` runs it beside the peer, and says what its two modes are compared for.
//!
//! `search all LANGUAGE PATTERN` prints every match, a JSON object a line.
//! `search floor LANGUAGE PATTERN [FILE]` only parses the files that hold all words of the pattern,
//! which is what no search can do without, and prints how much that is: the files and bytes there
//! are, those that were parsed, and the bytes in the files up to FILE.
#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

use std::{
    io::{Write, stdout},
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
};

use agent_astgrep::{GrepArgs, Pattern, Structure, Trees};
use agent_edits::Edits;
use agent_grammars::Grammars;
use agent_tool_core::Stop;
use agent_workspace::{MAX_SEARCH_BYTES, SkipReason, WalkOptions, Workspace, WorkspacePath};
use serde_json::json;

/// The allocator of the program that is measured.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["all", language, pattern] => all(language, pattern),
        ["floor", language, pattern] => floor(language, pattern, None),
        ["floor", language, pattern, file] => floor(language, pattern, Some(file)),
        // What `cargo test` and a bare `cargo bench` call it with.
        _ => Ok(()),
    }
}

fn all(language: &str, pattern: &str) -> Result<(), Failure> {
    let workspace = Workspace::open(".")?;
    let state = std::env::temp_dir().join("agent-astgrep-bench");
    let edits = Edits::open(&workspace, state)?;
    let structure = Structure::new(workspace, edits, Arc::new(Grammars::bundled()));
    let args = GrepArgs {
        pattern: pattern.to_owned(),
        path: None,
        language: Some(language.to_owned()),
        max_results: Some(usize::MAX),
    };
    let outcome = structure.with_trees(Trees::new(0)).grep(&args, &Stop::new())?;
    let mut out = stdout().lock();
    for found in &outcome.matches {
        serde_json::to_writer(&mut out, found)?;
        out.write_all(b"\n")?;
    }
    Ok(())
}

fn floor(language: &str, pattern: &str, until: Option<&str>) -> Result<(), Failure> {
    let workspace = Workspace::open(".")?;
    let grammars = Grammars::bundled();
    let grammar = grammars.by_id(language)?;
    let pattern = Pattern::compile(grammar, pattern)?;
    let mut files = workspace.walk(&workspace.resolve(".")?, &WalkOptions::new())?.files;
    files.retain(|file| {
        grammars.for_path(file.rel()).is_some_and(|found| found.id() == grammar.id())
    });
    let seen = Seen::default();
    let next = AtomicUsize::new(0);
    let cores = std::thread::available_parallelism()?.get();
    std::thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(|| {
                let mut parser = grammar.parser();
                let mut buffer = Vec::new();
                while let Some(file) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
                    seen.add(&workspace, file, &mut buffer, |source| {
                        pattern.may_match(source) && parser.parse(source, None).is_some()
                    });
                }
            });
        }
    });
    let before = files.iter().take_while(|file| until != Some(&workspace.show(file)));
    let before =
        before.filter_map(|file| Some(std::fs::metadata(workspace.absolute(file)).ok()?.len()));
    println!(
        "{}",
        json!({
            "files": seen.files, "bytes": seen.bytes, "parsed": seen.parsed,
            "parsed_bytes": seen.parsed_bytes, "until": until.map(|_| before.sum::<u64>()),
        })
    );
    Ok(())
}

#[derive(Default)]
struct Seen {
    files: AtomicU64,
    bytes: AtomicU64,
    parsed: AtomicU64,
    parsed_bytes: AtomicU64,
}

impl Seen {
    fn add(
        &self,
        workspace: &Workspace,
        file: &WorkspacePath,
        buffer: &mut Vec<u8>,
        mut parse: impl FnMut(&[u8]) -> bool,
    ) {
        if workspace.read_into(file, MAX_SEARCH_BYTES, buffer).is_err() {
            return;
        }
        let bytes = buffer.len() as u64;
        self.files.fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        if SkipReason::of_bytes(buffer).is_none() && parse(buffer) {
            self.parsed.fetch_add(1, Ordering::Relaxed);
            self.parsed_bytes.fetch_add(bytes, Ordering::Relaxed);
        }
    }
}
