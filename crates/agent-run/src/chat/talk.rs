//! The conversation itself: a line of the person's, a turn of the model's, until the person leaves.

use std::{
    convert::Infallible,
    pin::pin,
    process::ExitCode,
    sync::Arc,
    time::{Duration, Instant},
};

use agent_loop::{Agent, Conversation, Message, Tally};
use agent_tiers::{Run, Surface};
use agent_tool_core::{Dispatch as _, Part, clip, for_person};
use anyhow::Result;
use tokio::signal::unix::Signal;

use super::{
    ahead::Ahead,
    cards::ChatCards,
    crew::Crew,
    editor::{Line, LineEditor},
    screen::{Screen, can_draw},
    show::Turns,
    typed::{Command, Typed},
};
use crate::{
    assemble::{Assembled, end_workers},
    style::{FAINT, STRONG, in_style, remark},
    trust::Trust,
};

/// Two presses of Ctrl-C within this time leave.
const TWICE: Duration = Duration::from_secs(5);

/// What is said after the first of them.
const LEAVES: &str = "Ctrl-C once more within 5 s leaves";

/// What stands before what a person types.
const PROMPT: &str = "\u{203a} ";

/// So many characters of what was said last are shown where a conversation is gone on with.
const SAID_CHARS: usize = 500;

/// So often it is looked what is at work.
const LOOK: Duration = Duration::from_millis(250);

/// A conversation with a person.
pub(super) struct Talk {
    pub(super) assembled: Assembled,
    pub(super) agent: Agent,
    pub(super) conversation: Conversation,
    pub(super) turns: Arc<Turns>,
    pub(super) screen: Screen,
    pub(super) cards: ChatCards,
    pub(super) crew: Option<Crew>,
    pub(super) editor: LineEditor,
    /// The most that `/full` gives back.
    pub(super) surface: Surface,
    pub(super) trust: Trust,
    pub(super) tally: Tally,
}

impl Talk {
    pub(super) fn greet(&self, before: Option<&str>, vibe: bool) {
        let model = in_style(STRONG, self.agent.model().name());
        let surface = self.assembled.view.surface();
        let tools = self.assembled.view.specs().len();
        self.screen.line(&format!(
            "{model}, {tools} tools ({surface}); /help lists what else can be typed"
        ));
        if let Some(consent) = self.crew.as_ref().filter(|_| vibe).and_then(Crew::consent) {
            self.screen.line(consent);
        }
        if let Some(before) = before {
            self.greet_again(before);
        }
    }

    /// Says where the conversation was left.
    fn greet_again(&self, before: &str) {
        let count = self.conversation.messages().len();
        let (unknown, calls) = self.turns.unknown();
        let opened = match calls {
            0 => String::new(),
            calls => format!(" and {calls} calls, which /open shows"),
        };
        self.screen.aside(&format!("going on after {count} messages{opened}; {before}"));
        let said = last_said(&self.conversation);
        if !said.is_empty() {
            let said = clip(&for_person(&said), SAID_CHARS).text;
            self.screen.line(&format!("{PROMPT}{said}"));
        }
        for head in unknown {
            let said =
                format!("{head}: cut off when the program ended; whether it acted is not known");
            self.screen.line(&said);
        }
        let last = for_person(self.conversation.last_text());
        if !last.is_empty() {
            self.screen.piece(&last);
            self.screen.end_text();
        }
    }

    /// Goes on until the person leaves.
    pub(super) async fn go_on(&mut self, mut interrupts: Signal) -> Result<ExitCode> {
        let mut pressed = Pressed::default();
        while let Some(text) = self.next_line(&mut interrupts, &mut pressed).await {
            match Typed::read(&text) {
                Typed::Nothing => {}
                Typed::Unknown(why) => self.screen.line(&why),
                Typed::Command(Command::Quit) => break,
                Typed::Command(command) => self.command(command).await?,
                Typed::Said(said) => {
                    self.turns.journal().say(&mut self.conversation, said);
                    if self.turn(&mut interrupts).await == Ended::Interrupted {
                        pressed.now();
                        self.screen.aside(LEAVES);
                    }
                }
            }
        }
        self.end().await
    }

    /// The next line that the person says; none where they leave.
    async fn next_line(&self, interrupts: &mut Signal, pressed: &mut Pressed) -> Option<String> {
        'asked: loop {
            let mut line = pin!(self.cards.line_of_conversation(PROMPT));
            let interrupted = loop {
                tokio::select! {
                    line = &mut line => match line {
                        Line::Text(text) => {
                            pressed.not_any_more();
                            return Some(text);
                        }
                        Line::Interrupted => break true,
                        Line::Begun => continue 'asked,
                        Line::End => return None,
                    },
                    // One that came before the prompt was there, or from elsewhere.
                    _ = interrupts.recv() => {
                        if pressed.again() {
                            return None;
                        }
                        self.screen.aside(LEAVES);
                    }
                }
            };
            if interrupted && pressed.again() {
                return None;
            }
            self.screen.aside(LEAVES);
        }
    }

    /// One turn of the model's, which Ctrl-C ends.
    async fn turn(&mut self, interrupts: &mut Signal) -> Ended {
        self.turns.begin(&self.assembled.run);
        // A press from before this turn, such as at the card about trust, ends none.
        let _ = tokio::time::timeout(Duration::ZERO, self.cards.interrupted()).await;
        self.cards.at_work(true);
        let ended = {
            let work =
                show_work(&self.screen, &self.turns, &self.assembled.run, self.editor.ahead());
            let mut turn = pin!(self.agent.turn(&mut self.conversation, &*self.turns));
            let mut work = pin!(work);
            loop {
                tokio::select! {
                    // The end of a card before what is behind it: no next card comes up for a moment.
                    biased;
                    () = self.cards.interrupted() => break None,
                    () = self.editor.ahead().interrupted() => break None,
                    _ = interrupts.recv() => if !self.cards.interrupts_asking() {
                        break None;
                    },
                    turn = &mut turn => break Some(turn),
                    never = &mut work => match never {},
                }
            }
        };
        self.screen.below(Vec::new());
        self.cards.at_work(false);
        match ended {
            Some(turn) => {
                self.tally.merge(&turn.tally);
                Ended::ByItself
            }
            None => {
                self.editor.ahead().unsay();
                Ended::Interrupted
            }
        }
    }

    /// The end of the run: its workers are gone, and what was called is on record.
    async fn end(&mut self) -> Result<ExitCode> {
        if let Some(killed) = end_workers(self.assembled.workers.as_ref()).await {
            self.screen.line(&killed);
        }
        self.assembled.mcp.close().await;
        if let Err(failure) = self.assembled.run.flush().await {
            remark(in_style(FAINT, failure));
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// How a turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ended {
    ByItself,
    Interrupted,
}

/// When Ctrl-C was pressed last, with nothing said since.
#[derive(Debug, Default)]
struct Pressed(Option<Instant>);

impl Pressed {
    fn now(&mut self) {
        self.0 = Some(Instant::now());
    }

    fn not_any_more(&mut self) {
        self.0 = None;
    }

    /// Notes a press, and says whether it is the second one.
    fn again(&mut self) -> bool {
        self.0.replace(Instant::now()).is_some_and(|before| before.elapsed() < TWICE)
    }
}

/// Shows below the conversation what is at work and what is typed meanwhile.
async fn show_work(screen: &Screen, turns: &Turns, run: &Run, ahead: &Ahead) -> Infallible {
    loop {
        let mut rows = turns.at_work(run);
        let (lines, begun) = ahead.shown();
        let lines = lines.iter().map(|line| format!("{PROMPT}{} (comes next)", in_a_row(line)));
        rows.extend(lines);
        if !begun.is_empty() {
            rows.push(format!("{PROMPT}{}", in_a_row(&begun)));
        }
        if can_draw() {
            screen.below(rows);
        }
        tokio::select! {
            () = tokio::time::sleep(LOOK) => {}
            () = ahead.changed() => {}
        }
    }
}

fn in_a_row(text: &str) -> String {
    for_person(text).replace('\n', " ⏎ ")
}

/// What the person said last.
fn last_said(conversation: &Conversation) -> String {
    let mut messages = conversation.messages().iter().rev();
    let said = messages.find_map(|message| match &**message {
        Message::User { parts } => Some(parts),
        _ => None,
    });
    let texts = said.into_iter().flatten().filter_map(|part| match part {
        Part::Text { text } => Some(text.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}
