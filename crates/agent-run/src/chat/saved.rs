//! Conversations in the state folder: a journal for each, a message a line, written as they come, so that one that was killed
//! can be gone on with.

mod kept;
mod note;
mod stage;

use std::{
    fs,
    io::{self, BufRead as _, Write as _},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard},
};

use agent_loop::{Conversation, Message};
use agent_tool_core::{CallId, Secrets};
use agent_vibe::Workers;
use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

pub(crate) use self::stage::Stage;
use self::{
    kept::{Began, Saved},
    note::{Note, NoteLine},
    stage::{StageLine, Stages},
};
use crate::{
    args::Chat,
    lock,
    state::State,
    style::{FAINT, in_style, remark},
};

/// So many bytes of a hash name a working directory.
const NAME_BYTES: usize = 8;

const ENDING: &str = "jsonl";

/// The conversations of one working directory.
pub(crate) struct Conversations {
    folder: Option<PathBuf>,
    /// What no journal keeps.
    secrets: Secrets,
}

/// A conversation to go on in.
pub(crate) struct Opened {
    pub(crate) conversation: Conversation,
    pub(crate) journal: Journal,
    /// Which one it is; none where it is new.
    pub(crate) before: Option<String>,
}

/// A journal that is being written. What cannot be written is said once, and the conversation goes on.
pub(crate) struct Journal {
    /// Locked for as long as it is open: of two that go on with a conversation one goes on with a copy.
    file: Mutex<Option<fs::File>>,
    /// The file that this one took the place of, locked too, for who opened it just before.
    _before: Option<fs::File>,
    path: Option<PathBuf>,
    workers: Mutex<Crew>,
    secrets: Secrets,
}

/// The workers that a journal keeps a note of.
#[derive(Default)]
struct Crew {
    /// Those of before, until the model was told that they are gone.
    before: Note,
    /// Those of this run.
    now: Option<Workers>,
    written: Note,
}

/// What is said where a conversation is open elsewhere.
const ELSEWHERE: &str = "another agent-run has this conversation open: this one goes on with a copy of it, and neither sees what the \
    other says from here on";

impl Conversations {
    pub(crate) fn of(state: &State, working: &Path) -> Self {
        let hash = Sha256::digest(working.as_os_str().as_encoded_bytes());
        let name: String = hash[..NAME_BYTES].iter().map(|byte| format!("{byte:02x}")).collect();
        let home = state.home().filter(|_| state.problem().is_none());
        let folder = home.map(|home| home.join("conversations").join(name));
        Self { folder, secrets: Secrets::default() }
    }

    /// The same without these in what is kept from now on.
    pub(crate) fn hiding(self, secrets: Secrets) -> Self {
        Self { secrets, ..self }
    }

    /// The conversation that is asked for, or one in which nothing was said.
    pub(crate) fn open(&self, asked: &Chat, state: &State) -> Result<Opened> {
        let begins = match &asked.prompt {
            Some(_) => Began::Prompt,
            None => Began::Terminal,
        };
        let saved = match &asked.go_on {
            None => {
                let journal = self.begin(state, begins)?;
                return Ok(Opened { conversation: Conversation::new(), journal, before: None });
            }
            Some(None) => self.last(begins)?,
            Some(Some(id)) => self.named(id)?,
        };
        let before = Some(saved.in_words());
        let (conversation, journal) = self.go_on(&saved, begins, state)?;
        Ok(Opened { conversation, journal, before })
    }

    /// A new journal, named after its run and after how it began.
    fn begin(&self, state: &State, began: Began) -> Result<Journal> {
        let Some(folder) = &self.folder else {
            return Ok(self.journal(None, None, None));
        };
        let path = folder.join(format!("{}{}.{ENDING}", state.run(), began.in_name()));
        State::write(&path, b"").with_context(|| format!("{}", path.display()))?;
        let (file, _) = opened(&path)?;
        Ok(self.journal(Some(file), None, Some(path)))
    }

    /// A journal to go on in with this conversation; that of a copy where somebody else has it open.
    fn go_on(
        &self,
        saved: &Saved,
        begins: Began,
        state: &State,
    ) -> Result<(Conversation, Journal)> {
        let path = saved.path.clone();
        let (before, hold) = opened(&path)?;
        let Kept { conversation, note, copy_of } = read(&before)?;
        if hold == Hold::Elsewhere {
            remark(in_style(FAINT, ELSEWHERE));
            let journal = self.begin(state, begins)?;
            journal.write(&CopyLine { copy_of: saved.id.clone() });
            conversation.messages().iter().for_each(|message| journal.add(message));
            journal.crew().before = note;
            return Ok((conversation, journal));
        }
        // A line that broke off would swallow the next one, and a call without an end would be told of at each start anew.
        let mut valid = conversation.clone();
        valid.repair();
        let mut whole = Vec::new();
        if let Some(copy_of) = copy_of {
            writeln!(whole, "{}", without(&self.secrets, &CopyLine { copy_of })?)?;
        }
        for message in valid.messages() {
            writeln!(whole, "{}", without(&self.secrets, &**message)?)?;
        }
        if note != Note::default() {
            let line = NoteLine { note: note.clone() };
            writeln!(whole, "{}", without(&self.secrets, &line)?)?;
        }
        // Locked before it has its name, so that nobody comes between.
        let new = path.with_extension(format!("{}.new", std::process::id()));
        State::write(&new, &whole).with_context(|| format!("{}", new.display()))?;
        let (file, _) = opened(&new)?;
        fs::rename(&new, &path)
            .inspect_err(|_| drop(fs::remove_file(&new)))
            .with_context(|| format!("{}", path.display()))?;
        let journal = self.journal(Some(file), Some(before), Some(path));
        *journal.crew() = Crew { before: note.clone(), now: None, written: note };
        Ok((conversation, journal))
    }

    fn journal(
        &self,
        file: Option<fs::File>,
        before: Option<fs::File>,
        path: Option<PathBuf>,
    ) -> Journal {
        let (file, workers, secrets) = (Mutex::new(file), Mutex::default(), self.secrets.clone());
        Journal { file, _before: before, path, workers, secrets }
    }
}

/// A line of a journal as JSON, without what is secret.
fn without(secrets: &Secrets, line: &impl Serialize) -> serde_json::Result<String> {
    if secrets.is_empty() {
        return serde_json::to_string(line);
    }
    let mut value = serde_json::to_value(line)?;
    secrets.hidden_in(&mut value);
    serde_json::to_string(&value)
}

/// Whose a journal is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hold {
    Own,
    Elsewhere,
}

/// A journal, opened to be read and added to, and locked where nobody else has it. Where there are no locks it is this
/// program's.
fn opened(path: &Path) -> Result<(fs::File, Hold)> {
    let file = fs::OpenOptions::new().read(true).append(true).open(path);
    let file = file.with_context(|| format!("{}", path.display()))?;
    let hold = match file.try_lock() {
        Err(fs::TryLockError::WouldBlock) => Hold::Elsewhere,
        _ => Hold::Own,
    };
    Ok((file, hold))
}

impl Journal {
    /// Keeps a note of these workers. The ids of new ones go on after those of the conversation.
    pub(crate) fn keeps_note_of(&self, workers: &Workers) {
        let mut crew = self.crew();
        workers.continue_after(crew.before.last_worker);
        crew.now = Some(workers.clone());
    }

    /// Adds what the person says to the conversation, without the keys in it, and before it, once, which workers of before are gone.
    pub(crate) fn say(&self, conversation: &mut Conversation, said: String) {
        let said = self.secrets.hidden(said);
        let gone = self.crew().before.gone();
        for text in gone.into_iter().chain([said]) {
            self.add(&Message::user(&text));
            conversation.push_user(text);
        }
        self.crew().before.workers.clear();
        self.note();
    }

    /// Adds a message.
    pub(crate) fn add(&self, message: &Message) {
        self.write(message);
        self.note();
    }

    /// Notes how far a call is: before it acts, so that it is known after a kill whether it may have.
    pub(crate) fn stage(&self, call: &CallId, stage: Stage) {
        self.write(&StageLine { call: call.as_str().to_owned(), stage });
    }

    /// Notes how the workers stand, where that is news.
    fn note(&self) {
        let mut crew = self.crew();
        let now = crew.now.as_ref().map(Workers::list).unwrap_or_default();
        let note = crew.before.with(&now);
        if note != crew.written {
            self.write(&NoteLine { note: note.clone() });
            crew.written = note;
        }
    }

    fn crew(&self) -> MutexGuard<'_, Crew> {
        lock(&self.workers)
    }

    fn write(&self, line: &impl Serialize) {
        let mut file = lock(&self.file);
        let Some(open) = file.as_mut() else { return };
        let line = without(&self.secrets, line).map_err(io::Error::from);
        if let Err(error) = line.and_then(|line| writeln!(open, "{line}")) {
            *file = None;
            let path = self.path.as_deref().unwrap_or(Path::new("")).display();
            remark(format!("the conversation is not kept any more: {path}: {error}"));
        }
    }
}

/// How the workers ended is noted too.
impl Drop for Journal {
    fn drop(&mut self) {
        self.note();
    }
}

/// A line of a journal.
#[derive(Deserialize)]
#[serde(untagged)]
enum Line {
    Message(Message),
    Note(NoteLine),
    Stage(StageLine),
    Copy(CopyLine),
}

/// The first line of a copy's journal: whose copy it is, by its id.
#[derive(Debug, Serialize, Deserialize)]
struct CopyLine {
    copy_of: String,
}

/// What a journal keeps.
struct Kept {
    conversation: Conversation,
    note: Note,
    copy_of: Option<String>,
}

/// A line that broke off, such as by a full disk or a power cut, ends what is read.
fn read(file: &fs::File) -> Result<Kept> {
    let lines = io::BufReader::new(file).lines().map_while(Result::ok);
    let (mut messages, mut note, mut stages) = (Vec::new(), Note::default(), Stages::default());
    let mut copy_of = None;
    for line in lines.map_while(|line| serde_json::from_str(&line).ok()) {
        match line {
            Line::Message(message) => {
                messages.push(Arc::new(message));
                stages = Stages::default();
            }
            Line::Stage(line) => stages.note(line),
            Line::Note(line) => note = line.note,
            Line::Copy(line) => copy_of = Some(line.copy_of),
        }
    }
    let not_made = messages.last().and_then(|last| stages.not_made(last));
    messages.extend(not_made.map(Arc::new));
    Ok(Kept { conversation: Conversation::from_messages(messages), note, copy_of })
}
