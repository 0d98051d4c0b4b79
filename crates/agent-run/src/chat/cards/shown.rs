//! A card on the screen, and the line that is typed below it.

use std::{
    pin::pin,
    sync::{Arc, atomic::Ordering},
    time::{Duration, Instant},
};

use agent_tool_core::{Card, CardKind};

use super::Inner;
use crate::{
    chat::{
        editor::{For, Line},
        show::id_of,
    },
    columns::with_margin,
    edge, lock,
    state::State,
    terminal::{FURTHER, MARGIN, card_rows, waiting},
    visible::{in_full, readable, visible},
};

/// What is typed at a card.
const PROMPT: &str = "answer> ";

/// So many rows of a card are an empty one and its head.
const HEAD: usize = 2;

/// So often it is looked what became of the terminal and of the cards behind. A terminal that keeps its width for so long is not
/// being resized any more.
pub(super) const LOOK: Duration = Duration::from_millis(250);

/// The card that is up.
#[derive(Clone)]
pub(super) struct Up {
    card: Card,
    /// Rows that say where the whole of it is; none where it shows all.
    whole: Vec<String>,
}

impl Inner {
    pub(super) fn show(&self, card: &Card) {
        if card.kind == CardKind::Permission {
            lock(&self.shown).insert(card.call_id.clone());
        }
        let whole = self.kept_in_full(card).unwrap_or_default();
        *lock(&self.up) = Some(Up { card: card.clone(), whole });
        self.show_again();
    }

    /// Shows the card that is up.
    fn show_again(&self) {
        let Some(Up { card, whole }) = lock(&self.up).clone() else { return };
        let brief = self.brief(&card).map(|brief| {
            let said = format!("its brief: {}", edge::title(&edge::row(&brief)));
            with_margin(&said, self.screen.columns(), MARGIN)
        });
        self.rows(&card, brief.unwrap_or_default(), whole);
    }

    /// Shows the card that is up, with all that it has; says whether there is one.
    pub(super) fn show_whole(&self) -> bool {
        let Some(Up { mut card, .. }) = lock(&self.up).clone() else { return false };
        if let (Some(whole), Some(preview)) = (in_full(&card), &mut card.preview) {
            preview.body = whole;
        }
        let brief = self.brief(&card).map(|brief| {
            let columns = self.screen.columns();
            let text = visible(&readable(&brief));
            let said = with_margin("its brief:", columns, MARGIN);
            [said, with_margin(&text, columns, &format!("{MARGIN}{FURTHER}"))].concat()
        });
        self.rows(&card, brief.unwrap_or_default(), Vec::new());
        true
    }

    fn rows(&self, card: &Card, brief: Vec<String>, whole: Vec<String>) {
        let mut rows = card_rows(card, self.screen.columns());
        rows.splice(HEAD..HEAD, brief);
        let above_foot = rows.len().saturating_sub(1);
        rows.splice(above_foot..above_foot, whole);
        self.screen.rows(&rows);
    }

    /// The line that is typed at a card. Where the terminal gets another width meanwhile, the card is shown again: the terminal breaks
    /// rows anywhere, and a row of somebody else's could begin at the left edge then.
    /// Where it was asked before, keys from before that moment were for this card.
    pub(super) async fn line_at(&self, asked: Option<Instant>) -> Line {
        self.tell_of_more();
        let purpose = For::Card(asked);
        let mut line = pin!(self.editor.line(PROMPT, purpose, self.screen.typing()));
        let mut shown = self.screen.columns();
        let mut before = shown;
        loop {
            tokio::select! {
                line = &mut line => return line,
                () = tokio::time::sleep(LOOK) => self.tell_of_more(),
            }
            let columns = self.screen.columns();
            if columns != shown && columns == before {
                self.show_again();
                shown = columns;
            }
            before = columns;
        }
    }

    /// Says how many cards wait behind the one that is up, where more do than it was said of.
    pub(super) fn tell_of_more(&self) {
        let count = lock(&self.counts).as_ref().map_or(0, |counts| counts());
        let said = lock(&self.up).as_mut().map(|up| std::mem::replace(&mut up.card.waiting, count));
        if said.is_some_and(|said| said < count) {
            self.screen.aside(&waiting(count));
        }
    }

    /// What the worker that asks was spawned for.
    fn brief(&self, card: &Card) -> Option<Arc<str>> {
        let worker = card.asked_by.iter().find_map(|caller| id_of(&caller.name))?;
        lock(&self.briefs).as_ref()?(worker)
    }

    /// Keeps what a card shows a part of, and says where.
    fn kept_in_full(&self, card: &Card) -> Option<Vec<String>> {
        let text = in_full(card)?;
        let folder = lock(&self.folder).clone()?;
        let number = self.kept.fetch_add(1, Ordering::Relaxed) + 1;
        let path = folder.join(format!("card_{number}.txt"));
        let said = match State::write(&path, text.as_bytes()) {
            Ok(()) => {
                format!(
                    "this card shows a part; /open shows the whole, which is in {}",
                    path.display()
                )
            }
            Err(why) => format!("this card shows a part, and the whole could not be kept: {why}"),
        };
        Some(with_margin(&said, self.screen.columns(), MARGIN))
    }
}
