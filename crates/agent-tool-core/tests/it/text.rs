use agent_tool_core::{as_at_terminal, clip_middle, for_approval, for_person, with_traces};
use proptest::prelude::*;

#[test]
fn nothing_that_hides_or_forges_reaches_a_person() {
    let cases = [
        ("\u{1b}]0;title\u{7}shown", "shown"),
        ("\u{1b}]8;;http://x\u{1b}\\link\u{1b}]8;;\u{1b}\\", "link"),
        ("\u{1b}[2J\u{1b}[1;1Hforged", "forged"),
        ("\u{9b}31mred", "red"),
        ("\u{1b}(Bplain", "plain"),
        ("unfinished\u{1b}]0;title\nnext", "unfinished\nnext"),
        ("admin\u{202e}txt.exe\u{2066}x\u{2069}", "admin\u{fffd}txt.exe\u{fffd}x\u{fffd}"),
        ("over\rwritten", "over\u{fffd}written"),
        ("a\u{8}b\u{0}c", "a\u{fffd}b\u{fffd}c"),
        ("tab\tnewline\ncrlf\r\n", "tab\tnewline\ncrlf\n"),
        ("日本語 ünïcode 👩‍🚀", "日本語 ünïcode 👩‍🚀"),
    ];
    for (raw, shown) in cases {
        assert_eq!(for_person(raw), shown, "{raw:?}");
    }
}

#[test]
fn what_leaves_no_trace_is_seen() {
    let hidden = [
        '\u{ad}',
        '\u{180e}',
        '\u{200b}',
        '\u{200c}',
        '\u{200d}',
        '\u{2060}',
        '\u{2064}',
        '\u{3164}',
        '\u{feff}',
        '\u{e0001}',
        '\u{e007f}',
        '\u{e0100}',
    ];
    for c in hidden {
        let number = format!("a<U+{:04X}>b", u32::from(c));
        assert_eq!(for_approval(&format!("a{c}b")), number);
        assert_eq!(with_traces(&format!("a{c}b")), number);
    }
    for text in
        ["日本語 ünïcode 👩\u{200d}🚀", "❤\u{fe0f}\u{200d}🔥", "می\u{200c}خواهم", "葛\u{e0100}"]
    {
        assert_eq!(with_traces(text), text);
    }
    // A run of them after a letter says more than how the letter looks.
    assert_eq!(with_traces("é\u{e0100}\u{e0101}"), "é\u{e0100}<U+E0101>");
}

#[test]
fn of_what_was_drawn_over_the_last_state_is_left() {
    let cases = [
        ("a\nb\n", "a\nb\n"),
        ("a\r\nb\r\n", "a\nb\n"),
        ("\r 10%\r 50%\r100%\nend\r", "100%\nend"),
        ("\u{1b}[31mred\u{1b}[0m\r\u{1b}[K\nx", "red\nx"),
        ("\r\r\n\n", "\n\n"),
        ("a\u{8}b", "a\u{fffd}b"),
    ];
    for (raw, shown) in cases {
        assert_eq!(as_at_terminal(raw), shown, "{raw:?}");
    }
}

#[test]
fn head_and_tail_stay_and_the_cut_is_counted() {
    let text: String = ('a'..='z').collect();
    let clipped = clip_middle(&text, 9, Some("read all of it in /state/call_1.txt"));
    assert_eq!(clipped.cut, 17);
    assert_eq!(
        clipped.text,
        "abcdef\n… 17 more characters; read all of it in /state/call_1.txt …\nxyz"
    );
}

proptest! {
    #[test]
    fn no_control_character_survives(raw in "\\PC*|[\\x00-\\x1f\\x7f-\\x9f\\u{202a}-\\u{202e}a-z\\[\\];]*") {
        let shown = for_person(&raw);
        let bad = |c: char| c.is_control() && c != '\n' && c != '\t' || ('\u{202a}'..='\u{202e}').contains(&c);
        prop_assert!(!shown.chars().any(bad));
        prop_assert_eq!(for_person(&shown), shown);
    }
}
