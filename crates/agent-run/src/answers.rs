//! What a person types at a card, read: the number of an option, its label or a word for it, or an answer in words. What could
//! mean two things chooses neither.

use agent_tool_core::{Card, CardKind, CardOption, Effect, Reply};

/// What skips a card.
const SKIP: &str = "s";

/// The same in words.
const SKIP_IN_WORDS: &str = "skip";

/// Before a number or a letter of the card's own it means that, whatever labels there are.
const BY_PLACE: char = '#';

/// Words for what an option does, beside its number. An answer to a model's question is never guessed from one: its options do
/// nothing by themselves.
const WORDS: [(&str, &[&str], Effect); 4] = [
    ("y", &["y", "yes"], Effect::AllowOnce),
    ("n", &["n", "no"], Effect::RejectOnce),
    ("always", &["a", "always"], Effect::AllowRun),
    ("never", &["never"], Effect::RejectRun),
];

/// What a word or a number at a card may mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Meaning {
    Skip,
    /// An option by its number, from 1.
    Number(usize),
    Word(usize),
    Label(usize),
}

/// How a card is answered.
pub(crate) fn prompt(card: &Card) -> String {
    let offered = WORDS.iter().filter(|(.., effect)| does(card, *effect).is_some());
    let words: Vec<&str> = offered.map(|(word, ..)| *word).collect();
    let numbered = (1..=card.options.len()).any(|number| goes_by_number(card, number));
    let mut said = match (words.split_last(), !numbered) {
        (Some((last, [])), _) => format!("type a number or {last}"),
        (Some((last, before)), _) => format!("type a number, {} or {last}", before.join(", ")),
        (None, true) => "type an answer".to_owned(),
        (None, false) => match (card.several, card.free_text) {
            (false, false) => "type a number".to_owned(),
            (false, true) => "type a number or an answer".to_owned(),
            (true, false) => "type numbers".to_owned(),
            (true, true) => "type numbers or an answer".to_owned(),
        },
    };
    said.push_str(", or s to skip");
    if card.kind == CardKind::Permission {
        said.push_str(", which refuses");
    }
    if refuses_with_reason(card).is_some() {
        said.push_str("; n and words, such as `n use ls`, refuses and tells the model these words");
    }
    if is_ambiguous(card) {
        said.push_str("; #1 is option 1 and #s skips, whatever the labels are");
    }
    said
}

/// The word for what an option does.
pub(crate) fn word_of(option: &CardOption) -> Option<&'static str> {
    WORDS.iter().find(|(.., effect)| option.effect == Some(*effect)).map(|(word, ..)| *word)
}

/// Reads an answer.
///
/// # Errors
///
/// How the card is answered, where this is none; what it could mean, where that are several things.
pub(crate) fn read_answer(card: &Card, line: &str) -> Result<Reply, String> {
    let line = line.trim();
    if line.is_empty() {
        return Err(prompt(card));
    }
    if let Some(place) = line.strip_prefix(BY_PLACE)
        && (!card.free_text || is_ambiguous(card))
        && let Some(reply) = by_place(card, place)
    {
        return fitting(card, reply);
    }
    if let Some(meaning) = only(line, &meanings(card, line))? {
        return fitting(card, reply_of(card, meaning));
    }
    if let Some(reply) = refusal(card, line) {
        return fitting(card, reply);
    }
    if let Some(labels) = labels(card, line) {
        return fitting(card, Reply::Chosen { options: labels, text: None });
    }
    let numbers =
        line.split(|c: char| c == ',' || c.is_whitespace()).filter(|word| !word.is_empty());
    let mut chosen = Vec::new();
    for word in numbers {
        match number(word).map(|_| only(word, &meanings(card, word))).transpose()?.flatten() {
            Some(meaning) => chosen.extend(index_of(meaning).map(|index| id(card, index))),
            None => {
                let (options, text) = (Vec::new(), Some(line.to_owned()));
                return fitting(card, Reply::Chosen { options, text });
            }
        }
    }
    fitting(card, Reply::Chosen { options: chosen, text: None })
}

/// Several options by their labels or numbers, with commas between them.
fn labels(card: &Card, line: &str) -> Option<Vec<String>> {
    let one = |word: &str| match meanings(card, word.trim()).as_slice() {
        [meaning] => index_of(*meaning).map(|number| id(card, number)),
        _ => None,
    };
    line.split(',').map(one).collect::<Option<Vec<_>>>().filter(|_| card.several)
}

/// A word that refuses once, and the reason behind it. Other words at a permission are no answer.
fn refusal(card: &Card, line: &str) -> Option<Reply> {
    let option = refuses_with_reason(card)?;
    let parts = |c: char| c.is_whitespace() || ",;:.".contains(c);
    let (word, reason) = line.split_once(parts)?;
    let refuses = |(_, words, effect): &(&str, &[&str], Effect)| {
        *effect == Effect::RejectOnce && words.contains(&word.to_lowercase().as_str())
    };
    let reason = reason.trim_start_matches(parts);
    let refuses = WORDS.iter().any(refuses) && !reason.is_empty();
    refuses
        .then(|| Reply::Chosen { options: vec![id(card, option)], text: Some(reason.to_owned()) })
}

/// The number of the option that refuses a call once.
fn refuses_with_reason(card: &Card) -> Option<usize> {
    does(card, Effect::RejectOnce).filter(|_| card.kind == CardKind::Permission)
}

/// Whether something that may be typed at a card means two things, or an option goes by no number.
fn is_ambiguous(card: &Card) -> bool {
    let by_place_alone = (1..=card.options.len()).any(|number| !goes_by_number(card, number));
    by_place_alone
        || card.options.iter().any(|option| meanings(card, option.label.trim()).len() > 1)
}

/// Whether a number chooses this option, and is no answer that is typed.
fn goes_by_number(card: &Card, number: usize) -> bool {
    !(card.free_text && card.options[number - 1].aside)
}

/// What a word may mean: each option and the skipping at most once.
fn meanings(card: &Card, word: &str) -> Vec<Meaning> {
    let word = word.to_lowercase();
    let is_one = |number: &usize| (1..=card.options.len()).contains(number);
    let number = number(&word).filter(is_one).filter(|number| goes_by_number(card, *number));
    let effect = WORDS.iter().find(|(_, words, _)| words.contains(&word.as_str()));
    let effect = effect.and_then(|(.., effect)| does(card, *effect));
    let labels =
        (1..).zip(&card.options).filter(|(_, option)| option.label.trim().to_lowercase() == word);
    let mut all: Vec<Meaning> = [SKIP, SKIP_IN_WORDS]
        .contains(&word.as_str())
        .then_some(Meaning::Skip)
        .into_iter()
        .collect();
    let options = number.map(Meaning::Number).into_iter().chain(effect.map(Meaning::Word));
    for meaning in options.chain(labels.map(|(number, _)| Meaning::Label(number))) {
        if !all.iter().any(|other| index_of(*other) == index_of(meaning)) {
            all.push(meaning);
        }
    }
    all
}

/// The number of the option that does this.
fn does(card: &Card, effect: Effect) -> Option<usize> {
    let at = card.options.iter().position(|option| option.effect == Some(effect))?;
    Some(at + 1)
}

/// A number as a card has it: `01` and `+1` are none.
fn number(word: &str) -> Option<usize> {
    let plain = word.bytes().all(|byte| byte.is_ascii_digit()) && !word.starts_with('0');
    word.parse().ok().filter(|_| plain)
}

fn only(word: &str, meanings: &[Meaning]) -> Result<Option<Meaning>, String> {
    if let [] | [_] = meanings {
        return Ok(meanings.first().copied());
    }
    let mean = |meaning: &Meaning| match meaning {
        Meaning::Skip => "what skips".to_owned(),
        Meaning::Number(number) | Meaning::Word(number) => format!("option {number}"),
        Meaning::Label(number) => format!("the label of option {number}"),
    };
    let place = |meaning: &Meaning| match index_of(*meaning) {
        Some(number) => format!("{BY_PLACE}{number}"),
        None => format!("{BY_PLACE}{SKIP}"),
    };
    let mean: Vec<String> = meanings.iter().map(mean).collect();
    let places: Vec<String> = meanings.iter().map(place).collect();
    Err(format!("{word} is both {}: type {}", mean.join(" and "), places.join(" or ")))
}

/// The number of the option that is meant; none for the skipping.
fn index_of(meaning: Meaning) -> Option<usize> {
    match meaning {
        Meaning::Skip => None,
        Meaning::Number(number) | Meaning::Word(number) | Meaning::Label(number) => Some(number),
    }
}

fn reply_of(card: &Card, meaning: Meaning) -> Reply {
    index_of(meaning).map_or(Reply::Skipped, |number| Reply::option(id(card, number)))
}

fn id(card: &Card, number: usize) -> String {
    card.options[number - 1].id.clone()
}

/// `#2`, `#1 #3` or `#s`, without the first sign.
fn by_place(card: &Card, places: &str) -> Option<Reply> {
    if places.eq_ignore_ascii_case(SKIP) {
        return Some(Reply::Skipped);
    }
    let places = places.split(|c: char| c == ',' || c == BY_PLACE || c.is_whitespace());
    let options = places
        .filter(|place| !place.is_empty())
        .map(|place| Some(card.options.get(number(place)?.checked_sub(1)?)?.id.clone()));
    let options: Vec<String> = options.collect::<Option<_>>()?;
    Some(Reply::Chosen { options, text: None })
}

fn fitting(card: &Card, reply: Reply) -> Result<Reply, String> {
    card.check(&reply).map_err(|_| prompt(card))?;
    Ok(reply)
}

#[cfg(test)]
mod tests {
    use agent_tool_core::CallId;

    use super::*;

    /// A question with these labels, whose options have the ids `1`, `2` and so on.
    fn question(labels: &[&str]) -> Card {
        let mut card = Card::new(CardKind::Question, "card_1", CallId::new("call_1"), "Which?");
        let options = (1..).zip(labels);
        card.options =
            options.map(|(number, label)| CardOption::new(number.to_string(), *label)).collect();
        card
    }

    #[test]
    fn numbers_choose_and_nothing_is_guessed() {
        let card = question(&["A", "B"]);
        assert_eq!(read_answer(&card, " 2 "), Ok(Reply::option("2")));
        assert_eq!(read_answer(&card, "S"), Ok(Reply::Skipped));
        // The label in full is no guess.
        assert_eq!(read_answer(&card, "b"), Ok(Reply::option("2")));
        assert_eq!(read_answer(&card, "#2"), Ok(Reply::option("2")));
        for wrong in ["", "0", "3", "01", "+1", "1 2", "yes", "y", "#3", "#1 #2", "#x"] {
            assert_eq!(read_answer(&card, wrong), Err(prompt(&card)), "{wrong:?}");
        }
        assert_eq!(prompt(&card), "type a number, or s to skip");
    }

    #[test]
    fn a_card_that_takes_more_gets_more() {
        let mut card = question(&["A", "B"]);
        (card.several, card.free_text) = (true, true);
        let both = Reply::Chosen { options: vec!["1".into(), "2".into()], text: None };
        assert_eq!(read_answer(&card, "1, 2"), Ok(both));
        assert_eq!(read_answer(&card, "Skip"), Ok(Reply::Skipped));
        for words in ["neither", "1 and more", "#1", "3", "1 3"] {
            let typed = Reply::Chosen { options: Vec::new(), text: Some(words.into()) };
            assert_eq!(read_answer(&card, words), Ok(typed));
        }
    }

    #[test]
    fn labels_choose_several_too() {
        let mut card = question(&["x", "y and z", "w"]);
        card.several = true;
        let both = Reply::Chosen { options: vec!["1".into(), "2".into()], text: None };
        for line in ["x, Y and z", "1,2", "1 2", "x,2"] {
            assert_eq!(read_answer(&card, line), Ok(both.clone()), "{line}");
        }
        for wrong in ["x, v", "x,", "x y and z"] {
            assert_eq!(read_answer(&card, wrong), Err(prompt(&card)), "{wrong}");
        }
    }

    #[test]
    fn a_number_that_is_typed_chooses_nothing_that_is_no_answer() {
        let mut card = question(&["decline the whole form"]);
        card.options[0].aside = true;
        assert_eq!(read_answer(&card, "1"), Ok(Reply::option("1")));
        card.free_text = true;
        for answer in ["1", "0", "no", "2, 3"] {
            let typed = Reply::Chosen { options: Vec::new(), text: Some(answer.into()) };
            assert_eq!(read_answer(&card, answer), Ok(typed), "{answer}");
        }
        for line in ["#1", "Decline the whole form"] {
            assert_eq!(read_answer(&card, line), Ok(Reply::option("1")), "{line}");
        }
        let said =
            "type an answer, or s to skip; #1 is option 1 and #s skips, whatever the labels are";
        assert_eq!(prompt(&card), said);
    }

    #[test]
    fn what_could_mean_two_things_chooses_neither() {
        let mut card = question(&["3", "2", "1", "s"]);
        let asks = |line: &str, said: &str| {
            assert_eq!(read_answer(&card, line), Err(said.to_owned()), "{line}");
        };
        asks("3", "3 is both option 3 and the label of option 1: type #3 or #1");
        asks("1", "1 is both option 1 and the label of option 3: type #1 or #3");
        asks("S", "S is both what skips and the label of option 4: type #s or #4");
        for (line, reply) in [
            ("2", Reply::option("2")),
            ("4", Reply::option("4")),
            ("#3", Reply::option("3")),
            ("#s", Reply::Skipped),
        ] {
            assert_eq!(read_answer(&card, line), Ok(reply), "{line}");
        }
        let said =
            "type a number, or s to skip; #1 is option 1 and #s skips, whatever the labels are";
        assert_eq!(prompt(&card), said);
        card.several = true;
        assert!(read_answer(&card, "2 3").is_err_and(|said| said.starts_with("3 is both")));
        let both = Reply::Chosen { options: vec!["2".into(), "3".into()], text: None };
        assert_eq!(read_answer(&card, "#2 #3"), Ok(both));
        // A number that is no option's place is the label alone.
        assert_eq!(read_answer(&question(&["5", "6"]), "5"), Ok(Reply::option("1")));
        for label in ["y", "n", "a", "never"] {
            assert_eq!(read_answer(&question(&["x", label]), label), Ok(Reply::option("2")));
        }
    }

    #[test]
    fn a_permission_takes_words_and_a_question_does_not() {
        let mut card = question(&["allow", "allow all", "reject"]);
        assert!(read_answer(&card, "y").is_err());
        card.kind = CardKind::Permission;
        let effects = [Effect::AllowOnce, Effect::AllowRun, Effect::RejectOnce];
        for (option, effect) in card.options.iter_mut().zip(effects) {
            option.effect = Some(effect);
        }
        let cases = [("y", "1"), ("Yes", "1"), ("a", "2"), ("always", "2"), ("n", "3"), ("3", "3")];
        for (line, option) in cases {
            assert_eq!(read_answer(&card, line), Ok(Reply::option(option)), "{line}");
        }
        assert!(read_answer(&card, "never").is_err(), "no option of this card does that");
        let said = prompt(&card);
        assert!(said.starts_with("type a number, y, n or always, or s to skip, which refuses; n "));
    }

    #[test]
    fn words_behind_a_refusal_are_its_reason_and_other_words_are_no_answer() {
        let mut card = question(&["allow", "reject"]);
        card.options[0].effect = Some(Effect::AllowOnce);
        card.options[1].effect = Some(Effect::RejectOnce);
        assert!(read_answer(&card, "n use ls").is_err(), "a question");
        card.kind = CardKind::Permission;
        for line in ["n use ls", "no, use ls", " NO: use ls", "No. use ls", "n  ,use ls"] {
            let refused = Reply::Chosen { options: vec!["2".into()], text: Some("use ls".into()) };
            assert_eq!(read_answer(&card, line), Ok(refused), "{line}");
        }
        assert_eq!(read_answer(&card, "no,"), Err(prompt(&card)));
        for line in
            ["use ls", "y use ls", "yes, do", "not now", "nope use ls", "1 please", "never so"]
        {
            assert_eq!(read_answer(&card, line), Err(prompt(&card)), "{line}");
        }
    }
}
