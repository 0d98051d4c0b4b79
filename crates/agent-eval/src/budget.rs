//! When a cell is stopped, and how: pure clocks, told the time.

use std::time::Duration;

use tokio::time::Instant;

/// How long a cell may be silent, unless the host says otherwise.
pub const IDLE: Duration = Duration::from_secs(5 * 60);

/// How long each step of a stop is given before the next one. A call into C code ends by itself within it more often than not.
pub const STEP_TIME: Duration = Duration::from_secs(5);

/// How long a cell whose calls were failed has to see that before it is interrupted.
pub(crate) const CALLS_TIME: Duration = Duration::from_millis(250);

/// A cell's time: a window of silence, which every sign of life opens anew and which does not run while a bridged call does.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget {
    window: Duration,
    until: Instant,
    calls: usize,
}

/// What is done to end a cell, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// SIGINT to the kernel: its variables stay.
    Interrupt,
    /// SIGINT to its group: a child that it waits for ends.
    InterruptGroup,
    /// SIGKILL to its group.
    Kill,
}

/// The steps that are left, and when the next one is due.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ladder {
    next: Option<Step>,
    due: Instant,
}

impl Budget {
    pub(crate) fn new(window: Duration, now: Instant) -> Self {
        Self { window, until: now + window, calls: 0 }
    }

    /// A sign of life: output that is kept, a display, a call.
    pub(crate) fn activity(&mut self, now: Instant) {
        self.until = self.until.max(now + self.window);
    }

    pub(crate) fn call_began(&mut self) {
        self.calls += 1;
    }

    /// The last call that ends opens a whole window.
    pub(crate) fn call_ended(&mut self, now: Instant) {
        self.calls = self.calls.saturating_sub(1);
        self.activity(now);
    }

    /// When the time is over; none while a call runs.
    pub(crate) fn until(&self) -> Option<Instant> {
        (self.calls == 0).then_some(self.until)
    }
}

impl Ladder {
    /// Begins at `first`.
    pub(crate) fn new(first: Instant) -> Self {
        Self { next: Some(Step::Interrupt), due: first }
    }

    /// When the next step is due; none when all were taken.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.next.map(|_| self.due)
    }

    /// The step that is due, taken.
    pub(crate) fn take(&mut self, now: Instant) -> Option<Step> {
        let step = self.next.filter(|_| now >= self.due)?;
        self.next = match step {
            Step::Interrupt => Some(Step::InterruptGroup),
            Step::InterruptGroup => Some(Step::Kill),
            Step::Kill => None,
        };
        self.due = now + STEP_TIME;
        Some(step)
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    const WINDOW: Duration = Duration::from_secs(300);

    #[tokio::test(start_paused = true)]
    async fn silence_ends_a_cell_and_life_opens_a_new_window() {
        let mut budget = Budget::new(WINDOW, Instant::now());
        advance(Duration::from_secs(299)).await;
        budget.activity(Instant::now());
        assert_eq!(budget.until(), Some(Instant::now() + WINDOW));
    }

    #[tokio::test(start_paused = true)]
    async fn no_time_passes_while_any_call_runs_and_a_whole_window_follows() {
        let mut budget = Budget::new(WINDOW, Instant::now());
        budget.call_began();
        budget.call_began();
        advance(Duration::from_secs(10_000)).await;
        assert_eq!(budget.until(), None);
        budget.call_ended(Instant::now());
        assert_eq!(budget.until(), None, "one still runs");
        advance(Duration::from_secs(10_000)).await;
        budget.call_ended(Instant::now());
        assert_eq!(budget.until(), Some(Instant::now() + WINDOW));
    }

    #[tokio::test(start_paused = true)]
    async fn the_steps_of_a_stop_are_five_seconds_apart() {
        let mut ladder = Ladder::new(Instant::now());
        assert_eq!(ladder.take(Instant::now()), Some(Step::Interrupt));
        advance(Duration::from_millis(4999)).await;
        assert_eq!(ladder.take(Instant::now()), None);
        advance(Duration::from_millis(1)).await;
        assert_eq!(ladder.take(Instant::now()), Some(Step::InterruptGroup));
        advance(STEP_TIME).await;
        assert_eq!(ladder.take(Instant::now()), Some(Step::Kill));
        assert_eq!(ladder.due(), None);
    }
}
