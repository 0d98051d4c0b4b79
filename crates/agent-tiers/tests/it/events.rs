//! What watchers get.

use agent_tiers::{WATCH_LIMIT, Watcher, What};
use agent_tool_core::{Content, Context, Event, FileChange, Tier, ToolOutput, ToolSpec};
use serde_json::json;

use crate::support::{FnTool, approving, call, call_with, calls, full, outline};

fn talks() -> FnTool {
    FnTool::new(ToolSpec::new("talks", Tier::Read, "Talks."), |_, cx: Context| async move {
        for n in 0..5 {
            cx.emit(Event::progress(format!("step {n}")));
            cx.emit(Event::Output { text: format!("line {n}") });
            let change = FileChange::new(format!("f{n}"), Content::Absent, Content::of(b"x"));
            cx.emit(Event::Changed { change });
        }
        Ok(ToolOutput::text("said"))
    })
}

fn all(watcher: &mut Watcher) -> Vec<(u64, u64, String)> {
    let mut all = Vec::new();
    while let Some(watched) = watcher.try_next() {
        let word = match &watched.record.what {
            What::Event { event: Event::Changed { change }, .. } => change.path.clone(),
            What::Event { event: Event::Progress { message, .. }, .. } => message.clone(),
            What::Event { event: Event::Output { text }, .. } => text.clone(),
            what => outline(what),
        };
        all.push((watched.record.seq, watched.lost, word));
    }
    all
}

#[tokio::test]
async fn a_slow_watcher_loses_progress_and_output_and_nothing_else() {
    let run = approving([talks()]).build();
    let (mut slow, mut fast) = (run.watch_with(3), run.watch());
    call(&full(&run), "talks").await.expect("said");
    let word = |word: &str| word.to_owned();
    assert_eq!(
        all(&mut slow),
        [
            (1, 0, word("started call_1")),
            (2, 0, word("step 0")),
            (3, 0, word("line 0")),
            (4, 0, word("f0")),
            (7, 2, word("f1")),
            (10, 2, word("f2")),
            (13, 2, word("f3")),
            (16, 2, word("f4")),
            (17, 0, word("finished call_1")),
        ]
    );
    let seen = all(&mut fast);
    assert_eq!(seen.len(), 17);
    assert!(seen.iter().zip(1..).all(|((seq, lost, _), n)| *seq == n && *lost == 0));
}

#[tokio::test]
async fn a_slow_watcher_loses_progress_counted_and_never_a_change_or_an_end() {
    const OVER: u64 = 100;
    let chatty =
        FnTool::new(ToolSpec::new("chatty", Tier::Read, ""), |_, cx: Context| async move {
            for _ in 0..WATCH_LIMIT as u64 + OVER {
                cx.emit(Event::progress("more"));
            }
            let change = FileChange::new("a.txt", Content::Absent, Content::of(b""));
            cx.emit(Event::Changed { change });
            Ok(ToolOutput::text("done"))
        });
    let run = approving([chatty]).build();
    let mut watcher = run.watch();
    call(&full(&run), "chatty").await.expect("nobody waits for the reader");
    let all = all(&mut watcher);
    // One record of those that are kept is the start of the call.
    assert_eq!(all.iter().map(|(_, lost, _)| lost).sum::<u64>(), OVER + 1);
    let ends: Vec<_> = all.iter().rev().take(2).map(|(.., word)| word.as_str()).collect();
    assert_eq!(ends, ["finished call_1", "a.txt"]);
}

#[tokio::test]
async fn a_watcher_waits_for_news_and_ends_with_the_run() {
    let run = approving([talks()]).build();
    let mut watcher = run.watch();
    let reader = tokio::spawn(async move {
        let mut count = 0;
        while watcher.next().await.is_some() {
            count += 1;
        }
        count
    });
    call(&full(&run), "talks").await.expect("said");
    drop(run);
    assert_eq!(reader.await.expect("no panic"), 17);
}

#[tokio::test]
async fn an_event_of_a_nested_call_names_the_call_that_made_it() {
    let run = approving([talks(), calls("cell", Tier::Read)]).build();
    let mut watcher = run.watch();
    call_with(&full(&run), "cell", json!({"tool": "talks"})).await.expect("said");
    let mut parents = Vec::new();
    while let Some(watched) = watcher.try_next() {
        if let What::Event { call_id, parent, .. } = &watched.record.what {
            parents.push((call_id.to_string(), parent.as_ref().map(ToString::to_string)));
        }
    }
    parents.dedup();
    assert_eq!(parents, [("call_2".to_owned(), Some("call_1".to_owned()))]);
}
