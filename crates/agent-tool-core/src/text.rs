//! Text on its way to a person's screen.

/// Stands where a character was that could have hidden or forged what a person reads.
const REMOVED: char = '\u{FFFD}';

/// The text as it may be shown to a person: without escape sequences, control characters and
/// bidirectional overrides.
///
/// Terminal escape sequences vanish whole. Every other control character save newline and tab,
/// and every character that reorders text (the [Trojan Source] attack), becomes U+FFFD, so that a
/// reader sees that something stood there. What a model gets stays verbatim.
///
/// ```
/// # use agent_tool_core::for_person;
/// assert_eq!(for_person("a\u{1b}[31mred\u{1b}[0m\r\nb"), "ared\nb");
/// assert_eq!(for_person("x\u{202e}y\u{7}"), "x\u{fffd}y\u{fffd}");
/// ```
///
/// [Trojan Source]: https://trojansource.codes
#[must_use]
pub fn for_person(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '\u{1b}' => skip_escape(&mut rest),
            '\u{9b}' => skip_control_sequence(&mut rest),
            '\r' if rest.peek() == Some(&'\n') => {}
            '\n' | '\t' => shown.push(c),
            c if c.is_control() || reorders(c) => shown.push(REMOVED),
            c => shown.push(c),
        }
    }
    shown
}

/// What a terminal would show at last of what a program wrote: of each line what came after the last carriage return, since
/// progress bars draw over themselves, and that as [`for_person`] gives it. For a model, which reads neither colours nor every
/// state of a bar.
///
/// ```
/// # use agent_tool_core::as_at_terminal;
/// assert_eq!(as_at_terminal("\r 10%\r\u{1b}[32m100%\u{1b}[0m\r\ndone\n"), "100%\ndone\n");
/// ```
#[must_use]
pub fn as_at_terminal(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let (line, end) = match line.strip_suffix('\n') {
            Some(line) => (line, "\n"),
            None => (line, ""),
        };
        // What is empty without its escape sequences draws over nothing.
        let mut pieces = line.rsplit('\r').map(for_person);
        shown.push_str(&pieces.find(|piece| !piece.is_empty()).unwrap_or_default());
        shown.push_str(end);
    }
    shown
}

/// The text as it stands on a card, where what a person approves is what is executed: nothing is left out of it. A control
/// character is its picture (`␛` for an escape), so that what an escape sequence would have hidden can be read; what
/// reorders text becomes U+FFFD as in [`for_person`]; and what leaves no trace on a screen is its number, as in [`with_traces`].
///
/// ```
/// # use agent_tool_core::for_approval;
/// assert_eq!(for_approval("echo \u{1b}]0;$(rm x)\u{7}\r\n"), "echo ␛]0;$(rm x)␇\n");
/// assert_eq!(for_approval("rm a\u{200b}b"), "rm a<U+200B>b");
/// ```
#[must_use]
pub fn for_approval(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '\r' if rest.peek() == Some(&'\n') => {}
            '\n' | '\t' => shown.push(c),
            '\0'..='\u{1f}' => shown.push(picture(c)),
            '\u{7f}' => shown.push('␡'),
            c if c.is_control() || reorders(c) => shown.push(REMOVED),
            c => shown.push(c),
        }
    }
    with_traces(&shown)
}

/// The text with a number for what leaves no trace on a screen, such as a zero-width space or one of the tag characters that
/// spell a text nobody sees. Joiners and selectors behind a letter or a sign beyond ASCII stay: scripts and emoji are made of them.
///
/// ```
/// # use agent_tool_core::with_traces;
/// assert_eq!(with_traces("read\u{feff}\u{e0041}"), "read<U+FEFF><U+E0041>");
/// assert_eq!(with_traces("👩\u{200d}🚀 ❤\u{fe0f}"), "👩\u{200d}🚀 ❤\u{fe0f}");
/// ```
#[must_use]
pub fn with_traces(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut shapes = false;
    for c in text.chars() {
        match c {
            c if !leaves_no_trace(c) || shapes && is_shaping(c) => shown.push(c),
            c => push_number(&mut shown, c),
        }
        shapes = !c.is_ascii() && !leaves_no_trace(c) || c == EMOJI_STYLE;
    }
    shown
}

/// Asks for the coloured form of a sign.
const EMOJI_STYLE: char = '\u{fe0f}';

fn push_number(shown: &mut String, c: char) {
    shown.push_str(&format!("<U+{:04X}>", u32::from(c)));
}

/// Shapes the letter or the sign before it.
fn is_shaping(c: char) -> bool {
    matches!(c, '\u{200c}' | '\u{200d}' | '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}')
}

/// What Unicode calls ignorable by default, and blanks that are letters.
fn leaves_no_trace(c: char) -> bool {
    matches!(
        c,
        '\u{ad}'
            | '\u{34f}'
            | '\u{115f}'..='\u{1160}'
            | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200d}'
            | '\u{2060}'..='\u{2065}'
            | '\u{206a}'..='\u{206f}'
            | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}'
            | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}'
    )
}

/// Unicode's picture of an ASCII control character.
fn picture(c: char) -> char {
    char::from_u32(0x2400 + u32::from(c)).unwrap_or(REMOVED)
}

fn reorders(c: char) -> bool {
    matches!(c, '\u{061c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// What follows an escape: ECMA-48, section 5.3 to 5.6.
fn skip_escape(rest: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    match rest.peek() {
        Some('[') => {
            rest.next();
            skip_control_sequence(rest);
        }
        Some(']' | 'P' | 'X' | '^' | '_') => {
            rest.next();
            skip_control_string(rest);
        }
        Some(' '..='/') => {
            while rest.next_if(|c| matches!(c, ' '..='/')).is_some() {}
            rest.next_if(|c| matches!(c, '0'..='~'));
        }
        Some('0'..='~') => {
            rest.next();
        }
        _ => {}
    }
}

fn skip_control_sequence(rest: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    while rest.next_if(|c| matches!(c, ' '..='?')).is_some() {}
    rest.next_if(|c| matches!(c, '@'..='~'));
}

/// Ends at a string terminator or a bell, and at a newline: an unfinished one must not swallow
/// the rest of what a person is to read.
fn skip_control_string(rest: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    while let Some(c) = rest.next_if(|c| *c != '\n') {
        match c {
            '\u{7}' | '\u{9c}' => return,
            '\u{1b}' => {
                rest.next_if_eq(&'\\');
                return;
            }
            _ => {}
        }
    }
}
