//! `chat`: a conversation with a model that has the run's tools.

mod cards;
mod editor;
mod once;
mod saved;
mod screen;
mod show;
mod typed;

use std::{
    io,
    process::ExitCode,
    sync::{Arc, PoisonError},
    time::{Duration, Instant},
};

use agent_loop::{Agent, Conversation, Message, Model, Tally};
use agent_tiers::Surface;
use agent_tool_core::{Dispatch as _, ToolSpec, clip, for_person};
use agent_vibe::Workers;
use anyhow::{Context as _, Result, bail};
use tokio::signal::unix::{Signal, SignalKind, signal};

use self::{
    cards::ChatCards,
    editor::{Line, LineEditor},
    saved::Conversations,
    screen::Screen,
    show::Turns,
    typed::{COMMANDS, Command, Typed, Vibe},
};
use crate::{
    args::{Approve, Chat, Options},
    assemble::{self, Assembled, Wishes, assemble, end_workers},
    config::Config,
    pictures::Pictures,
    signals,
    state::State,
    style::{FAINT, STRONG, in_style, remark},
    terminal::Terminal,
    trust,
};

/// What the model is told of its place, before what the person says.
const SYSTEM: &str = "You work in a checkout of a person's project with the tools that you are offered, and with nothing else. Look before \
    you change, change no more than what was asked for, and check what you changed. Results say what was really seen: where one \
    says unknown, partial or cut, do not take it for more. When you are done, say shortly what you did and what you did not.";

/// Two presses of Ctrl-C within this time leave.
const TWICE: Duration = Duration::from_secs(2);

/// So long after a step was ended the second press leaves; then the prompt is there.
const AGAIN: Duration = Duration::from_millis(700);

/// How long what still runs may take when the program leaves.
const LEAVE: Duration = Duration::from_secs(2);

/// What stands before what a person types.
const PROMPT: &str = "\u{203a} ";

/// So many characters of a worker's result are in the list.
const RESULT_CHARS: usize = 100;

/// The names of files that keep what was typed.
const HISTORY: &str = "chat_history";

/// Talks, or answers one prompt.
pub(crate) fn chat(options: &Options, chat: &Chat) -> Result<ExitCode> {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().enable_all().build().context("the runtime")?;
    let (options, chat) = (options.clone(), chat.clone());
    // On a worker of the runtime: what its tasks hand to each other then needs no other thread.
    let ended = runtime.block_on(async move {
        tokio::spawn(async move {
            tokio::select! {
                code = begin(&options, &chat) => code,
                why = signals::told_to_end() => Ok(ExitCode::from(why.exit_code())),
            }
        })
        .await
    });
    // A thread that waits for a line does not end before there is one.
    runtime.shutdown_timeout(LEAVE);
    ended.context("the conversation")?
}

async fn begin(options: &Options, chat: &Chat) -> Result<ExitCode> {
    let mut config = Config::load(options)?;
    let model: Arc<dyn Model> = Arc::new(config.model.open()?);
    if let Some(prompt) = &chat.prompt {
        let prompt = match prompt.as_str() {
            "-" => io::read_to_string(io::stdin()).context("standard input")?,
            prompt => prompt.to_owned(),
        };
        return answer_once(options, chat, &config, model, prompt).await;
    }
    if !Terminal::is_there() {
        bail!(
            "a conversation needs a terminal; `chat --prompt TEXT` answers one prompt without a person"
        );
    }
    let history = State::home_path().ok().map(|home| home.join(HISTORY));
    let editor = LineEditor::start(history).context("the terminal")?;
    let screen = Screen::new(editor.clone());
    let cards = ChatCards::new(editor.clone(), screen.clone());
    cards.at_work(true);
    trust::ask(&mut config, &cards).await.context("the trust in this checkout")?;
    cards.at_work(false);
    config.approve.get_or_insert(Approve::Ask);
    let mut wishes = Wishes::of_nobody();
    wishes.port = Arc::new(cards.clone());
    wishes.conversation = Some(agent_ask::Conversation::new("chat"));
    wishes.transcript.clone_from(&options.transcript);
    if options.vibe || !config.workers.is_empty() {
        wishes.vibe = assemble::Vibe::Configured;
    }
    let assembled = assemble(&config, wishes).await?;
    if !options.vibe {
        without_workers(&assembled)?;
    }
    let conversations = Conversations::of(&assembled.state, config.working());
    let (conversation, journal) = conversations.open(chat, &assembled.state)?;
    let pictures = Pictures::new(assembled.state.artifacts());
    let turns = Turns::new(screen.clone(), pictures, journal);
    let agent = agent(&assembled, model);
    let surface = config.surface;
    let mut talk = Talk {
        assembled,
        agent,
        conversation,
        turns,
        screen,
        cards,
        surface,
        tally: Tally::default(),
    };
    talk.greet(chat.go_on);
    let interrupts = signal(SignalKind::interrupt()).context("the signals")?;
    talk.go_on(interrupts).await
}

/// One prompt, with nobody there.
async fn answer_once(
    options: &Options,
    chat: &Chat,
    config: &Config,
    model: Arc<dyn Model>,
    prompt: String,
) -> Result<ExitCode> {
    if prompt.trim().is_empty() {
        bail!("the prompt is empty");
    }
    let mut wishes = Wishes::of_nobody();
    wishes.transcript.clone_from(&options.transcript);
    if options.vibe {
        wishes.vibe = assemble::Vibe::Configured;
    }
    let assembled = tokio::select! {
        assembled = assemble(config, wishes) => assembled?,
        why = signals::ended() => {
            remark(in_style(FAINT, "interrupted"));
            return Ok(ExitCode::from(why.exit_code()));
        }
    };
    let conversations = Conversations::of(&assembled.state, config.working());
    let (mut conversation, journal) = conversations.open(chat, &assembled.state)?;
    journal.add(&Message::user(&prompt));
    conversation.push_user(prompt);
    let agent = agent(&assembled, model);
    tokio::select! {
        code = once::once(&agent, &mut conversation, &journal, chat.output) => {
            if let Some(killed) = end_workers(assembled.workers.as_ref()).await {
                remark(killed);
            }
            assembled.mcp.close().await;
            code
        }
        why = signals::ended() => {
            remark(in_style(FAINT, "interrupted"));
            Ok(ExitCode::from(why.exit_code()))
        }
    }
}

fn agent(assembled: &Assembled, model: Arc<dyn Model>) -> Agent {
    let view = assembled.view.clone();
    let parent = view.root();
    let folder = assembled.workspace.roots()[0].path().display();
    Agent::new(model, Arc::new(view), parent)
        .system(format!("{SYSTEM}\n\nThe working directory is {folder}."))
}

/// Takes the tools of workers out of a run.
fn without_workers(assembled: &Assembled) -> Result<()> {
    let registry = assembled.run.registry().to_builder().without(is_of_vibe).build()?;
    assembled.run.set_registry(registry);
    Ok(())
}

fn is_of_vibe(spec: &ToolSpec) -> bool {
    spec.name.starts_with("vibe_")
}

/// A conversation with a person.
struct Talk {
    assembled: Assembled,
    agent: Agent,
    conversation: Conversation,
    turns: Turns,
    screen: Screen,
    cards: ChatCards,
    /// The most that `/full` gives back.
    surface: Surface,
    tally: Tally,
}

/// How a wait for a person or a model ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Leave {
    Stay,
    Now,
}

impl Talk {
    fn greet(&self, goes_on: bool) {
        let model = in_style(STRONG, self.agent.model().name());
        let surface = self.assembled.view.surface();
        let tools = self.assembled.view.specs().len();
        self.screen.line(&format!(
            "{model}, {tools} tools ({surface}); /help lists what else can be typed"
        ));
        if goes_on {
            let count = self.conversation.messages().len();
            let said = format!("going on after {count} messages");
            self.screen.line(&in_style(FAINT, said).to_string());
            let last = for_person(self.conversation.last_text());
            if !last.is_empty() {
                self.screen.line(&last);
            }
        }
    }

    /// Goes on until the person leaves.
    async fn go_on(&mut self, mut interrupts: Signal) -> Result<ExitCode> {
        let mut pressed: Option<Instant> = None;
        loop {
            let line = self.cards.line_of_conversation(PROMPT).await;
            let text = match line {
                Line::Text(text) => text,
                Line::Interrupted if pressed.is_some_and(|at| at.elapsed() < TWICE) => break,
                Line::Interrupted => {
                    pressed = Some(Instant::now());
                    self.screen.line(&in_style(FAINT, "Ctrl-C once more leaves").to_string());
                    continue;
                }
                Line::End => break,
            };
            match Typed::read(&text) {
                Typed::Nothing => {}
                Typed::Unknown(why) => self.screen.line(&why),
                Typed::Command(Command::Quit) => break,
                Typed::Command(command) => self.command(command).await?,
                Typed::Said(said) => {
                    self.turns.journal().add(&Message::user(&said));
                    self.conversation.push_user(said);
                    if self.turn(&mut interrupts).await == Leave::Now {
                        break;
                    }
                    pressed = None;
                }
            }
        }
        self.end().await
    }

    /// One turn of the model's, which Ctrl-C ends.
    async fn turn(&mut self, interrupts: &mut Signal) -> Leave {
        self.cards.at_work(true);
        let ended = {
            let turn = self.agent.turn(&mut self.conversation, &self.turns);
            tokio::select! {
                turn = turn => Some(turn),
                _ = interrupts.recv() => None,
                () = self.cards.interrupted() => None,
            }
        };
        self.cards.at_work(false);
        if let Some(turn) = ended {
            self.tally.merge(&turn.tally);
            return Leave::Stay;
        }
        self.screen.line(&in_style(FAINT, "Ctrl-C once more leaves").to_string());
        match tokio::time::timeout(AGAIN, interrupts.recv()).await {
            Ok(_) => Leave::Now,
            Err(_) => Leave::Stay,
        }
    }

    async fn command(&mut self, command: Command) -> Result<()> {
        match command {
            Command::Help => {
                for (name, what) in COMMANDS {
                    let name = in_style(STRONG, format!("{name:14}"));
                    self.screen.line(&format!("{name} {what}"));
                }
            }
            Command::Tools => self.tools(),
            Command::Surface(surface) => self.show_surface(surface),
            Command::Open(number) => match self.turns.open(number) {
                Ok(text) | Err(text) => self.screen.line(&text),
            },
            Command::Answer(answer) => {
                if let Err(why) = self.cards.answer(&answer) {
                    self.screen.line(&why);
                }
            }
            Command::Cost => self.cost(),
            Command::Vibe(vibe) => self.vibe(vibe).await?,
            Command::Workers => self.workers(),
            Command::Quit => {}
        }
        Ok(())
    }

    fn tools(&self) {
        for spec in self.assembled.view.specs() {
            let name = in_style(STRONG, format!("{:12}", spec.name));
            let tier = in_style(FAINT, format!("{:5}", spec.tier.as_str()));
            let first = spec.description.lines().next().unwrap_or_default();
            self.screen.line(&format!("{name} {tier} {first}"));
        }
    }

    /// A checkout that narrows the surface narrows it here too.
    fn show_surface(&self, asked: Surface) {
        let surface = if asked == Surface::Full { self.surface } else { asked };
        self.assembled.view.set_surface(surface);
        let tools = self.assembled.view.specs().len();
        let why = match surface == asked {
            true => String::new(),
            false => ", since the configuration allows no more".to_owned(),
        };
        self.screen.line(&format!("the model is offered {tools} tools now ({surface}{why})"));
    }

    /// Gives the model workers, or ends them.
    async fn vibe(&self, vibe: Vibe) -> Result<()> {
        let Some(workers) = &self.assembled.workers else {
            self.screen.line(
                "no workers are configured; give --worker 'fast=COMMAND', or [worker.fast] in your own config.toml",
            );
            return Ok(());
        };
        match vibe {
            Vibe::On => {
                workers.turn_on();
                let registry = self.assembled.run.registry().to_builder();
                let registry = registry.without(is_of_vibe).tools(workers.tools()).build()?;
                self.assembled.run.set_registry(registry);
                self.screen.line("the model may have workers now");
            }
            Vibe::Off => {
                let ended = workers.turn_off().await;
                without_workers(&self.assembled)?;
                self.screen.line(&format!(
                    "the model has no workers any more; {} were at work and killed",
                    ended.killed
                ));
            }
        }
        Ok(())
    }

    fn workers(&self) {
        let all = self.assembled.workers.as_ref().map(Workers::list).unwrap_or_default();
        if all.is_empty() {
            self.screen.line("there are no workers");
        }
        for worker in all {
            let id = in_style(STRONG, &worker.worker_id);
            let seconds = worker.elapsed_ms / 1_000;
            let label = for_person(&worker.label);
            let result = worker.result.as_deref().unwrap_or_default();
            let result =
                for_person(&clip(result.lines().next().unwrap_or_default(), RESULT_CHARS).text);
            let (tier, status) = (worker.tier, format!("{:?}", worker.status).to_lowercase());
            self.screen.line(&format!("{id} {label} ({tier}): {status}, {seconds} s  {result}"));
        }
    }

    fn cost(&self) {
        let Tally { answers, input, output, cached, .. } = &self.tally;
        self.screen.line(&format!(
            "{answers} answers of {}: {input} tokens read, {cached} of them from a cache, {output} written",
            self.agent.model().name()
        ));
        let used = self.assembled.worker_usage.lock().unwrap_or_else(PoisonError::into_inner);
        for (worker, Tally { answers, input, output, .. }) in used.iter() {
            self.screen.line(&format!(
                "{worker}: {answers} answers, {input} tokens read, {output} written"
            ));
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
