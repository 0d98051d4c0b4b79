//! One attempt: what it said, and how it ended.

use std::{
    sync::{Arc, Mutex, OnceLock},
    time::Duration,
};

use tokio::{sync::watch, time::Instant};

use crate::{Status, lock, report::RESULT_CHARS};

/// An attempt that runs or ran. Its end is a state that is set once, under the roster's lock, and told
/// afterwards without it: whoever asks later sees it too.
#[derive(Debug)]
pub(crate) struct Attempt {
    number: u32,
    began: Instant,
    said: Mutex<Tail>,
    end: OnceLock<End>,
    told: watch::Sender<bool>,
}

/// How an attempt ended.
#[derive(Debug)]
pub(crate) struct End {
    pub(crate) status: Status,
    pub(crate) result: Option<Arc<str>>,
    /// How many messages came while it ran, which it did not get.
    pub(crate) queued: usize,
    pub(crate) elapsed: Duration,
}

impl Attempt {
    pub(crate) fn begin(number: u32) -> Arc<Self> {
        let (said, end, told) = (Mutex::default(), OnceLock::new(), watch::Sender::new(false));
        Arc::new(Self { number, began: Instant::now(), said, end, told })
    }

    pub(crate) fn number(&self) -> u32 {
        self.number
    }

    pub(crate) fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    pub(crate) fn append(&self, text: &str) {
        lock(&self.said).append(text);
    }

    /// What the attempt said so far, its end at least.
    pub(crate) fn said(&self) -> Option<String> {
        lock(&self.said).text()
    }

    pub(crate) fn end(&self) -> Option<&End> {
        self.end.get()
    }

    /// Ends the attempt. The first end stands.
    pub(crate) fn set_end(&self, status: Status, result: Option<Arc<str>>, queued: usize) {
        let elapsed = self.elapsed();
        self.end.get_or_init(|| End { status, result, queued, elapsed });
    }

    /// Wakes who waits for the end that was set.
    pub(crate) fn tell(&self) {
        self.told.send_replace(true);
    }

    /// Waits until the end was told.
    pub(crate) async fn ended(&self) {
        // The sender lives in the attempt, so the wait has no other end.
        let _ = self.told.subscribe().wait_for(|told| *told).await;
    }
}

/// The end of a text that may be long, with a count of what went before it.
#[derive(Debug, Default)]
struct Tail {
    text: String,
    cut: usize,
}

impl Tail {
    fn append(&mut self, text: &str) {
        self.text.push_str(text);
        // Cut in large steps: each moves all that is kept.
        if self.text.len() > 8 * RESULT_CHARS {
            let over = self.text.chars().count().saturating_sub(RESULT_CHARS);
            let at = self.text.char_indices().nth(over).map_or(self.text.len(), |(at, _)| at);
            self.text.drain(..at);
            self.cut += over;
        }
    }

    fn text(&self) -> Option<String> {
        let over = self.text.chars().count().saturating_sub(RESULT_CHARS);
        let at = self.text.char_indices().nth(over).map_or(self.text.len(), |(at, _)| at);
        let kept = &self.text[at..];
        match (self.cut + over, kept) {
            (_, "") => None,
            (0, kept) => Some(kept.to_owned()),
            (cut, kept) => Some(format!("{cut} characters before this …\n{kept}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_long_text_the_end_is_kept_and_the_rest_counted() {
        let mut tail = Tail::default();
        assert_eq!(tail.text(), None);
        for _ in 0..100 {
            tail.append(&"é".repeat(1_000));
        }
        tail.append("end");
        let text = tail.text().expect("a text");
        let before = 100_003 - RESULT_CHARS;
        assert!(text.starts_with(&format!("{before} characters before this …\né")), "{text:.60}");
        assert!(text.ends_with("éend"));
        assert!(tail.text.len() <= 8 * RESULT_CHARS);
    }
}
