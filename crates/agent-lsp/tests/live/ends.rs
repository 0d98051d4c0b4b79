//! What is left when a run ends. That nothing is left after any other case the runner asserts too.

use agent_testkit::processes::{descendants, gone};

use crate::{servers::Live, session::Session};

// report: D13
pub(crate) async fn nothing_is_left_after_a_drop(live: &'static Live) {
    let (session, started) = started(live).await;
    drop(session);
    gone(&started);
}

pub(crate) async fn nothing_is_left_after_a_close(live: &'static Live) {
    let (session, started) = started(live).await;
    session.lsp.close().await;
    gone(&started);
}

/// A run whose server has answered, with all of its processes.
async fn started(live: &'static Live) -> (Session, std::collections::BTreeSet<(u32, u64)>) {
    let before = descendants();
    let session = Session::new(live);
    let language = live.language;
    session.ask("references", (language.main, language.uses), language.function).await;
    let started: std::collections::BTreeSet<_> =
        descendants().difference(&before).copied().collect();
    assert!(started.len() >= live.processes, "{} of {}", started.len(), live.processes);
    (session, started)
}
