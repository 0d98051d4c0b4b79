//! Tokens that a model says it used.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What one answer used, in tokens. What the provider did not say is `None`, which is not zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Usage {
    /// Everything that was read, what came from a cache included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<u64>,
    /// Everything that was written, reasoning included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<u64>,
    /// The part of the input that came from a cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached: Option<u64>,
}

impl Usage {
    /// Input and output, with nothing known of a cache.
    #[must_use]
    pub fn new(input: u64, output: u64) -> Self {
        Self { input: Some(input), output: Some(output), cached: None }
    }

    /// The same usage with so much of its input from a cache.
    #[must_use]
    pub fn with_cached(mut self, cached: u64) -> Self {
        self.cached = Some(cached);
        self
    }
}

/// The usage of several answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Tally {
    /// How many answers were counted, those that broke off included.
    pub answers: u32,
    /// Tokens read.
    pub input: Count,
    /// Tokens written.
    pub output: Count,
    /// Tokens read from a cache.
    pub cached: Count,
}

impl Tally {
    /// Counts one more answer.
    pub fn add(&mut self, usage: &Usage) {
        self.answers += 1;
        self.input.add(usage.input);
        self.output.add(usage.output);
        self.cached.add(usage.cached);
    }

    /// Counts everything that another tally counted.
    pub fn merge(&mut self, other: &Tally) {
        self.answers += other.answers;
        for (count, more) in [
            (&mut self.input, other.input),
            (&mut self.output, other.output),
            (&mut self.cached, other.cached),
        ] {
            count.known += more.known;
            count.unknown += more.unknown;
        }
    }
}

/// A sum of numbers of which some may be unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Count {
    /// The sum of what is known.
    pub known: u64,
    /// How many answers did not say.
    pub unknown: u32,
}

impl Count {
    /// The sum, where every answer said its part.
    #[must_use]
    pub fn exact(&self) -> Option<u64> {
        (self.unknown == 0).then_some(self.known)
    }

    fn add(&mut self, tokens: Option<u64>) {
        match tokens {
            Some(tokens) => self.known += tokens,
            None => self.unknown += 1,
        }
    }
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.exact(), self.known) {
            (Some(exact), _) => write!(f, "{exact}"),
            (None, 0) => f.write_str("unknown"),
            (None, known) => write!(f, "at least {known}"),
        }
    }
}
