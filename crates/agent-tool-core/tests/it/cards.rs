use agent_tool_core::{
    CallId, Card, CardKind, CardOption, Content, FileChange, Preview, PreviewKind, Reply,
};

fn card() -> Card {
    let mut card = Card::new(CardKind::Question, "card_1", CallId::new("call_1"), "Which?");
    card.options = vec![CardOption::new("a", "A"), CardOption::new("b", "B")];
    card
}

fn chosen(options: &[&str], text: Option<&str>) -> Reply {
    Reply::Chosen {
        options: options.iter().map(ToString::to_string).collect(),
        text: text.map(str::to_owned),
    }
}

#[test]
fn an_answer_that_does_not_fit_is_an_error_and_never_a_guess() {
    let refused = |reply: Reply| card().check(&reply).expect_err("refused").to_string();
    assert_eq!(refused(chosen(&["c"], None)), "card card_1 has no option \"c\"");
    assert_eq!(refused(chosen(&["a", "b"], None)), "card card_1 takes one option");
    assert_eq!(refused(chosen(&["a"], Some("and more"))), "card card_1 takes no typed answer");
    assert_eq!(refused(chosen(&[], None)), "the answer to card card_1 is empty");
}

#[test]
fn an_answer_that_fits_passes() {
    let mut open = card();
    open.several = true;
    open.free_text = true;
    for reply in
        [chosen(&["a", "b"], None), chosen(&[], Some("C")), Reply::Skipped, Reply::Withdrawn]
    {
        assert_eq!(open.check(&reply), Ok(()), "{reply:?}");
    }
    assert_eq!(card().check(&Reply::option("b")), Ok(()));
}

#[test]
fn every_string_that_a_person_reads_is_cleaned_and_the_fingerprint_stays() {
    let bad = "x\u{202e}\u{1b}[31my";
    // What would hide or reorder is seen, and nothing is left out: it is what will be done.
    let good = "x\u{fffd}␛[31my";
    let mut card = card();
    card.title = bad.into();
    card.body = bad.into();
    card.options[0] = CardOption::new("a", bad).with_description(bad);
    let side = || Content::Text { text: bad.into() };
    let preview = Preview::new(PreviewKind::Edit, bad).with_body(bad).with_fingerprint("f1");
    card.preview = Some(preview.with_changes(vec![FileChange::new(bad, side(), side())]));
    let shown = card.for_person();
    let json = serde_json::to_string(&shown).expect("a card is JSON");
    assert!(!json.contains('\u{202e}') && !json.contains("u001b"), "{json}");
    let preview = shown.preview.expect("a preview");
    assert_eq!((shown.title.as_str(), preview.body.as_str()), (good, good));
    assert_eq!(preview.changes[0].after.as_text(), Some(good));
    assert_eq!(preview.fingerprint.as_deref(), Some("f1"));
}
