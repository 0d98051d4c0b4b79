//! Images on terminals that show them. A terminal is known by its environment and never asked: an answer that came late would stand
//! in what the person types, and one that knows no images would print the question.

use base64::{Engine as _, engine::general_purpose::STANDARD};

use super::sixel::sixel;

/// The variable with which a person says what their terminal takes: `kitty`, `iterm2`, `sixel` or `none`.
pub(crate) const VARIABLE: &str = "AGENT_RUN_IMAGES";

/// What it takes.
pub(crate) const NAMES: [&str; 4] = ["kitty", "iterm2", "sixel", "none"];

/// So many letters of base64 are in one sequence of kitty's, by its protocol.
const KITTY_CHUNK: usize = 4_096;

/// Larger images are saved and named, and not sent through a terminal.
const MAX_BASE64: usize = 12 << 20;

/// A letter is so many pixels wide where the terminal does not say.
const LETTER_PIXELS: u32 = 8;

/// So many columns stay free beside an image.
const MARGIN: usize = 4;

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n";

/// How a terminal takes images.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protocol {
    /// Kitty's graphics protocol: <https://sw.kovidgoyal.net/kitty/graphics-protocol/>.
    Kitty,
    /// iTerm2's inline images: <https://iterm2.com/documentation-images.html>.
    Iterm2,
    /// DEC's sixels.
    Sixel,
}

/// The room that a terminal has for an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Room {
    pub(crate) columns: usize,
    /// Of a letter; 0 where the terminal does not say.
    pub(crate) letter_pixels: u32,
}

impl Protocol {
    /// What the terminal of this environment takes. None behind a multiplexer, which may pass nothing on.
    pub(crate) fn of(variable: impl Fn(&str) -> Option<String>) -> Option<Self> {
        let get = |name| variable(name).unwrap_or_default();
        match get(VARIABLE).as_str() {
            "kitty" => return Some(Self::Kitty),
            "iterm2" => return Some(Self::Iterm2),
            "sixel" => return Some(Self::Sixel),
            "" => {}
            _ => return None,
        }
        if ["TMUX", "STY", "ZELLIJ"].iter().any(|name| !get(name).is_empty()) {
            return None;
        }
        let term = get("TERM");
        match get("TERM_PROGRAM").as_str() {
            "iTerm.app" | "WezTerm" | "mintty" => return Some(Self::Iterm2),
            "ghostty" => return Some(Self::Kitty),
            _ => {}
        }
        match term.as_str() {
            "xterm-kitty" | "xterm-ghostty" => Some(Self::Kitty),
            term if ["foot", "mlterm", "contour"].iter().any(|name| term.starts_with(name)) => {
                Some(Self::Sixel)
            }
            _ if !get("KONSOLE_VERSION").is_empty() => Some(Self::Kitty),
            _ => None,
        }
    }

    /// The sequence that shows an image; none for one that it does not take.
    pub(crate) fn sequence(self, base64: &str, room: Room) -> Option<String> {
        if base64.len() > MAX_BASE64 {
            return None;
        }
        let bytes = STANDARD.decode(base64).ok()?;
        // Written anew, so that nothing of a result's is in the sequence but letters of base64.
        let base64 = STANDARD.encode(&bytes);
        let wide = png_width(&bytes).is_some_and(|width| width > room.pixels());
        let columns = room.columns.saturating_sub(MARGIN).max(1);
        match self {
            Self::Kitty => {
                png_width(&bytes)?;
                Some(kitty(&base64, wide.then_some(columns)))
            }
            Self::Iterm2 => {
                let width = if wide { columns.to_string() } else { "auto".to_owned() };
                let size = bytes.len();
                Some(format!(
                    "\u{1b}]1337;File=inline=1;size={size};width={width};preserveAspectRatio=1:{base64}\u{7}"
                ))
            }
            Self::Sixel => sixel(&bytes, room.pixels()),
        }
    }
}

impl Room {
    fn pixels(self) -> u32 {
        let letter = if self.letter_pixels == 0 { LETTER_PIXELS } else { self.letter_pixels };
        let columns = u32::try_from(self.columns.saturating_sub(MARGIN).max(1)).unwrap_or(1);
        columns.saturating_mul(letter)
    }
}

/// In chunks, shown where the cursor is, and without an answer, which would be read as typed.
fn kitty(base64: &str, columns: Option<usize>) -> String {
    let columns = columns.map(|columns| format!(",c={columns}")).unwrap_or_default();
    let chunks: Vec<&[u8]> = base64.as_bytes().chunks(KITTY_CHUNK).collect();
    let mut out = String::new();
    for (index, chunk) in chunks.iter().enumerate() {
        let more = u8::from(index + 1 < chunks.len());
        let keys = match index {
            0 => format!("a=T,f=100,q=2{columns},m={more}"),
            _ => format!("q=2,m={more}"),
        };
        let chunk = std::str::from_utf8(chunk).unwrap_or_default();
        out.push_str(&format!("\u{1b}_G{keys};{chunk}\u{1b}\\"));
    }
    out
}

/// The width that a PNG's header says; none for what is no PNG.
fn png_width(bytes: &[u8]) -> Option<u32> {
    let width = bytes.strip_prefix(PNG)?.get(8..12)?;
    Some(u32::from_be_bytes(width.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pictures::tests::png;

    const ROOM: Room = Room { columns: 80, letter_pixels: 10 };

    fn of(variables: &[(&str, &str)]) -> Option<Protocol> {
        Protocol::of(|name| {
            variables.iter().find(|(other, _)| *other == name).map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn a_terminal_is_known_by_its_environment_and_an_unknown_one_gets_nothing() {
        assert_eq!(of(&[("TERM", "xterm-256color")]), None);
        assert_eq!(of(&[("TERM", "xterm-kitty")]), Some(Protocol::Kitty));
        assert_eq!(of(&[("TERM_PROGRAM", "iTerm.app")]), Some(Protocol::Iterm2));
        assert_eq!(of(&[("TERM_PROGRAM", "WezTerm")]), Some(Protocol::Iterm2));
        assert_eq!(of(&[("TERM", "foot-extra")]), Some(Protocol::Sixel));
        assert_eq!(of(&[("TERM", "xterm-kitty"), ("TMUX", "/tmp/x,1,0")]), None);
        assert_eq!(of(&[("TERM", "xterm-kitty"), (VARIABLE, "none")]), None);
        assert_eq!(of(&[("TMUX", "x"), (VARIABLE, "sixel")]), Some(Protocol::Sixel));
    }

    #[test]
    fn kitty_gets_a_png_in_chunks_and_nothing_else() {
        let image = STANDARD.encode(png(200, 100));
        let sequence = Protocol::Kitty.sequence(&image, ROOM).expect("a sequence");
        assert!(sequence.starts_with("\u{1b}_Ga=T,f=100,q=2,m="), "{sequence:.40}");
        let sent: String = sequence
            .split("\u{1b}_G")
            .filter_map(|chunk| chunk.split_once(';'))
            .map(|(_, data)| data.trim_end_matches("\u{1b}\\"))
            .collect();
        assert_eq!(sent, image);
        assert!(sequence.split("\u{1b}_G").all(|chunk| chunk.len() < KITTY_CHUNK + 40));
        assert!(sequence.ends_with("\u{1b}\\"));
        assert_eq!(Protocol::Kitty.sequence(&STANDARD.encode("no image"), ROOM), None);
        assert_eq!(Protocol::Kitty.sequence("\u{1b}\\ rm", ROOM), None);
        let narrow = Room { columns: 14, letter_pixels: 10 };
        let sequence = Protocol::Kitty.sequence(&image, narrow).expect("a sequence");
        assert!(sequence.starts_with("\u{1b}_Ga=T,f=100,q=2,c=10,m="), "{sequence:.40}");
    }

    #[test]
    fn iterm2_gets_the_file_with_its_size() {
        let bytes = png(20, 10);
        let image = STANDARD.encode(&bytes);
        let sequence = Protocol::Iterm2.sequence(&image, ROOM);
        let size = bytes.len();
        let expected = format!(
            "\u{1b}]1337;File=inline=1;size={size};width=auto;preserveAspectRatio=1:{image}\u{7}"
        );
        assert_eq!(sequence, Some(expected));
        assert_eq!(Protocol::Iterm2.sequence("not base64\u{7}", ROOM), None);
    }
}
