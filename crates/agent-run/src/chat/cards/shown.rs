//! A card on the screen, and the line that is typed below it.

use std::{
    pin::pin,
    sync::{Arc, atomic::Ordering},
    time::Duration,
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
    terminal::{MARGIN, card_rows},
    visible::in_full,
};

/// What is typed at a card.
const PROMPT: &str = "answer> ";

/// So many rows of a card are an empty one and its head.
const HEAD: usize = 2;

/// A terminal that keeps its width for so long is not being resized any more.
const RESIZED: Duration = Duration::from_millis(250);

impl Inner {
    pub(super) fn show(&self, card: &Card) {
        if card.kind == CardKind::Permission {
            lock(&self.shown).insert(card.call_id.clone());
        }
        *lock(&self.up) = Some(card.clone());
        let whole = self.kept_in_full(card);
        self.rows(card, whole.as_deref());
    }

    fn rows(&self, card: &Card, whole: Option<&[String]>) {
        let mut rows = card_rows(card, self.screen.columns());
        if let Some(brief) = self.brief(card) {
            let said = format!("its brief: {}", edge::title(&edge::row(&brief)));
            rows.splice(HEAD..HEAD, with_margin(&said, self.screen.columns(), MARGIN));
        }
        let above_foot = rows.len().saturating_sub(1);
        rows.splice(above_foot..above_foot, whole.into_iter().flatten().cloned());
        self.screen.rows(&rows);
    }

    /// The line that is typed at a card. Where the terminal gets another width meanwhile, the card is shown again: the terminal breaks
    /// rows anywhere, and a row of somebody else's could begin at the left edge then.
    pub(super) async fn line_at(&self, card: &Card) -> Line {
        let mut line = pin!(self.editor.line(PROMPT, For::Card, self.screen.typing()));
        let mut shown = self.screen.columns();
        let mut before = shown;
        loop {
            tokio::select! {
                line = &mut line => return line,
                () = tokio::time::sleep(RESIZED) => {}
            }
            let columns = self.screen.columns();
            if columns != shown && columns == before {
                self.rows(card, None);
                shown = columns;
            }
            before = columns;
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
