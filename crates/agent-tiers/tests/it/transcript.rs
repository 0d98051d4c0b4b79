//! The transcript's format, its failures, and the line that hosts read.

use std::{
    io::{self, Write},
    sync::{Arc, Condvar, Mutex},
    time::Duration,
};

use agent_tiers::{
    RECORD_ARGS_CHARS, ResultLine, Run, TRANSCRIPT_BACKLOG, TRANSCRIPT_TEXT_CHARS, Watcher, What,
};
use agent_tool_core::{
    CallId, Content, ErrorKind, Event, FileChange, Part, Tier, ToolCall, ToolError, ToolOutput,
    ToolSpec,
};
use serde_json::{Value, json};

use crate::support::{
    FnTool, Lines, approving, call, call_with, calls, code, full, outline, registry, says,
};

fn changes() -> FnTool {
    FnTool::new(ToolSpec::new("change", Tier::Write, ""), |_, cx| async move {
        let change = FileChange::new("a", Content::of(b"old"), Content::of(b"new"));
        cx.emit(Event::Changed { change: change.clone() });
        let output = ToolOutput::text("changed").with_part(Part::image("image/png", "AAAA"));
        Ok(output.with_changes(vec![change]).with_data(json!({"n": 1})))
    })
}

/// A line without what differs from run to run.
fn stable(line: &str) -> Value {
    let mut value: Value = serde_json::from_str(line).expect("JSON");
    let fields = value.as_object_mut().expect("an object");
    assert!(fields.remove("at").is_some_and(|at| at.is_u64()));
    for key in ["ms", "worked_ms"] {
        if let Some(ms) = fields.get_mut(key) {
            assert!(ms.is_u64(), "{ms}");
            *ms = json!("ms");
        }
    }
    value
}

#[tokio::test]
async fn a_transcript_is_json_lines_with_version_sequence_and_type() {
    let lines = Lines::default();
    let run = approving([changes(), calls("cell", Tier::Read)]).transcript(lines.clone()).build();
    let view = full(&run);
    call_with(&view, "cell", json!({"tool": "change", "args": {"x": 1}})).await.expect("changed");
    call(&view, "missing").await.expect_err("unknown");
    let parts = json!([
        {"type": "text", "text": "changed"},
        {"type": "image", "mime": "image/png", "base64_len": 4}
    ]);
    let change = json!([{"path": "a", "kind": "modified"}]);
    let expected = [
        json!({"v": 1, "seq": 1, "type": "started", "call_id": "call_1", "callers": [],
            "name": "cell", "args": {"tool": "change", "args": {"x": 1}}, "tier": "read",
            "surface": "full"}),
        json!({"v": 1, "seq": 2, "type": "started", "call_id": "call_2",
            "callers": [{"call_id": "call_1", "name": "cell"}], "name": "change",
            "args": {"x": 1}, "tier": "write", "surface": "full"}),
        json!({"v": 1, "seq": 3, "type": "approval", "call_id": "call_2", "outcome": "allowed",
            "by": "mode"}),
        json!({"v": 1, "seq": 4, "type": "event", "call_id": "call_2", "parent": "call_1",
            "event": {"type": "changed", "change": {"path": "a",
                "before": {"is": "text", "text": "old"},
                "after": {"is": "text", "text": "new"}}}}),
        json!({"v": 1, "seq": 5, "type": "finished", "call_id": "call_2", "ok": true,
            "parts": parts, "changes": change, "ms": "ms", "worked_ms": "ms"}),
        json!({"v": 1, "seq": 6, "type": "finished", "call_id": "call_1", "ok": true,
            "parts": parts, "changes": change, "ms": "ms", "worked_ms": "ms"}),
        json!({"v": 1, "seq": 7, "type": "started", "call_id": "call_3", "callers": [],
            "name": "missing", "args": {}, "tier": null, "surface": "full"}),
        json!({"v": 1, "seq": 8, "type": "finished", "call_id": "call_3", "ok": false,
            "error": {"kind": "not_found", "code": "unknown_tool", "message":
                "there is no tool \"missing\" here; call one of change, cell"},
            "parts": [], "changes": [], "ms": "ms"}),
    ];
    run.flush().await.expect("written");
    let text = lines.text();
    assert!(text.ends_with('\n'));
    assert_eq!(text.lines().map(stable).collect::<Vec<_>>(), expected);
    assert_eq!(lines.records().len(), expected.len());
}

#[tokio::test]
async fn long_texts_are_clipped_in_the_transcript_and_whole_for_watchers() {
    let long = "x".repeat(TRANSCRIPT_TEXT_CHARS + 10);
    let text = long.clone();
    let talks = FnTool::new(ToolSpec::new("talks", Tier::Read, ""), move |_, cx| {
        let text = text.clone();
        async move {
            cx.emit(Event::Output { text: text.clone() });
            Ok(ToolOutput::text(text))
        }
    });
    let lines = Lines::default();
    let run = approving([talks]).transcript(lines.clone()).build();
    let mut watcher = run.watch();
    call(&full(&run), "talks").await.expect("said");
    run.flush().await.expect("written");
    assert_eq!(lines.text().matches("… 10 more characters").count(), 2);
    let _started = watcher.next().await.expect("started");
    let watched = watcher.next().await.expect("an event");
    let What::Event { event: Event::Output { text }, .. } = &watched.record.what else {
        panic!("no output");
    };
    assert_eq!(*text, long);
}

/// A disk that is full after so many lines, and takes one at a time.
struct Full {
    left: usize,
    lines: Lines,
}

impl Write for Full {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.left == 0 {
            return Err(io::Error::new(io::ErrorKind::StorageFull, "no space left"));
        }
        self.left -= 1;
        let end = bytes.iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |at| at + 1);
        self.lines.write(&bytes[..end])
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What a watcher gets, with the numbers of the records.
fn seen(watcher: &mut Watcher) -> Vec<(u64, String)> {
    let records = std::iter::from_fn(|| watcher.try_next());
    records.map(|watched| (watched.record.seq, outline(&watched.record.what))).collect()
}

#[tokio::test]
async fn a_transcript_that_cannot_be_written_ends_and_is_said_once_and_no_call_fails() {
    const WHY: &str = "the transcript ends here: no space left";
    let lines = Lines::default();
    let disk = Full { left: 3, lines: lines.clone() };
    let run = approving([says("look", Tier::Read)]).transcript(disk).build();
    let mut watcher = run.watch();
    for _ in 0..2 {
        call(&full(&run), "look").await.expect("the call does not fail");
    }
    assert_eq!(run.flush().await.expect_err("the disk is full").to_string(), WHY);
    call(&full(&run), "look").await.expect("the call does not fail");
    assert_eq!(run.flush().await.expect_err("the disk is full").to_string(), WHY);
    assert_eq!(run.transcript_failure().map(|failure| failure.to_string()).as_deref(), Some(WHY));
    assert_eq!(lines.outline(), ["started call_1", "finished call_1", "started call_2"]);
    let seen = seen(&mut watcher);
    let told = seen.iter().filter(|(_, what)| what == "transcript_failed");
    assert_eq!(told.count(), 1);
    assert!(seen.iter().zip(1..).all(|((seq, _), n)| *seq == n), "{seen:?}");
}

#[tokio::test]
async fn a_writer_that_panics_ends_the_transcript_and_says_so() {
    struct Faulty;
    impl Write for Faulty {
        fn write(&mut self, _bytes: &[u8]) -> io::Result<usize> {
            panic!("a writer with a defect")
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let run = approving([says("look", Tier::Read)]).transcript(Faulty).build();
    call(&full(&run), "look").await.expect("the call does not fail");
    let failure = run.flush().await.expect_err("the writer panics").to_string();
    assert_eq!(failure, "the transcript ends here: the writer panicked: a writer with a defect");
}

/// A disk that stands still until it is let go.
#[derive(Clone, Default)]
struct Disk {
    goes: Arc<(Mutex<bool>, Condvar)>,
    lines: Lines,
}

impl Disk {
    fn go(&self) {
        *self.goes.0.lock().expect("not poisoned") = true;
        self.goes.1.notify_all();
    }
}

impl Write for Disk {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let goes = self.goes.0.lock().expect("not poisoned");
        drop(self.goes.1.wait_while(goes, |goes| !*goes).expect("not poisoned"));
        self.lines.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// More than any of these calls take, and less than a person would wait.
const PATIENCE: Duration = Duration::from_secs(20);

#[tokio::test(flavor = "multi_thread")]
async fn a_disk_that_stands_still_stalls_no_call_and_the_order_stays() {
    let disk = Disk::default();
    let run = approving([says("look", Tier::Read)]).transcript(disk.clone()).build();
    let view = full(&run);
    let calls = tokio::spawn(async move {
        for _ in 0..3 {
            call(&view, "look").await.expect("a result");
        }
    });
    let in_time = tokio::time::timeout(PATIENCE, calls).await;
    assert_eq!(disk.lines.text(), "");
    disk.go();
    in_time.expect("no call waits for the disk").expect("no panic");
    run.flush().await.expect("written");
    let expected =
        (1..=3).flat_map(|n| [format!("started call_{n}"), format!("finished call_{n}")]);
    assert_eq!(disk.lines.outline(), expected.collect::<Vec<_>>());
    let seqs: Vec<_> = disk.lines.records().iter().map(|record| record.seq).collect();
    assert_eq!(seqs, [1, 2, 3, 4, 5, 6]);
}

#[tokio::test]
async fn a_run_that_is_dropped_has_written_what_happened() {
    let disk = Disk::default();
    let run = approving([says("look", Tier::Read)]).transcript(disk.clone()).build();
    call(&full(&run), "look").await.expect("a result");
    let slow = disk.clone();
    let disk_goes = std::thread::spawn(move || slow.go());
    drop(run);
    assert_eq!(disk.lines.outline(), ["started call_1", "finished call_1"]);
    disk_goes.join().expect("no panic");
}

#[tokio::test]
async fn a_disk_too_far_behind_makes_a_gap_that_the_transcript_names() {
    // Each line of a change has two texts of this length.
    const TEXT: usize = TRANSCRIPT_TEXT_CHARS;
    const CHANGES: usize = TRANSCRIPT_BACKLOG / TEXT;
    let writes = FnTool::new(ToolSpec::new("writes", Tier::Write, ""), |_, cx| async move {
        let (before, after) = ("a".repeat(TEXT), "b".repeat(TEXT));
        for n in 0..CHANGES {
            cx.emit(Event::progress("more"));
            let (before, after) = (Content::of(before.as_bytes()), Content::of(after.as_bytes()));
            cx.emit(Event::Changed { change: FileChange::new(format!("f{n}"), before, after) });
        }
        Ok(ToolOutput::text("written"))
    });
    let disk = Disk::default();
    let run = approving([writes]).transcript(disk.clone()).build();
    call(&full(&run), "writes").await.expect("the call does not fail");
    disk.go();
    run.flush().await.expect("written");
    assert!(disk.lines.text().len() <= 2 * TRANSCRIPT_BACKLOG, "{}", disk.lines.text().len());
    let mut next = 1;
    let (mut lost, mut missed) = (0, 0);
    for record in disk.lines.records() {
        if let What::Gap { lost: of_progress, missed: others } = record.what {
            assert_eq!(
                record.seq,
                next + of_progress + others - 1,
                "the gap is all that is missing"
            );
            (lost, missed) = (lost + of_progress, missed + others);
        } else {
            assert_eq!(record.seq, next, "nothing is missing without a gap");
        }
        next = record.seq + 1;
    }
    assert_eq!(next - 1, run.seq(), "the last line tells of the last record");
    let changes = CHANGES as u64;
    assert!(missed > 0 && missed < changes, "{missed}");
    assert!(lost > missed && lost <= changes, "progress is lost first: {lost} and {missed}");
}

#[tokio::test]
async fn long_arguments_are_clipped_in_the_record_and_whole_for_the_tool() {
    let counts = FnTool::new(ToolSpec::new("counts", Tier::Read, ""), |args, _| async move {
        Ok(ToolOutput::text(args["text"].as_str().unwrap_or_default().len().to_string()))
    });
    let lines = Lines::default();
    let run = approving([counts]).transcript(lines.clone()).build();
    let args = json!({"path": "a.rs", "text": "x".repeat(RECORD_ARGS_CHARS)});
    let chars = args.to_string().len();
    let output = call_with(&full(&run), "counts", args).await.expect("counted");
    assert_eq!(output.joined_text(), RECORD_ARGS_CHARS.to_string());
    call_with(&full(&run), "counts", json!({"text": "short"})).await.expect("counted");
    run.flush().await.expect("written");
    let started: Vec<_> = lines
        .records()
        .into_iter()
        .filter_map(|record| match record.what {
            What::Started { args, args_chars, .. } => Some((args, args_chars)),
            _ => None,
        })
        .collect();
    let (args, args_chars) = &started[0];
    assert_eq!(*args_chars, Some(chars));
    assert!(args.to_string().len() <= RECORD_ARGS_CHARS);
    assert_eq!(args["path"], "a.rs");
    let text = args["text"].as_str().expect("a text");
    assert!(text.starts_with("xxx") && text.ends_with(" more characters"), "{text}");
    assert_eq!(started[1], (json!({"text": "short"}), None));
}

#[tokio::test]
async fn a_long_name_that_no_tool_has_is_clipped_in_the_record() {
    let run = approving([]).build();
    let mut watcher = run.watch();
    let result = call(&full(&run), &"n".repeat(1_000_000)).await;
    assert_eq!(code(result), "unknown_tool");
    let started = watcher.try_next().expect("a record");
    let What::Started { name, .. } = &started.record.what else { panic!("no start") };
    assert_eq!(name.chars().filter(|c| *c == 'n').count(), 100);
    assert!(name.ends_with("… 999900 more characters"), "{name}");
}

#[tokio::test]
async fn ids_are_the_callers_own_or_made_and_never_twice_alive() {
    let lines = Lines::default();
    let run = Run::builder(registry([says("look", Tier::Read)])).transcript(lines.clone()).build();
    let view = full(&run);
    let own = |id: &'static str| {
        let call = ToolCall::new("look", json!({})).with_id(CallId::new(id));
        view.start(call, &view.root())
    };
    let alive = own("call_4");
    assert_eq!(code(own("call_4").await), "duplicate_call_id");
    assert_eq!(code(own("root").await), "duplicate_call_id");
    call(&view, "look").await.expect("a call");
    alive.await.expect("a call");
    own("call_4").await.expect("the id is free again");
    run.flush().await.expect("written");
    let started: Vec<_> =
        lines.outline().into_iter().filter(|line| line.starts_with("started")).collect();
    assert_eq!(started, ["started call_4", "started call_5", "started call_4"]);
}

#[test]
fn a_result_line_is_what_hosts_read() {
    let change = FileChange::new("a", Content::Absent, Content::of(b"x"));
    let output = ToolOutput::text("done").with_data(json!({"n": 1})).with_changes(vec![change]);
    assert_eq!(
        serde_json::to_value(ResultLine::new("write", &Ok(output))).expect("JSON"),
        json!({"tool": "write", "ok": true, "parts": [{"type": "text", "text": "done"}],
            "data": {"n": 1}, "changes": [{"path": "a", "kind": "created"}]})
    );
    let error = ToolError::new(ErrorKind::Conflict, "stale_edit", "the file changed");
    let line = ResultLine::new("resolve", &Err(error.with_data(json!({"file": "a"}))));
    let value = serde_json::to_value(&line).expect("JSON");
    assert_eq!(
        value,
        json!({"tool": "resolve", "ok": false, "parts": [], "data": null, "changes": [],
            "error": {"kind": "conflict", "code": "stale_edit", "message": "the file changed",
                "data": {"file": "a"}}})
    );
    assert_eq!(serde_json::from_value::<ResultLine>(value).expect("a line"), line);
}
