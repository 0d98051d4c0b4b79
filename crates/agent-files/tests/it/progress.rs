//! Long work says how far it is, and not too often.

use std::{
    fs,
    sync::{Arc, Mutex},
    time::Instant,
};

use agent_files::{ApplyPatchArgs, SearchArgs};
use agent_tool_core::{CallId, Context, Event, Events, Nothing, PROGRESS_EVERY, Stop, Tier};

use crate::checkout::Checkout;

#[derive(Default)]
struct Words(Mutex<Vec<(Instant, String, u64, u64)>>);

impl Events for Words {
    fn emit(&self, _cx: &Context, event: Event) {
        if let Event::Progress { message, done: Some(done), total: Some(total) } = event {
            self.0.lock().unwrap().push((Instant::now(), message, done, total));
        }
    }
}

/// Repeats work until it has lasted long enough for a few words, and gives those of the last time.
fn words_of(mut work: impl FnMut(&Stop)) -> Vec<(Instant, String, u64, u64)> {
    let words = Arc::new(Words::default());
    let cx = Context::new(CallId::new("c"), Tier::Write, Arc::new(Nothing), words.clone());
    let stop = Stop::new().telling(&cx);
    while words.0.lock().unwrap().len() < 3 {
        work(&stop);
    }
    std::mem::take(&mut *words.0.lock().unwrap())
}

fn checkout_of(files: usize) -> Checkout {
    let checkout = Checkout::new([("0.txt", "line\n".repeat(20_000))]);
    for n in 1..files {
        fs::hard_link(checkout.path("0.txt"), checkout.path(&format!("{n}.txt"))).unwrap();
    }
    checkout
}

#[test]
fn a_search_says_how_many_files_are_done_at_a_bounded_rate() {
    let checkout = checkout_of(300);
    let words = words_of(|stop| {
        checkout.files.search(&SearchArgs::pattern("no[t]here"), stop).unwrap();
    });
    for (_, message, done, total) in &words {
        assert_eq!((message.as_str(), *total), ("searched files", 300));
        assert!((1..=300).contains(done), "{done}");
    }
    for pair in words.windows(2) {
        assert!(pair[1].0 - pair[0].0 >= PROGRESS_EVERY * 9 / 10, "{words:?}");
    }
}

#[test]
fn a_patch_says_how_many_of_its_files_are_looked_at() {
    let checkout = Checkout::new([("unused", "")]);
    let mut patch = String::from("*** Begin Patch\n");
    for n in 0..40 {
        checkout.put(&format!("{n}.txt"), "a\nb\n".repeat(500) + "end\n");
        patch.push_str(&format!("*** Update File: {n}.txt\n@@\n-end\n+END\n"));
    }
    patch.push_str("*** End Patch\n");
    let words = words_of(|stop| {
        checkout.files.plan_patch(&ApplyPatchArgs::new(patch.clone()), stop).unwrap();
    });
    assert_eq!((words[0].1.as_str(), words[0].3), ("looked at files of the patch", 40));
}

#[test]
fn short_work_says_nothing() {
    let checkout = Checkout::new([("a.txt", "a\n")]);
    let words = Arc::new(Words::default());
    let cx = Context::new(CallId::new("c"), Tier::Read, Arc::new(Nothing), words.clone());
    let began = Instant::now();
    let args = serde_json::json!({"pattern": "a"});
    checkout.runtime.block_on(checkout.tool("search").call(args, &cx)).unwrap();
    assert!(words.0.lock().unwrap().is_empty() || began.elapsed() >= PROGRESS_EVERY);
}
