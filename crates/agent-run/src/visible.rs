//! What a card asks about, so that a person sees what is there: blanks that look alike differ, and what is nothing but empty takes
//! no room.

use agent_tool_core::{Card, Content, Secrets, for_approval, for_person, with_traces};

/// More empty lines in a row than these are said in one.
const EMPTY_LINES: usize = 3;

/// A text of somebody else's as a person may read it, with a number for what would leave no trace.
pub(crate) fn readable(text: &str) -> String {
    with_traces(&for_person(text))
}

/// The same of a piece of a text that comes in pieces: what shapes the sign before may stand at its beginning.
pub(crate) fn piece_readable(piece: &str) -> String {
    let body = piece.trim_start_matches(['\u{200c}', '\u{200d}', '\u{fe0e}', '\u{fe0f}']);
    format!("{}{}", &piece[..piece.len() - body.len()], readable(body))
}

/// The text with its tabs and no-break spaces shown, and with many empty lines in a row as one that counts them.
pub(crate) fn visible(text: &str) -> String {
    let text = text.replace('\t', "→\t").replace('\u{a0}', "⍽");
    let lines: Vec<&str> = text.lines().collect();
    let mut shown = Vec::new();
    // A line of a diff is empty behind its sign.
    let runs = lines.chunk_by(|one, next| one == next && matches!(one.trim_end(), "" | "+" | "-"));
    for run in runs {
        match run.len() {
            count if count > EMPTY_LINES => shown.push(format!("{}⋮ {count} empty lines", run[0])),
            _ => shown.extend(run.iter().map(|line| (*line).to_owned())),
        }
    }
    shown.join("\n")
}

/// The card without the values of keys that somebody wrote into it.
pub(crate) fn without_keys(mut card: Card, secrets: &Secrets) -> Card {
    let mut texts = vec![&mut card.title, &mut card.body];
    for option in &mut card.options {
        texts.push(&mut option.label);
        texts.extend(&mut option.description);
    }
    if let Some(preview) = &mut card.preview {
        texts.extend([&mut preview.title, &mut preview.body]);
        for change in &mut preview.changes {
            texts.push(&mut change.path);
            for content in [&mut change.before, &mut change.after] {
                if let Content::Text { text } = content {
                    texts.push(text);
                }
            }
        }
    }
    for text in texts {
        *text = secrets.hidden(std::mem::take(text));
    }
    card
}

/// The whole new texts of a card that shows a part of them; none where it shows all, or does not have them.
pub(crate) fn in_full(card: &Card) -> Option<String> {
    let preview = card.preview.as_ref()?;
    let texts = preview.changes.iter().map(|change| {
        let text = match &change.after {
            Content::Text { text } => for_approval(text),
            Content::Absent => "(it would be deleted)".to_owned(),
            _ => "(no text, or too large to be shown)".to_owned(),
        };
        format!("{}, as it would be:\n{text}\n", for_approval(&change.path))
    });
    let texts: Vec<String> = texts.collect();
    (preview.cut && !texts.is_empty()).then(|| texts.join("\n"))
}

#[cfg(test)]
mod tests {
    use agent_tool_core::{CallId, CardKind, CardOption, FileChange, Preview, PreviewKind, clip};

    use super::*;

    #[test]
    fn a_card_has_no_key_anywhere() {
        let secrets = Secrets::new([("KEY".to_owned(), "sk-0123456789".to_owned())]);
        let text = "echo sk-0123456789";
        let mut card = Card::new(CardKind::Permission, "card_1", CallId::new("call_1"), text);
        card.body = text.to_owned();
        card.options = vec![CardOption::new("1", text).with_description(text)];
        let mut preview = Preview::new(PreviewKind::Edit, text);
        preview.body = text.to_owned();
        let content = || Content::Text { text: text.to_owned() };
        preview.changes = vec![FileChange::new(text, content(), content())];
        card.preview = Some(preview);
        let card = without_keys(card, &secrets);
        let shown =
            crate::terminal::card_rows(&card, None).join("\n") + &format!("{:?}", card.preview);
        assert!(!shown.contains("sk-0123456789"), "{shown}");
        assert!(shown.matches("[KEY").count() >= 5, "{shown}");
    }

    #[test]
    fn blanks_differ_and_empty_lines_are_counted() {
        assert_eq!(visible("-\techo hi\n+ echo hi"), "-→\techo hi\n+ echo hi");
        assert_eq!(visible("a\u{a0}b"), "a⍽b");
        assert_eq!(visible("rm x\n\n\n\n\necho y\n\n\nz"), "rm x\n⋮ 4 empty lines\necho y\n\n\nz");
        assert_eq!(visible("+\n+\n+\n+\n+x"), "+⋮ 4 empty lines\n+x");
    }

    #[test]
    fn what_nobody_sees_is_said() {
        assert_eq!(readable("re\u{200b}ad\u{1b}[31m\u{e0041}"), "re<U+200B>ad<U+E0041>");
    }

    #[test]
    fn a_cut_card_has_its_texts_in_full() {
        let mut card = Card::new(CardKind::Permission, "card", CallId::new("call"), "write");
        let after = Content::Text { text: "all of it".to_owned() };
        let preview = Preview::new(PreviewKind::Edit, "write");
        let preview = preview.with_changes(vec![FileChange::new("a", Content::Absent, after)]);
        // A file that says so itself is not cut.
        card.preview = Some(preview.clone().with_body("+al… 6 more characters"));
        assert_eq!(in_full(&card), None);
        card.preview = Some(preview.with_clipped(clip("+all of it", 3)));
        assert_eq!(in_full(&card).as_deref(), Some("a, as it would be:\nall of it\n"));
    }
}
