//! The budget of silence with real interpreters; its clock alone is tested with paused time.

use std::time::{Duration, Instant};

use agent_eval::{
    STEP_TIME,
    outcome::{State, Status},
};

use crate::session::{Session, result};

const SHORT: Duration = Duration::from_millis(1200);

// spec: EVAL-09
pub(crate) async fn a_bridged_call_suspends_the_budget() {
    let session = Session::with(|builder| builder.idle(SHORT));
    let code = "from concurrent.futures import ThreadPoolExecutor\nwith ThreadPoolExecutor(3) as ex:\n    r = list(ex.map(lambda ms: tool('wait', {'ms': ms}), [2000, 3000, 100]))\nimport time; time.sleep(0.6)\nr";
    let outcome = session.run(code).await;
    assert_eq!(result(&outcome), "['waited', 'waited', 'waited']");
    assert!(outcome.duration > SHORT * 2);
}

pub(crate) async fn output_that_is_not_kept_buys_no_time() {
    let session = Session::with(|builder| builder.idle(SHORT));
    let begun = Instant::now();
    let outcome = session.run("kept = 1\nwhile True: print('x' * 1000)").await;
    assert_eq!((outcome.status, outcome.truncated), (Status::TimedOut, true));
    assert!(begun.elapsed() < SHORT * 20, "{:?}", begun.elapsed());
    assert!(outcome.stdout().contains("bytes left out"));
    let said = format!("{:?}", outcome.shown);
    assert!(
        said.contains("it showed nothing that is kept, since it had printed over 256 KiB"),
        "{said}"
    );
}

// spec: EVAL-09
pub(crate) async fn what_an_interrupt_keeps_is_named_and_what_a_kill_loses_is_said() {
    let session = Session::with(|builder| builder.idle(SHORT));
    let first = session.run("df = 1\nwhile True: pass").await;
    assert_eq!((first.status, first.state), (Status::TimedOut, State::Kept));
    assert!(first.new_interpreter && first.data()["new_interpreter"] == true);
    let args =
        serde_json::json!({"code": "while True: pass", "description": "a loop without an end"});
    let output = session.tool(args).await.unwrap();
    assert_eq!(
        (&output.data["status"], &output.data["state"]),
        (&"timed_out".into(), &"kept".into())
    );
    assert_eq!(output.data["new_interpreter"], false);
    let text = output.joined_text();
    assert!(text.contains("these variables are kept: df"), "{text}");
    assert!(text.contains("print progress"), "{text}");
    assert_eq!(session.value("df").await, "1");

    let begun = Instant::now();
    let args = serde_json::json!({"code": "import signal, time\nsignal.signal(2, signal.SIG_IGN)\nwhile True: time.sleep(1)",
        "description": "one that no interrupt ends"});
    let output = session.tool(args).await.unwrap();
    assert!(begun.elapsed() >= STEP_TIME * 2, "both interrupts had their time");
    assert_eq!(
        (&output.data["status"], &output.data["state"]),
        (&"timed_out".into(), &"gone".into())
    );
    let text = output.joined_text();
    assert!(text.contains("was killed: its variables are gone"), "{text}");
    let next = session.run("'df' in globals()").await;
    assert_eq!((result(&next), next.state), ("False".to_owned(), State::New));
}
