//! The conversation itself: a line of the person's, a turn of the model's, until the person leaves.

use std::{
    convert::Infallible,
    pin::pin,
    process::ExitCode,
    sync::Arc,
    time::{Duration, Instant},
};

use agent_loop::{Agent, Conversation, End, Message, Outcome, Stop, Tally};
use agent_tiers::{Run, Surface, WaitsFor};
use agent_tool_core::{Dispatch as _, Part, Secrets, clip, counted};
use anyhow::Result;
use tokio::signal::unix::Signal;

use super::{
    ahead::{Ahead, Written},
    cards::ChatCards,
    commands::{Looks, When},
    crew::Crew,
    discreet::Discreet,
    editor::{Line, LineEditor},
    screen::{Screen, can_draw},
    show::Turns,
    typed::{Command, Typed},
};
use crate::{
    assemble::{Assembled, end_workers},
    edge,
    style::{FAINT, STRONG, in_style, remark},
    trust::Trust,
    visible::readable,
};

/// Two presses of Ctrl-C within this time leave.
const TWICE: Duration = Duration::from_secs(5);

/// What is said after the first of them.
const LEAVES: &str = "Ctrl-C once more within 5 s leaves";

/// What is said after an interruption where something had been typed ahead.
const CAME_BACK: &str = "what you had typed stands in the prompt: Ctrl-C throws it away, and once more within 5 s leaves";

/// What is said of Ctrl-D while the model works.
const NOT_NOW: &str =
    "Ctrl-D leaves at the prompt; while the model works Ctrl-C ends the step, and once more leaves";

/// What is said where it was thrown away.
const THROWN_AWAY: &str = "thrown away; Ctrl-C once more within 5 s leaves";

/// What stands before what a person types.
const PROMPT: &str = "\u{203a} ";

/// So many characters of what was said last are shown where a conversation is gone on with.
const SAID_CHARS: usize = 500;

/// So long calls whose cards were not up yet may take to be refused when a turn is interrupted.
const UNSEEN: Duration = Duration::from_millis(500);

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
    /// What nobody is told.
    pub(super) secrets: Secrets,
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
            calls => format!(" and {}, which /open shows", counted(calls, "call")),
        };
        let messages = counted(count, "message");
        self.screen.aside(&format!("going on after {messages}{opened}; {before}"));
        let said = last_said(&self.conversation);
        if !said.is_empty() {
            let said = clip(&readable(&said), SAID_CHARS).text;
            self.screen.line(&format!("{PROMPT}{said}"));
        }
        // An answer's text comes before its calls.
        let last = readable(self.conversation.last_text());
        if !last.is_empty() {
            self.screen.piece(&last);
            self.screen.end_text();
        }
        for head in unknown {
            let said =
                format!("{head}: cut off when the program ended; whether it acted is not known");
            self.screen.line(&said);
        }
        for said in not_made(&self.conversation) {
            self.screen.line(&said);
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
                        if self.cards.is_left() {
                            break;
                        }
                        pressed.now();
                        let came_back = self.editor.ahead().is_begun();
                        self.screen.aside(if came_back { CAME_BACK } else { LEAVES });
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
                    // A signal behind it is for what the line begins.
                    biased;
                    line = &mut line => match line {
                        Line::Text(text) => {
                            pressed.not_any_more();
                            return Some(text);
                        }
                        Line::Interrupted => break true,
                        Line::ThrownAway => {
                            pressed.now();
                            self.screen.aside(THROWN_AWAY);
                            continue 'asked;
                        }
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
        let stop = Stop::new();
        self.cards.stops(&stop);
        // The turn has the conversation meanwhile, and who only looks the rest.
        let mut conversation = std::mem::take(&mut self.conversation);
        let ended = {
            let looks = self.looks(When::Turn);
            let discreet = Discreet::new(&*self.turns, &self.secrets);
            let work = show_work(&looks, self.editor.ahead());
            let mut turn = pin!(self.agent.turn_until(&mut conversation, &discreet, &stop));
            let mut work = pin!(work);
            let mut leaves = None;
            loop {
                tokio::select! {
                    // The end of a card before what is behind it: no next card comes up for a moment.
                    biased;
                    () = self.cards.interrupted() => {
                        if !waits_for_person(&self.assembled.run) {
                            break None;
                        }
                        self.cards.refuse_unseen();
                        leaves.get_or_insert_with(|| tokio::time::Instant::now() + UNSEEN);
                    }
                    () = until(leaves) => break None,
                    _ = interrupts.recv() => {
                        if !self.cards.interrupts_asking() && !self.editor.interrupts_line() {
                            break None;
                        }
                    }
                    turn = &mut turn => break Some(turn),
                    never = &mut work => match never {},
                }
            }
        };
        self.conversation = conversation;
        self.screen.below(Vec::new());
        self.cards.at_work(false);
        self.tally.merge(&self.turns.take_tally());
        if ended.is_some_and(|turn| !matches!(turn.end, End::Cancelled)) {
            return Ended::ByItself;
        }
        self.editor.ahead().unsay();
        Ended::Interrupted
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

/// Whether a call of the agent's waits for a person.
fn waits_for_person(run: &Run) -> bool {
    let calls = run.live_calls();
    calls.iter().any(|call| call.callers.is_empty() && call.waits_for == WaitsFor::Approval)
}

/// Waits until then; for good where there is no such time.
async fn until(then: Option<tokio::time::Instant>) {
    match then {
        Some(then) => tokio::time::sleep_until(then).await,
        None => std::future::pending().await,
    }
}

/// Shows below the conversation what is at work and what is typed meanwhile, and what somebody wants to look at.
async fn show_work(looks: &Looks<'_>, ahead: &Ahead) -> Infallible {
    loop {
        while let Some((line, command)) = ahead.take_where(looking) {
            looks.screen.line(&format!("{PROMPT}{}", readable(&line)));
            looks.look(&command);
        }
        if ahead.take_left() {
            looks.screen.aside(NOT_NOW);
        }
        let mut rows = looks.turns.at_work(&looks.assembled.run);
        let (lines, begun) = ahead.shown();
        let lines = lines.iter().map(|line| format!("{PROMPT}{} (comes next)", in_a_row(line)));
        rows.extend(lines);
        if !begun.is_empty() {
            rows.push(format!("{PROMPT}{}", in_a_row(&begun)));
        }
        if can_draw() {
            looks.screen.below(rows);
        }
        tokio::select! {
            () = tokio::time::sleep(LOOK) => {}
            () = ahead.changed() => {}
        }
    }
}

/// A command that only looks, with its line.
fn looking(line: &Written) -> Option<(String, Command)> {
    match Typed::read(&line.text) {
        Typed::Command(command) if command.looks() => Some((line.text.clone(), command)),
        _ => None,
    }
}

fn in_a_row(text: &str) -> String {
    readable(text).replace('\n', " ⏎ ")
}

/// The calls of the last answer that were not made, each in a row.
fn not_made(conversation: &Conversation) -> Vec<String> {
    let Some(Message::Tool { results }) = conversation.messages().last().map(|last| &**last) else {
        return Vec::new();
    };
    let not_made = results.iter().filter(|result| result.outcome == Outcome::NotStarted);
    let rows = not_made.map(|result| {
        let said = result.parts.iter().find_map(|part| match part {
            Part::Text { text } => text.lines().next(),
            _ => None,
        });
        format!("{}: {}", edge::word(&result.name), readable(said.unwrap_or_default()))
    });
    rows.collect()
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
