//! What a dropped future leaves.

use std::{
    sync::mpsc,
    task::{Context as Waker, Poll},
};

use agent_files::{SearchArgs, WriteArgs};
use agent_tool_core::{Context, Stop};
use serde_json::json;

use crate::checkout::Checkout;

/// Begins a call while the one blocking thread is taken, and drops it.
fn begun_and_dropped(checkout: &Checkout, tool: &str, args: serde_json::Value) {
    let cx = checkout.context();
    let (free, taken) = mpsc::channel::<()>();
    let busy = checkout.runtime.spawn_blocking(move || taken.recv());
    let mut call = checkout.tool(tool).call(args, &cx);
    let guard = checkout.runtime.enter();
    let polled = call.as_mut().poll(&mut Waker::from_waker(std::task::Waker::noop()));
    assert!(matches!(polled, Poll::Pending));
    drop(call);
    drop(guard);
    free.send(()).unwrap();
    checkout.runtime.block_on(busy).unwrap().unwrap();
    // The pool works in turns: what was begun has ended when this has.
    checkout.runtime.block_on(checkout.runtime.spawn_blocking(|| ())).unwrap();
}

#[test]
fn a_call_that_is_dropped_before_its_turn_writes_nothing() {
    let checkout = Checkout::new([("a.txt", "one\n")]);
    begun_and_dropped(&checkout, "write", json!({"path": "a.txt", "content": "two\n"}));
    begun_and_dropped(&checkout, "write", json!({"path": "b.txt", "content": "two\n"}));
    assert_eq!(checkout.bytes("a.txt").unwrap(), b"one\n");
    assert_eq!(checkout.bytes("b.txt"), None);
    assert_eq!(checkout.watcher.changes(), []);
}

#[test]
fn a_commit_that_has_begun_ends_and_tells_of_it_though_nobody_waits() {
    use std::sync::Arc;

    use agent_edits::{Edits, Hook, Operation};

    /// Holds the first file operation until the call was dropped.
    #[derive(Debug)]
    struct Held {
        begun: mpsc::SyncSender<()>,
        go_on: std::sync::Mutex<mpsc::Receiver<()>>,
    }
    impl Hook for Held {
        fn before(&self, _: Operation, _: &std::path::Path) -> std::io::Result<()> {
            if self.begun.try_send(()).is_ok() {
                let _ = self.go_on.lock().unwrap().recv();
            }
            Ok(())
        }
    }

    let checkout = Checkout::new([("a.txt", "one\n")]);
    let state = tempfile::tempdir().unwrap();
    let (begun, has_begun) = mpsc::sync_channel(1);
    let (let_go, go_on) = mpsc::channel();
    let hook = Held { begun, go_on: std::sync::Mutex::new(go_on) };
    let workspace = checkout.files.workspace().clone();
    let edits =
        Edits::open_with_hook(&workspace, state.path().join("journals"), Arc::new(hook)).unwrap();
    let tool = agent_files::write_tool(agent_files::Files::new(workspace, edits));
    let cx = checkout.context();
    let mut call = tool.call(json!({"path": "a.txt", "content": "two\n"}), &cx);
    let guard = checkout.runtime.enter();
    let polled = call.as_mut().poll(&mut Waker::from_waker(std::task::Waker::noop()));
    assert!(matches!(polled, Poll::Pending));
    has_begun.recv().unwrap();
    drop(call);
    drop(guard);
    drop(let_go);
    checkout.runtime.block_on(checkout.runtime.spawn_blocking(|| ())).unwrap();
    assert_eq!(checkout.bytes("a.txt").unwrap(), b"two\n");
    let told: Vec<_> = checkout.watcher.changes().into_iter().map(|change| change.path).collect();
    assert_eq!(told, ["a.txt"]);
}

#[test]
fn a_set_flag_stops_a_search_and_an_apply() {
    let checkout = Checkout::new([("a.txt", "one\n")]);
    let stop = Stop::new();
    let change = checkout.files.plan_write(&WriteArgs::new("a.txt", "two\n"), &stop).unwrap();
    stop.set();
    let search = checkout.files.search(&SearchArgs::pattern("one"), &stop).unwrap_err();
    let apply = checkout.files.apply(&change, &Context::detached(), &stop).unwrap_err();
    assert_eq!((search.code.as_ref(), apply.code.as_ref()), ("stopped", "stopped"));
    assert_eq!(checkout.bytes("a.txt").unwrap(), b"one\n");
}
