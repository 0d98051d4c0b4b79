use std::{
    fs,
    os::unix::{fs::symlink, net::UnixListener},
};

use agent_workspace::{Containment, FileIdentity, FileKind, Workspace, folder_names};
use rustix::fs::{CWD, FileType, Mode, mknodat};

use crate::{both, folder, read};

#[test]
fn the_kernel_contains_here_and_the_library_can_be_asked_for() {
    let root = folder(&[]);
    let [kernel, library] = both(root.path());
    assert_eq!(library.containment(), Containment::Library);
    if cfg!(target_os = "linux") {
        assert_eq!(kernel.containment(), Containment::Kernel);
    }
}

#[test]
fn links_that_stay_inside_are_followed_and_others_refused() {
    let outside = folder(&[("secret", "secret")]);
    let root = folder(&[("dir/file", "inside")]);
    let at = |name: &str| root.path().join(name);
    symlink("dir/file", at("relative")).unwrap();
    symlink(at("dir/file"), at("absolute")).unwrap();
    symlink(at("dir"), at("absolute-dir")).unwrap();
    symlink("../dir", at("dir/up")).unwrap();
    symlink(outside.path().join("secret"), at("out")).unwrap();
    symlink(outside.path(), at("out-dir")).unwrap();
    symlink(
        format!("../{}/secret", outside.path().file_name().unwrap().to_str().unwrap()),
        at("out-relative"),
    )
    .unwrap();
    symlink("/proc/self/root/etc/passwd", at("magic")).unwrap();
    symlink("loop", at("loop")).unwrap();
    symlink("nothing", at("dangling")).unwrap();
    symlink(at("nothing"), at("dangling-absolute")).unwrap();
    for workspace in both(root.path()) {
        for (path, expected) in [
            ("relative", Ok("inside")),
            ("absolute", Ok("inside")),
            ("absolute-dir/file", Ok("inside")),
            ("dir/up/file", Ok("inside")),
            ("out", Err("outside_workspace")),
            ("out-dir/secret", Err("outside_workspace")),
            ("out-relative", Err("outside_workspace")),
            ("magic", Err("outside_workspace")),
            ("loop", Err("link_loop")),
            ("dangling", Err("not_found")),
            ("dir", Err("is_a_directory")),
            (".", Err("is_a_directory")),
            ("none", Err("not_found")),
            ("dir/file/x", Err("not_a_directory")),
        ] {
            let found = read(&workspace, path);
            assert_eq!(found.as_deref().map_err(|code| *code), expected, "{path}");
        }
        // An absolute link to nothing is refused: it cannot be told where it would lead.
        assert!(read(&workspace, "dangling-absolute").is_err());
    }
}

#[test]
fn a_link_into_another_root_is_inside() {
    let lib = folder(&[("x", "lib")]);
    let root = folder(&[]);
    symlink(lib.path().join("x"), root.path().join("link")).unwrap();
    let workspace = Workspace::builder()
        .named_root("app", root.path())
        .named_root("lib", lib.path())
        .open()
        .unwrap();
    assert_eq!(read(&workspace, "link").unwrap(), "lib");
    let link = workspace.resolve("link").unwrap();
    let target = workspace.follow(&link).unwrap();
    assert_eq!(workspace.show(&target), "lib:x");
}

#[test]
fn special_files_are_refused_without_waiting() {
    let root = folder(&[]);
    let mode = Mode::RUSR | Mode::WUSR;
    let fifo = root.path().join("fifo");
    mknodat(CWD, &fifo, FileType::Fifo, mode, 0).unwrap();
    let _socket = UnixListener::bind(root.path().join("socket")).unwrap();
    for workspace in both(root.path()) {
        assert_eq!(read(&workspace, "fifo"), Err("not_a_file"));
        assert_eq!(read(&workspace, "socket"), Err("not_a_file"));
    }
    let workspace = Workspace::open(root.path()).unwrap();
    let fifo = workspace.resolve("fifo").unwrap();
    assert_eq!(workspace.identity(&fifo).unwrap().kind(), FileKind::Special);
}

#[test]
fn an_identity_changes_with_the_content_and_not_without() {
    let root = folder(&[("file", "one")]);
    for workspace in both(root.path()) {
        fs::write(root.path().join("file"), "one").unwrap();
        let path = workspace.resolve("file").unwrap();
        let content = workspace.read(&path).unwrap();
        assert_eq!(workspace.identity(&path).unwrap(), content.identity);
        assert_eq!((content.identity.size, content.identity.links), (3, 1));
        fs::hard_link(root.path().join("file"), root.path().join("other")).unwrap();
        fs::write(root.path().join("file"), "longer").unwrap();
        let after: FileIdentity = workspace.identity(&path).unwrap();
        assert_ne!(after, content.identity);
        assert!(after.is_same_file(&content.identity));
        assert_eq!((after.size, after.links), (6, 2));
        fs::remove_file(root.path().join("other")).unwrap();
    }
}

#[test]
fn a_file_over_the_limit_is_refused_and_one_at_the_limit_read() {
    let root = folder(&[("four", "1234"), ("empty", "")]);
    let workspace = Workspace::open(root.path()).unwrap();
    let four = workspace.resolve("four").unwrap();
    let mut buffer = b"left over".to_vec();
    workspace.read_into(&four, 4, &mut buffer).unwrap();
    assert_eq!(buffer, b"1234");
    let error = workspace.read_up_to(&four, 3).unwrap_err();
    assert_eq!(error.code(), "too_large");
    let empty = workspace.resolve("empty").unwrap();
    assert_eq!(workspace.read_up_to(&empty, 0).unwrap().bytes, b"");
    // A file of a pseudo file system says 0 bytes and has more.
    let proc = Workspace::open("/proc/self").unwrap();
    let status = proc.resolve("status").unwrap();
    assert_eq!(proc.read_up_to(&status, 8).unwrap_err().code(), "too_large");
}

#[test]
fn follow_keeps_what_does_not_exist_yet() {
    let root = folder(&[("dir/file", "")]);
    symlink("dir", root.path().join("link")).unwrap();
    symlink("nothing", root.path().join("dangling")).unwrap();
    symlink("/etc", root.path().join("out")).unwrap();
    let workspace = Workspace::open(root.path()).unwrap();
    let follow = |text: &str| {
        workspace
            .follow(&workspace.resolve(text).unwrap())
            .map(|path| workspace.show(&path))
            .map_err(|error| error.code())
    };
    assert_eq!(follow("link/new/x").unwrap(), "dir/new/x");
    assert_eq!(follow("link/file").unwrap(), "dir/file");
    assert_eq!(follow("new").unwrap(), "new");
    assert_eq!(follow("."), Ok(".".to_owned()));
    assert_eq!(follow("dangling"), Err("not_found"));
    assert_eq!(follow("out/new"), Err("outside_workspace"));
}

#[test]
fn a_missing_file_names_the_folder_that_exists() {
    let root = folder(&[("src/main.rs", "")]);
    let workspace = Workspace::open(root.path()).unwrap();
    let path = workspace.resolve("src/deep/x.rs").unwrap();
    assert_eq!(
        workspace.read(&path).unwrap_err().to_string(),
        "`src/deep/x.rs` does not exist; the folder `src` does, look there or create the file"
    );
}

#[test]
fn names_are_in_bytewise_order() {
    let root = folder(&[("b", ""), ("B", ""), ("a/x", "")]);
    for workspace in both(root.path()) {
        let start = workspace.resolve(".").unwrap();
        assert_eq!(workspace.names(&start).unwrap(), ["B", "a", "b"]);
        let file = workspace.resolve("b").unwrap();
        let error = workspace.names(&file).unwrap_err();
        assert_eq!(error.code(), "not_a_directory");
        // A handle of a folder is for syncing too.
        rustix::fs::fsync(workspace.open_folder(&start).unwrap()).unwrap();
    }
}

#[test]
fn a_name_in_a_folder_is_looked_at_without_following_it() {
    let root = folder(&[("b", "text"), ("a/c", "")]);
    symlink("b", root.path().join("link")).unwrap();
    let open = fs::File::open(root.path()).unwrap();
    assert_eq!(folder_names(&open).unwrap(), ["a", "b", "link"]);
    let found = |name: &str| FileIdentity::of_name(&open, name.as_ref()).unwrap();
    let kind = |name: &str| found(name).map(|found| found.kind());
    assert_eq!(kind("a"), Some(FileKind::Folder));
    assert_eq!(kind("link"), Some(FileKind::Link));
    assert_eq!(kind("nothing"), None);
    let file = fs::File::open(root.path().join("b")).unwrap();
    assert_eq!(found("b"), Some(FileIdentity::of(&file).unwrap()));
}
