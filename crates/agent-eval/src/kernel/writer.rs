//! Writes to the kernel in a task of its own, so that neither side ever waits for the other to read first.

use tokio::{io::AsyncWriteExt as _, process::ChildStdin, sync::mpsc};

/// A place for frames. Dropping it closes the kernel's input once what was given is written.
#[derive(Debug)]
pub(super) struct Writer(mpsc::UnboundedSender<Vec<u8>>);

impl Writer {
    pub(super) fn start(input: Option<ChildStdin>) -> Self {
        let (sender, mut frames) = mpsc::unbounded_channel::<Vec<u8>>();
        if let Some(mut input) = input {
            tokio::spawn(async move {
                while let Some(frame) = frames.recv().await {
                    // A kernel that does not read any more is seen by its output's end.
                    if input.write_all(&frame).await.is_err() {
                        return;
                    }
                }
            });
        }
        Self(sender)
    }

    pub(super) fn write(&self, frame: Vec<u8>) {
        let _ = self.0.send(frame);
    }
}
