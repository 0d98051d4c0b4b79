use std::sync::{Arc, Mutex, PoisonError};

use tokio::{
    io::{AsyncRead, AsyncReadExt},
    task::JoinHandle,
};

const CHUNK_BYTES: usize = 16 << 10;

/// The beginning of an output, read by a task of its own to the end.
#[derive(Debug)]
pub(crate) struct Capture {
    kept: Arc<Mutex<Kept>>,
    task: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Kept {
    bytes: Vec<u8>,
    dropped: u64,
}

impl Capture {
    pub(crate) fn start(
        pipe: Option<impl AsyncRead + Send + Unpin + 'static>,
        limit: usize,
    ) -> Self {
        let kept = Arc::<Mutex<Kept>>::default();
        let task = pipe.map(|pipe| tokio::spawn(read(pipe, kept.clone(), limit)));
        Self { kept, task }
    }

    /// Waits for the end of the output. May be dropped and called again.
    pub(crate) async fn ended(&mut self) {
        if let Some(task) = &mut self.task {
            let _ = task.await;
            self.task = None;
        }
    }

    /// What was read so far, and how many bytes more were dropped. Reading ends.
    pub(crate) fn take(self) -> (Vec<u8>, u64) {
        if let Some(task) = &self.task {
            task.abort();
        }
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        (std::mem::take(&mut kept.bytes), kept.dropped)
    }
}

async fn read(mut pipe: impl AsyncRead + Unpin, kept: Arc<Mutex<Kept>>, limit: usize) {
    let mut chunk = vec![0; CHUNK_BYTES];
    while let Ok(count @ 1..) = pipe.read(&mut chunk).await {
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        let room = limit.saturating_sub(kept.bytes.len()).min(count);
        kept.bytes.extend_from_slice(&chunk[..room]);
        kept.dropped += (count - room) as u64;
    }
}
