//! When a request is made again.

use std::time::Duration;

use crate::{ModelError, ModelErrorKind};

/// How often a request to a host whose name is not known is repeated: a name that is wrong stays so.
pub const UNKNOWN_HOST_TIMES: u32 = 2;

/// How requests that failed are repeated: those that may be (see
/// [`ModelErrorKind::is_retryable`]), with waits that double and vary, and never past the bounds here.
///
/// A request is repeated as a whole before any call of its answer was made, so no call is ever made
/// twice by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Retry {
    /// How often a request is repeated.
    pub times: u32,
    /// The wait before the first repetition. Each one after it waits twice as long.
    pub first: Duration,
    /// The longest wait of its own.
    pub most: Duration,
    /// The longest wait that a provider may ask for. Where it asks for more, the turn ends and says so.
    pub most_asked: Duration,
}

impl Default for Retry {
    /// Five times, after 1, 2, 4, 8 and 16 seconds or what the provider asks for, up to two minutes.
    fn default() -> Self {
        Self {
            times: 5,
            first: Duration::from_secs(1),
            most: Duration::from_secs(30),
            most_asked: Duration::from_secs(120),
        }
    }
}

impl Retry {
    /// Nothing is repeated.
    #[must_use]
    pub fn never() -> Self {
        Self { times: 0, ..Self::default() }
    }

    /// The same waits, so many times.
    #[must_use]
    pub fn with_times(mut self, times: u32) -> Self {
        self.times = times;
        self
    }

    /// The same number of times, with this as the first wait.
    #[must_use]
    pub fn with_first(mut self, wait: Duration) -> Self {
        self.first = wait;
        self
    }

    /// How long to wait after an error that was the last of so many `failures`, or the error with
    /// which to give up.
    pub(crate) fn after(&self, error: ModelError, failures: u32) -> Result<Duration, ModelError> {
        if !error.kind.is_retryable() {
            return Err(error);
        }
        let times = match error.kind {
            ModelErrorKind::UnknownHost => self.times.min(UNKNOWN_HOST_TIMES),
            _ => self.times,
        };
        if failures > times {
            return Err(given_up(error, failures));
        }
        match error.retry_after {
            Some(asked) if asked > self.most_asked => Err(too_long(error, asked)),
            Some(asked) => Ok(asked),
            None => Ok(self.vary(self.doubled(failures))),
        }
    }

    fn doubled(&self, failures: u32) -> Duration {
        let factor = 2_u32.saturating_pow(failures.saturating_sub(1));
        self.first.saturating_mul(factor).min(self.most)
    }

    /// Between half of the wait and all of it, so that many who failed together do not come back together.
    fn vary(&self, wait: Duration) -> Duration {
        wait.mul_f64(0.5 + fastrand::f64() / 2.0)
    }
}

fn given_up(mut error: ModelError, failures: u32) -> ModelError {
    if failures > 1 {
        error.message = format!("{} (given up after {failures} requests)", error.message);
    }
    error
}

fn too_long(mut error: ModelError, asked: Duration) -> ModelError {
    error.message = format!("{}; it asks to wait for {} s", error.message, asked.as_secs());
    if error.kind == ModelErrorKind::RateLimited {
        error.message.push_str(", which is left to you: go on when that is over");
    }
    error
}
