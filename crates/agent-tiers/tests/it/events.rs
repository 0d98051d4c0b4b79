//! What watchers get.

use agent_tiers::{WATCH_BYTES, WATCH_LIMIT, WATCH_RECORDS, Watcher, What};
use agent_tool_core::{
    Content, Context, Event, FileChange, Secrets, Tier, ToolError, ToolOutput, ToolSpec,
};
use serde_json::json;

use crate::support::{
    FnTool, Lines, approving, call, call_with, calls, full, in_time, outline, says,
};

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

/// A tool that changes so many files to a text of so many bytes.
fn changes(count: usize, bytes: usize) -> FnTool {
    FnTool::new(ToolSpec::new("changes", Tier::Write, ""), move |_, cx: Context| async move {
        let text = Content::of("x".repeat(bytes).as_bytes());
        for n in 0..count {
            let change = FileChange::new(format!("f{n}"), Content::Absent, text.clone());
            cx.emit(Event::Changed { change });
        }
        Ok(ToolOutput::text("changed"))
    })
}

#[tokio::test]
async fn a_watcher_that_stalls_is_told_how_much_it_missed() {
    const MEGABYTE: usize = 1024 * 1024;
    // Too many records, and too many bytes of them.
    for (count, bytes) in [(WATCH_RECORDS + 10, 1), (WATCH_BYTES / MEGABYTE + 10, MEGABYTE)] {
        let run = approving([changes(count, bytes), says("look", Tier::Read)]).build();
        let mut watcher = run.watch();
        call(&full(&run), "changes").await.expect("nobody waits for the reader");
        let (mut next, mut missing, mut held) = (1, 0, 0);
        while let Some(watched) = watcher.try_next() {
            if let What::Gap { lost: 0, missed } = watched.record.what {
                assert_eq!(watched.record.seq, next + missed - 1, "the gap is all that is missing");
                missing += missed;
            } else {
                assert_eq!(watched.record.seq, next, "nothing is missing without a gap");
                held += 1;
            }
            next = watched.record.seq + 1;
        }
        assert_eq!(next - 1, run.seq(), "the last record tells of the last that there was");
        let texts = (held - 3) * bytes;
        assert!(
            missing >= 10 && held <= WATCH_RECORDS && texts <= WATCH_BYTES,
            "{missing}, {held}"
        );

        // It goes on where it reads again.
        call(&full(&run), "look").await.expect("read");
        let after: Vec<_> = all(&mut watcher).into_iter().map(|(.., word)| word).collect();
        assert_eq!(after, ["started call_2", "finished call_2"]);
    }
}

#[tokio::test(start_paused = true)]
async fn what_was_lost_last_is_told_at_the_end_of_the_run() {
    let run = approving([]).build();
    let mut watcher = run.watch_with(0);
    for _ in 0..2 {
        full(&run).root().emit(Event::progress("more"));
    }
    assert!(watcher.try_next().is_none());
    drop(run);
    let last = in_time(watcher.next()).await.expect("a gap");
    assert_eq!((last.lost, &last.record.what), (0, &What::Gap { lost: 2, missed: 0 }));
    assert!(in_time(watcher.next()).await.is_none());
}

#[tokio::test(start_paused = true)]
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
    assert_eq!(in_time(reader).await.expect("no panic"), 17);
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

// spec: TRUST-04
#[tokio::test]
async fn a_secret_is_in_nothing_that_is_told_and_in_no_result() {
    let (transcript, key) = (Lines::default(), "sk-0123456789");
    let tool =
        FnTool::new(
            ToolSpec::new("leaks", Tier::Read, "Leaks."),
            move |args, cx: Context| async move {
                cx.emit(Event::progress(format!("found {key}")));
                for chunk in ["KEY=sk-01234", "56789\nand s", "o on, sk-", "0123456789 and s"] {
                    cx.emit(Event::Output { text: chunk.to_owned() });
                }
                let text = Content::of(format!("key {key}").as_bytes());
                cx.emit(Event::Changed { change: FileChange::new("f", Content::Absent, text) });
                match args["fails"].as_bool() {
                    Some(true) => Err(ToolError::invalid_args(format!("no {key}"))
                        .with_data(json!({ key: [key] }))),
                    _ => Ok(ToolOutput::text(format!("{key}, {key}")).with_data(json!({"k": key}))),
                }
            },
        );
    let secrets = Secrets::new([("MY_KEY", key)]);
    let run = approving([tool]).secrets(secrets).transcript(transcript.clone()).build();
    let mut watcher = run.watch();
    let view = full(&run);
    let output = call(&view, "leaks").await.expect("an output");
    assert_eq!(output.joined_text(), "[MY_KEY], [MY_KEY]");
    assert_eq!(output.data, json!({"k": "[MY_KEY]"}));
    let error =
        call_with(&view, "leaks", json!({"fails": true, "a": key})).await.expect_err("it fails");
    assert_eq!(error.message, "no [MY_KEY]");
    assert_eq!(error.data, json!({"[MY_KEY]": ["[MY_KEY]"]}));
    let words: Vec<String> = all(&mut watcher).into_iter().map(|(.., word)| word).collect();
    let of_call = |id: u32| {
        let words = ["KEY=", "[MY_KEY]\nand ", "so on, ", "[MY_KEY] and ", "s", "f"];
        let ends = [format!("started call_{id}"), "found [MY_KEY]".to_owned()];
        let words = words.map(str::to_owned);
        ends.into_iter().chain(words).chain([format!("finished call_{id}")]).collect::<Vec<_>>()
    };
    assert_eq!(words, [of_call(1), of_call(2)].concat());
    run.flush().await.expect("written");
    let written = transcript.text();
    assert!(written.contains("MY_KEY") && !written.contains(key), "{written}");
}
