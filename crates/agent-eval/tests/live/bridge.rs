//! A cell calls the run's own tools over the kernel's own pipe.

use std::time::{Duration, Instant};

use agent_eval::{Cell, Language, outcome::Status};
use agent_tool_core::{CallId, Caller, ErrorKind, Tier};
use serde_json::json;

use crate::session::{Session, result};

// spec: EVAL-07, TIER-09
pub(crate) async fn a_call_has_the_cell_as_its_parent_and_its_result_is_a_value() {
    let session = Session::new();
    let code =
        "[tool('text', {'path': 'a'}), tool('image'), tool('structured'), tool.data('text')]";
    let expected = "['a text', {'data': 'AAAA', 'mime': 'image/png'}, {'n': [1, 2]}, {'lines': 1}]";
    assert_eq!(session.value(code).await, expected);
    let calls = session.tools.calls.lock().unwrap().clone();
    assert_eq!(calls[0], ("text".to_owned(), json!({"path": "a"}), "the-cell".to_owned()));
    let failed = session
        .run("try:\n    tool('denied')\nexcept ToolError as e:\n    print(e, e.kind, e.code)")
        .await;
    assert_eq!(failed.stdout(), "nobody allowed it denied not_approved\n");
    let js = "[await tool('text', { path: 'a' }), (await tool.data('text')).lines, (await tool('image')).mime]";
    assert_eq!(session.js_value(js).await, "[ 'a text', 1, 'image/png' ]");
    let js = "try { await tool('denied') } catch (e) { `${e.name} ${e.message} ${e.code}` }";
    let failed = session.js(&format!("{js}; 0")).await;
    assert_eq!(failed.status, Status::Ok);
}

pub(crate) async fn eval_in_a_cell_is_a_conflict_at_once() {
    let session = Session::new();
    let caller = Caller::new(CallId::new("the-cell"), "eval");
    let nested = session.tools.context().child(caller, CallId::new("nested"), Tier::Exec);
    let outer = session.run("x = 1").await;
    assert_eq!(outer.status, Status::Ok);
    let begun = Instant::now();
    let error = session.interpreters.run(Cell::new("1"), &nested).await.unwrap_err();
    assert_eq!((error.kind, error.code.as_ref()), (ErrorKind::Conflict, "eval_in_eval"));
    assert!(begun.elapsed() < Duration::from_secs(1));
}

pub(crate) async fn a_cell_that_is_stopped_fails_its_calls_first() {
    let session = Session::new();
    session.run("x = 1").await;
    let code = "try:\n    tool('wait', {'ms': 60000})\nexcept ToolError as e:\n    saw = (e.code, str(e))\nwhile True: pass";
    let cx = session.tools.context();
    let cell = session.interpreters.run(Cell::new(code), &cx);
    assert!(tokio::time::timeout(Duration::from_millis(700), cell).await.is_err());
    assert_eq!(*session.tools.dropped.lock().unwrap(), 1, "the call was dropped with the cell's");
    assert_eq!(session.value("saw").await, "('cell_stopped', 'the cell is being stopped')");
    // Stopped from elsewhere, with somebody who reads the outcome.
    let interpreters = session.interpreters.clone();
    let stop = async {
        tokio::time::sleep(Duration::from_millis(500)).await;
        interpreters.interrupt(Language::Python);
    };
    let (outcome, ()) = tokio::join!(session.run("tool('wait', {'ms': 60000})"), stop);
    assert!(matches!(outcome.status, Status::Interrupted), "{outcome:?}");
    assert_eq!(*session.tools.dropped.lock().unwrap(), 2);
    assert_eq!(session.value("x").await, "1");
}

pub(crate) async fn a_call_has_a_bound_of_its_own() {
    let session = Session::with(|builder| builder.call_within(Duration::from_millis(200)));
    let code =
        "try:\n    tool('wait', {'ms': 60000})\nexcept ToolError as e:\n    print(e.kind, e.code)";
    assert_eq!(session.run(code).await.stdout(), "timeout call_timed_out\n");
    assert_eq!(*session.tools.dropped.lock().unwrap(), 1);
}

pub(crate) async fn a_call_between_cells_is_refused() {
    let session = Session::new();
    let code = "import threading, time\nsaw = []\ndef later():\n    time.sleep(0.3)\n    try: tool('text')\n    except ToolError as e: saw.append(e.code)\n    done.set()\ndone = threading.Event()\nthreading.Thread(target=later).start()";
    session.run(code).await;
    tokio::time::sleep(Duration::from_millis(600)).await;
    assert_eq!(session.value("done.wait(10); saw").await, "['no_cell']");
}

// spec: EVAL-08
pub(crate) async fn there_is_no_port_no_named_socket_and_no_secret() {
    let session = Session::new();
    // Of the kernel and of its supervisor: their sockets, whether one listens or has a name, and what of the environment is ours.
    let code = "
import os
sockets, ours = set(), set()
for pid in (os.getpid(), os.getppid()):
    for fd in os.listdir(f'/proc/{pid}/fd'):
        try: target = os.readlink(f'/proc/{pid}/fd/{fd}')
        except OSError: continue
        if target.startswith('socket:['): sockets.add(target[8:-1])
    names = [v.split('=')[0] for v in open(f'/proc/{pid}/environ').read().split('\\0')]
    ours |= {n for n in names if ('AGENT' in n or 'KERNEL' in n or 'JUPYTER' in n) and not n.startswith('AGENT_TESTS_')}
ports = [l for f in ('tcp', 'tcp6', 'udp', 'udp6') for l in open('/proc/net/' + f) if l.split()[9] in sockets]
named = [l for l in open('/proc/net/unix').read().splitlines()[1:] if l.split()[6] in sockets and len(l.split()) > 7]
(len(sockets) > 0, ports, named, sorted(ours))";
    let seen = session.run(code).await;
    assert_eq!(result(&seen), "(True, [], [], ['AGENT_PROCESS_MARK'])");
}

pub(crate) async fn a_failed_call_of_a_worker_process_is_the_cells_error() {
    let session = Session::new();
    let code = "import multiprocessing\ndef work(n): return tool('text', {'n': n})\nwith multiprocessing.get_context('fork').Pool(1) as pool: pool.map(work, [1])";
    let error = session.run(code).await.error.unwrap();
    assert_eq!(error.name, "ToolError");
    assert!(error.value.contains("not there in a forked process"), "{}", error.value);
    let code = "import pickle\ntry: tool('denied')\nexcept ToolError as e: again = pickle.loads(pickle.dumps(e))\n(str(again), again.kind, again.code)";
    assert_eq!(session.value(code).await, "('nobody allowed it', 'denied', 'not_approved')");
}
