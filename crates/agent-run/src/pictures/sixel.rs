//! A PNG as sixels: six rows of pixels at a time, a colour of a fixed palette after the other.

use std::{collections::BTreeMap, fmt::Write as _, io::Cursor};

use png::{ColorType, Decoder, Transformations};

/// So many steps of red, green and blue are in the palette.
const STEPS: u32 = 6;

/// So many rows are in one band, by the format.
const BAND: usize = 6;

/// An image has no more pixels than these, whatever its header says.
const MAX_PIXELS: u64 = 40_000_000;

/// The image, no wider than this. None for what is no PNG or too large.
pub(super) fn sixel(bytes: &[u8], most: u32) -> Option<String> {
    let image = Image::read(bytes)?;
    let width = image.width.min(usize::try_from(most).ok()?);
    let height = (image.height * width / image.width).max(1);
    let pixel =
        |x: usize, y: usize| image.colour(x * image.width / width, y * image.height / height);
    let mut out = format!("\u{1b}P0;1;0q\"1;1;{width};{height}");
    for colour in 0..STEPS * STEPS * STEPS {
        let percent = |step: u32| step * 100 / (STEPS - 1);
        let [red, green, blue] =
            [colour / (STEPS * STEPS), colour / STEPS % STEPS, colour % STEPS].map(percent);
        let _ = write!(out, "#{colour};2;{red};{green};{blue}");
    }
    for top in (0..height).step_by(BAND) {
        // For each colour of the band, which of the six pixels of a column have it.
        let mut colours: BTreeMap<u32, Vec<u8>> = BTreeMap::new();
        for y in top..height.min(top + BAND) {
            for x in 0..width {
                if let Some(colour) = pixel(x, y) {
                    colours.entry(colour).or_insert_with(|| vec![0; width])[x] |= 1 << (y - top);
                }
            }
        }
        for (colour, columns) in colours {
            let _ = write!(out, "#{colour}");
            run_lengths(&columns, &mut out);
            out.push('$');
        }
        out.push('-');
    }
    out.push_str("\u{1b}\\");
    Some(out)
}

fn run_lengths(columns: &[u8], out: &mut String) {
    for run in columns.chunk_by(|a, b| a == b) {
        let letter = char::from(b'?' + run[0]);
        match run.len() {
            long @ 4.. => {
                let _ = write!(out, "!{long}{letter}");
            }
            short => out.extend(std::iter::repeat_n(letter, short)),
        }
    }
}

/// Pixels of 8 bits a channel.
struct Image {
    width: usize,
    height: usize,
    channels: usize,
    bytes: Vec<u8>,
}

impl Image {
    fn read(bytes: &[u8]) -> Option<Self> {
        let mut decoder = Decoder::new(Cursor::new(bytes));
        decoder.set_transformations(Transformations::EXPAND | Transformations::STRIP_16);
        let mut reader = decoder.read_info().ok()?;
        let (width, height) = reader.info().size();
        if u64::from(width) * u64::from(height) > MAX_PIXELS {
            return None;
        }
        let mut bytes = vec![0; reader.output_buffer_size()?];
        let frame = reader.next_frame(&mut bytes).ok()?;
        let channels = match frame.color_type {
            ColorType::Grayscale => 1,
            ColorType::GrayscaleAlpha => 2,
            ColorType::Rgb => 3,
            ColorType::Rgba => 4,
            ColorType::Indexed => return None,
        };
        let [width, height] = [width, height].map(usize::try_from);
        Some(Self { width: width.ok()?, height: height.ok()?, channels, bytes })
    }

    /// The number of a pixel's colour in the palette. None where it is more clear than not.
    fn colour(&self, x: usize, y: usize) -> Option<u32> {
        let at = (y * self.width + x) * self.channels;
        let pixel = self.bytes.get(at..at + self.channels)?;
        let (red, green, blue, alpha) = match *pixel {
            [grey] => (grey, grey, grey, u8::MAX),
            [grey, alpha] => (grey, grey, grey, alpha),
            [red, green, blue] => (red, green, blue, u8::MAX),
            [red, green, blue, alpha] => (red, green, blue, alpha),
            _ => return None,
        };
        let step = |value: u8| (u32::from(value) * (STEPS - 1) + 127) / 255;
        (alpha > 127).then(|| (step(red) * STEPS + step(green)) * STEPS + step(blue))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pictures::tests::png;

    #[test]
    fn pixels_are_bands_of_six_rows_in_colours() {
        // Red on the left half, clear on the right one: `png` draws so.
        let sequence = sixel(&png(8, 7), 100).expect("sixels");
        assert!(
            sequence.starts_with("\u{1b}P0;1;0q\"1;1;8;7#0;2;0;0;0#1;2;0;0;20"),
            "{sequence:.60}"
        );
        // Six rows are `~`, one is `@`, none is `?`.
        assert!(
            sequence.ends_with("#180!4~!4?$-#180!4@!4?$-\u{1b}\\"),
            "{}",
            &sequence[sequence.len() - 60..]
        );
        let less = sixel(&png(200, 100), 50).expect("sixels");
        assert!(less.contains("\"1;1;50;25#"), "{less:.60}");
        assert_eq!(sixel(b"no image", 100), None);
    }
}
