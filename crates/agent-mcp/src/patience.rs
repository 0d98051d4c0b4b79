//! How long a call is waited for, without the time in which its server waits for a person.

use std::{sync::Arc, time::Duration};

use tokio::{
    sync::watch,
    time::{Instant, sleep},
};

/// The patience of one call. Clones share it.
#[derive(Clone, Debug)]
pub(crate) struct Patience {
    state: Arc<watch::Sender<State>>,
}

#[derive(Clone, Copy, Debug, Default)]
struct State {
    pauses: usize,
    over: bool,
}

/// The clock stands while this lives.
pub(crate) struct Pause(Patience);

impl Patience {
    pub(crate) fn new() -> Self {
        Self { state: Arc::new(watch::Sender::new(State::default())) }
    }

    pub(crate) fn pause(&self) -> Pause {
        self.state.send_modify(|state| state.pauses += 1);
        Pause(self.clone())
    }

    /// The call is over: nobody is to be asked for it any more.
    pub(crate) fn end(&self) {
        self.state.send_modify(|state| state.over = true);
    }

    /// Waits for that.
    pub(crate) async fn ended(&self) {
        let mut state = self.state.subscribe();
        let _gone = state.wait_for(|state| state.over).await;
    }

    /// Waits until so much time passed while the clock ran.
    pub(crate) async fn run_out(&self, limit: Duration) {
        let mut state = self.state.subscribe();
        let mut left = limit;
        loop {
            if state.borrow_and_update().pauses > 0 {
                if state.changed().await.is_err() {
                    return;
                }
                continue;
            }
            let begun = Instant::now();
            tokio::select! {
                () = sleep(left) => return,
                _ = state.changed() => left = left.saturating_sub(begun.elapsed()),
            }
        }
    }
}

impl Drop for Pause {
    fn drop(&mut self) {
        self.0.state.send_modify(|state| state.pauses -= 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_clock_stands_while_a_person_is_asked() {
        let patience = Patience::new();
        let begun = Instant::now();
        let asked = async {
            sleep(Duration::from_secs(4)).await;
            let pause = patience.pause();
            sleep(Duration::from_secs(100)).await;
            drop(pause);
        };
        tokio::join!(patience.run_out(Duration::from_secs(10)), asked);
        assert_eq!(begun.elapsed().as_secs(), 110);
    }
}
