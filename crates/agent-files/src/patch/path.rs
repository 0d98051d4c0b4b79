//! Paths as diffs write them: quoted, prefixed, followed by a date.

/// The prefixes that git puts before the old and the new path (`diff.noprefix`,
/// `diff.mnemonicPrefix`).
const PREFIXES: [(&str, &str); 6] =
    [("a/", "b/"), ("i/", "w/"), ("c/", "i/"), ("c/", "w/"), ("o/", "w/"), ("1/", "2/")];

/// What stands for no file.
pub(super) const NO_FILE: &str = "/dev/null";

/// The path after `---` or `+++`: without the date that follows a tab, and out of its quotes.
pub(super) fn of_header(text: &str) -> String {
    let text = text.trim_start();
    if text.starts_with('"') {
        return unquoted(text).0;
    }
    text.split('\t').next().unwrap_or(text).trim_end().to_owned()
}

/// Old and new path without their prefixes, where they have a pair of them.
pub(super) fn without_prefixes(old: &str, new: &str) -> (String, String) {
    for (a, b) in PREFIXES {
        let pair = match (old.strip_prefix(a), new.strip_prefix(b)) {
            (Some(old), Some(new)) => (old, new),
            (Some(old), None) if new == NO_FILE => (old, new),
            (None, Some(new)) if old == NO_FILE => (old, new),
            _ => continue,
        };
        return (pair.0.to_owned(), pair.1.to_owned());
    }
    (old.to_owned(), new.to_owned())
}

/// The two paths of `diff --git`. Names with spaces stand there without quotes, so the middle is
/// where both halves name the same file; a rename has lines of its own.
pub(super) fn of_git_line(text: &str) -> Option<(String, String)> {
    if text.starts_with('"') {
        let (old, rest) = unquoted(text);
        return Some((old, of_header(rest.strip_prefix(' ')?)));
    }
    let same = text.match_indices(' ').find_map(|(middle, _)| {
        let (old, new) = (&text[..middle], &text[middle + 1..]);
        let (bare_old, bare_new) = without_prefixes(old, new);
        (bare_old == bare_new).then(|| (old.to_owned(), new.to_owned()))
    });
    same.or_else(|| {
        let (old, new) = text.split_once(' ')?;
        Some((old.to_owned(), of_header(new)))
    })
}

/// Git's C-style quotes: what stands in them, and what follows.
fn unquoted(text: &str) -> (String, &str) {
    let mut bytes = Vec::new();
    let source = text.as_bytes();
    let mut at = 1;
    while let Some(&byte) = source.get(at) {
        at += 1;
        match byte {
            b'"' => return (String::from_utf8_lossy(&bytes).into_owned(), &text[at..]),
            b'\\' => {
                let digits = source[at..].iter().take(3).take_while(|d| (b'0'..b'8').contains(d));
                let digits = digits.count();
                if digits == 3 {
                    let value = source[at..at + 3]
                        .iter()
                        .fold(0_u32, |value, digit| value * 8 + u32::from(digit - b'0'));
                    bytes.push(u8::try_from(value & 0xff).unwrap_or(b'?'));
                    at += 3;
                } else if let Some(&escaped) = source.get(at) {
                    bytes.push(match escaped {
                        b'n' => b'\n',
                        b't' => b'\t',
                        b'r' => b'\r',
                        b'a' => 7,
                        b'b' => 8,
                        b'f' => 12,
                        b'v' => 11,
                        other => other,
                    });
                    at += 1;
                }
            }
            other => bytes.push(other),
        }
    }
    (String::from_utf8_lossy(&bytes).into_owned(), "")
}
