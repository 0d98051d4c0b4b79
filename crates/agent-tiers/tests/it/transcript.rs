//! The transcript's format, its failures, and the line that hosts read.

use std::io::{self, Write};

use agent_tiers::{ResultLine, Run, TRANSCRIPT_TEXT_CHARS, What};
use agent_tool_core::{
    CallId, Content, ErrorKind, Event, FileChange, Part, Tier, ToolCall, ToolError, ToolOutput,
    ToolSpec,
};
use serde_json::{Value, json};

use crate::support::{
    FnTool, Lines, approving, call, call_with, calls, code, full, registry, says,
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
    if let Some(ms) = fields.get_mut("ms") {
        *ms = json!("ms");
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
            "parts": parts, "changes": change, "ms": "ms"}),
        json!({"v": 1, "seq": 6, "type": "finished", "call_id": "call_1", "ok": true,
            "parts": parts, "changes": change, "ms": "ms"}),
        json!({"v": 1, "seq": 7, "type": "started", "call_id": "call_3", "callers": [],
            "name": "missing", "args": {}, "tier": null, "surface": "full"}),
        json!({"v": 1, "seq": 8, "type": "finished", "call_id": "call_3", "ok": false,
            "error": {"kind": "not_found", "code": "unknown_tool", "message":
                "there is no tool \"missing\" here; call one of the tools that are listed"},
            "parts": [], "changes": [], "ms": "ms"}),
    ];
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
    assert_eq!(lines.text().matches("… 10 more characters").count(), 2);
    let _started = watcher.next().await.expect("started");
    let watched = watcher.next().await.expect("an event");
    let What::Event { event: Event::Output { text }, .. } = &watched.record.what else {
        panic!("no output");
    };
    assert_eq!(*text, long);
}

/// A disk that is full after so many writes.
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
        self.lines.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn a_transcript_that_cannot_be_written_is_told_once_and_fails_no_call() {
    let lines = Lines::default();
    let disk = Full { left: 3, lines: lines.clone() };
    let run = approving([says("look", Tier::Read)]).transcript(disk).build();
    let mut watcher = run.watch();
    for _ in 0..3 {
        call(&full(&run), "look").await.expect("the call does not fail");
    }
    assert_eq!(lines.outline(), ["started call_1", "finished call_1", "started call_2"]);
    assert_eq!(
        run.transcript_failure().as_deref(),
        Some("the transcript ends here: no space left")
    );
    let mut seen = Vec::new();
    while let Some(watched) = watcher.try_next() {
        seen.push((watched.record.seq, crate::support::outline(&watched.record.what)));
    }
    let told: Vec<_> = seen.iter().filter(|(_, what)| what == "transcript_failed").collect();
    assert_eq!(told, [&(5, "transcript_failed".to_owned())]);
    assert!(seen.iter().zip(1..).all(|((seq, _), n)| *seq == n));
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
