//! The signals that end the program, taken so that it ends cleanly.

use tokio::signal::unix::{SignalKind, signal};

/// Why the program is to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// Ctrl-C.
    Interrupted,
    /// By a supervisor.
    Terminated,
    /// The terminal is gone.
    HungUp,
}

impl Ended {
    /// What a shell expects of a program that a signal ended: 128 and the signal's number.
    pub(crate) fn exit_code(self) -> u8 {
        match self {
            Ended::HungUp => 129,
            Ended::Interrupted => 130,
            Ended::Terminated => 143,
        }
    }

    /// The name of the signal.
    pub(crate) fn signal(self) -> &'static str {
        match self {
            Ended::HungUp => "SIGHUP",
            Ended::Interrupted => "SIGINT",
            Ended::Terminated => "SIGTERM",
        }
    }
}

/// Waits for the first of them. Where they cannot be taken the system ends the program instead.
pub(crate) async fn ended() -> Ended {
    tokio::select! {
        () = next(SignalKind::interrupt()) => Ended::Interrupted,
        why = told_to_end() => why,
    }
}

/// Waits for the first of those that mean the program as a whole, where Ctrl-C means what it does just now.
pub(crate) async fn told_to_end() -> Ended {
    tokio::select! {
        () = next(SignalKind::terminate()) => Ended::Terminated,
        () = next(SignalKind::hangup()) => Ended::HungUp,
    }
}

async fn next(kind: SignalKind) {
    match signal(kind) {
        Ok(mut signals) => {
            signals.recv().await;
        }
        Err(_) => std::future::pending().await,
    }
}
