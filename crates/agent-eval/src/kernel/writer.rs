//! Writes to the kernel what it takes at once, and keeps the rest, so that neither side ever waits for the other to read first.

use std::{collections::VecDeque, future};

use futures::FutureExt as _;
use tokio::{io::AsyncWriteExt as _, process::ChildStdin};

/// The kernel's input with what it has not taken yet. Dropping it closes the input.
#[derive(Debug)]
pub(super) struct Writer {
    input: Option<ChildStdin>,
    rest: VecDeque<u8>,
}

impl Writer {
    pub(super) fn new(input: Option<ChildStdin>) -> Self {
        Self { input, rest: VecDeque::new() }
    }

    /// Gives the kernel a frame. Most are taken whole, without another task between.
    pub(super) fn write(&mut self, frame: Vec<u8>) {
        let Some(input) = &mut self.input else { return };
        let taken = match self.rest.is_empty() {
            true => input.write(&frame).now_or_never(),
            false => None,
        };
        match taken {
            Some(Ok(count)) => self.rest.extend(&frame[count..]),
            // A kernel that does not read any more is seen by its output's end.
            Some(Err(_)) => self.close(),
            None => self.rest.extend(frame),
        }
    }

    /// Writes some of the rest as soon as that is possible; pending where there is none.
    pub(super) async fn go_on(&mut self) {
        let (Some(input), false) = (&mut self.input, self.rest.is_empty()) else {
            return future::pending().await;
        };
        match input.write(self.rest.as_slices().0).await {
            Ok(count) => drop(self.rest.drain(..count)),
            Err(_) => self.close(),
        }
    }

    pub(super) fn close(&mut self) {
        self.input = None;
        self.rest.clear();
    }
}
