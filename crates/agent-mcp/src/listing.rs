//! The tools of a server, as it lists them.

use std::{collections::BTreeSet, time::Duration};

use rmcp::model::{ClientRequest, ListToolsRequest, PaginatedRequestParams};
use serde_json::Value;
use tokio::time::{Instant, timeout};

use crate::{
    connection::{Connection, Unanswered},
    error::code_of,
    held::Held,
    schema::Input,
    text::{clean, clean_line, quoted, seconds},
    wire::string_of,
};

/// The most pages of a list. A server whose list has no end is cut here.
pub(crate) const MAX_PAGES: usize = 50;

/// The most tools of one server.
pub(crate) const MAX_TOOLS: usize = 200;

/// The longest name that a server may give a tool, in characters. (Specification of 2026-07-28, "Tools", tool names.)
const NAME_CHARS: usize = 128;

/// The largest tool as it is listed, in bytes of JSON.
const TOOL_BYTES: usize = 64 << 10;

/// So many characters of a description are kept.
const DESCRIPTION_CHARS: usize = 2_000;

/// So many characters of a name are repeated in what is said about it.
const SHOWN_CHARS: usize = 80;

/// The most remarks about one list.
const MAX_REMARKS: usize = 20;

/// What came of a list.
#[derive(Debug, Default)]
pub(crate) struct Listed {
    pub(crate) tools: Vec<Listing>,
    /// What was left out, and why.
    pub(crate) remarks: Vec<String>,
    /// How many tools were left out since they have no name, and how many remarks since there were too many.
    nameless: usize,
    more: usize,
}

/// One tool.
#[derive(Debug)]
pub(crate) struct Listing {
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) input: Input,
    /// What its structured results are held to.
    pub(crate) held: Option<Held>,
    /// Whether it says that it changes nothing.
    pub(crate) says_read_only: bool,
}

/// Lists the tools, within this time. What is wrong with one of them costs no other one.
///
/// # Errors
///
/// Why there is no list.
pub(crate) async fn list(connection: &Connection, within: Duration) -> Result<Listed, String> {
    let mut listed = Listed::default();
    let mut cursors = BTreeSet::new();
    let mut cursor = None;
    let end = Instant::now() + within;
    for page in 0..=MAX_PAGES {
        if page == MAX_PAGES {
            listed.remark(format!(
                "its list has more than {MAX_PAGES} pages; what comes after them was left out"
            ));
            break;
        }
        let left = end.saturating_duration_since(Instant::now());
        let asked = timeout(left, one_page(connection, cursor.clone(), left)).await;
        let answer = match asked {
            Ok(Ok(answer)) => answer,
            failed => {
                let why = match failed {
                    Ok(Err(why)) => why,
                    _ => format!("it was not listed within {} s", seconds(within)),
                };
                if page == 0 {
                    return Err(format!("it did not list its tools: {why}"));
                }
                listed.remark(format!("its list was cut off after page {page}: {why}"));
                break;
            }
        };
        let Some(tools) = answer.get("tools").and_then(Value::as_array) else {
            return Err("it did not list its tools: its answer has no list `tools`".to_owned());
        };
        listed.take(tools);
        let Some(next) = string_of(&answer, "nextCursor") else { break };
        if listed.tools.len() == MAX_TOOLS {
            listed.remark(too_many());
            break;
        }
        if !cursors.insert(next.to_owned()) {
            listed.remark("its list comes round again, so it was cut there".to_owned());
            break;
        }
        cursor = Some(next.to_owned());
    }
    listed.count();
    Ok(listed)
}

async fn one_page(
    connection: &Connection,
    cursor: Option<String>,
    within: Duration,
) -> Result<Value, String> {
    let params = cursor.map(|cursor| PaginatedRequestParams::default().with_cursor(Some(cursor)));
    let request = ListToolsRequest { params, ..ListToolsRequest::default() };
    let request = ClientRequest::ListToolsRequest(request);
    let answer = connection.request(request, None, within).await;
    answer.map_err(|unanswered| match unanswered {
        Unanswered::NotSent(why) | Unanswered::Lost(why) => why,
        Unanswered::Rejected(error) => {
            format!("it said (error {}): {}", code_of(&error), quoted(&error.message, 400))
        }
        Unanswered::TooLarge(bytes) => format!("its answer of {bytes} bytes was too large"),
        Unanswered::Unreadable(why) => format!("of its answer: {why}"),
        Unanswered::TimedOut(limit) => {
            format!("it answered nothing within {} s", seconds(limit))
        }
    })
}

impl Listed {
    fn take(&mut self, tools: &[Value]) {
        for tool in tools {
            if self.tools.len() == MAX_TOOLS {
                self.remark(too_many());
                return;
            }
            let name = string_of(tool, "name").unwrap_or_default();
            if name.is_empty() {
                self.nameless += 1;
                continue;
            }
            let shown = clean_line(name, SHOWN_CHARS);
            if self.tools.iter().any(|known| known.name == name) {
                self.remark(format!("it lists `{shown}` more than once; the first one counts"));
                continue;
            }
            match listing(tool) {
                Ok((listing, remark)) => {
                    if let Some(remark) = remark {
                        self.remark(format!("`{shown}`: {remark}"));
                    }
                    self.tools.push(listing);
                }
                Err(why) => self.remark(format!("`{shown}` was left out: {why}")),
            }
        }
    }

    fn remark(&mut self, remark: String) {
        match self.remarks.len() < MAX_REMARKS {
            _ if self.remarks.contains(&remark) => {}
            true => self.remarks.push(remark),
            false => self.more += 1,
        }
    }

    /// Says what was only counted.
    fn count(&mut self) {
        match self.nameless {
            0 => {}
            1 => self.remarks.push("1 tool was left out: it has no name".to_owned()),
            many => self.remarks.push(format!("{many} tools were left out: they have no name")),
        }
        if self.more > 0 {
            self.remarks.push(format!("there is more to say of its list, {} times", self.more));
        }
    }
}

fn too_many() -> String {
    format!("it has more than {MAX_TOOLS} tools; those after them were left out")
}

fn listing(tool: &Value) -> Result<(Listing, Option<String>), String> {
    let name = string_of(tool, "name").unwrap_or_default();
    if name.chars().count() > NAME_CHARS {
        return Err(format!("its name has more than {NAME_CHARS} characters"));
    }
    let bytes = tool.to_string().len();
    if bytes > TOOL_BYTES {
        return Err(format!("its listing has {bytes} bytes, and at most {TOOL_BYTES} are taken"));
    }
    let input = tool.get("inputSchema").ok_or("it has no input schema")?;
    let input = Input::read(input)?;
    let (held, remark) = match tool.get("outputSchema").filter(|schema| !schema.is_null()) {
        None => (None, None),
        Some(schema) => match Held::new(schema) {
            Ok(held) => (Some(held), None),
            Err(why) => {
                (None, Some(format!("its results are not held to its output schema: {why}")))
            }
        },
    };
    let hint = tool.get("annotations").and_then(|hints| hints.get("readOnlyHint"));
    let description =
        string_of(tool, "description").or(string_of(tool, "title")).unwrap_or_default();
    let mut description = agent_tool_core::clip(clean(description).trim(), DESCRIPTION_CHARS).text;
    if !input.said.is_empty() {
        description.push_str(&format!(" [of the arguments as a whole: {}]", input.said));
    }
    let listing = Listing {
        name: name.to_owned(),
        description: description.trim_start().to_owned(),
        input,
        held,
        says_read_only: hint == Some(&Value::Bool(true)),
    };
    Ok((listing, remark))
}
