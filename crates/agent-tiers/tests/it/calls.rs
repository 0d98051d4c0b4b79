//! Turns, panics, cancelling.

use std::{
    pin::Pin,
    sync::{Arc, Mutex},
    task::{Context, Poll, Waker},
};

use agent_tiers::{Run, Surface, WaitsFor, What};
use agent_tool_core::{CallId, ErrorKind, Limits, Tier, Tool, ToolCall, ToolOutput, ToolResult};
use serde_json::json;
use tokio::sync::Notify;

use crate::tools::{call, made, plain, registry, spec};

type Order = Arc<Mutex<Vec<String>>>;

/// An exclusive tool that notes when it begins and ends, and waits for a sign in between.
fn session(order: Order, sign: Arc<Notify>) -> Arc<dyn Tool> {
    made(spec("session", Tier::Read).exclusive(), move |args, _| {
        let (order, sign) = (order.clone(), sign.clone());
        Box::pin(async move {
            let name = args["name"].as_str().unwrap_or_default().to_owned();
            order.lock().expect("the order").push(format!("{name} begins"));
            sign.notified().await;
            order.lock().expect("the order").push(format!("{name} ends"));
            Ok(ToolOutput::text(name))
        })
    })
}

// spec: TIER-08
#[tokio::test]
async fn calls_of_an_exclusive_tool_run_one_after_another_in_the_order_in_which_they_came() {
    let (order, sign) = (Order::default(), Arc::new(Notify::new()));
    let run = Run::builder(registry([session(order.clone(), sign.clone())])).build();
    let view = run.view(Surface::Full, Limits::default());
    let mut wishes: Vec<Option<Wish>> = ["a", "b", "c"]
        .map(|name| {
            let view = view.clone();
            let wish = ToolCall::new("session", json!({"name": name}));
            Some(Box::pin(async move { view.call(wish).await }) as Wish)
        })
        .into();
    assert!(wishes.iter_mut().all(|wish| !fulfilled(wish)));
    let waits: Vec<WaitsFor> = run.live_calls().iter().map(|call| call.waits_for).collect();
    assert_eq!(waits, [WaitsFor::Tool, WaitsFor::Turn, WaitsFor::Turn]);
    // The last to come asks first, again and again, and still waits for its turn.
    while wishes.iter().any(Option::is_some) {
        sign.notify_one();
        for wish in wishes.iter_mut().rev() {
            fulfilled(wish);
        }
    }
    let expected = ["a begins", "a ends", "b begins", "b ends", "c begins", "c ends"];
    assert_eq!(*order.lock().expect("the order"), expected);
}

type Wish = Pin<Box<dyn Future<Output = ToolResult> + Send>>;

/// Polls a wish, and takes it away once it is fulfilled.
fn fulfilled(wish: &mut Option<Wish>) -> bool {
    if wish.as_mut().is_some_and(|wish| poll_once(wish.as_mut()).is_ready()) {
        *wish = None;
    }
    wish.is_none()
}

fn poll_once<F: Future + ?Sized>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

// spec: TIER-08
#[tokio::test]
async fn a_nested_call_never_waits_for_a_turn() {
    let inner = made(spec("eval", Tier::Exec).exclusive(), |args, cx| {
        Box::pin(async move {
            match args["then"].as_str() {
                Some(name) => cx.call(call(name)).await,
                None => Ok(ToolOutput::text("done")),
            }
        })
    });
    let run = Run::builder(registry([inner, plain("debug", Tier::Exec)])).build();
    let view = run.view(Surface::Full, Limits::default());
    let itself = view.call(ToolCall::new("eval", json!({"then": "eval"}))).await.expect_err("busy");
    assert_eq!((itself.kind, itself.code.as_ref()), (ErrorKind::Conflict, "busy_tool"));
    assert!(view.call(ToolCall::new("eval", json!({"then": "debug"}))).await.is_ok());
    assert!(view.call(call("eval")).await.is_ok(), "the turn is free again");
}

#[tokio::test]
async fn a_panic_is_an_error_of_its_call_with_the_transcript_closed() {
    let broken = made(spec("broken", Tier::Read).exclusive(), |_, _| {
        Box::pin(async { panic!("out of {}", "cheese") })
    });
    let run = Run::builder(registry([broken, plain("read", Tier::Read)])).build();
    let mut watcher = run.watch();
    let view = run.view(Surface::Full, Limits::default());
    for _ in 0..2 {
        let error = view.call(call("broken")).await.expect_err("broken");
        assert_eq!(error.code, "tool_panicked");
        assert!(error.message.contains("out of cheese"), "{}", error.message);
    }
    assert!(view.call(call("read")).await.is_ok());
    assert!(run.live_calls().is_empty());
    let ends = std::iter::from_fn(|| watcher.try_next())
        .filter(|watched| matches!(watched.record.what, What::Finished { .. }));
    assert_eq!(ends.count(), 3);
}

#[tokio::test]
async fn a_cancelled_call_is_recorded_inner_first_and_its_turn_is_free() {
    let (order, sign) = (Order::default(), Arc::new(Notify::new()));
    let begun = Arc::new(Notify::new());
    let up = begun.clone();
    let hang = made(spec("hang", Tier::Read).exclusive(), move |_, _| {
        up.notify_one();
        Box::pin(std::future::pending())
    });
    let outer = made(spec("outer", Tier::Read).exclusive(), |_, cx| {
        Box::pin(async move { cx.call(call("hang")).await })
    });
    let run = Run::builder(registry([outer, hang, session(order, sign)])).build();
    let mut watcher = run.watch();
    let view = run.view(Surface::Full, Limits::default());
    let calling = view.clone();
    let waiting = tokio::spawn(async move { calling.call(call("outer")).await });
    begun.notified().await;
    let live: Vec<_> =
        run.live_calls().iter().map(|call| (call.name.clone(), call.callers.len())).collect();
    assert_eq!(live, [("outer".to_owned(), 0), ("hang".to_owned(), 1)]);
    waiting.abort();
    assert!(waiting.await.expect_err("cancelled").is_cancelled());
    let cancelled: Vec<String> = std::iter::from_fn(|| watcher.try_next())
        .filter_map(|watched| match &watched.record.what {
            What::Cancelled { call_id, .. } => Some(call_id.to_string()),
            _ => None,
        })
        .collect();
    assert_eq!(cancelled, ["call_2", "call_1"]);
    let again = view.clone();
    let again = tokio::spawn(async move { again.call(call("outer")).await });
    begun.notified().await;
    again.abort();
}

#[tokio::test]
async fn an_id_of_a_live_call_is_refused_and_free_again_afterwards() {
    let (order, sign) = (Order::default(), Arc::new(Notify::new()));
    let run =
        Run::builder(registry([session(order, sign.clone()), plain("read", Tier::Read)])).build();
    let view = run.view(Surface::Full, Limits::default());
    let mine = |name: &str| call(name).with_id(CallId::new("mine"));
    let first = view.call(mine("session"));
    tokio::pin!(first);
    assert!(poll_once(first.as_mut()).is_pending());
    assert_eq!(view.call(mine("read")).await.expect_err("live").code, "duplicate_call_id");
    sign.notify_one();
    assert!(first.await.is_ok());
    assert!(view.call(mine("read")).await.is_ok());
}
