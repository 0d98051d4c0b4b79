use std::{
    fs,
    os::unix::{fs::symlink, net::UnixListener},
    sync::{Arc, atomic::AtomicBool},
};

use agent_workspace::{SkipReason, WalkOptions, Workspace};

use crate::{folder, put};

fn walk(workspace: &Workspace, start: &str, options: &WalkOptions) -> Vec<String> {
    let start = workspace.resolve(start).unwrap();
    let walk = workspace.walk(&start, options).unwrap();
    walk.files.iter().map(|path| workspace.show(path)).collect()
}

const TREE: &[(&str, &str)] = &[
    (".gitignore", "*.log\nbuild/\n"),
    (".hidden/x.rs", ""),
    ("a.log", ""),
    ("apps/[id]/page.tsx", ""),
    ("apps/i/page.tsx", ""),
    ("build/out.rs", ""),
    ("build/deep/out.rs", ""),
    ("src/a-b.rs", ""),
    ("src/a/b.rs", ""),
    ("src/a.rs", ""),
    ("src/deep/.gitignore", "local.rs\n!keep.log\n"),
    ("src/deep/keep.log", ""),
    ("src/deep/local.rs", ""),
    ("src/deep/other.log", ""),
];

#[test]
fn ignored_and_hidden_files_are_out_in_bytewise_order() {
    let root = folder(TREE);
    let workspace = Workspace::open(root.path()).unwrap();
    let all = WalkOptions::new();
    let expected = [
        "apps/[id]/page.tsx",
        "apps/i/page.tsx",
        "src/a-b.rs",
        "src/a.rs",
        "src/a/b.rs",
        "src/deep/keep.log",
    ];
    assert_eq!(walk(&workspace, ".", &all), expected);
    fs::create_dir(root.path().join(".git")).unwrap();
    assert_eq!(walk(&workspace, ".", &all), expected);
}

#[test]
fn what_is_named_is_walked() {
    let root = folder(TREE);
    let workspace = Workspace::open(root.path()).unwrap();
    let all = WalkOptions::new();
    for (start, files) in [
        ("a.log", &["a.log"][..]),
        ("build", &["build/deep/out.rs", "build/out.rs"]),
        ("build/deep", &["build/deep/out.rs"]),
        (".hidden", &[".hidden/x.rs"]),
        ("apps/[id]", &["apps/[id]/page.tsx"]),
        ("src/deep", &["src/deep/keep.log"]),
        ("src/a", &["src/a/b.rs"]),
    ] {
        assert_eq!(walk(&workspace, start, &all), files, "{start}");
        fs::create_dir(root.path().join(".git")).unwrap();
        assert_eq!(walk(&workspace, start, &all), files, "{start} in git");
        fs::remove_dir(root.path().join(".git")).unwrap();
    }
}

#[test]
fn options_widen_and_globs_narrow() {
    let root = folder(TREE);
    put(root.path(), ".git/config", "");
    let workspace = Workspace::open(root.path()).unwrap();
    let options = WalkOptions::new;
    let cases = [
        (".", options().glob("*.rs"), &["src/a-b.rs", "src/a.rs", "src/a/b.rs"][..]),
        (".", options().glob("src/*.rs"), &["src/a-b.rs", "src/a.rs"]),
        ("src", options().glob("src/*.rs").glob("!a.rs"), &["src/a-b.rs"]),
        ("src", options().glob("a/*.rs"), &["src/a/b.rs"]),
        (".", options().glob("src").glob("!a").glob("!*.log"), &["src/a-b.rs", "src/a.rs"]),
        (".", options().glob("/src/a.{rs,ts}"), &["src/a.rs"]),
        (".", options().glob("*.log"), &["src/deep/keep.log"]),
        (
            ".",
            options().glob("*.log").include_ignored(),
            &["a.log", "src/deep/keep.log", "src/deep/other.log"],
        ),
        (".", options().glob("x.rs").include_hidden(), &[".hidden/x.rs"]),
        (".", options().glob("config").include_hidden(), &[]),
    ];
    for (start, options, files) in cases {
        assert_eq!(walk(&workspace, start, &options), files, "{options:?}");
    }
    let start = workspace.resolve(".").unwrap();
    let error = workspace.walk(&start, &options().glob("a[")).unwrap_err();
    assert_eq!(error.code(), "invalid_glob");
}

#[test]
fn rules_above_a_root_that_is_no_repository_do_not_count() {
    let outer =
        folder(&[(".gitignore", "*\n"), ("ws/.gitignore", "x\n"), ("ws/x", ""), ("ws/y/z", "")]);
    let workspace = Workspace::open(outer.path().join("ws")).unwrap();
    let all = WalkOptions::new();
    assert_eq!(walk(&workspace, ".", &all), ["y/z"]);
    assert_eq!(walk(&workspace, "y", &all), ["y/z"]);
}

#[test]
fn a_repository_above_the_root_gives_its_rules() {
    let outer =
        folder(&[(".gitignore", "*.log\n"), (".git/HEAD", ""), ("ws/a.log", ""), ("ws/a.rs", "")]);
    let workspace = Workspace::open(outer.path().join("ws")).unwrap();
    assert_eq!(walk(&workspace, ".", &WalkOptions::new()), ["a.rs"]);
}

#[test]
fn everything_that_is_left_out_has_its_reason() {
    let root = folder(&[("big", "12345"), ("dir/file", "1")]);
    let _socket = UnixListener::bind(root.path().join("socket")).unwrap();
    symlink("dir", root.path().join("link")).unwrap();
    symlink("/etc/passwd", root.path().join("out")).unwrap();
    let workspace = Workspace::open(root.path()).unwrap();
    let start = workspace.resolve(".").unwrap();
    let walk = workspace.walk(&start, &WalkOptions::new().max_bytes(4)).unwrap();
    let skipped: Vec<_> = walk
        .skipped
        .iter()
        .map(|skipped| (workspace.show(&skipped.path), skipped.reason))
        .collect();
    assert_eq!(
        skipped,
        [
            ("big".to_owned(), SkipReason::TooLarge),
            ("link".to_owned(), SkipReason::Link),
            ("out".to_owned(), SkipReason::Link),
            ("socket".to_owned(), SkipReason::Special),
        ]
    );
    assert_eq!(walk.files, [workspace.resolve("dir/file").unwrap()]);
}

#[test]
fn a_named_link_is_followed_under_its_own_name() {
    let root = folder(&[("dir/sub/file", "")]);
    symlink("dir", root.path().join("link")).unwrap();
    symlink("/etc", root.path().join("out")).unwrap();
    let workspace = Workspace::open(root.path()).unwrap();
    let all = WalkOptions::new();
    assert_eq!(walk(&workspace, "link", &all), ["link/sub/file"]);
    for (start, code) in [("out", "outside_workspace"), ("none", "not_found")] {
        let start = workspace.resolve(start).unwrap();
        assert_eq!(workspace.walk(&start, &all).unwrap_err().code(), code);
    }
}

#[test]
fn a_walk_stops_at_its_flag() {
    let root = folder(&[("x", "")]);
    let workspace = Workspace::open(root.path()).unwrap();
    let start = workspace.resolve(".").unwrap();
    let options = WalkOptions::new().stop(Arc::new(AtomicBool::new(true)));
    assert_eq!(workspace.walk(&start, &options).unwrap_err().code(), "stopped");
}
