//! A question to the person, and two workers in the background.

use anyhow::Result;
use serde_json::json;

use super::{host::Host, page::Page, text};

/// A command worker: it says what it was asked to do.
pub const WORKER: &str = "fast=sh -c 'echo \"done: $0\"' {brief}";

pub fn people(host: &mut Host, page: &mut Page) -> Result<()> {
    page.chapter("A question, and what the person chose");
    let question =
        json!({"question": "Which port?", "options": ["8080", "9090"], "allow_free_text": true});
    let answered = host.call(page, "ask_user", question)?;
    page.check(
        answered["data"]["outcome"] == "answered"
            && answered["data"]["selected"] == json!([{"index": 1, "label": "8080"}]),
        "the answer is what was chosen, and nothing was guessed",
    );

    page.chapter("Two workers, waited for");
    for label in ["apples", "pears"] {
        let order = json!({"brief": format!("count the {label}"), "label": label, "tier": "fast"});
        let spawned = host.call(page, "vibe_spawn", order)?;
        page.check(spawned["data"]["status"] == "running", "it is at work, and the call is over");
    }
    for (worker, label) in [("w1", "apples"), ("w2", "pears")] {
        let waited = host.call(page, "vibe_wait", json!({"worker_id": worker}))?;
        page.check(
            waited["data"]["status"] == "done"
                && text(&waited).contains(&format!("done: count the {label}")),
            "its last words are the result",
        );
    }
    let unmapped = json!({"brief": "design it", "label": "design", "tier": "good"});
    let refused = host.call(page, "vibe_spawn", unmapped)?;
    page.check(
        refused["error"]["code"] == "unknown_tier",
        "a kind of work without a worker is an error, and no other takes its place",
    );
    Ok(())
}
