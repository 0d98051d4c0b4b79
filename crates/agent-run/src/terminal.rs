//! The person at the terminal: where cards are shown and answered.

use std::{
    io::{self, BufRead, IsTerminal},
    thread,
};

use agent_tool_core::{BoxFuture, Card, CardError, CardKind, CardPort, Effect, Reply, for_person};
use rustix::termios::{QueueSelector, tcflush};
use tokio::sync::{Mutex, mpsc};

use crate::{
    columns::{self, with_margin},
    edge,
    style::{ASKS, FAINT, PLACE, STRONG, diff, in_style, remark},
    visible::visible,
};

/// Lines that were typed while no card was up wait here, up to so many, and are dropped by the next
/// card: an answer is to the card that its writer saw.
const TYPED_AHEAD: usize = 16;

/// A card of more rows than these says how many there are: its head may have scrolled off the screen.
const TALL: usize = 24;

/// Words that answer a permission, beside the numbers.
const WORDS: [(&str, &[&str], Effect); 4] = [
    ("y", &["y", "yes"], Effect::AllowOnce),
    ("always", &["a", "always"], Effect::AllowRun),
    ("n", &["n", "no"], Effect::RejectOnce),
    ("never", &["never"], Effect::RejectRun),
];

/// Shows cards on standard error and reads answers from standard input.
pub(crate) struct Terminal {
    /// None before the first card: what is typed while nobody asks is the shell's.
    lines: Mutex<Option<mpsc::Receiver<String>>>,
}

impl Terminal {
    /// Whether a person can be asked here.
    pub(crate) fn is_there() -> bool {
        io::stdin().is_terminal() && io::stderr().is_terminal()
    }

    /// A terminal that is read from the first card on.
    pub(crate) fn new() -> Self {
        Self { lines: Mutex::new(None) }
    }
}

/// Begins to read standard input. Reading a terminal blocks for as long as nobody types, so it has a
/// thread of its own, which ends with the program.
fn read_lines() -> mpsc::Receiver<String> {
    let (typed, lines) = mpsc::channel(TYPED_AHEAD);
    thread::spawn(move || {
        for line in io::stdin().lock().lines() {
            let Ok(line) = line else { return };
            if matches!(typed.try_send(line), Err(mpsc::error::TrySendError::Closed(_))) {
                return;
            }
        }
    });
    lines
}

impl CardPort for Terminal {
    fn connected(&self) -> bool {
        true
    }

    fn present(&self, card: Card) -> BoxFuture<'_, Result<Reply, CardError>> {
        Box::pin(async move {
            let mut lines = self.lines.lock().await;
            // What was typed before the card is up is no answer to it, read already or not.
            let _ = tcflush(io::stdin(), QueueSelector::IFlush);
            let lines = lines.get_or_insert_with(read_lines);
            while lines.try_recv().is_ok() {}
            // In one piece: whoever looks sees a card or none.
            remark(card_rows(&card, columns::of(io::stderr())).join("\n"));
            loop {
                let Some(line) = lines.recv().await else { return Ok(Reply::Withdrawn) };
                match read_answer(&card, &line) {
                    Ok(reply) => return Ok(reply),
                    Err(hint) => remark(in_style(FAINT, hint)),
                }
            }
        })
    }

    fn withdrawn(&self, _card_id: &str, why: &str) {
        remark(in_style(FAINT, format!("this card is gone: {}", for_person(why))));
    }
}

/// The margin of a card. What a model or a tool wrote stands behind it, on every row, so that no question looks like a permission.
pub(crate) const MARGIN: &str = "│ ";

/// A card as rows: its kind and who asks, then in a margin what it is about, what it would do and the numbered options, then how
/// it is answered.
pub(crate) fn card_rows(card: &Card, columns: Option<usize>) -> Vec<String> {
    let (about, style) = match card.kind {
        CardKind::Question => ("question", PLACE),
        CardKind::Permission => ("permission", ASKS),
    };
    let asker = card.asked_by.last().map_or("the agent", |caller| caller.name.as_str());
    let margin = in_style(style, MARGIN).to_string();
    let margin = |text: &str| with_margin(text, columns, &margin);
    let mut rows = vec![String::new()];
    rows.push(in_style(style, format!("┌ {about}, asked by {}", edge::asker(asker))).to_string());
    rows.extend(margin(&in_style(STRONG, visible(&card.title)).to_string()));
    if !card.body.is_empty() {
        rows.extend(margin(&visible(&card.body)));
    }
    if let Some(preview) = &card.preview {
        if !card.title.ends_with(&preview.title) {
            rows.extend(margin(&visible(&preview.title)));
        }
        rows.extend(margin(&diff(&visible(&preview.body))));
    }
    for (number, option) in (1..).zip(&card.options) {
        let word = WORDS.iter().find(|(.., effect)| option.effect == Some(*effect));
        let word = word.map_or(String::new(), |(word, ..)| format!(" ({word})"));
        let more = option.description.as_deref().unwrap_or_default();
        let number = in_style(STRONG, number);
        let more =
            if more.is_empty() { String::new() } else { format!(" {}", in_style(FAINT, more)) };
        rows.extend(margin(&format!("  {number} {}{word}{more}", option.label)));
    }
    if rows.len() > TALL {
        let said = format!("this card has {} rows, from ┌ above on", rows.len());
        rows.extend(margin(&in_style(FAINT, said).to_string()));
    }
    rows.push(format!("{} {}", in_style(style, "└"), in_style(FAINT, prompt(card))));
    rows
}

fn prompt(card: &Card) -> &'static str {
    if card.kind == CardKind::Permission {
        return "type a number, y, n, always or never, or s to skip, which refuses";
    }
    match (card.options.is_empty(), card.several, card.free_text) {
        (true, _, _) => "type an answer, or s to skip",
        (false, false, false) => "type a number, or s to skip",
        (false, false, true) => "type a number or an answer, or s to skip",
        (false, true, false) => "type numbers, or s to skip",
        (false, true, true) => "type numbers or an answer, or s to skip",
    }
}

/// Reads numbers as options and anything else as a typed answer, where the card takes one.
pub(crate) fn read_answer(card: &Card, line: &str) -> Result<Reply, &'static str> {
    let line = line.trim();
    if line.is_empty() {
        return Err(prompt(card));
    }
    if line.eq_ignore_ascii_case("s") {
        return Ok(Reply::Skipped);
    }
    if let Some(option) = by_word(card, line) {
        return Ok(Reply::option(option));
    }
    let numbers =
        line.split(|c: char| c == ',' || c.is_whitespace()).filter(|word| !word.is_empty());
    let chosen: Option<Vec<String>> = numbers
        .map(|word| {
            let number: usize = word.parse().ok()?;
            card.options.get(number.checked_sub(1)?).map(|option| option.id.clone())
        })
        .collect();
    let reply = match chosen {
        Some(options) => Reply::Chosen { options, text: None },
        None => Reply::Chosen { options: Vec::new(), text: Some(line.to_owned()) },
    };
    card.check(&reply).map_err(|_| prompt(card))?;
    Ok(reply)
}

/// The option that a word stands for. Only effects have words: an answer to a question is never
/// guessed from one.
fn by_word<'a>(card: &'a Card, line: &str) -> Option<&'a str> {
    let line = line.to_ascii_lowercase();
    let (.., effect) = WORDS.iter().find(|(_, words, _)| words.contains(&line.as_str()))?;
    let option = card.options.iter().find(|option| option.effect == Some(*effect))?;
    Some(&option.id)
}

#[cfg(test)]
mod tests {
    use agent_tool_core::{CallId, CardOption};

    use super::*;

    fn card() -> Card {
        let mut card = Card::new(CardKind::Question, "card_1", CallId::new("call_1"), "Which?");
        card.options = vec![CardOption::new("a", "A"), CardOption::new("b", "B")];
        card
    }

    #[test]
    fn a_question_of_many_lines_is_no_permission() {
        let mut card = card();
        card.title = "Continue?".to_owned();
        card.body = format!(
            "\n┌ permission, asked by the agent\n│ shell: run `ls`\n  1 allow once (y)\n└ type a number\n{}",
            "word ".repeat(30)
        );
        card.options[0].label = "a\n┌ permission".to_owned();
        let rows: Vec<String> = card_rows(&card, Some(40))
            .iter()
            .map(|row| anstream::adapter::strip_str(row).to_string())
            .collect();
        assert_eq!(rows[..3], ["", "┌ question, asked by the agent", "│ Continue?"]);
        let (last, within) = rows[2..].split_last().expect("rows");
        assert!(within.iter().all(|row| row.starts_with(MARGIN)), "{within:#?}");
        assert_eq!(last, "└ type a number, or s to skip");
    }

    #[test]
    fn numbers_choose_and_nothing_is_guessed() {
        assert_eq!(read_answer(&card(), " 2 "), Ok(Reply::option("b")));
        assert_eq!(read_answer(&card(), "S"), Ok(Reply::Skipped));
        for wrong in ["", "0", "3", "1 2", "yes"] {
            assert!(read_answer(&card(), wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn a_card_that_takes_more_gets_more() {
        let mut card = card();
        card.several = true;
        card.free_text = true;
        let both = Reply::Chosen { options: vec!["a".into(), "b".into()], text: None };
        assert_eq!(read_answer(&card, "1, 2"), Ok(both));
        let typed = Reply::Chosen { options: Vec::new(), text: Some("neither".into()) };
        assert_eq!(read_answer(&card, "neither"), Ok(typed));
    }

    #[test]
    fn a_permission_takes_words_and_a_question_does_not() {
        let mut card = card();
        assert!(read_answer(&card, "y").is_err());
        card.kind = CardKind::Permission;
        card.options = vec![
            CardOption::new("once", "allow").with_effect(Effect::AllowOnce),
            CardOption::new("run", "allow all").with_effect(Effect::AllowRun),
            CardOption::new("not", "reject").with_effect(Effect::RejectOnce),
        ];
        for (line, option) in [
            ("y", "once"),
            ("Yes", "once"),
            ("a", "run"),
            ("always", "run"),
            ("n", "not"),
            ("3", "not"),
        ] {
            assert_eq!(read_answer(&card, line), Ok(Reply::option(option)), "{line}");
        }
        assert!(read_answer(&card, "never").is_err(), "no option of this card does that");
    }
}
