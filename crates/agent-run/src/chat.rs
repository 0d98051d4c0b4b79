//! `chat`: a conversation with a model that has the run's tools.

mod again;
mod ahead;
mod calls;
mod cards;
mod commands;
mod crew;
mod discreet;
mod drawn;
mod editor;
mod keyboard;
mod layout;
mod loops;
mod once;
mod prose;
mod saved;
mod screen;
mod show;
mod talk;
mod tools;
mod typed;

use std::{
    io::{self, Write as _},
    pin::pin,
    process::ExitCode,
    sync::Arc,
    time::Duration,
};

use agent_loop::{Agent, Model, Tally};
use agent_tool_core::{ToolSpec, counted, for_person};
use anyhow::{Context as _, Result, bail};
use tokio::signal::unix::{SignalKind, signal};

use self::{
    cards::ChatCards,
    crew::Crew,
    editor::LineEditor,
    once::Once,
    saved::{Conversations, Opened},
    screen::Screen,
    show::Turns,
    talk::Talk,
};
use crate::{
    args::{Approve, Chat, Options},
    assemble::{self, Assembled, Wishes, assemble},
    config::Config,
    pictures::Pictures,
    signals,
    state::State,
    style::{FAINT, in_style, remark},
    terminal::Terminal,
    trust,
};

/// What the model is told of its place, before what the person says.
const SYSTEM: &str = "You work in a checkout of a person's project with the tools that you are offered, and with nothing else. Look before \
    you change, change no more than what was asked for, and check what you changed. Results say what was really seen: where one \
    says unknown, partial or cut, do not take it for more. When you are done, say shortly what you did and what you did not.";

/// How long what still runs may take when the program leaves.
const LEAVE: Duration = Duration::from_secs(2);

/// How long a prompt may take at a signal to end its workers and to say what it came to.
const SAYING: Duration = Duration::from_secs(4);

/// So many conversations are listed unless all are asked for.
const LISTED: usize = 50;

/// What is said where a signal ended the program.
const INTERRUPTED: &str = "interrupted";

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
            let mut talk = pin!(begin(&options, &chat));
            let why = tokio::select! {
                biased;
                code = &mut talk => return code,
                why = signals::told_to_end() => why,
            };
            // A prompt says at a signal what was cut off, once its workers are gone.
            if chat.prompt.is_some()
                && let Ok(code) = tokio::time::timeout(SAYING, talk).await
            {
                return code;
            }
            Ok(ExitCode::from(why.exit_code()))
        })
        .await
    });
    // A thread that waits for a line does not end before there is one.
    runtime.shutdown_timeout(LEAVE);
    ended.context("the conversation")?
}

async fn begin(options: &Options, chat: &Chat) -> Result<ExitCode> {
    let mut config = Config::load(options)?;
    if chat.conversations {
        return list(options, chat, &config);
    }
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
    assemble::check(&config)?;
    let history = State::home_path().ok().map(|home| home.join(HISTORY));
    let (editor, _terminal) = LineEditor::start(history).context("the terminal")?;
    let screen = Screen::new(editor.clone());
    let cards = ChatCards::new(editor.clone(), screen.clone(), config.secrets());
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
    cards.keeps_in(assembled.state.artifacts());
    let conversations =
        Conversations::of(&assembled.state, config.working()).hiding(config.secrets());
    let Opened { conversation, journal, before } = conversations.open(chat, &assembled.state)?;
    if let Some(workers) = &assembled.workers {
        journal.keeps_note_of(workers);
    }
    let pictures = Pictures::new(assembled.state.artifacts());
    let turns =
        Arc::new(Turns::new(screen.clone(), cards.clone(), pictures, journal, &conversation));
    let opened = Arc::downgrade(&turns);
    cards.opens_by(move |number| {
        if let Some(turns) = opened.upgrade() {
            turns.show(number);
        }
    });
    let noted = Arc::downgrade(&turns);
    cards.notes_stages_by(move |call, stage| {
        if let Some(turns) = noted.upgrade() {
            turns.journal().stage(call, stage);
        }
    });
    cards.counts_by(assembled.cards.waiting());
    let agent = agent(&assembled, model);
    if let Some(workers) = assembled.workers.clone() {
        cards.briefs_by(move |id| workers.brief(id));
    }
    let crew = assembled.workers.clone().map(|workers| {
        Crew::watched(workers, config.workers.consent(), screen.clone(), &assembled.run)
    });
    let mut talk = Talk {
        assembled,
        agent,
        conversation,
        turns,
        screen,
        cards,
        crew,
        editor,
        surface: config.surface,
        trust: config.trust,
        tally: Tally::default(),
        secrets: config.secrets(),
    };
    talk.greet(before.as_deref(), options.vibe);
    let interrupts = signal(SignalKind::interrupt()).context("the signals")?;
    talk.go_on(interrupts).await
}

/// The conversations of this working directory.
fn list(options: &Options, chat: &Chat, config: &Config) -> Result<ExitCode> {
    let most = if chat.all { usize::MAX } else { LISTED };
    let (listed, there_are) = Conversations::of(&State::open(), config.working()).list(most);
    let mut out = io::stdout().lock();
    if options.json {
        let listed = serde_json::json!({
            "conversations": listed, "shown": listed.len(), "there_are": there_are,
        });
        writeln!(out, "{listed}")?;
        return Ok(ExitCode::SUCCESS);
    }
    for conversation in &listed {
        writeln!(out, "{}", for_person(&conversation.in_words()))?;
    }
    let shown = listed.len();
    if there_are == 0 {
        remark(in_style(FAINT, "there is no conversation of this working directory"));
    } else if shown < there_are {
        let said = format!(
            "{shown} of {}, those that were used last; `chat --conversations --all` lists all of them",
            counted(there_are, "conversation")
        );
        remark(in_style(FAINT, said));
    }
    Ok(ExitCode::SUCCESS)
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
        if let Some(consent) = config.workers.consent() {
            remark(in_style(FAINT, consent));
        }
    }
    let assembled = tokio::select! {
        assembled = assemble(config, wishes) => assembled?,
        why = signals::ended() => {
            remark(in_style(FAINT, INTERRUPTED));
            once::cut_off_before_it_began(model.name(), chat.output, why)?;
            return Ok(ExitCode::from(why.exit_code()));
        }
    };
    let conversations =
        Conversations::of(&assembled.state, config.working()).hiding(config.secrets());
    let Opened { mut conversation, journal, before } =
        conversations.open(chat, &assembled.state)?;
    if let Some(before) = before {
        let count = counted(conversation.messages().len(), "message");
        remark(in_style(FAINT, format!("going on after {count}; {before}")));
    }
    if let Some(workers) = &assembled.workers {
        journal.keeps_note_of(workers);
    }
    journal.say(&mut conversation, prompt);
    let agent = agent(&assembled, model);
    let once = Once::new(&assembled, &journal, config.secrets(), chat.output);
    tokio::select! {
        turn = once.turn(&agent, &mut conversation) => {
            let ended = once.end_workers().await;
            assembled.mcp.close().await;
            once.say(&agent, &turn, &ended)
        }
        why = signals::ended() => {
            remark(in_style(FAINT, INTERRUPTED));
            let ended = once.end_workers().await;
            once.say_cut_off(agent.model().name(), why, &ended)?;
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
