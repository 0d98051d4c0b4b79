//! The end of a session: whatever ends it, no process of it is left.

use std::time::Duration;

use agent_process::{Launcher, Priority, ShutdownSteps, Tree};
use tokio::time::{Instant, sleep, sleep_until};

use super::{How, Live, MAX_SESSION_TIME, lock};
use crate::{
    protocol::outgoing::{self, Leave},
    state::{End, Shared},
};

/// How long after the debuggee's end its adapter may take to say that debugging is over.
const TERMINATED_TIME: Duration = Duration::from_millis(200);

/// How long an adapter may take over its farewell.
const DISCONNECT_TIME: Duration = Duration::from_secs(2);

/// How long it may live on once its input is closed.
const STDIN_TIME: Duration = Duration::from_millis(500);

/// How long the system may take to take killed processes away.
const KILL_TIME: Duration = Duration::from_secs(2);

/// Output comes late: the adapter is let go once none has come for so long.
const QUIET_TIME: Duration = Duration::from_millis(100);

/// It is waited for no longer than this.
const DRAIN_TIME: Duration = Duration::from_secs(2);

/// How many lines of the adapter's error output are repeated where it died.
const STDERR_LINES: usize = 6;

/// Waits until something ends the session.
pub(super) async fn ending(shared: &Shared) {
    while shared.wait(Duration::MAX, |state| state.ending.as_ref().map(|_| ())).await.is_none() {}
}

/// Waits for the end of a session that has begun, and says what it is.
pub(super) async fn over(live: &Live, launcher: &Launcher) -> End {
    let shared = &live.shared;
    let exited = async {
        while shared.wait(Duration::MAX, |state| state.exited.map(|_| ())).await.is_none() {}
        sleep(TERMINATED_TIME).await;
        shared.end(End::Exited);
    };
    let registered = async {
        if let Some(id) = shared.wait(Duration::MAX, |state| state.debuggee).await {
            register(live, launcher, id);
        }
        std::future::pending::<()>().await;
    };
    tokio::select! {
        biased;
        () = ending(shared) => {}
        () = exited => {}
        () = sleep_until(live.started + MAX_SESSION_TIME) => shared.end(End::TimeLimit),
        () = registered => {}
    }
    let how = shared.state().ending.clone();
    how.unwrap_or(End::Exited)
}

/// Should this program be killed, the guard ends the debuggee before the adapter that holds it.
fn register(live: &Live, launcher: &Launcher, id: u32) {
    if matches!(live.how, How::Attached(_)) {
        return;
    }
    if let Some(tree) = Tree::of(id)
        && let Ok(watched) = launcher.guard().watch(tree.clone(), Priority::DEBUGGEE)
    {
        *lock(&live.debuggee) = Some((tree, watched));
    }
}

/// Says goodbye where the adapter still listens, then kills what is left. Gives how the session ended, with what only its end
/// shows.
pub(super) async fn tear_down(live: &Live, how: End) -> End {
    let process = live.process();
    if let Some(process) = &process {
        // Seen now, they are found after their parent has ended too.
        process.tree().members();
    }
    let silent = live.shared.state().unresponsive.is_some();
    let leave = match live.how {
        How::Launched(_) => Leave::Killed,
        How::Attached(_) => Leave::Running,
    };
    if let Some(connection) = live.connection.get() {
        if silent {
            connection.abort();
        } else {
            if leave == Leave::Killed {
                kill_below_debuggee(live);
            }
            if matches!(how, End::Exited) {
                drain(&live.shared).await;
            }
            // An answer is not needed: what lives on is killed.
            let _ = connection.ask(&outgoing::disconnect(leave), DISCONNECT_TIME).await;
            connection.close();
        }
    }
    let mut how = how;
    if let Some(process) = process {
        let steps = ShutdownSteps::new()
            .after_stdin(if silent { Duration::ZERO } else { STDIN_TIME })
            .after_term(Duration::ZERO)
            .after_kill(KILL_TIME);
        process.shutdown(&steps).await;
        how = with_exit(how, &process);
    }
    if let Some((tree, _)) = lock(&live.debuggee).take() {
        tree.kill();
    }
    lock(&live.process).take();
    lock(&live.scratch).take();
    how
}

/// Waits for the last of the output.
async fn drain(shared: &Shared) {
    let deadline = Instant::now() + DRAIN_TIME;
    loop {
        let before = shared.state().output.total();
        sleep(QUIET_TIME).await;
        if shared.state().output.total() == before || Instant::now() >= deadline {
            return;
        }
    }
}

/// What the debuggee started may hold its terminal, which an adapter waits for in vain.
fn kill_below_debuggee(live: &Live) {
    let Some(debuggee) = lock(&live.debuggee).as_ref().map(|(tree, _)| tree.clone()) else {
        return;
    };
    for id in debuggee.members().into_iter().filter(|id| *id != debuggee.id()) {
        if let Some(tree) = Tree::of(id) {
            tree.kill();
        }
    }
}

/// An adapter that died by itself says why in its exit and on its standard error.
fn with_exit(how: End, process: &agent_process::Process) -> End {
    let tail = process.tail().lines();
    let tail = tail[tail.len().saturating_sub(STDERR_LINES)..].join("\n");
    let add = |said: &str| match tail.as_str() {
        "" => said.to_owned(),
        tail => format!("{said}\n{tail}"),
    };
    match how {
        End::AdapterDied(_) => match process.exited() {
            Some(exit) => End::AdapterDied(format!("it {exit}")),
            None => End::AdapterDied(add("it closed its output")),
        },
        End::StartFailed(said) => End::StartFailed(add(&said)),
        other => other,
    }
}
