//! Cuts the middle of a text, of which a middle may be missing already.

use agent_tool_core::clip_middle;

use crate::outcome::LeftOut;

/// How much is left out of a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Cut {
    pub characters: u64,
    pub bytes: u64,
    /// Whether some of it is left out here, and not only before.
    pub here: bool,
}

impl Cut {
    fn before(left_out: Option<LeftOut>) -> Self {
        match left_out {
            Some(LeftOut::Bytes(bytes)) => Self { bytes, ..Self::default() },
            Some(LeftOut::Characters(characters)) => Self { characters, ..Self::default() },
            None => Self::default(),
        }
    }

    /// Both together.
    pub(super) fn and(self, other: Self) -> Self {
        Self {
            characters: self.characters + other.characters,
            bytes: self.bytes + other.bytes,
            here: self.here || other.here,
        }
    }

    /// In words; none where nothing is left out.
    pub(super) fn said(self) -> Option<String> {
        let characters = (self.characters > 0).then(|| format!("{} characters", self.characters));
        let bytes = (self.bytes > 0).then(|| format!("{} bytes", self.bytes));
        let said: Vec<String> = characters.into_iter().chain(bytes).collect();
        (!said.is_empty()).then(|| said.join(" and "))
    }
}

/// Keeps head and tail, `limit` characters together. The line between them says all that is missing, what was missing
/// before included.
pub(super) fn cut(text: &str, limit: usize, left_out: Option<LeftOut>) -> (String, Cut) {
    let before = Cut::before(left_out);
    let line = left_out.map(LeftOut::line);
    let Some((head, tail)) = line.as_deref().and_then(|line| text.split_once(line)) else {
        let clipped = clip_middle(text, limit, None);
        let characters = clipped.cut as u64;
        let here = Cut { characters, here: characters > 0, ..Cut::default() };
        return (clipped.text, before.and(here));
    };
    let (head_count, tail_count) = (head.chars().count(), tail.chars().count());
    if head_count + tail_count <= limit {
        return (text.to_owned(), before);
    }
    let head_limit = head_count.min(limit * 2 / 3);
    let tail_limit = tail_count.min(limit - head_limit);
    let characters = (head_count - head_limit + tail_count - tail_limit) as u64;
    let all = before.and(Cut { characters, here: true, ..Cut::default() });
    let bytes = match all.bytes {
        0 => String::new(),
        bytes => format!(" and {bytes} bytes"),
    };
    let text = format!(
        "{}\n… {} more characters{bytes} …\n{}",
        &head[..at(head, head_limit)],
        all.characters,
        &tail[at(tail, tail_count - tail_limit)..]
    );
    (text, all)
}

/// Where the character of this number begins.
fn at(text: &str, number: usize) -> usize {
    text.char_indices().nth(number).map_or(text.len(), |(index, _)| index)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_after_a_cut_tells_both() {
        let text = format!("{}{}{}", "é".repeat(10), LeftOut::Bytes(7).line(), "b".repeat(10));
        let whole = Cut { bytes: 7, ..Cut::default() };
        assert_eq!(cut(&text, 20, Some(LeftOut::Bytes(7))), (text.clone(), whole));
        let (shown, made) = cut(&text, 6, Some(LeftOut::Bytes(7)));
        assert_eq!(shown, "éééé\n… 14 more characters and 7 bytes …\nbb");
        assert_eq!(made.said().as_deref(), Some("14 characters and 7 bytes"));
        let text = format!("a{}{}", LeftOut::Characters(7).line(), "b".repeat(10));
        let (shown, made) = cut(&text, 6, Some(LeftOut::Characters(7)));
        assert_eq!(shown, "a\n… 12 more characters …\nbbbbb");
        assert_eq!((made.characters, made.here), (12, true));
    }

    #[test]
    fn a_first_cut_is_the_common_one() {
        let (shown, made) = cut("abcdefgh", 3, None);
        assert_eq!(shown, "ab\n… 5 more characters …\nh");
        assert_eq!(made, Cut { characters: 5, bytes: 0, here: true });
        assert_eq!(cut("abc", 3, None), ("abc".to_owned(), Cut::default()));
    }
}
