use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use agent_lsp::uri::{self, Target};
use agent_workspace::Workspace;

const HARD: &str = "sp ace#h%41[é]+&x";

fn to_path(uri: &str, existing: &[&str]) -> Option<PathBuf> {
    uri::to_path(uri, |path| {
        existing.iter().any(|file| Path::new(file).ancestors().any(|folder| folder == path))
    })
}

#[test]
fn a_uri_names_a_path_however_it_is_spelled() {
    let table = [
        ("file:///a/[slug]/page.tsx", "/a/[slug]/page.tsx"),
        ("file:///a/%5Bslug%5D/page.tsx", "/a/[slug]/page.tsx"),
        ("file:///a/x+y&z", "/a/x+y&z"),
        ("file:///a/x%2By%26z", "/a/x+y&z"),
        ("file:///a/100%25", "/a/100%"),
        ("file:///a/two%20words", "/a/two words"),
        ("file:///a/two words", "/a/two words"),
        ("file:///a/caf%C3%A9", "/a/café"),
        ("file:///a/café", "/a/café"),
        ("file:///c%3A/x", "/c:/x"),
        ("file:///c:/x", "/c:/x"),
        ("file://localhost/a", "/a"),
        ("FILE:///a", "/a"),
        ("file:///a/b.md#L10", "/a/b.md"),
        ("file:///a/100%zz", "/a/100%zz"),
        ("file:///a/trailing%", "/a/trailing%"),
    ];
    for (uri, path) in table {
        assert_eq!(to_path(uri, &[]), Some(PathBuf::from(path)), "{uri}");
    }
    for uri in ["untitled:Untitled-1", "jdt://contents/rt.jar", "src/a.rs", "file://host/a", ""] {
        assert_eq!(to_path(uri, &[]), None, "{uri}");
    }
}

// report: D28
#[test]
fn what_a_server_did_not_escape_is_read_by_what_exists() {
    let table = [
        // A raw `#` is a letter where the file exists, and a fragment where it does not.
        ("file:///a/b#c/d.py", "/a/b#c/d.py", "/a/b#c/d.py"),
        ("file:///a/b#c", "/a/b", "/a/b"),
        // A raw `%41` is itself where nothing is called `hA`.
        ("file:///a/h%41/x", "/a/h%41/x", "/a/h%41/x"),
        ("file:///a/h%41/x", "/a/hA/x", "/a/hA/x"),
        ("file:///a/h%2541/x", "/a/h%41/x", "/a/h%41/x"),
        // Some escaped, some not, in one URI (zuban).
        (
            "file:///r/sp%20ace#h%41%5B%C3%A9%5D+&x/m.py",
            "/r/sp ace#h%41[é]+&x/m.py",
            "/r/sp ace#h%41[é]+&x/m.py",
        ),
    ];
    for (uri, existing, path) in table {
        assert_eq!(to_path(uri, &[existing]), Some(PathBuf::from(path)), "{uri}");
    }
}

#[test]
fn what_exists_is_not_asked_where_the_spelling_leaves_no_choice() {
    let found = uri::to_path("file:///a/[b]+&c", |_| panic!("there is no choice"));
    assert_eq!(found, Some(PathBuf::from("/a/[b]+&c")));
}

#[test]
fn our_uris_escape_whatever_a_server_could_misread() {
    let ours = uri::of_path(&Path::new("/r").join(HARD));
    assert_eq!(ours.as_str(), "file:///r/sp%20ace%23h%2541%5B%C3%A9%5D%2B%26x");
    assert_eq!(to_path(ours.as_str(), &[]), Some(Path::new("/r").join(HARD)));
}

#[test]
fn a_uri_is_inside_outside_or_no_file() {
    let outer = tempfile::tempdir().unwrap();
    let root = outer.path().join(HARD);
    fs::create_dir_all(root.join("real")).unwrap();
    fs::write(root.join("real/a.rs"), "").unwrap();
    symlink("real", root.join("link")).unwrap();
    symlink(&root, outer.path().join("alias")).unwrap();
    let workspace = Workspace::open(&root).unwrap();
    let shown = |uri: &str| match uri::locate(&workspace, uri) {
        Target::Inside(path) => workspace.show(&path),
        Target::Outside(path) => format!("outside {}", path.display()),
        Target::NoFile(uri) => format!("no file {uri}"),
    };
    let base = fs::canonicalize(outer.path()).unwrap();
    let base = base.display();
    assert_eq!(shown(&format!("file://{base}/sp%20ace#h%41[é]+&x/real/a.rs")), "real/a.rs");
    assert_eq!(shown(uri::of_path(&root.join("link/a.rs")).as_str()), "link/a.rs");
    // Through a link above the root that the workspace was not opened by.
    assert_eq!(shown(&format!("file://{base}/alias/real/a.rs")), "real/a.rs");
    assert_eq!(shown(&format!("file://{base}/alias/new.rs")), "new.rs");
    assert_eq!(shown("file:///usr/lib/std.rs"), "outside /usr/lib/std.rs");
    assert_eq!(shown("jdt://contents/A.class"), "no file jdt://contents/A.class");
}

// report: D28
#[test]
fn two_uris_are_compared_by_the_file_that_they_name() {
    let outer = tempfile::tempdir().unwrap();
    let base = fs::canonicalize(outer.path()).unwrap();
    fs::write(base.join("[a].ts"), "").unwrap();
    symlink("[a].ts", base.join("link.ts")).unwrap();
    let base = base.display();
    let same = |one: &str, other: &str| {
        uri::same_file(&format!("file://{base}/{one}"), &format!("file://{base}/{other}"))
    };
    assert!(same("[a].ts", "%5Ba%5D.ts"));
    assert!(same("[a].ts", "link.ts"));
    assert!(!same("[a].ts", "b.ts"));
    assert!(uri::same_file("untitled:1", "untitled:1"));
    assert!(!uri::same_file("untitled:1", "untitled:2"));
}
