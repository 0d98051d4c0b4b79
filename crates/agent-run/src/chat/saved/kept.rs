//! Which conversations there are, how each began and when it was used last.

use std::{
    cmp::Reverse,
    fs,
    path::{Path, PathBuf},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use agent_loop::{Conversation, Message};
use agent_tool_core::{Part, clip, counted, for_person};
use anyhow::{Result, anyhow, bail};
use serde::Serialize;

use super::{Conversations, ENDING, Kept, read};
use crate::state::RUN_PREFIX;

/// So many characters of what was said first are in a list.
const SAID_CHARS: usize = 60;

/// What the name of a conversation's file has behind its id where a prompt began it.
const OF_PROMPT: &str = ".prompt";

const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

/// How a conversation began.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Began {
    Terminal,
    Prompt,
}

/// A conversation as its file tells of it.
#[derive(Clone, Debug)]
pub(super) struct Saved {
    pub(super) path: PathBuf,
    pub(super) id: String,
    began: Began,
    begun: SystemTime,
    /// When something was said in it last.
    used: SystemTime,
}

/// A conversation in a list.
#[derive(Debug, Serialize)]
pub(crate) struct Listed {
    /// What `--continue=ID` takes.
    id: String,
    began: Began,
    /// Seconds since the Unix epoch.
    begun_at: u64,
    used_at: u64,
    messages: usize,
    /// The id of the one that it was copied from, since that was open elsewhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    copy_of: Option<String>,
    /// The beginning of what was said first.
    first: String,
    #[serde(skip)]
    words: String,
}

impl Began {
    /// What a file's name has behind the id.
    pub(super) fn in_name(self) -> &'static str {
        match self {
            Began::Terminal => "",
            Began::Prompt => OF_PROMPT,
        }
    }

    fn in_words(self) -> &'static str {
        match self {
            Began::Terminal => "at a terminal",
            Began::Prompt => "by a prompt (-p)",
        }
    }
}

impl Conversations {
    /// The conversations here, the last one first: so many, and how many there are.
    pub(crate) fn list(&self, most: usize) -> (Vec<Listed>, usize) {
        let all = self.all();
        (all.iter().take(most).filter_map(Saved::listed).collect(), all.len())
    }

    /// The last one: at a terminal, of those that began at one.
    pub(super) fn last(&self, begins: Began) -> Result<Saved> {
        let all = self.all();
        let fits = |saved: &&Saved| begins == Began::Prompt || saved.began == Began::Terminal;
        match (all.iter().find(fits), all.first()) {
            (Some(saved), _) => Ok(saved.clone()),
            (None, Some(prompt)) => bail!(
                "no conversation of this working directory began at a terminal; --continue={} goes on with the last one of a prompt",
                prompt.id
            ),
            (None, None) => {
                bail!("there is no conversation of this working directory to go on with")
            }
        }
    }

    /// The one of this id, or whose id alone begins so.
    pub(super) fn named(&self, id: &str) -> Result<Saved> {
        let all = self.all();
        let mut fit = all.iter().filter(|saved| saved.id.starts_with(id) && !id.is_empty());
        let exact = all.iter().find(|saved| saved.id == id);
        match (exact, fit.next(), fit.next()) {
            (Some(saved), ..) | (None, Some(saved), None) => Ok(saved.clone()),
            (None, found, _) => {
                let how_many = if found.is_some() { "more than one" } else { "no" };
                Err(anyhow!(
                    "{how_many} conversation of this working directory has an id that begins with {id:?}; `chat --conversations` \
                     lists them"
                ))
            }
        }
    }

    fn all(&self) -> Vec<Saved> {
        let entries = self.folder.iter().flat_map(fs::read_dir).flatten().flatten();
        let mut all: Vec<Saved> = entries.filter_map(|entry| Saved::of(&entry.path())).collect();
        all.sort_by_cached_key(|saved| Reverse((saved.used, saved.id.clone())));
        all
    }
}

impl Saved {
    /// One that nobody said anything in is none.
    fn of(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_str()?.strip_suffix(ENDING)?.strip_suffix('.')?;
        let (name, began) = match name.strip_suffix(OF_PROMPT) {
            Some(name) => (name, Began::Prompt),
            None => (name, Began::Terminal),
        };
        let id = name.strip_prefix(RUN_PREFIX)?.to_owned();
        let milliseconds = id.split('-').next()?.parse().ok()?;
        let begun = UNIX_EPOCH + Duration::from_millis(milliseconds);
        let metadata = fs::metadata(path).ok().filter(|file| file.is_file() && file.len() > 0)?;
        let used = metadata.modified().ok()?;
        Some(Self { path: path.to_owned(), id, began, begun, used })
    }

    /// `begun 3 h ago at a terminal, last used 5 min ago`.
    pub(super) fn in_words(&self) -> String {
        let (begun, used) = (ago(self.begun), ago(self.used));
        let used = if begun == used { String::new() } else { format!(", last used {used}") };
        format!("begun {begun} {}{used}", self.began.in_words())
    }

    fn listed(&self) -> Option<Listed> {
        // Opened without its lock, which belongs to who goes on with it.
        let Kept { conversation, copy_of, .. } = read(&fs::File::open(&self.path).ok()?).ok()?;
        let since =
            |time: SystemTime| time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        Some(Listed {
            id: self.id.clone(),
            began: self.began,
            begun_at: since(self.begun),
            used_at: since(self.used),
            messages: conversation.messages().len(),
            copy_of,
            first: first_said(&conversation),
            words: self.in_words(),
        })
    }
}

impl Listed {
    /// A row of a list.
    pub(crate) fn in_words(&self) -> String {
        let Self { id, words, messages, first, .. } = self;
        let copy = self.copy_of.as_ref().map_or(String::new(), |id| format!(", a copy of {id}"));
        format!("{id}  {words}, {}{copy}: {first}", counted(*messages, "message"))
    }
}

fn first_said(conversation: &Conversation) -> String {
    let mut messages = conversation.messages().iter();
    let said = messages.find_map(|message| match &**message {
        Message::User { parts } => parts.iter().find_map(|part| match part {
            Part::Text { text } => Some(text),
            _ => None,
        }),
        _ => None,
    });
    let line = said.and_then(|text| text.lines().next()).unwrap_or_default();
    for_person(&clip(line, SAID_CHARS).text)
}

fn ago(time: SystemTime) -> String {
    match SystemTime::now().duration_since(time).unwrap_or_default().as_secs() {
        ..MINUTE => "just now".to_owned(),
        seconds @ MINUTE..HOUR => format!("{} min ago", seconds / MINUTE),
        seconds @ HOUR..DAY => format!("{} h ago", seconds / HOUR),
        seconds => format!("{} ago", counted((seconds / DAY) as usize, "day")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_told_in_its_largest_unit() {
        let told = |seconds| ago(SystemTime::now() - Duration::from_secs(seconds));
        let cases =
            [(5, "just now"), (125, "2 min ago"), (7_300, "2 h ago"), (90_000, "1 day ago")];
        for (seconds, expected) in cases {
            assert_eq!(told(seconds), expected);
        }
        assert_eq!(ago(SystemTime::now() + Duration::from_secs(9)), "just now");
    }
}
