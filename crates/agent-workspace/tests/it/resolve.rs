use std::{ffi::OsStr, fs, os::unix::ffi::OsStrExt, os::unix::fs::symlink};

use agent_workspace::{Workspace, path_to_uri, uri_to_path};

use crate::{folder, put};

#[test]
fn a_string_becomes_the_path_that_it_names() {
    let root = folder(&[("src/main.rs", "")]);
    let workspace = Workspace::open(root.path()).unwrap();
    let absolute = root.path().join("src/main.rs");
    let cases = [
        ("src/main.rs", "src/main.rs"),
        ("./src//main.rs", "src/main.rs"),
        ("src/../src/./main.rs", "src/main.rs"),
        ("src/", "src"),
        (".", "."),
        ("src/..", "."),
        ("apps/[id]/page.tsx", "apps/[id]/page.tsx"),
        ("what:is*this?", "what:is*this?"),
        (absolute.to_str().unwrap(), "src/main.rs"),
        (&path_to_uri(&absolute), "src/main.rs"),
        (&format!("file://localhost{}", absolute.display()), "src/main.rs"),
    ];
    for (text, shown) in cases {
        let path = workspace.resolve(text).unwrap();
        assert_eq!(workspace.show(&path), shown, "{text}");
    }
}

#[test]
fn what_leads_out_or_is_no_path_is_refused() {
    let root = folder(&[("src/main.rs", "")]);
    let workspace = Workspace::open(root.path()).unwrap();
    let sibling = format!("{}-sibling/x", root.path().display());
    let cases = [
        ("..", "outside_workspace"),
        ("../x", "outside_workspace"),
        ("src/../../x", "outside_workspace"),
        ("/etc/passwd", "outside_workspace"),
        ("/", "outside_workspace"),
        (sibling.as_str(), "outside_workspace"),
        ("file:///etc/passwd", "outside_workspace"),
        ("", "invalid_path"),
        ("a\0b", "invalid_path"),
        ("file://elsewhere/x", "invalid_path"),
        ("file:///a%2", "invalid_path"),
        ("file:///a%00b", "invalid_path"),
    ];
    for (text, code) in cases {
        let error = workspace.resolve(text).unwrap_err();
        assert_eq!(error.code(), code, "{text:?}: {error}");
    }
}

#[test]
fn an_absolute_path_through_a_link_to_the_root_is_inside() {
    let real = folder(&[("x", "")]);
    let outer = tempfile::tempdir().unwrap();
    let link = outer.path().join("link");
    symlink(real.path(), &link).unwrap();
    let by_link = link.join("new/file");
    for root in [link.as_path(), real.path()] {
        let workspace = Workspace::open(root).unwrap();
        let path = workspace.resolve(by_link.to_str().unwrap()).unwrap();
        assert_eq!(workspace.show(&path), "new/file");
    }
}

#[test]
fn several_roots_are_told_apart_by_their_names() {
    let outer = folder(&[("app/x", "app"), ("lib/x", "lib"), ("app/inner/y", "inner")]);
    let workspace = Workspace::builder()
        .root(outer.path().join("app"))
        .named_root("lib", outer.path().join("lib"))
        .named_root("in", outer.path().join("app/inner"))
        .open()
        .unwrap();
    let inner = outer.path().join("app/inner/y");
    for (text, shown) in [
        ("x", "app:x"),
        ("lib:x", "lib:x"),
        ("lib:/x", "lib:x"),
        ("other:x", "app:other:x"),
        ("app:lib:x", "app:lib:x"),
        ("lib:.", "lib:."),
        (inner.to_str().unwrap(), "in:y"),
    ] {
        let path = workspace.resolve(text).unwrap();
        assert_eq!(workspace.show(&path), shown);
        let again = workspace.resolve(&workspace.show(&path)).unwrap();
        assert_eq!(again, path);
    }
    assert_eq!(workspace.resolve("lib:../app/x").unwrap_err().code(), "outside_workspace");
}

#[test]
fn roots_that_cannot_stand_together_are_refused() {
    let outer = folder(&[("a/x", ""), ("b/a/x", ""), ("file", "")]);
    let at = |name: &str| outer.path().join(name);
    let builder = Workspace::builder;
    for (builder, code) in [
        (builder(), "invalid_roots"),
        (builder().root(at("a")).root(at("b/a")), "invalid_roots"),
        (builder().named_root("x:y", at("a")), "invalid_roots"),
        (builder().root(at("none")), "not_found"),
        (builder().root(at("file")), "not_a_directory"),
    ] {
        assert_eq!(builder.open().unwrap_err().code(), code);
    }
}

#[test]
fn a_name_that_is_not_utf8_is_shown_and_found_again() {
    let root = folder(&[]);
    let name = OsStr::from_bytes(b"caf\xE9.txt");
    fs::write(root.path().join(name), "menu").unwrap();
    put(root.path(), "plain", "");
    let workspace = Workspace::open(root.path()).unwrap();
    let path = workspace.resolve("caf\u{FFFD}.txt").unwrap();
    assert_eq!(path.file_name(), Some(name));
    assert_eq!(workspace.show(&path), "caf\u{FFFD}.txt");
    assert_eq!(workspace.read(&path).unwrap().bytes, b"menu");
    let uri = workspace.uri(&path);
    assert!(uri.ends_with("/caf%E9.txt"), "{uri}");
    assert_eq!(workspace.resolve(&uri).unwrap(), path);
    assert_eq!(uri_to_path(&uri).unwrap(), workspace.absolute(&path));
}

#[test]
fn paths_are_ordered_by_their_bytes() {
    let root = folder(&[]);
    let workspace = Workspace::open(root.path()).unwrap();
    let mut paths: Vec<_> = ["a/b", "a-b", "a.rs", "B", "a"]
        .iter()
        .map(|text| workspace.resolve(text).unwrap())
        .collect();
    paths.sort();
    let shown: Vec<_> = paths.iter().map(|path| workspace.show(path)).collect();
    assert_eq!(shown, ["B", "a", "a-b", "a.rs", "a/b"]);
}
