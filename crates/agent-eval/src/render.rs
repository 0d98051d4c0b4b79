//! An outcome as a model reads it.

use std::fmt::Write as _;

use agent_tool_core::Part;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::Value;

use crate::{
    outcome::{LeftOut, Outcome, Shown, State, Status},
    wire::Bundle,
};

mod cut;

use self::cut::{Cut, cut};

/// How many characters of one output stand in the text.
pub const TEXT_LIMIT: usize = 12_000;

/// How many characters of a value's text stand in the text.
pub const VALUE_LIMIT: usize = 8_000;

/// The most bytes of base64 that an image part has: models take no larger ones.
pub const IMAGE_LIMIT: usize = 5 << 20;

/// How many image parts a result has.
pub const MAX_IMAGES: usize = 12;

/// The images, the first that is there of a bundle.
const IMAGES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/// So many characters of base64 have the first twelve bytes, which tell the images apart.
const MAGIC_CHARACTERS: usize = 16;

const SVG: &str = "image/svg+xml";

/// The parts of a result, in the order in which the cell made them, and whether something that the outcome has is not among
/// them.
pub(crate) fn parts(outcome: &Outcome) -> (Vec<Part>, bool) {
    let mut page = Page::default();
    if outcome.new_interpreter && !outcome.label.is_empty() {
        page.line(&format!("[{}]", outcome.label));
    }
    let mut rest = outcome.shown.iter().peekable();
    while let Some(shown) = rest.next() {
        let left_out = match rest.peek() {
            Some(Shown::LeftOut(left_out)) => Some(*left_out),
            _ => None,
        };
        match shown {
            Shown::Stdout(text) => page.output(Of::Stdout, text, left_out),
            Shown::Stderr(text) => {
                page.line("[stderr]");
                page.output(Of::Stderr, text, left_out);
            }
            Shown::Display(bundle) => page.bundle("", bundle, left_out),
            Shown::Result(bundle) => {
                page.bundle(&format!("Out[{}]: ", outcome.execution_count), bundle, left_out);
            }
            Shown::Note(text) => page.line(&format!("[{text}]")),
            Shown::LeftOut(_) => {}
        }
    }
    if let Some(error) = &outcome.error {
        page.output(Of::Traceback, &error.traceback.join("\n"), None);
    }
    // At the end, where whatever cuts the middle of the whole leaves it.
    let lost = page.lost();
    page.line(&lost);
    page.line(&ending(outcome));
    page.finish()
}

/// What a terminal would show of a line at last, without escape sequences.
fn terminal(text: &str) -> String {
    collapse(&without_escapes(text))
}

/// Keeps of each line what was written after the last carriage return: progress bars draw over themselves.
pub(crate) fn collapse(text: &str) -> String {
    if !text.contains('\r') {
        return text.to_owned();
    }
    let mut shown = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let (line, end) = match line.strip_suffix('\n') {
            Some(line) => (line.trim_end_matches('\r'), "\n"),
            None => (line, ""),
        };
        let last = line.rsplit('\r').find(|piece| !piece.is_empty()).unwrap_or_default();
        shown.push_str(last);
        shown.push_str(end);
    }
    shown
}

/// Colours and cursor movements say nothing to a model.
fn without_escapes(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("\u{1b}[") {
        shown.push_str(&rest[..at]);
        let sequence = &rest[at + 2..];
        let end =
            sequence.find(|c: char| ('@'..='~').contains(&c)).map_or(sequence.len(), |end| end + 1);
        rest = &sequence[end..];
    }
    shown.push_str(rest);
    shown
}

/// The last line: how it ended where that was not simply well, and what became of the variables.
fn ending(outcome: &Outcome) -> String {
    let death = outcome.death.as_deref().unwrap_or_default();
    let gone = "its variables are gone, and the next cell begins in a new one";
    match (outcome.status, outcome.state) {
        (Status::Died, _) => format!("[the interpreter ended: {death}; {gone}]"),
        (Status::TimedOut, State::Gone) => {
            format!(
                "[timed out; an interrupt did not end the cell, so the interpreter was killed: {gone}]"
            )
        }
        (Status::Interrupted, State::Gone) => {
            format!(
                "[interrupted; the cell did not end by it, so the interpreter was killed: {gone}]"
            )
        }
        (Status::TimedOut, _) => format!("[timed out and interrupted; {}]", kept(outcome)),
        (Status::Interrupted, _) => format!("[interrupted; {}]", kept(outcome)),
        (Status::Error, _) if !outcome.began => "[nothing of this cell ran]".to_owned(),
        (Status::Error, _) => "[what ran before the error is kept]".to_owned(),
        (Status::Ok, _) => String::new(),
    }
}

fn kept(outcome: &Outcome) -> String {
    let (names, more) = &outcome.names;
    if names.is_empty() {
        return "the interpreter runs, and no variable was made yet".to_owned();
    }
    let mut text = format!("these variables are kept: {}", names.join(", "));
    if *more > 0 {
        let _ = write!(text, " and {more} more");
    }
    text
}

/// What something was left out of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Of {
    Stdout,
    Stderr,
    Values,
    Traceback,
}

impl Of {
    const ALL: [(Self, &'static str); 4] = [
        (Self::Stdout, "standard output"),
        (Self::Stderr, "standard error"),
        (Self::Values, "values"),
        (Self::Traceback, "the traceback"),
    ];
}

#[derive(Default)]
struct Page {
    text: String,
    parts: Vec<Part>,
    images: usize,
    /// What is left out of each, here and before.
    cuts: Vec<(Of, Cut)>,
    /// Whether this page leaves something out.
    is_cut: bool,
}

impl Page {
    /// Adds text on a line of its own.
    fn line(&mut self, text: &str) {
        if !text.is_empty() {
            self.start_line();
            self.text.push_str(text);
            self.text.push('\n');
        }
    }

    fn output(&mut self, of: Of, text: &str, left_out: Option<LeftOut>) {
        let text = self.cut(of, &terminal(text), TEXT_LIMIT, left_out);
        self.start_line();
        self.text.push_str(&text);
    }

    fn cut(&mut self, of: Of, text: &str, limit: usize, left_out: Option<LeftOut>) -> String {
        let (text, made) = cut(text, limit, left_out);
        self.is_cut |= made.here;
        self.cuts.push((of, made));
        text
    }

    /// How much is left out of each in all, in a line; empty where nothing is.
    fn lost(&self) -> String {
        let said = Of::ALL.iter().filter_map(|(of, name)| {
            let cuts = self.cuts.iter().filter(|(other, _)| other == of);
            let cut = cuts.fold(Cut::default(), |sum, (_, cut)| sum.and(*cut));
            cut.said().map(|said| format!("{said} of {name}"))
        });
        let said: Vec<String> = said.collect();
        match said.as_slice() {
            [] => String::new(),
            said => format!("[left out: {}]", said.join(", ")),
        }
    }

    fn start_line(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with('\n') {
            self.text.push('\n');
        }
    }

    fn bundle(&mut self, before: &str, bundle: &Bundle, left_out: Option<LeftOut>) {
        let named = IMAGES.iter().find_map(|mime| Some((*mime, bundle.get(*mime)?.as_str()?)));
        let image = named.filter(|(mime, base64)| is_image(mime, base64));
        let svg = bundle.get(SVG).and_then(Value::as_str);
        let image = match (image, svg) {
            (Some((mime, base64)), _) => Some((mime, base64.replace('\n', ""))),
            (None, Some(svg)) => Some((SVG, STANDARD.encode(svg))),
            (None, None) => None,
        };
        if let Some(text) = plain(bundle).filter(|text| image.is_none() || !text.starts_with('<')) {
            let text = self.cut(Of::Values, &text, VALUE_LIMIT, left_out);
            self.line(&format!("{before}{text}"));
        }
        if let Some((mime, base64)) = image {
            self.image(before, mime, base64);
        } else if let Some((mime, base64)) = named {
            let bytes = base64.len() / 4 * 3;
            self.line(&format!(
                "[{mime} of {bytes} bytes left out: it is none by its first bytes]"
            ));
        }
    }

    fn image(&mut self, before: &str, mime: &str, base64: String) {
        if base64.len() > IMAGE_LIMIT || self.images >= MAX_IMAGES {
            self.is_cut = true;
            let bytes = base64.len() / 4 * 3;
            let why =
                if self.images >= MAX_IMAGES { "too many images" } else { "too large for a model" };
            self.line(&format!(
                "{before}[{mime} of {bytes} bytes left out: {why}; save it to a file]"
            ));
            return;
        }
        self.images += 1;
        self.line(&format!("{before}[{mime}, image {}]", self.images));
        self.end_text();
        self.parts.push(Part::image(mime, base64));
    }

    fn end_text(&mut self) {
        let text = std::mem::take(&mut self.text);
        let text = text.trim_end_matches('\n');
        if !text.is_empty() {
            self.parts.push(Part::text(text));
        }
    }

    fn finish(mut self) -> (Vec<Part>, bool) {
        self.end_text();
        if self.parts.is_empty() {
            self.parts.push(Part::text("(no output)"));
        }
        (self.parts, self.is_cut)
    }
}

/// Whether base64 begins as an image of this kind does. What a cell calls one may be anything, and a provider refuses the
/// whole conversation for it.
fn is_image(mime: &str, base64: &str) -> bool {
    let first: String =
        base64.chars().filter(|c| !c.is_ascii_whitespace()).take(MAGIC_CHARACTERS).collect();
    let Ok(bytes) = STANDARD.decode(first) else { return false };
    match mime {
        "image/png" => bytes.starts_with(b"\x89PNG\r\n\x1a\n"),
        "image/jpeg" => bytes.starts_with(b"\xff\xd8\xff"),
        "image/gif" => bytes.starts_with(b"GIF87a") || bytes.starts_with(b"GIF89a"),
        "image/webp" => bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP".as_slice()),
        _ => true,
    }
}

/// The text of a bundle: its plain form, else the most readable of the others.
fn plain(bundle: &Bundle) -> Option<String> {
    let text = |mime: &str| bundle.get(mime).and_then(Value::as_str).map(str::to_owned);
    let known = ["text/plain", "text/markdown", "text/latex", "text/html"];
    known.iter().find_map(|mime| text(mime)).or_else(|| {
        let json = bundle.iter().find(|(mime, _)| mime.ends_with("json"))?;
        Some(json.1.to_string())
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::json;

    use super::*;
    use crate::outcome::CellError;

    fn outcome(shown: Vec<Shown>) -> Outcome {
        Outcome {
            status: Status::Ok,
            execution_count: 3,
            shown,
            error: None,
            state: State::Kept,
            new_interpreter: false,
            names: (vec!["df".into()], 2),
            duration: Duration::ZERO,
            truncated: false,
            began: true,
            death: None,
            label: "Python 3.11.7".into(),
        }
    }

    fn bundle(value: Value) -> Bundle {
        value.as_object().unwrap().clone()
    }

    fn text(outcome: &Outcome) -> String {
        let parts = parts(outcome).0.into_iter().map(|part| match part {
            Part::Text { text } => text,
            Part::Image { mime, .. } => format!("<{mime}>"),
            other => panic!("{other:?}"),
        });
        parts.collect::<Vec<_>>().join("\n--\n")
    }

    #[test]
    fn everything_stands_in_the_order_in_which_the_cell_made_it() {
        let shown = vec![
            Shown::Stdout("a\n".into()),
            Shown::Stderr("warned".into()),
            Shown::Display(bundle(json!({"image/png": "iVBORw0KGgo=", "text/plain": "<Figure>"}))),
            Shown::Stdout("b".into()),
            Shown::Result(bundle(json!({"text/plain": "   a\n0  1", "text/html": "<table>"}))),
        ];
        assert_eq!(
            text(&outcome(shown)),
            "a\n[stderr]\nwarned\n[image/png, image 1]\n--\n<image/png>\n--\nb\nOut[3]:    a\n0  1"
        );
    }

    #[test]
    fn a_progress_bar_is_its_last_state_and_colours_are_gone() {
        let text = "\r 10%\r 50%\r100%\n\u{1b}[31mred\u{1b}[0m\r\nend\r";
        assert_eq!(terminal(text), "100%\nred\nend");
    }

    #[test]
    fn what_became_of_the_variables_is_said_truthfully() {
        let mut stopped = outcome(Vec::new());
        stopped.status = Status::TimedOut;
        assert_eq!(
            text(&stopped),
            "[timed out and interrupted; these variables are kept: df and 2 more]"
        );
        stopped.state = State::Gone;
        assert!(
            text(&stopped).contains("was killed: its variables are gone"),
            "{}",
            text(&stopped)
        );
        let mut failed = outcome(Vec::new());
        failed.status = Status::Error;
        failed.error =
            Some(CellError { name: "E".into(), value: "x".into(), traceback: vec!["E: x".into()] });
        assert_eq!(text(&failed), "E: x\n[what ran before the error is kept]");
        failed.began = false;
        assert_eq!(text(&failed), "E: x\n[nothing of this cell ran]");
    }

    #[test]
    fn what_is_left_out_is_told_in_all_at_the_end() {
        let line = LeftOut::Bytes(900).line();
        let kept = "o".repeat(TEXT_LIMIT);
        let value = LeftOut::Characters(50).line();
        let shown = vec![
            Shown::Stdout(format!("{kept}{line}{kept}")),
            Shown::LeftOut(LeftOut::Bytes(900)),
            Shown::Result(bundle(json!({"text/plain": format!("{kept}{value}{kept}")}))),
            Shown::LeftOut(LeftOut::Characters(50)),
        ];
        let outcome = outcome(shown);
        let (_, is_cut) = parts(&outcome);
        assert!(is_cut);
        let text = text(&outcome);
        let end = "\n[left out: 12000 characters and 900 bytes of standard output, 16050 characters of values]";
        assert!(text.ends_with(end), "{}", &text[text.len() - 200..]);
        assert_eq!(text.matches("… 12000 more characters and 900 bytes …").count(), 1);
        assert_eq!(text.matches("… 16050 more characters …").count(), 1);
    }

    #[test]
    fn an_image_that_no_model_takes_is_named_and_not_sent() {
        let large = format!("iVBORw0KGgoA{}", "A".repeat(IMAGE_LIMIT - 8));
        let shown = vec![Shown::Display(bundle(json!({"image/png": large})))];
        assert_eq!(
            text(&outcome(shown)),
            "[image/png of 3932163 bytes left out: too large for a model; save it to a file]"
        );
    }

    #[test]
    fn what_is_only_called_an_image_is_named_and_not_sent() {
        let value = json!({"image/png": STANDARD.encode("garbage"), "text/plain": "<Broken>"});
        assert_eq!(
            text(&outcome(vec![Shown::Result(bundle(value))])),
            "Out[3]: <Broken>\n[image/png of 9 bytes left out: it is none by its first bytes]"
        );
        for (mime, bytes) in [
            ("image/jpeg", b"\xff\xd8\xff\xe0".as_slice()),
            ("image/gif", b"GIF89a"),
            ("image/webp", b"RIFF\x24\0\0\0WEBPVP8 "),
        ] {
            assert!(is_image(mime, &STANDARD.encode(bytes)), "{mime}");
            assert!(!is_image(mime, &STANDARD.encode(b"\x89PNG\r\n\x1a\n")), "{mime}");
        }
    }

    #[test]
    fn an_svg_is_an_image_and_silence_is_said() {
        let shown = vec![Shown::Display(bundle(json!({"image/svg+xml": "<svg/>"})))];
        let (parts, is_cut) = parts(&outcome(shown));
        assert!(!is_cut);
        assert_eq!(parts[1], Part::image(SVG, STANDARD.encode("<svg/>")));
        assert_eq!(text(&outcome(Vec::new())), "(no output)");
    }
}
