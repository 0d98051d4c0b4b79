//! The output of a command: told as it comes, kept with head and tail.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agent_process::{Characters, Excerpt, ExcerptText};
use agent_tool_core::{Context, Event};
use tokio::io::{AsyncRead, AsyncReadExt};

/// How many bytes of an output's beginning are kept: 256 KiB.
pub const MAX_HEAD_BYTES: usize = 256 << 10;

/// How many bytes of an output's end are kept, where it is longer: 256 KiB.
pub const MAX_TAIL_BYTES: usize = 256 << 10;

const CHUNK_BYTES: usize = 16 << 10;

/// What is kept of an output. Clones are the same.
#[derive(Clone, Debug)]
pub(crate) struct Kept(Arc<Mutex<Excerpt>>);

impl Kept {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Mutex::new(Excerpt::new(MAX_HEAD_BYTES, MAX_TAIL_BYTES))))
    }

    /// Reads a pipe to its end, and tells what comes. The command never waits for whoever is told.
    pub(crate) async fn read(self, mut pipe: impl AsyncRead + Unpin, cx: Context) {
        let mut chunk = vec![0; CHUNK_BYTES];
        let mut characters = Characters::default();
        while let Ok(count @ 1..) = pipe.read(&mut chunk).await {
            self.excerpt().push(&chunk[..count]);
            tell(&cx, characters.push(&chunk[..count]));
        }
        tell(&cx, characters.end());
    }

    pub(crate) fn text(&self) -> ExcerptText {
        self.excerpt().text()
    }

    fn excerpt(&self) -> MutexGuard<'_, Excerpt> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn tell(cx: &Context, text: String) {
    if !text.is_empty() {
        cx.emit(Event::Output { text });
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use agent_tool_core::{CallId, Context, Event, Events, Nothing, Tier};

    use super::{Kept, MAX_HEAD_BYTES, MAX_TAIL_BYTES};

    #[derive(Default)]
    struct Told(Mutex<Vec<String>>);

    impl Events for Told {
        fn emit(&self, _cx: &Context, event: Event) {
            let Event::Output { text } = event else { panic!("{event:?}") };
            self.0.lock().unwrap().push(text);
        }
    }

    fn read(pieces: &[&[u8]]) -> (agent_process::ExcerptText, Vec<String>) {
        let told = Arc::new(Told::default());
        let cx = Context::new(CallId::new("c"), Tier::Exec, Arc::new(Nothing), told.clone());
        let kept = Kept::new();
        let (mut write, read) = tokio::io::duplex(1 << 20);
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let reading = tokio::spawn(kept.clone().read(read, cx));
            for piece in pieces {
                tokio::io::AsyncWriteExt::write_all(&mut write, piece).await.unwrap();
                // Lets the reader take each piece by itself.
                for _ in 0..10 {
                    tokio::task::yield_now().await;
                }
            }
            drop(write);
            reading.await.unwrap();
        });
        let told = told.0.lock().unwrap().clone();
        (kept.text(), told)
    }

    #[test]
    fn a_character_in_two_pieces_is_told_whole() {
        let (text, told) = read(&[b"a\xe2\x82", b"\xacb", b"\xff\xf0\x9f", b"\x99\x82"]);
        assert_eq!(told, ["a", "€b", "\u{fffd}", "🙂"]);
        assert_eq!((text.text.as_str(), text.total, text.dropped), ("a€b\u{fffd}🙂", 10, 0));
    }

    #[test]
    fn what_breaks_off_is_told_at_the_end() {
        let (text, told) = read(&[b"x\xe2\x82"]);
        assert_eq!(told, ["x", "\u{fffd}"]);
        assert_eq!(text.text, "x\u{fffd}");
    }

    #[test]
    fn head_and_tail_of_a_long_output_are_kept_and_the_rest_counted() {
        let long = vec![b'm'; MAX_HEAD_BYTES + MAX_TAIL_BYTES];
        let (text, _) = read(&[b"first ", &long, b" last"]);
        assert!(text.text.starts_with("first m"), "{}", &text.text[..20]);
        assert!(text.text.ends_with("m last"));
        assert!(text.text.contains("\n… 11 bytes of output were not kept …\n"));
        assert_eq!((text.dropped, text.total), (11, long.len() as u64 + 11));
    }
}
