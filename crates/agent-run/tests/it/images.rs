//! Images of results: shown where the terminal is known to show them, and nowhere else a byte of it.

use std::fs;

use agent_testkit::model::Rule;
use serde_json::json;

use crate::{
    chat::{talking, when},
    home::Home,
    tmux::Terminal,
};

/// One red pixel.
const PNG: [u8; 69] = [
    0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 0x0d, 0x49, 0x48, 0x44, 0x52, 0, 0, 0,
    1, 0, 0, 0, 1, 8, 2, 0, 0, 0, 0x90, 0x77, 0x53, 0xde, 0, 0, 0, 0x0c, 0x49, 0x44, 0x41, 0x54,
    0x08, 0xd7, 0x63, 0xf8, 0xcf, 0xc0, 0, 0, 3, 1, 1, 0, 0x18, 0xdd, 0x8d, 0xb0, 0, 0, 0, 0, 0x49,
    0x45, 0x4e, 0x44, 0xae, 0x42, 0x60, 0x82,
];

#[test]
fn an_image_is_saved_and_named_and_shown_where_the_terminal_can() {
    let (home, _server) = talking(
        &[],
        vec![
            when("look", Rule::call("read", json!({"path": "red.png"}))),
            Rule { times: 0, ..Rule::text("All is said.") },
        ],
    );
    fs::write(home.checkout.path().join("red.png"), PNG).expect("a file");
    let Some(terminal) = Terminal::open(&home) else { return };
    for (protocol, begin) in [
        ("", None),
        ("none", None),
        ("kitty", Some("\u{1b}_Ga=T,f=100,q=2,m=0;iVBORw0KGgo")),
        ("iterm2", Some("\u{1b}]1337;File=inline=1;size=69;width=auto;")),
        ("sixel", Some("\u{1b}P0;1;0q\"1;1;1;1#0;2;0;0;0")),
    ] {
        let sent = home.home.path().join(format!("sent-{protocol}"));
        terminal.tmux(&["pipe-pane", &format!("cat > '{}'", sent.display())]);
        terminal.types(&format!("export AGENT_RUN_IMAGES={protocol}"));
        terminal.agent_run("chat");
        terminal.says("look");
        let screen = terminal.shows("All is said.");
        assert!(screen.contains("image: ") && screen.contains("/image_1.png"), "{screen}");
        terminal.until_prompt();
        terminal.presses("C-d");
        terminal.shows("status 0");
        let done = |text: &[u8]| String::from_utf8_lossy(text).contains("status 0");
        let text = terminal.until_file(&sent, done);
        let text = String::from_utf8_lossy(&text);
        for sequence in ["\u{1b}_G", "\u{1b}]1337", "\u{1b}P0;1;0q"] {
            let wanted = begin.is_some_and(|begin| begin.starts_with(sequence));
            assert_eq!(text.contains(sequence), wanted, "{protocol}: {sequence:?}");
        }
        assert!(begin.is_none_or(|begin| text.contains(begin)), "{protocol}: {text}");
        terminal.tmux(&["pipe-pane"]);
        terminal.clears();
    }
}

#[test]
fn a_word_for_the_terminal_that_is_unknown_is_said() {
    let home = Home::new(&[]);
    let output = home.command(&["config"]).env("AGENT_RUN_IMAGES", "bogus").output();
    let said = String::from_utf8_lossy(&output.expect("it starts").stdout).into_owned();
    assert!(said.contains("AGENT_RUN_IMAGES is bogus, which is unknown"), "{said}");
    assert!(said.contains("it takes kitty, iterm2, sixel, none"), "{said}");
}
