//! What the bytes of a text file are: encoding, line endings, the last newline, and the way back to the same bytes.

use serde::{Deserialize, Serialize};

use crate::{Error, ErrorKind, Result};

/// A NUL byte among so many first bytes makes a file binary, as git and ripgrep judge it.
pub const BINARY_PROBE_BYTES: usize = 8 * 1024;

const UTF8_BOM: &[u8] = b"\xEF\xBB\xBF";
const UTF16_LE_BOM: &[u8] = b"\xFF\xFE";
const UTF16_BE_BOM: &[u8] = b"\xFE\xFF";

/// How the bytes of a file stand for characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Encoding {
    /// UTF-8 without a byte-order mark; ASCII and an empty file are this.
    Utf8,
    /// UTF-8 with a byte-order mark.
    Utf8Bom,
    /// UTF-16, little endian, with a byte-order mark.
    Utf16Le,
    /// UTF-16, big endian, with a byte-order mark.
    Utf16Be,
    /// Anything else, read as Latin-1: every byte is the character of its number, so that the bytes come back as they were.
    Latin1,
}

/// How the lines of a text end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum LineEnding {
    /// No line ends.
    None,
    /// `\n` alone.
    Lf,
    /// `\r\n` alone.
    CrLf,
    /// `\r` alone.
    Cr,
    /// Several kinds; [`TextInfo::newline`] is the most frequent.
    Mixed,
}

/// What the bytes of a file tell about its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[non_exhaustive]
pub struct TextInfo {
    /// The encoding.
    pub encoding: Encoding,
    /// True when a NUL byte is among the first [`BINARY_PROBE_BYTES`] and no UTF-16 mark stands at the start.
    pub binary: bool,
    /// How lines end.
    pub line_ending: LineEnding,
    /// The newline for text that is added: the most frequent one, `\n` where there is none or a draw.
    pub newline: &'static str,
    /// True when the last line ends with a newline; an empty file has none.
    pub final_newline: bool,
}

/// A file's text without its byte-order mark, and what is needed to write it back.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Text {
    /// The characters. Line endings are as in the file.
    pub content: String,
    /// What the bytes were.
    pub info: TextInfo,
}

impl TextInfo {
    /// Looks at bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Text::decode(bytes).info
    }

    fn of_text(encoding: Encoding, binary: bool, text: &str) -> Self {
        let (line_ending, newline) = line_ending(text);
        Self { encoding, binary, line_ending, newline, final_newline: text.ends_with(['\n', '\r']) }
    }
}

impl Text {
    /// Decodes any bytes. What is neither UTF-8 nor marked UTF-16 is read as Latin-1, so [`Text::encode`] of the content
    /// gives the same bytes again, whatever they were.
    pub fn decode(bytes: &[u8]) -> Self {
        let (encoding, content) = decode(bytes);
        let marked = matches!(encoding, Encoding::Utf16Le | Encoding::Utf16Be);
        let binary = !marked && is_binary(bytes);
        let info = TextInfo::of_text(encoding, binary, &content);
        Self { content, info }
    }

    /// The bytes of `content` in this file's encoding, with its byte-order mark.
    ///
    /// # Errors
    /// `not_encodable` when the file is Latin-1 and the content has a character that Latin-1 does not have.
    pub fn encode(&self, content: &str) -> Result<Vec<u8>> {
        self.info.encoding.encode(content)
    }
}

impl Encoding {
    /// The bytes of a text in this encoding, with the byte-order mark that belongs to it.
    ///
    /// # Errors
    /// `not_encodable` for a character above U+00FF in [`Encoding::Latin1`].
    pub fn encode(self, content: &str) -> Result<Vec<u8>> {
        match self {
            Self::Utf8 => Ok(content.as_bytes().to_vec()),
            Self::Utf8Bom => Ok([UTF8_BOM, content.as_bytes()].concat()),
            Self::Utf16Le => Ok(utf16(UTF16_LE_BOM, content, u16::to_le_bytes)),
            Self::Utf16Be => Ok(utf16(UTF16_BE_BOM, content, u16::to_be_bytes)),
            Self::Latin1 => content.chars().map(latin1).collect(),
        }
    }
}

/// True when a NUL byte is among the first [`BINARY_PROBE_BYTES`].
pub(crate) fn is_binary(bytes: &[u8]) -> bool {
    bytes[..bytes.len().min(BINARY_PROBE_BYTES)].contains(&0)
}

fn decode(bytes: &[u8]) -> (Encoding, String) {
    if let Some(rest) = bytes.strip_prefix(UTF8_BOM)
        && let Ok(text) = std::str::from_utf8(rest)
    {
        return (Encoding::Utf8Bom, text.to_owned());
    }
    if let Some(rest) = bytes.strip_prefix(UTF16_LE_BOM)
        && let Some(text) = from_utf16(rest, u16::from_le_bytes)
    {
        return (Encoding::Utf16Le, text);
    }
    if let Some(rest) = bytes.strip_prefix(UTF16_BE_BOM)
        && let Some(text) = from_utf16(rest, u16::from_be_bytes)
    {
        return (Encoding::Utf16Be, text);
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => (Encoding::Utf8, text.to_owned()),
        Err(_) => (Encoding::Latin1, bytes.iter().copied().map(char::from).collect()),
    }
}

fn from_utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Option<String> {
    let (pairs, rest) = bytes.as_chunks::<2>();
    if !rest.is_empty() {
        return None;
    }
    char::decode_utf16(pairs.iter().copied().map(unit)).collect::<Result<_, _>>().ok()
}

fn utf16(mark: &[u8], content: &str, bytes: fn(u16) -> [u8; 2]) -> Vec<u8> {
    let mut out = mark.to_vec();
    out.extend(content.encode_utf16().flat_map(bytes));
    out
}

fn latin1(character: char) -> Result<u8> {
    u8::try_from(u32::from(character)).map_err(|_| {
        Error::new(
            ErrorKind::NotEncodable,
            format!(
                "the file is not UTF-8 and `{character}` has no byte in it; convert the file to UTF-8 first, or write the text without that character"
            ),
        )
    })
}

fn line_ending(text: &str) -> (LineEnding, &'static str) {
    let bytes = text.as_bytes();
    let (mut lf, mut crlf, mut cr) = (0_usize, 0_usize, 0_usize);
    for (index, byte) in bytes.iter().enumerate() {
        match byte {
            b'\n' if index > 0 && bytes[index - 1] == b'\r' => crlf += 1,
            b'\n' => lf += 1,
            b'\r' if bytes.get(index + 1) != Some(&b'\n') => cr += 1,
            _ => {}
        }
    }
    let newline = if crlf > lf && crlf >= cr {
        "\r\n"
    } else if cr > lf {
        "\r"
    } else {
        "\n"
    };
    let ending = match (lf > 0, crlf > 0, cr > 0) {
        (false, false, false) => LineEnding::None,
        (true, false, false) => LineEnding::Lf,
        (false, true, false) => LineEnding::CrLf,
        (false, false, true) => LineEnding::Cr,
        _ => LineEnding::Mixed,
    };
    (ending, newline)
}
