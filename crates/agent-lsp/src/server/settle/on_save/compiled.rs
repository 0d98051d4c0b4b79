//! Which files a compiler has not seen that stopped at an error in another: cargo compiles nothing that depends on a crate
//! with errors, and says nothing of what it left out.
//!
//! A crate that others can depend on is told by cargo's conventions, from files that cannot be parts of one. Where a manifest
//! or a text departs from them, any file may be.

use std::{
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
};

use toml::{Table, Value};

const MANIFEST: &str = "Cargo.toml";

/// What a manifest lists where it says for itself which files are the tops of its crates.
const TARGETS: [&str; 5] = ["lib", "bin", "test", "example", "bench"];

/// How much of a file is read for it, in bytes.
const READ: u64 = 1 << 20;

/// What a file of a package belongs to, as far as its place shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// A program, a test, an example or a benchmark: nothing depends on its crate but perhaps a test.
    End(Kind),
    /// The library, and nothing else.
    Library,
    /// It may be of any crate of the package.
    Any,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Program,
    /// Something that is built with the programs of its package at hand.
    Tester,
}

/// Whether an error in one file may have kept a compiler from another, both below `root`.
pub(super) fn may_block(erring: &Path, file: &Path, root: &Path) -> bool {
    let (Some(of_error), Some(of_file)) = (Package::of(erring, root), Package::of(file, root))
    else {
        return true;
    };
    let is_same = of_error.folder == of_file.folder;
    match (of_error.part(erring), of_file.part(file)) {
        // The compiler goes on to the end of a crate, so what it leaves out is in others.
        (Part::Library, Part::Library) if is_same => false,
        (Part::End(Kind::Program), Part::End(Kind::Tester)) => is_same,
        (Part::End(_), _) => false,
        _ => true,
    }
}

/// The package that a file is in.
struct Package {
    folder: PathBuf,
    /// Whether its crates are where cargo looks for them by itself.
    is_plain: bool,
}

impl Package {
    fn of(file: &Path, root: &Path) -> Option<Self> {
        let above = file.ancestors().skip(1).take_while(|folder| folder.starts_with(root));
        let mut manifests =
            above.filter_map(|folder| Some((folder, text(&folder.join(MANIFEST))?)));
        let (folder, manifest) = manifests.next()?;
        let manifest: Option<Table> = manifest.parse().ok();
        let is_plain = manifest.is_some_and(|manifest| is_plain(&manifest));
        Some(Self { folder: folder.to_owned(), is_plain })
    }

    fn part(&self, file: &Path) -> Part {
        let inner = file.strip_prefix(&self.folder).unwrap_or(file);
        let mut names = inner.iter().filter_map(OsStr::to_str);
        let (first, second) = (names.next(), names.next());
        if !self.is_plain {
            return Part::Any;
        }
        match (first, second) {
            (Some("tests" | "examples" | "benches"), Some(_)) => Part::End(Kind::Tester),
            (Some("src"), Some("bin" | "main.rs")) => Part::End(Kind::Program),
            (Some("src"), Some("lib.rs")) => Part::Library,
            (Some("src"), Some(_)) => self.part_of_sources(),
            _ => Part::Any,
        }
    }

    /// What a module in `src` belongs to.
    fn part_of_sources(&self) -> Part {
        let source = |name: &str| text(&self.folder.join("src").join(name));
        match (source("lib.rs"), source("main.rs")) {
            (None, Some(_)) => Part::End(Kind::Program),
            (Some(_), None) => Part::Library,
            (Some(_), Some(main)) if !has_modules(&main) => Part::Library,
            _ => Part::Any,
        }
    }
}

fn is_plain(manifest: &Table) -> bool {
    let names_a_path = |target: &Value| target.get("path").is_some();
    let departs = |value: &Value| match value {
        Value::Array(targets) => targets.iter().any(names_a_path),
        target => names_a_path(target),
    };
    !TARGETS.iter().filter_map(|key| manifest.get(*key)).any(departs)
}

/// Whether a text may have modules in files of their own.
fn has_modules(text: &str) -> bool {
    let ends = |(at, word): (usize, &str)| {
        text[at + word.len()..].find([';', '{']).map(|end| at + word.len() + end)
    };
    text.match_indices("mod ")
        .chain(text.match_indices("mod\n"))
        .filter_map(ends)
        .any(|end| text[end..].starts_with(';'))
        || ["include!", "macro_rules!", "path"].iter().any(|part| text.contains(part))
}

fn text(path: &Path) -> Option<String> {
    let is_read = path.metadata().is_ok_and(|file| file.is_file() && file.len() <= READ);
    is_read.then(|| fs::read_to_string(path).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    fn project(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (file, text) in files {
            let path = folder.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        folder
    }

    const PACKAGE: &str = "[package]\nname = \"a\"\n";
    const WHOLE: &[(&str, &str)] = &[
        ("Cargo.toml", PACKAGE),
        ("src/lib.rs", "pub mod util;"),
        ("src/util.rs", ""),
        ("src/main.rs", "fn main() { mod inner {} }"),
        ("b/Cargo.toml", PACKAGE),
        ("b/src/main.rs", "mod util;"),
        ("c/Cargo.toml", "[package]\nname = \"c\"\n[lib]\npath = \"src/main.rs\""),
    ];

    #[test]
    fn an_error_keeps_the_compiler_from_what_may_depend_on_its_crate() {
        let folder = project(WHOLE);
        let root = folder.path();
        let blocks =
            |erring: &str, file: &str| may_block(&root.join(erring), &root.join(file), root);
        for (erring, file) in [
            ("src/util.rs", "src/main.rs"),
            ("src/lib.rs", "tests/it.rs"),
            ("src/lib.rs", "src/bin/two.rs"),
            ("src/util.rs", "b/src/main.rs"),
            ("build.rs", "src/lib.rs"),
            ("src/main.rs", "tests/it.rs"),
            ("c/src/main.rs", "src/lib.rs"),
            ("c/tests/it.rs", "src/lib.rs"),
            ("odd/x.rs", "src/lib.rs"),
        ] {
            assert!(blocks(erring, file), "{erring} {file}");
        }
        for (erring, file) in [
            ("src/util.rs", "src/lib.rs"),
            ("src/lib.rs", "src/util.rs"),
            ("src/main.rs", "src/util.rs"),
            ("src/bin/two.rs", "src/lib.rs"),
            ("tests/it.rs", "src/main.rs"),
            ("tests/it.rs", "tests/other.rs"),
            ("examples/ex.rs", "src/util.rs"),
            ("b/src/util.rs", "b/src/main.rs"),
            ("b/src/util.rs", "src/lib.rs"),
        ] {
            assert!(!blocks(erring, file), "{erring} {file}");
        }
    }

    #[test]
    fn a_module_is_the_library_s_unless_a_program_beside_it_has_modules() {
        for (main, is_blocked) in [
            ("fn main() {}", false),
            ("mod cli;\nfn main() {}", true),
            ("pub(crate)\nmod\ncli ;", true),
            ("include!(\"cli.rs\");", true),
        ] {
            let folder =
                project(&[("Cargo.toml", PACKAGE), ("src/lib.rs", ""), ("src/main.rs", main)]);
            let file = |name: &str| folder.path().join(name);
            let blocks = may_block(&file("src/lib.rs"), &file("src/cli.rs"), folder.path());
            assert_eq!(blocks, is_blocked, "{main}");
        }
    }
}
