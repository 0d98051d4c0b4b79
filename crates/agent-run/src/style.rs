//! Colours, where a terminal shows them. `anstream` strips them elsewhere and honours NO_COLOR.

use std::{
    fmt::{self, Display},
    io::Write as _,
};

use anstyle::{AnsiColor, Style};

pub(crate) const STRONG: Style = Style::new().bold();
pub(crate) const FAINT: Style = Style::new().dimmed();
pub(crate) const ADDED: Style = AnsiColor::Green.on_default();
pub(crate) const REMOVED: Style = AnsiColor::Red.on_default();
pub(crate) const PLACE: Style = AnsiColor::Cyan.on_default();
/// A person is asked whether something may be done.
pub(crate) const ASKS: Style = AnsiColor::Yellow.on_default().bold();
/// Code within what somebody says.
pub(crate) const CODE: Style = AnsiColor::Cyan.on_default();
pub(crate) const ALERT: Style = AnsiColor::Red.on_default().bold();

/// Text in a style.
pub(crate) fn in_style<T: Display>(style: Style, text: T) -> impl Display {
    struct Styled<T>(Style, T);
    impl<T: Display> Display for Styled<T> {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "{}{}{}", self.0.render(), self.1, self.0.render_reset())
        }
    }
    Styled(style, text)
}

/// Says something beside the results, on standard error. Who does not listen any more has not to be told that.
pub(crate) fn remark(text: impl Display) {
    let _ = writeln!(anstream::stderr().lock(), "{text}");
}

/// A text whose lines may be those of a unified diff, coloured as one.
pub(crate) fn diff(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for line in text.lines() {
        let style = match line.as_bytes() {
            [b'+', ..] => ADDED,
            [b'-', ..] => REMOVED,
            [b'@', b'@', ..] => PLACE,
            _ => Style::new(),
        };
        shown.push_str(&in_style(style, line).to_string());
        shown.push('\n');
    }
    shown
}
