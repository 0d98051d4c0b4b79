//! Gathers what a cell shows, within bounds.

use super::{Shown, capture::Capture};
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
    clear_next: bool,
}

#[derive(Debug)]
enum Item {
    Text(Stream, Vec<u8>),
    Display(Option<String>, Bundle),
    Result(Bundle),
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

    pub(crate) fn display(&mut self, id: Option<String>, bundle: Bundle) {
        self.clear_if_asked();
        if self.admits(&bundle) {
            self.items.push(Item::Display(id, bundle));
        }
    }

    /// Replaces the displays of this id.
    pub(crate) fn update(&mut self, id: Option<&str>, bundle: Bundle) {
        for item in &mut self.items {
            if let Item::Display(Some(known), shown) = item
                && Some(known.as_str()) == id
            {
                shown.clone_from(&bundle);
            }
        }
    }

    pub(crate) fn result(&mut self, bundle: Bundle) {
        self.clear_if_asked();
        if self.admits(&bundle) {
            self.items.push(Item::Result(bundle));
        }
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
        let mut truncated = self.left_out > 0;
        if self.left_out > 0 {
            self.note(format!("{} more displays left out", self.left_out));
        }
        let captures = [
            (Stream::Stdout, std::mem::take(&mut self.stdout)),
            (Stream::Stderr, std::mem::take(&mut self.stderr)),
        ];
        for (stream, capture) in captures {
            if let Some((tail, dropped)) = capture.finish() {
                truncated |= dropped > 0;
                let mut text = match dropped {
                    0 => Vec::new(),
                    dropped => format!("\n… {dropped} bytes left out …\n").into_bytes(),
                };
                text.extend(tail);
                match self.items.last_mut() {
                    Some(Item::Text(last, shown)) if *last == stream => shown.extend(text),
                    _ => self.items.push(Item::Text(stream, text)),
                }
            }
        }
        (self.items.into_iter().map(shown).collect(), truncated)
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

fn shown(item: Item) -> Shown {
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    match item {
        Item::Text(Stream::Stdout, bytes) => Shown::Stdout(text(bytes)),
        Item::Text(Stream::Stderr, bytes) => Shown::Stderr(text(bytes)),
        Item::Display(_, bundle) => Shown::Display(bundle),
        Item::Result(bundle) => Shown::Result(bundle),
        Item::Note(text) => Shown::Note(text),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn bundle(text: &str) -> Bundle {
        [("text/plain".to_owned(), json!(text))].into_iter().collect()
    }

    #[test]
    fn neighbours_of_one_stream_are_one_text_and_order_stays() {
        let mut collector = Collector::default();
        collector.text(Stream::Stdout, "å".as_bytes().split_at(1).0);
        collector.text(Stream::Stdout, "å".as_bytes().split_at(1).1);
        collector.display(None, bundle("mid"));
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
        collector.display(Some("a".into()), bundle("1"));
        collector.update(Some("a"), bundle("2"));
        collector.update(Some("b"), bundle("3"));
        collector.clear();
        assert_eq!(collector.items.len(), 1, "nothing came yet");
        collector.display(None, bundle("4"));
        assert_eq!(collector.finish().0, [Shown::Display(bundle("4"))]);
    }

    #[test]
    fn what_is_over_the_bounds_is_counted_and_said() {
        let mut collector = Collector::default();
        for _ in 0..MAX_DISPLAYS + 2 {
            collector.display(None, bundle("x"));
        }
        let (shown, truncated) = collector.finish();
        assert_eq!(shown.len(), MAX_DISPLAYS + 1);
        assert_eq!(shown.last(), Some(&Shown::Note("2 more displays left out".into())));
        assert!(truncated);
    }
}
