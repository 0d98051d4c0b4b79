//! Gathers what a cell shows, within bounds.

use agent_tool_core::counted;

use super::{LeftOut, Shown, capture::Capture};
use crate::wire::{Bundle, Stream};

/// How many displays of a cell are kept.
pub const MAX_DISPLAYS: usize = 50;

/// How many bytes the displays of a cell may take together.
pub const MAX_BUNDLE_BYTES: usize = 48 << 20;

/// What a cell has shown so far.
#[derive(Debug, Default)]
pub(crate) struct Collector {
    items: Vec<Item>,
    stdout: Capture,
    stderr: Capture,
    displays: usize,
    bundle_bytes: usize,
    left_out: usize,
    /// Whether a message that could not be read would stand here.
    misses: bool,
    clear_next: bool,
}

#[derive(Debug)]
enum Item {
    Text(Stream, Vec<u8>),
    Display(Option<String>, Bundle, u64),
    Result(Bundle, u64),
    LeftOut(LeftOut),
    Note(String),
}

impl Collector {
    /// Whether bytes of this were kept, and not only counted.
    pub(crate) fn text(&mut self, stream: Stream, bytes: &[u8]) -> bool {
        self.clear_if_asked();
        let capture = self.capture(stream);
        let kept = capture.take(bytes);
        if kept > 0 {
            match self.items.last_mut() {
                Some(Item::Text(last, text)) if *last == stream => {
                    text.extend_from_slice(&bytes[..kept]);
                }
                _ => self.items.push(Item::Text(stream, bytes[..kept].to_vec())),
            }
        }
        kept > 0
    }

    /// A display, of whose text the kernel left out so many characters.
    pub(crate) fn display(&mut self, id: Option<String>, bundle: Bundle, left_out: u64) {
        self.clear_if_asked();
        if self.admits(&bundle) {
            self.items.push(Item::Display(id, bundle, left_out));
        }
    }

    /// Replaces the displays of this id.
    pub(crate) fn update(&mut self, id: Option<&str>, bundle: Bundle, left_out: u64) {
        for item in &mut self.items {
            if let Item::Display(Some(known), shown, missing) = item
                && Some(known.as_str()) == id
            {
                shown.clone_from(&bundle);
                *missing = left_out;
            }
        }
    }

    pub(crate) fn result(&mut self, bundle: Bundle, left_out: u64) {
        self.clear_if_asked();
        if self.admits(&bundle) {
            self.items.push(Item::Result(bundle, left_out));
        }
    }

    /// Something that was shown here and could not be read, in words.
    pub(crate) fn missing(&mut self, text: String) {
        self.misses = true;
        self.note(text);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    pub(crate) fn note(&mut self, text: impl Into<String>) {
        self.items.push(Item::Note(text.into()));
    }

    /// What was shown so far goes once something else comes.
    pub(crate) fn clear(&mut self) {
        self.clear_next = true;
    }

    /// Everything in its order, and whether something is missing.
    pub(crate) fn finish(mut self) -> (Vec<Shown>, bool) {
        let mut truncated = self.left_out > 0 || self.misses;
        if self.left_out > 0 {
            self.note(format!("{} left out", counted(self.left_out, "more display")));
        }
        let captures = [
            (Stream::Stdout, std::mem::take(&mut self.stdout)),
            (Stream::Stderr, std::mem::take(&mut self.stderr)),
        ];
        for (stream, capture) in captures {
            if let Some((tail, dropped)) = capture.finish() {
                let left_out = LeftOut::Bytes(dropped);
                let mut text = match dropped {
                    0 => Vec::new(),
                    _ => left_out.line().into_bytes(),
                };
                text.extend(tail);
                match self.items.last_mut() {
                    Some(Item::Text(last, shown)) if *last == stream => shown.extend(text),
                    _ => self.items.push(Item::Text(stream, text)),
                }
                if dropped > 0 {
                    self.items.push(Item::LeftOut(left_out));
                }
            }
        }
        let shown: Vec<Shown> = self.items.into_iter().flat_map(shown).collect();
        truncated |= shown.iter().any(|shown| matches!(shown, Shown::LeftOut(_)));
        (shown, truncated)
    }

    fn clear_if_asked(&mut self) {
        if std::mem::take(&mut self.clear_next) {
            *self = Self::default();
        }
    }

    fn admits(&mut self, bundle: &Bundle) -> bool {
        let bytes: usize = bundle.values().map(|value| value.as_str().map_or(64, str::len)).sum();
        if self.displays >= MAX_DISPLAYS || self.bundle_bytes + bytes > MAX_BUNDLE_BYTES {
            self.left_out += 1;
            return false;
        }
        self.displays += 1;
        self.bundle_bytes += bytes;
        true
    }

    fn capture(&mut self, stream: Stream) -> &mut Capture {
        match stream {
            Stream::Stdout => &mut self.stdout,
            Stream::Stderr => &mut self.stderr,
        }
    }
}

/// The item, and after it what is left out of it.
fn shown(item: Item) -> impl Iterator<Item = Shown> {
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    let (shown, left_out) = match item {
        Item::Text(Stream::Stdout, bytes) => (Shown::Stdout(text(bytes)), 0),
        Item::Text(Stream::Stderr, bytes) => (Shown::Stderr(text(bytes)), 0),
        Item::Display(_, bundle, left_out) => (Shown::Display(bundle), left_out),
        Item::Result(bundle, left_out) => (Shown::Result(bundle), left_out),
        Item::LeftOut(left_out) => (Shown::LeftOut(left_out), 0),
        Item::Note(text) => (Shown::Note(text), 0),
    };
    let left_out = (left_out > 0).then_some(Shown::LeftOut(LeftOut::Characters(left_out)));
    std::iter::once(shown).chain(left_out)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{
        super::{HEAD_BYTES, TAIL_BYTES},
        *,
    };

    fn bundle(text: &str) -> Bundle {
        [("text/plain".to_owned(), json!(text))].into_iter().collect()
    }

    #[test]
    fn neighbours_of_one_stream_are_one_text_and_order_stays() {
        let mut collector = Collector::default();
        collector.text(Stream::Stdout, "å".as_bytes().split_at(1).0);
        collector.text(Stream::Stdout, "å".as_bytes().split_at(1).1);
        collector.display(None, bundle("mid"), 0);
        collector.text(Stream::Stderr, b"e");
        let (shown, truncated) = collector.finish();
        let expected =
            [Shown::Stdout("å".into()), Shown::Display(bundle("mid")), Shown::Stderr("e".into())];
        assert_eq!(shown, expected);
        assert!(!truncated);
    }

    #[test]
    fn a_display_is_replaced_by_its_id_and_a_clear_waits_for_what_comes() {
        let mut collector = Collector::default();
        collector.display(Some("a".into()), bundle("1"), 0);
        collector.update(Some("a"), bundle("2"), 0);
        collector.update(Some("b"), bundle("3"), 0);
        collector.clear();
        assert_eq!(collector.items.len(), 1, "nothing came yet");
        collector.display(None, bundle("4"), 0);
        assert_eq!(collector.finish().0, [Shown::Display(bundle("4"))]);
    }

    #[test]
    fn what_is_over_the_bounds_is_counted_and_said() {
        let mut collector = Collector::default();
        for _ in 0..MAX_DISPLAYS + 2 {
            collector.display(None, bundle("x"), 0);
        }
        let (shown, truncated) = collector.finish();
        assert_eq!(shown.len(), MAX_DISPLAYS + 1);
        assert_eq!(shown.last(), Some(&Shown::Note("2 more displays left out".into())));
        assert!(truncated);
    }

    #[test]
    fn what_is_left_out_of_a_text_or_a_value_stands_behind_it() {
        let mut collector = Collector::default();
        collector.text(Stream::Stdout, &vec![b'a'; HEAD_BYTES + TAIL_BYTES + 7]);
        collector.result(bundle("b"), 3);
        let (shown, truncated) = collector.finish();
        let [_, Shown::Result(_), three, Shown::Stdout(tail), seven] = shown.as_slice() else {
            panic!("{shown:?}")
        };
        assert_eq!(three, &Shown::LeftOut(LeftOut::Characters(3)));
        assert_eq!(seven, &Shown::LeftOut(LeftOut::Bytes(7)));
        assert!(tail.starts_with("\n… 7 bytes left out …\naaa"));
        assert!(truncated);
    }
}
