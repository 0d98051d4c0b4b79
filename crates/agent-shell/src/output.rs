//! The output of a command: told as it comes, kept with head and tail.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use agent_tool_core::{Context, Event};
use tokio::io::{AsyncRead, AsyncReadExt};

/// How many bytes of an output's beginning are kept: 256 KiB.
pub const MAX_HEAD_BYTES: usize = 256 << 10;

/// How many bytes of an output's end are kept, where it is longer: 256 KiB.
pub const MAX_TAIL_BYTES: usize = 256 << 10;

const CHUNK_BYTES: usize = 16 << 10;

/// The longest beginning of a character that is no whole one.
const PART_OF_A_CHARACTER: usize = 3;

/// What is kept of an output. Clones are the same.
#[derive(Clone, Debug, Default)]
pub(crate) struct Kept(Arc<Mutex<Bytes>>);

#[derive(Debug, Default)]
struct Bytes {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    dropped: u64,
}

/// An output as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Text {
    /// Head and tail, with a line between them where something is missing.
    pub(crate) text: String,
    /// How many bytes are missing.
    pub(crate) dropped: u64,
    /// How many there were.
    pub(crate) total: u64,
}

impl Kept {
    /// Reads a pipe to its end, and tells what comes. The command never waits for whoever is told.
    pub(crate) async fn read(self, mut pipe: impl AsyncRead + Unpin, cx: Context) {
        let mut chunk = vec![0; CHUNK_BYTES];
        let mut told = Vec::new();
        while let Ok(count @ 1..) = pipe.read(&mut chunk).await {
            self.bytes().push(&chunk[..count]);
            told.extend_from_slice(&chunk[..count]);
            tell(&cx, &mut told);
        }
        if !told.is_empty() {
            cx.emit(Event::Output { text: String::from_utf8_lossy(&told).into_owned() });
        }
    }

    pub(crate) fn text(&self) -> Text {
        let mut bytes = self.bytes();
        let Bytes { head, tail, dropped } = &mut *bytes;
        let total = head.len() as u64 + tail.len() as u64 + *dropped;
        let tail = tail.make_contiguous();
        let text = if *dropped == 0 {
            String::from_utf8_lossy(&[head, tail].concat()).into_owned()
        } else {
            let (head, tail) = (String::from_utf8_lossy(head), String::from_utf8_lossy(tail));
            format!("{head}\n… {dropped} bytes of output were not kept …\n{tail}")
        };
        Text { text, dropped: *dropped, total }
    }

    fn bytes(&self) -> MutexGuard<'_, Bytes> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Bytes {
    fn push(&mut self, bytes: &[u8]) {
        let room = MAX_HEAD_BYTES.saturating_sub(self.head.len()).min(bytes.len());
        let (head, rest) = bytes.split_at(room);
        self.head.extend_from_slice(head);
        self.tail.extend(rest);
        let over = self.tail.len().saturating_sub(MAX_TAIL_BYTES);
        self.tail.drain(..over);
        self.dropped += over as u64;
    }
}

/// Tells all whole characters, and leaves the beginning of one that is still to come.
fn tell(cx: &Context, bytes: &mut Vec<u8>) {
    let part = match std::str::from_utf8(bytes) {
        Err(error) if error.error_len().is_none() => bytes.len() - error.valid_up_to(),
        // The first fault is in the middle; what ends the bytes may be a beginning nevertheless.
        Err(_) => unfinished(bytes),
        Ok(_) => 0,
    };
    let rest = bytes.split_off(bytes.len() - part);
    let whole = std::mem::replace(bytes, rest);
    if !whole.is_empty() {
        cx.emit(Event::Output { text: String::from_utf8_lossy(&whole).into_owned() });
    }
}

/// How many bytes at the end are the beginning of a character.
fn unfinished(bytes: &[u8]) -> usize {
    let longest = PART_OF_A_CHARACTER.min(bytes.len());
    let begins = |count: &usize| {
        let end = &bytes[bytes.len() - count..];
        std::str::from_utf8(end)
            .is_err_and(|error| error.valid_up_to() == 0 && error.error_len().is_none())
    };
    (1..=longest).rev().find(begins).unwrap_or(0)
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

    fn read(pieces: &[&[u8]]) -> (super::Text, Vec<String>) {
        let told = Arc::new(Told::default());
        let cx = Context::new(CallId::new("c"), Tier::Exec, Arc::new(Nothing), told.clone());
        let kept = Kept::default();
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
