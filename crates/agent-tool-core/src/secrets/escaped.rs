//! Values as JSON writes them within a text: with a backslash before some letters, or as numbers of letters.

/// JSON may stand in a text of JSON; so often what it writes is read.
const DEPTH: usize = 2;

/// The text with `[NAME]` for each value that is in it only once its escapes are read. Whatever else it holds stays as it is.
pub(super) fn without(mut text: String, values: &[(String, String)]) -> String {
    if values.is_empty() || !text.contains('\\') {
        return text;
    }
    let mut read = Read::of(&text);
    for depth in 1..=DEPTH {
        let mut found = Vec::new();
        for (name, value) in values {
            for (at, _) in read.text.match_indices(value.as_str()) {
                let (start, end) = (read.starts[at], read.starts[at + value.len()]);
                if found.iter().all(|(from, to, _)| end <= *from || *to <= start) {
                    found.push((start, end, name));
                }
            }
        }
        found.sort_unstable();
        for (start, end, name) in found.iter().rev() {
            text.replace_range(*start..*end, &format!("[{name}]"));
        }
        if depth == DEPTH || !read.text.contains('\\') {
            break;
        }
        read = match found.is_empty() {
            true => read.again(),
            false => Read::of(&text).again(),
        };
    }
    text
}

/// A text whose escapes are read, and for each byte of it where what it is from begins; one more for the end.
struct Read {
    text: String,
    starts: Vec<usize>,
}

impl Read {
    fn of(text: &str) -> Self {
        let mut read = Self {
            text: String::with_capacity(text.len()),
            starts: Vec::with_capacity(text.len() + 1),
        };
        let mut rest = text;
        while let Some(c) = rest.chars().next() {
            let (c, taken) = escape(rest).unwrap_or((c, c.len_utf8()));
            read.text.push(c);
            read.starts.resize(read.text.len(), text.len() - rest.len());
            rest = &rest[taken..];
        }
        read.starts.push(text.len());
        read
    }

    /// The same once more, with places in the text that came first.
    fn again(&self) -> Self {
        let mut again = Self::of(&self.text);
        again.starts.iter_mut().for_each(|start| *start = self.starts[*start]);
        again
    }
}

/// The letter that an escape at the beginning of this stands for, and how many bytes it takes.
fn escape(text: &str) -> Option<(char, usize)> {
    let rest = text.strip_prefix('\\')?;
    let c = match rest.chars().next()? {
        c @ ('"' | '\\' | '/') => c,
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'b' => '\u{8}',
        'f' => '\u{c}',
        'u' => {
            let first = unit(text)?;
            return match char::from_u32(u32::from(first)) {
                Some(c) => Some((c, UNIT)),
                // One half of a letter, and the other one behind it.
                None => {
                    let second = unit(text.get(UNIT..)?)?;
                    let c = char::decode_utf16([first, second]).next()?.ok()?;
                    Some((c, 2 * UNIT))
                }
            };
        }
        _ => return None,
    };
    Some((c, 2))
}

/// The bytes of `\u0000`.
const UNIT: usize = 6;

fn unit(text: &str) -> Option<u16> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    let are_hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    are_hex.then(|| u16::from_str_radix(digits, 16).ok())?
}
