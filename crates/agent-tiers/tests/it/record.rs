//! Events, budgets and the transcript.

use std::{
    io,
    sync::{Arc, Mutex},
};

use agent_tiers::{Artifacts, Run, Surface, WATCH_LIMIT, What};
use agent_tool_core::{
    CallId, Content, Event, FileChange, Limits, Part, Tier, ToolCall, ToolOutput,
};
use serde_json::{Value, json};

use crate::tools::{call, made, plain, registry, spec};

#[derive(Clone, Default)]
struct Page(Arc<Mutex<Vec<u8>>>);

impl io::Write for Page {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("the page").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Page {
    fn lines(&self) -> Vec<Value> {
        let text = String::from_utf8(self.0.lock().expect("the page").clone()).expect("UTF-8");
        assert!(text.ends_with('\n'));
        text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
    }
}

#[tokio::test]
async fn the_transcript_has_every_call_with_its_chain_events_and_result() {
    let page = Page::default();
    let change = FileChange::new("a.txt", Content::Absent, Content::of(b"new"));
    let writer = made(spec("write", Tier::Write), move |_, cx| {
        let change = change.clone();
        Box::pin(async move {
            cx.emit(Event::Changed { change: change.clone() });
            Ok(ToolOutput::text("written").with_changes(vec![change]))
        })
    });
    let outer = made(spec("outer", Tier::Read), |_, cx| {
        Box::pin(async move { cx.call(call("write")).await })
    });
    let run = Run::builder(registry([writer, outer])).transcript(page.clone()).build();
    let view = run.view(Surface::Full, Limits::default());
    view.call(ToolCall::new("outer", json!({"a": 1}))).await.expect("done");
    view.call(call("gone")).await.expect_err("unknown");
    let lines = page.lines();
    let kinds: Vec<&str> =
        lines.iter().map(|line| line["type"].as_str().expect("a type")).collect();
    assert_eq!(
        kinds,
        ["started", "started", "event", "finished", "finished", "started", "finished"]
    );
    let seqs: Vec<u64> = lines.iter().map(|line| line["seq"].as_u64().expect("a number")).collect();
    assert_eq!(seqs, [1, 2, 3, 4, 5, 6, 7]);
    assert!(lines.iter().all(|line| line["v"] == 1));
    assert_eq!(lines[0]["args"], json!({"a": 1}));
    assert_eq!(lines[1]["callers"], json!([{"call_id": "call_1", "name": "outer"}]));
    assert_eq!(lines[2]["event"]["change"]["after"]["text"], "new");
    assert_eq!(lines[3]["changes"], json!([{"path": "a.txt", "kind": "created"}]));
    assert_eq!(lines[6]["error"]["code"], "unknown_tool");
    assert_eq!(lines[5]["tier"], Value::Null);
}

#[tokio::test]
async fn a_transcript_that_cannot_be_written_ends_and_is_said_once_and_no_call_fails() {
    struct Full(u32);
    impl io::Write for Full {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += 1;
            if self.0 > 2 { Err(io::ErrorKind::StorageFull.into()) } else { Ok(bytes.len()) }
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let run = Run::builder(registry([plain("read", Tier::Read)])).transcript(Full(0)).build();
    let mut watcher = run.watch();
    let view = run.view(Surface::Full, Limits::default());
    for _ in 0..3 {
        assert!(view.call(call("read")).await.is_ok());
    }
    let said = std::iter::from_fn(|| watcher.try_next())
        .filter(|watched| matches!(watched.record.what, What::TranscriptFailed { .. }));
    assert_eq!(said.count(), 1);
    assert!(run.transcript_failure().is_some());
}

#[tokio::test]
async fn a_slow_watcher_loses_progress_counted_and_never_a_change_or_an_end() {
    const OVER: usize = 100;
    let chatty = made(spec("chatty", Tier::Read), |_, cx| {
        Box::pin(async move {
            for _ in 0..WATCH_LIMIT + OVER {
                cx.emit(Event::progress("more"));
            }
            let change = FileChange::new("a.txt", Content::Absent, Content::of(b""));
            cx.emit(Event::Changed { change });
            Ok(ToolOutput::text("done"))
        })
    });
    let run = Run::builder(registry([chatty])).build();
    let mut watcher = run.watch();
    let view = run.view(Surface::Full, Limits::default());
    view.call(call("chatty")).await.expect("nobody waits for the reader");
    let all: Vec<_> = std::iter::from_fn(|| watcher.try_next()).collect();
    let lost: u64 = all.iter().map(|watched| watched.lost).sum();
    // One record was the start of the call.
    assert_eq!(lost, OVER as u64 + 1);
    let changed = |what: &What| matches!(what, What::Event { event: Event::Changed { .. }, .. });
    assert_eq!(all.iter().filter(|watched| changed(&watched.record.what)).count(), 1);
    assert!(matches!(all.last().map(|watched| &watched.record.what), Some(What::Finished { .. })));
}

#[tokio::test]
async fn a_result_over_the_budget_keeps_head_and_tail_and_names_where_the_whole_is() {
    #[derive(Default)]
    struct Kept(Mutex<Vec<(String, usize)>>);
    impl Artifacts for Kept {
        fn keep(&self, call: &CallId, text: &str) -> Option<String> {
            self.0.lock().expect("a list").push((call.to_string(), text.chars().count()));
            Some("artifact:call_1.txt".into())
        }
    }
    const CHARS: usize = 1_000;
    let long = made(spec("long", Tier::Read), |_, _| {
        Box::pin(async {
            let text = format!("head{}tail", "é".repeat(5_000));
            Ok(ToolOutput::text(text)
                .with_part(Part::text("short"))
                .with_data(json!({"whole": true})))
        })
    });
    let kept = Arc::new(Kept::default());
    let run = Run::builder(registry([long])).result_chars(CHARS).artifacts(kept.clone()).build();
    let view = run.view(Surface::Full, Limits::default());
    let output = view.call(call("long")).await.expect("done");
    let texts: Vec<&str> = output
        .parts
        .iter()
        .map(|part| match part {
            Part::Text { text } => text.as_str(),
            _ => "",
        })
        .collect();
    assert!(texts[0].starts_with("head") && texts[0].ends_with("tail"), "{}", texts[0]);
    assert!(texts[0].contains("artifact:call_1.txt"), "{}", texts[0]);
    assert_eq!(texts[1], "short");
    assert!(texts.iter().map(|text| text.chars().count()).sum::<usize>() <= CHARS);
    assert_eq!(output.data, json!({"whole": true}), "hosts get all of it");
    assert_eq!(*kept.0.lock().expect("a list"), [("call_1".to_owned(), 5_014)]);
}
