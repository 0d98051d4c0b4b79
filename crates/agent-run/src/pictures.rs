//! Images of results: saved where a person can open them, and shown where the terminal can.

mod protocol;
mod sixel;

use std::{
    env, fs, io,
    path::{Path, PathBuf},
    sync::atomic::{AtomicUsize, Ordering},
};

use agent_tool_core::Part;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use rustix::termios::tcgetwinsize;

pub(crate) use self::protocol::VARIABLE;
use self::protocol::{NAMES, Protocol, Room};
use crate::{edge, state::State};

/// A longer ending is none.
const ENDING_CHARS: usize = 16;

/// What is to be said where the person's word for their terminal is none that is known: no image is shown then.
pub(crate) fn unknown() -> Option<String> {
    let word = env::var(VARIABLE).ok().filter(|word| !word.is_empty())?;
    (!NAMES.contains(&word.as_str())).then(|| {
        format!(
            "{VARIABLE} is {}, which is unknown, so no image is shown; it takes {}",
            edge::word(&word),
            NAMES.join(", ")
        )
    })
}

/// The images of a run, numbered from 1.
#[derive(Debug)]
pub(crate) struct Pictures {
    /// None where there is no state folder: then none is kept.
    folder: Option<PathBuf>,
    count: AtomicUsize,
}

impl Pictures {
    pub(crate) fn new(folder: Option<PathBuf>) -> Self {
        Self { folder, count: AtomicUsize::new(0) }
    }

    /// Saves an image and says where it is, or why it is nowhere. None for a part that is no image.
    pub(crate) fn save(&self, part: &Part) -> Option<String> {
        let Part::Image { mime, base64 } = part else { return None };
        let Some(folder) = &self.folder else {
            return Some("an image that is not kept, since there is no state folder".to_owned());
        };
        let number = self.count.fetch_add(1, Ordering::Relaxed) + 1;
        let path = folder.join(format!("image_{number}.{}", ending(mime)));
        Some(match write(&path, base64) {
            Ok(()) => format!("image: {}", path.display()),
            Err(why) => format!("an image that was not saved: {why}"),
        })
    }

    /// The sequence that shows an image on standard output. None for a part that is no image, and where that is no terminal
    /// which is known to show images.
    pub(crate) fn shown(&self, part: &Part) -> Option<String> {
        let Part::Image { base64, .. } = part else { return None };
        let size = tcgetwinsize(io::stdout()).ok()?;
        let protocol = Protocol::of(|name| env::var(name).ok())?;
        let columns = usize::from(size.ws_col);
        let letter_pixels =
            u32::from(size.ws_xpixel).checked_div(u32::from(size.ws_col)).unwrap_or(0);
        protocol.sequence(base64, Room { columns, letter_pixels })
    }
}

/// `image/svg+xml` is `svg`. What is no plain word names no file.
fn ending(mime: &str) -> &str {
    let ending = mime.rsplit('/').next().unwrap_or_default().split('+').next().unwrap_or_default();
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-';
    match !ending.is_empty() && ending.len() <= ENDING_CHARS && ending.chars().all(plain) {
        true => ending,
        false => "bin",
    }
}

fn write(path: &Path, base64: &str) -> Result<(), String> {
    let bytes = STANDARD.decode(base64).map_err(|error| error.to_string())?;
    if path.exists() {
        let _ = fs::remove_file(path);
    }
    State::write(path, &bytes).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    #[test]
    fn an_ending_is_a_plain_word() {
        let cases = [
            ("image/png", "png"),
            ("image/svg+xml", "svg"),
            ("image/png\n┌ permission", "bin"),
            ("image/../x", "x"),
            ("image/", "bin"),
        ];
        for (mime, ending) in cases {
            assert_eq!(super::ending(mime), ending, "{mime}");
        }
    }

    /// A PNG whose left half is red and whose right half is clear.
    pub(super) fn png(width: u32, height: u32) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut encoder = png::Encoder::new(&mut bytes, width, height);
        encoder.set_color(png::ColorType::Rgba);
        encoder.set_depth(png::BitDepth::Eight);
        let mut writer = encoder.write_header().expect("a header");
        let row =
            (0..width).flat_map(|x| if x < width / 2 { [255, 0, 0, 255] } else { [0, 0, 0, 0] });
        let row: Vec<u8> = row.collect();
        writer.write_image_data(&row.repeat(height as usize)).expect("an image");
        writer.finish().expect("an end");
        bytes
    }
}
