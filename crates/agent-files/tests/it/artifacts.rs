//! What a run kept, and what of its state folder is read.

use std::{fs, os::unix::fs::symlink};

use agent_edits::Edits;
use agent_files::{Files, MAX_ARTIFACT_NAME, ReadArgs, ReadLines, ReadOutcome, SearchArgs};
use agent_tool_core::{Context, Stop, Tier};
use agent_workspace::Workspace;
use serde_json::json;
use tempfile::TempDir;

/// A checkout beside a state folder with artifacts of this run and of another one.
struct Kept {
    outer: TempDir,
    files: Files,
}

impl Kept {
    fn new() -> Self {
        let outer = tempfile::tempdir().unwrap();
        for folder in ["checkout", "state/artifacts/run-1/folder", "state/artifacts/run-2"] {
            fs::create_dir_all(outer.path().join(folder)).unwrap();
        }
        let workspace = Workspace::open(outer.path().join("checkout")).unwrap();
        let edits = Edits::open(&workspace, outer.path().join("state/journals")).unwrap();
        let files =
            Files::new(workspace, edits).with_artifacts(outer.path().join("state/artifacts/run-1"));
        let kept = Self { outer, files };
        kept.put("result_1.txt", "one\ntwo\nthree\n");
        fs::write(kept.outer.path().join("state/artifacts/run-2/result_1.txt"), "secret").unwrap();
        fs::write(kept.outer.path().join("state/secret"), "secret").unwrap();
        kept
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.outer.path().join("state/artifacts/run-1").join(name)
    }

    fn put(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    fn read(&self, path: &str, offset: usize, limit: usize) -> Result<ReadLines, String> {
        let mut args = ReadArgs::new(path);
        (args.offset, args.limit) = (Some(offset), Some(limit));
        match self.files.read(&args, &Stop::new()) {
            Ok(ReadOutcome::Lines(lines)) => Ok(lines),
            Ok(other) => panic!("no lines: {other:?}"),
            Err(error) => Err(error.code.into_owned()),
        }
    }
}

#[test]
fn an_artifact_is_read_by_lines() {
    let kept = Kept::new();
    let lines = kept.read("artifact:result_1.txt", 2, 1).unwrap();
    assert_eq!(lines.text, "2\ttwo\n(lines 2-2 of 3; read on with offset 3)");
    assert_eq!((lines.path.as_str(), lines.total_lines), ("artifact:result_1.txt", 3));
}

#[test]
fn a_long_line_of_an_artifact_is_folded_so_that_all_of_it_is_read() {
    let kept = Kept::new();
    let line = "é".repeat(4_500);
    kept.put("result_2.txt", &format!("{line}\nend\u{0}"));
    let lines = kept.read("artifact:result_2.txt", 1, 10).unwrap();
    let shown: Vec<_> = lines.text.lines().collect();
    let text: String = shown[..3].iter().map(|line| line.split_once('\t').unwrap().1).collect();
    assert_eq!(text, line);
    assert_eq!(
        &shown[3..],
        [
            "4\tend\u{0}",
            "(lines longer than 2000 characters are folded)",
            "(no newline at the end)"
        ]
    );
    assert!(!lines.truncated);
}

#[test]
fn no_name_of_an_artifact_leads_out_of_its_folder() {
    let kept = Kept::new();
    symlink(kept.outer.path().join("state/secret"), kept.path("out")).unwrap();
    symlink("../run-2/result_1.txt", kept.path("beside")).unwrap();
    symlink("result_1.txt", kept.path("inside")).unwrap();
    symlink("nothing", kept.path("dangling")).unwrap();
    let absolute = kept.path("result_1.txt");
    let long = "x".repeat(MAX_ARTIFACT_NAME + 1);
    let escape = "artifact:a\u{1b}[31m";
    for (path, code) in [
        ("artifact:../run-2/result_1.txt", "invalid_artifact"),
        ("artifact:..", "invalid_artifact"),
        ("artifact:.", "invalid_artifact"),
        ("artifact:", "invalid_artifact"),
        ("artifact:/etc/passwd", "invalid_artifact"),
        (&format!("artifact:{}", absolute.display()), "invalid_artifact"),
        ("artifact:folder/x", "invalid_artifact"),
        ("artifact:..%2frun-2", "invalid_artifact"),
        ("artifact:result_1.txt\0", "invalid_artifact"),
        ("artifact:result_1.txt\n", "invalid_artifact"),
        (escape, "invalid_artifact"),
        ("artifact:résult", "invalid_artifact"),
        (&format!("artifact:{long}"), "invalid_artifact"),
        ("artifact:out", "invalid_artifact"),
        ("artifact:beside", "invalid_artifact"),
        ("artifact:inside", "invalid_artifact"),
        ("artifact:dangling", "invalid_artifact"),
        ("artifact:folder", "is_a_directory"),
        ("artifact:result_9.txt", "unknown_artifact"),
        (&absolute.display().to_string(), "outside_workspace"),
        ("../state/artifacts/run-1/result_1.txt", "outside_workspace"),
    ] {
        assert_eq!(kept.read(path, 1, 1), Err(code.to_owned()), "{path:?}");
    }
}

#[test]
fn only_read_takes_an_artifact() {
    let kept = Kept::new();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let name = "artifact:result_1.txt";
    let delete = format!("*** Begin Patch\n*** Delete File: {name}\n*** End Patch");
    for (tool, args) in [
        ("write", json!({"path": name, "content": "x"})),
        ("edit", json!({"path": name, "old_string": "one", "new_string": "x"})),
        ("apply_patch", json!({"patch": delete})),
        ("search", json!({"pattern": "one", "path": name})),
    ] {
        let tools = kept.files.clone().tools();
        let tool = tools.iter().find(|candidate| candidate.spec().name == tool).unwrap();
        let cx = Context::detached();
        let error = runtime.block_on(tool.call(args, &cx)).unwrap_err();
        assert_eq!(error.code, "artifact_read_only", "{}", tool.spec().name);
        assert_eq!(tool.spec().tier > Tier::Read, tool.spec().name != "search");
    }
    assert_eq!(fs::read_to_string(kept.path("result_1.txt")).unwrap(), "one\ntwo\nthree\n");
    let everything = kept.files.search(&SearchArgs::pattern("one"), &Stop::new()).unwrap();
    assert_eq!(everything.total, Some(0), "a search does not see what was kept");
}

#[test]
fn a_file_of_the_workspace_may_still_be_called_so() {
    let kept = Kept::new();
    fs::write(kept.outer.path().join("checkout/artifact:x"), "mine\n").unwrap();
    assert_eq!(kept.read("./artifact:x", 1, 1).unwrap().text, "1\tmine");
}
