//! How much of a result reaches the model.

use std::sync::{Arc, Mutex};

use agent_tiers::{Artifacts, RESULT_CHARS};
use agent_tool_core::{CallId, ErrorKind, Part, Tier, ToolError, ToolOutput, ToolSpec};
use serde_json::{Value, json};

use crate::support::{FnTool, approving, call, call_with, calls, full};

/// A tool with one part for each of these lengths.
fn writes(lengths: &'static [usize]) -> FnTool {
    FnTool::new(ToolSpec::new("writes", Tier::Read, "Writes."), move |_, _| async move {
        let output = ToolOutput::default().with_data(json!("d".repeat(RESULT_CHARS * 2)));
        let parts = lengths.iter().zip('a'..);
        Ok(parts.fold(output, |output, (length, letter)| {
            output.with_part(Part::text("é".repeat(length - 1) + &letter.to_string()))
        }))
    })
}

#[derive(Clone, Default)]
struct Folder(Arc<Mutex<Vec<(CallId, String)>>>);

impl Artifacts for Folder {
    fn keep(&self, call: &CallId, text: &str) -> Option<String> {
        self.0.lock().expect("not poisoned").push((call.clone(), text.to_owned()));
        Some(format!("artifacts/{call}.txt"))
    }
}

fn lengths(output: &ToolOutput) -> Vec<usize> {
    let text = |part: &Part| match part {
        Part::Text { text } => text.chars().count(),
        _ => 0,
    };
    output.parts.iter().map(text).collect()
}

#[tokio::test]
async fn a_result_within_the_budget_is_left_alone() {
    let folder = Folder::default();
    let run = approving([writes(&[31_000, 1_000])]).artifacts(Arc::new(folder.clone())).build();
    let output = call(&full(&run), "writes").await.expect("a result");
    assert_eq!(lengths(&output), [31_000, 1_000]);
    assert!(folder.0.lock().expect("not poisoned").is_empty());
}

#[tokio::test]
async fn a_result_over_the_budget_keeps_head_and_tail_and_names_where_the_whole_is() {
    let folder = Folder::default();
    let run = approving([writes(&[50_000, 300])]).artifacts(Arc::new(folder.clone())).build();
    let output = call(&full(&run), "writes").await.expect("a result");
    let lengths = lengths(&output);
    assert_eq!(lengths[1], 300);
    assert!((RESULT_CHARS - 100..=RESULT_CHARS).contains(&(lengths[0] + 300)), "{lengths:?}");
    let text = output.joined_text();
    let remark =
        "more characters; all that was kept is in artifacts/call_1.txt, which `read` opens …";
    assert!(text.contains(remark) && text.contains("éa\n"), "the head, a remark and the tail");
    let kept = folder.0.lock().expect("not poisoned");
    assert_eq!((kept.len(), kept[0].1.chars().count()), (1, 50_301));
    assert_eq!(output.data.as_str().map(str::len), Some(RESULT_CHARS * 2));
}

#[tokio::test]
async fn without_a_place_to_keep_it_the_remark_names_none() {
    let run = approving([writes(&[500, 500])]).result_chars(300).build();
    let output = call(&full(&run), "writes").await.expect("a result");
    assert!(lengths(&output).iter().all(|length| *length <= 150));
    assert!(output.joined_text().contains("… 398 more characters …"));
}

/// A tool that fails with this message and data.
fn fails(message: String, data: Value) -> FnTool {
    FnTool::new(ToolSpec::new("fails", Tier::Read, "Fails."), move |_, _| {
        let error = ToolError::new(ErrorKind::Failed, "broken", &message).with_data(data.clone());
        async { Err(error) }
    })
}

#[tokio::test]
async fn what_an_error_got_so_far_counts_against_the_budget() {
    const CHARS: usize = 1_000;
    let output = json!({"exit": 1, "output": "x".repeat(5_000)});
    let list = Value::from((0..5_000).collect::<Vec<_>>());
    let cases = [
        ("it broke".to_owned(), output),
        ("it broke".to_owned(), list),
        ("m".repeat(3_000), json!({"exit": 1})),
        ("m".repeat(3_000), json!("d".repeat(3_000))),
        ("m".repeat(600), json!("d".repeat(600))),
    ];
    for (message, data) in cases {
        let folder = Folder::default();
        let run = approving([fails(message.clone(), data.clone())])
            .result_chars(CHARS)
            .artifacts(Arc::new(folder.clone()))
            .build();
        let error = call(&full(&run), "fails").await.expect_err("broken");
        let chars = error.message.chars().count() + error.data.to_string().chars().count();
        assert!((CHARS / 2..=CHARS).contains(&chars), "{chars}: {error:?}");
        assert!(error.message.contains("artifacts/call_1.txt"), "{error:?}");
        assert_eq!(error.data["exit"], data["exit"], "short things stay");
        let kept = folder.0.lock().expect("not poisoned")[0].1.clone();
        assert_eq!(kept, format!("{message}\n{data}"), "the whole is kept");
    }
}

#[tokio::test]
async fn an_error_within_the_budget_is_left_alone() {
    let folder = Folder::default();
    let data = json!({"output": "x".repeat(30_000)});
    let run = approving([fails("it broke".to_owned(), data.clone())])
        .artifacts(Arc::new(folder.clone()))
        .build();
    let error = call(&full(&run), "fails").await.expect_err("broken");
    assert_eq!((&*error.message, error.data), ("it broke", data));
    assert!(folder.0.lock().expect("not poisoned").is_empty());
}

#[tokio::test]
async fn without_a_place_to_keep_it_an_error_says_that_its_data_is_cut() {
    let run = approving([fails("it broke".to_owned(), json!("x".repeat(5_000)))])
        .result_chars(300)
        .build();
    let error = call(&full(&run), "fails").await.expect_err("broken");
    assert_eq!(error.message, "it broke; its data is cut");
    let data = error.data.as_str().expect("a text");
    assert!(data.starts_with("xxx") && data.ends_with(" more characters"), "{data}");
}

#[tokio::test]
async fn every_result_that_passes_a_view_has_the_budget() {
    let folder = Folder::default();
    let fails = fails("x".repeat(1_000), Value::Null);
    let run = approving([fails, writes(&[1_000]), calls("cell", Tier::Read)])
        .result_chars(300)
        .artifacts(Arc::new(folder.clone()))
        .build();
    let view = full(&run);
    let error = call(&view, "fails").await.expect_err("broken");
    assert!(error.message.len() < 400 && error.message.contains("artifacts/call_1.txt"));
    let nested = call_with(&view, "cell", json!({"tool": "writes"})).await.expect("a result");
    assert!(nested.joined_text().contains("artifacts/call_3.txt"));
    assert_eq!(folder.0.lock().expect("not poisoned").len(), 2);
}
