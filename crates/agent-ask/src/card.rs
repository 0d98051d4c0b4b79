//! From a question to its card, and from the card's reply to an answer.

use agent_tool_core::{Card, CardKind, CardOption, Context, Reply};

use crate::{Answer, Question, Selected};

/// The card of a question that was checked. Its options are numbered from 1, and their ids are those
/// numbers; they have no effect, so that no answer is ever a permission.
pub(crate) fn card(id: &str, question: &Question, cx: &Context) -> Card {
    let (title, rest) = match question.text.split_once('\n') {
        Some((first, rest)) => (first.trim_end(), rest.trim_start_matches(['\r', '\n'])),
        None => (question.text.as_str(), ""),
    };
    let mut card = Card::new(CardKind::Question, id, cx.call_id().clone(), title);
    let parts = [rest, question.context.as_deref().unwrap_or_default()];
    let parts = parts.into_iter().filter(|part| !part.is_empty());
    card.body = parts.collect::<Vec<_>>().join("\n\n");
    card.asked_by = cx.callers().to_vec();
    card.options = (1..)
        .zip(&question.options)
        .map(|(number, choice): (usize, _)| {
            let option = CardOption::new(number.to_string(), &choice.label);
            match &choice.description {
                Some(description) => option.with_description(description),
                None => option,
            }
        })
        .collect();
    card.free_text = question.free_text;
    card.several = question.several && question.options.len() > 1;
    card
}

/// What a reply that fits the card means. None where the card was closed without one.
pub(crate) fn answer(question: &Question, reply: Reply) -> Option<Answer> {
    match reply {
        Reply::Chosen { options, text } => {
            let numbered = (1..).zip(&question.options);
            let chosen =
                numbered.filter(|(number, _): &(usize, _)| options.contains(&number.to_string()));
            let selected =
                chosen.map(|(number, choice)| Selected::new(number, &choice.label)).collect();
            Some(Answer::Answered { selected, text: text.filter(|text| !text.trim().is_empty()) })
        }
        Reply::Skipped => Some(Answer::Skipped),
        _ => None,
    }
}
