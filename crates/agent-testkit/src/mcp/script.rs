use std::{collections::BTreeMap, path::PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// A server.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Script {
    /// The revisions that it speaks.
    pub speaks: Speaks,
    /// Its tools as it lists them, a list for each page.
    pub pages: Vec<Vec<Value>>,
    /// How its pages follow each other.
    pub paging: Pages,
    /// What each tool does, call by call; the last entry again and again. One that is not here echoes its arguments.
    pub does: BTreeMap<String, Vec<Does>>,
    /// What is wrong with it.
    pub flaws: Vec<Flaw>,
    /// Where it writes what it was sent.
    pub log: Option<PathBuf>,
}

/// Which revisions a server speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Speaks {
    /// 2026-07-28 alone: `initialize` is refused with -32022.
    Stateless,
    /// 2025-11-25 alone: what comes before `initialize` is refused with -32601.
    Initialize,
    /// A revision that nobody knows.
    Future,
}

/// How the pages of a list follow each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pages {
    /// One after the other, to the last.
    #[default]
    ToTheEnd,
    /// After the last comes the first.
    Round,
    /// The last comes again and again, each time under another cursor.
    Endless,
    /// The second one is never answered.
    SecondIsSilent,
}

/// What a tool does when it is called.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Does {
    /// Answers with this result, as it stands.
    Answer(Value),
    /// Answers with this error.
    Refuse {
        /// Its code.
        code: i64,
        /// Its message.
        message: String,
    },
    /// Answers with its arguments, as text and as structure.
    Echo,
    /// Answers with the value of this environment variable.
    Environment(String),
    /// Answers with the folder that it runs in.
    Folder,
    /// Never answers.
    Silence,
    /// Never answers, and reads nothing from then on.
    Hang,
    /// The same, and tells progress of the call for ever.
    HangAndTell,
    /// Writes these last words to its error output and ends with this code.
    Die {
        /// The code.
        code: i32,
        /// The words.
        words: String,
    },
    /// Writes so many lines that are no messages, and then answers.
    Flood(u64),
    /// Answers with this line, in which `$id` is the request's id.
    Line(String),
    /// Answers with a text of so many bytes.
    Large(usize),
    /// Tells this progress (how far, of how much, in which words), and then answers.
    Progress(Vec<(f64, f64, String)>),
    /// Sends a request of its own with these parameters, waits for what is answered to it, and answers with that. The method is the
    /// first field.
    Ask(String, Value),
    /// The same so many times, each once the one before was answered. It answers with the last answer.
    Insist(usize, String, Value),
}

impl Does {
    /// Answers with this text.
    #[must_use]
    pub fn text(text: &str) -> Self {
        Self::Answer(json!({"content": [{"type": "text", "text": text}]}))
    }

    /// Answers with this structure, and with it as a text.
    #[must_use]
    pub fn structure(value: Value) -> Self {
        let text = value.to_string();
        Self::Answer(
            json!({"content": [{"type": "text", "text": text}], "structuredContent": value}),
        )
    }
}

/// What is wrong with a server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Flaw {
    /// Answers nothing at all.
    Silent,
    /// Ends at once with these last words.
    DiesAtStart(String),
    /// Ends at the first message that is not `initialize`.
    DiesAtDiscover,
    /// Ends once it answered for its tools.
    DiesListed,
    /// Answers nothing any more once it answered for its tools.
    SilentListed,
    /// Answers its first message only after the next one came.
    AnswersLate,
    /// Writes a line that is no message before each message.
    Garbage,
    /// Writes lines that are no messages and never stops.
    FloodsAtStart,
    /// Writes one line that does not end.
    FloodsInOneLine,
    /// Reads nothing.
    NeverReads,
    /// Lives on when its input has ended.
    OutlivesItsInput,
    /// Starts a process that holds its pipes open and outlives it.
    LeavesAChild,
    /// Leaves ids out of its errors.
    ErrorsWithoutIds,
}

impl Script {
    /// A server without tools.
    #[must_use]
    pub fn new(speaks: Speaks) -> Self {
        Self {
            speaks,
            pages: vec![Vec::new()],
            paging: Pages::ToTheEnd,
            does: BTreeMap::new(),
            flaws: Vec::new(),
            log: None,
        }
    }

    /// The same with one more tool on its last page.
    #[must_use]
    pub fn tool(mut self, tool: Value, does: impl IntoIterator<Item = Does>) -> Self {
        let does: Vec<Does> = does.into_iter().collect();
        if let (Some(name), false) = (tool["name"].as_str(), does.is_empty()) {
            self.does.insert(name.to_owned(), does);
        }
        self.pages.last_mut().expect("a page").push(tool);
        self
    }

    /// The same with one more page.
    #[must_use]
    pub fn page(mut self) -> Self {
        self.pages.push(Vec::new());
        self
    }

    /// The same with pages that follow each other so.
    #[must_use]
    pub fn paging(mut self, paging: Pages) -> Self {
        self.paging = paging;
        self
    }

    /// The same with this flaw.
    #[must_use]
    pub fn flaw(mut self, flaw: Flaw) -> Self {
        self.flaws.push(flaw);
        self
    }
}

/// A tool that takes anything, as a server lists it.
#[must_use]
pub fn tool(name: &str) -> Value {
    json!({"name": name, "description": format!("The tool {name}."), "inputSchema": {"type": "object"}})
}
