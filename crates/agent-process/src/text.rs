//! Text that others wrote, made short enough to keep.

/// The most bytes that a character takes.
pub(crate) const CHAR_BYTES: usize = 4;

/// The bytes as text of at most `chars` characters, with "… N more bytes" where something was cut.
pub(crate) fn clip(bytes: &[u8], chars: usize) -> String {
    clip_start(&bytes[..bytes.len().min(chars * CHAR_BYTES)], bytes.len(), chars)
}

/// The same where only the start of `total` bytes was kept.
pub(crate) fn clip_start(start: &[u8], total: usize, chars: usize) -> String {
    let text = String::from_utf8_lossy(start);
    let end = text.char_indices().nth(chars).map_or(text.len(), |(end, _)| end);
    if end == text.len() && start.len() == total {
        return text.into_owned();
    }
    format!("{} … {} more bytes", &text[..end], total.saturating_sub(end))
}

#[cfg(test)]
mod tests {
    use super::clip;

    #[test]
    fn a_clipped_text_says_how_much_is_missing() {
        assert_eq!(clip("short".as_bytes(), 5), "short");
        assert_eq!(clip("longer".as_bytes(), 4), "long … 2 more bytes");
        assert_eq!(clip("ååå".as_bytes(), 2), "åå … 2 more bytes");
        assert_eq!(clip(b"\xff\xfe", 5), "\u{fffd}\u{fffd}");
    }
}
