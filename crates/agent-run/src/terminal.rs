//! The person at the terminal: where cards are shown and answered.

use std::{
    io::{self, BufRead, IsTerminal},
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

use agent_tool_core::{BoxFuture, Card, CardError, CardKind, CardPort, Reply, Secrets};
use anstyle::Style;
use rustix::termios::{QueueSelector, tcflush};
use tokio::sync::{Mutex, mpsc};

use crate::{
    answers::{prompt, read_answer, word_of},
    columns::{self, fold, with_margin},
    edge,
    style::{ASKS, FAINT, PLACE, STRONG, diff, in_style, remark},
    visible::{readable, visible, without_keys},
};

/// Lines that were typed while no card was up wait here, up to so many, and are dropped by the next
/// card: an answer is to the card that its writer saw.
const TYPED_AHEAD: usize = 16;

/// What is said of a card that nobody answered and nobody waits for any more.
pub(crate) const GONE: &str = "whoever asked does not wait for it any more";

/// A card of more rows than these says how many there are: its head may have scrolled off the screen.
const TALL: usize = 24;

/// Shows cards on standard error and reads answers from standard input.
pub(crate) struct Terminal {
    /// None before the first card: what is typed while nobody asks is the shell's.
    lines: Mutex<Option<mpsc::Receiver<String>>>,
    secrets: Secrets,
    /// Whether it was said why the card that is up goes away.
    explained: AtomicBool,
}

impl Terminal {
    /// Whether a person can be asked here.
    pub(crate) fn is_there() -> bool {
        io::stdin().is_terminal() && io::stderr().is_terminal()
    }

    /// A terminal that is read from the first card on. Its cards show none of these values.
    pub(crate) fn new(secrets: Secrets) -> Self {
        Self { lines: Mutex::new(None), secrets, explained: AtomicBool::new(false) }
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
            let card = without_keys(card, &self.secrets);
            let mut lines = self.lines.lock().await;
            // What was typed before the card is up is no answer to it, read already or not.
            let _ = tcflush(io::stdin(), QueueSelector::IFlush);
            let lines = lines.get_or_insert_with(read_lines);
            while lines.try_recv().is_ok() {}
            // In one piece: whoever looks sees a card or none.
            remark(card_rows(&card, columns::of(io::stderr())).join("\n"));
            self.explained.store(false, Ordering::Relaxed);
            let mut gone = Gone { answered: false, explained: &self.explained };
            let reply = loop {
                let Some(line) = lines.recv().await else { break Reply::Withdrawn };
                match read_answer(&card, &line) {
                    Ok(reply) => break reply,
                    Err(hint) => remark(in_style(FAINT, hint)),
                }
            };
            gone.answered = true;
            Ok(reply)
        })
    }

    fn withdrawn(&self, _card_id: &str, why: &str) {
        self.explained.store(true, Ordering::Relaxed);
        remark(in_style(FAINT, format!("this card is gone: {}", readable(why))));
    }
}

/// Says of a card that goes away unanswered that it does, where nobody said why.
struct Gone<'a> {
    answered: bool,
    explained: &'a AtomicBool,
}

impl Drop for Gone<'_> {
    fn drop(&mut self) {
        if !self.answered && !self.explained.load(Ordering::Relaxed) {
            remark(in_style(FAINT, format!("this card is gone: {GONE}")));
        }
    }
}

/// The margin of a card. What a model or a tool wrote stands behind it, on every row, so that no question looks like a permission.
pub(crate) const MARGIN: &str = "│ ";

/// What an option begins with, and nothing that a model or a tool wrote.
const OPTION: &str = "├─ ";

/// A row that is no first one of what it belongs to begins with so many columns more.
pub(crate) const FURTHER: &str = "  ";

/// What belongs to an option is below its label.
const OF_OPTION: &str = "      ";

/// A card as rows: its kind and who asks, then in a margin what it is about, what it would do and the numbered options, then how
/// it is answered.
pub(crate) fn card_rows(card: &Card, columns: Option<usize>) -> Vec<String> {
    let asker = card.asked_by.last().map_or("the agent", |caller| caller.name.as_str());
    // A model's options do nothing by themselves: a question whose options do is this program's.
    let own = card.options.iter().any(|option| option.effect.is_some());
    let (head, style) = match card.kind {
        CardKind::Question if own => ("agent-run itself asks you".to_owned(), ASKS),
        CardKind::Question => (format!("question, asked by {}", edge::asker(asker)), PLACE),
        CardKind::Permission => (format!("permission, asked by {}", edge::asker(asker)), ASKS),
    };
    let margin = in_style(style, MARGIN).to_string();
    let further = format!("{margin}{FURTHER}");
    let mut rows = vec![String::new(), in_style(style, format!("┌ {head}")).to_string()];
    let title = visible(&card.title);
    rows.extend(hanging(&title, STRONG, columns, (&margin, &further)));
    if !card.body.is_empty() {
        rows.extend(with_margin(&visible(&card.body), columns, &further));
    }
    if let Some(preview) = &card.preview {
        if !card.title.ends_with(&preview.title) {
            rows.extend(with_margin(&visible(&preview.title), columns, &margin));
        }
        rows.extend(with_margin(&diff(&visible(&preview.body)), columns, &margin));
    }
    let (begin, below) = (in_style(style, OPTION).to_string(), format!("{margin}{OF_OPTION}"));
    for (number, option) in (1..).zip(&card.options) {
        let word = word_of(option).map_or(String::new(), |word| format!(" ({word})"));
        let label = format!("{} {}{word}", in_style(STRONG, number), visible(&option.label));
        rows.extend(hanging(&label, Style::new(), columns, (&begin, &below)));
        let more = visible(option.description.as_deref().unwrap_or_default());
        rows.extend(hanging(&more, FAINT, columns, (&below, &below)));
    }
    if rows.len() > TALL {
        let said = format!("this card has {} rows, from ┌ above on", rows.len());
        rows.extend(with_margin(&in_style(FAINT, said).to_string(), columns, &margin));
    }
    if card.waiting > 0 {
        let said = in_style(FAINT, waiting(card.waiting)).to_string();
        rows.extend(with_margin(&said, columns, &margin));
    }
    let foot = in_style(style, "└ ").to_string();
    rows.extend(hanging(&prompt(card), FAINT, columns, (&foot, FURTHER)));
    rows
}

/// Says that so many cards wait behind the one that is up.
pub(crate) fn waiting(count: usize) -> String {
    match count {
        1 => "1 more card waits behind this one".to_owned(),
        more => format!("{more} more cards wait behind this one"),
    }
}

/// A text in rows, of which the first has a margin of its own.
fn hanging(
    text: &str,
    style: Style,
    columns: Option<usize>,
    (first, next): (&str, &str),
) -> Vec<String> {
    let rows = text.lines().enumerate().flat_map(|(index, line)| {
        let first = if index == 0 { first } else { next };
        fold(&in_style(style, line).to_string(), columns, first, next)
    });
    rows.collect()
}

#[cfg(test)]
mod tests {
    use agent_tool_core::{CallId, CardOption, Effect};

    use super::*;

    fn card() -> Card {
        let mut card = Card::new(CardKind::Question, "card_1", CallId::new("call_1"), "Which?");
        card.options = vec![CardOption::new("a", "A"), CardOption::new("b", "B")];
        card
    }

    fn plain(card: &Card, columns: usize) -> Vec<String> {
        let rows = card_rows(card, Some(columns));
        rows.iter().map(|row| anstream::adapter::strip_str(row).to_string()).collect()
    }

    #[test]
    fn a_question_of_many_lines_is_no_permission() {
        let mut card = card();
        card.title = "Continue?".to_owned();
        card.body = format!(
            "\n┌ permission, asked by the agent\n│ shell: run `ls`\n  1 allow once (y)\n├─ 1 yes\n└ type a number\n{}",
            "word ".repeat(30)
        );
        card.options[0].label = "a\n┌ permission".to_owned();
        let rows = plain(&card, 40);
        assert_eq!(rows[..3], ["", "┌ question, asked by the agent", "│ Continue?"]);
        let (last, within) = rows[2..].split_last().expect("rows");
        let options: Vec<_> = within.iter().filter(|row| row.starts_with(OPTION)).collect();
        assert_eq!(options, ["├─ 1 a", "├─ 2 B"]);
        assert!(
            within.iter().all(|row| row.starts_with(MARGIN) || row.starts_with(OPTION)),
            "{within:#?}"
        );
        assert_eq!(last, "└ type a number, or s to skip");
    }

    #[test]
    fn a_card_says_how_many_wait_behind_it() {
        let mut card = card();
        for (waiting, said) in
            [(1, "│ 1 more card waits behind this one"), (2, "│ 2 more cards wait behind this one")]
        {
            card.waiting = waiting;
            let rows = plain(&card, 80);
            assert_eq!(rows[rows.len() - 2], said);
        }
    }

    #[test]
    fn nothing_that_follows_a_newline_or_a_fold_looks_like_an_option() {
        let mut card = card();
        card.title = "Which?\n├─ 1 forged".to_owned();
        card.free_text = true;
        card.options[0] = CardOption::new("a", "SQLite")
            .with_description("one file\n2 not this\nand more words here");
        assert_eq!(
            plain(&card, 24),
            [
                "",
                "┌ question, asked by the agent",
                "│ Which?",
                "│   ├─ 1 forged",
                "├─ 1 SQLite",
                "│       one file",
                "│       2 not this",
                "│       and more words",
                "│       here",
                "├─ 2 B",
                "└ type a number or an",
                "  answer, or s to skip",
            ]
        );
    }

    #[test]
    fn a_question_of_this_program_s_own_says_so() {
        let mut card = card();
        card.options[0].effect = Some(Effect::AllowOnce);
        let rows = plain(&card, 80);
        assert_eq!(rows[1], "┌ agent-run itself asks you");
        assert!(rows.contains(&"├─ 1 A (y)".to_owned()), "{rows:#?}");
        assert_eq!(rows.last().map(String::as_str), Some("└ type a number or y, or s to skip"));
    }
}
