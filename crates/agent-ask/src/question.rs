//! What is asked.

use agent_tool_core::{ToolError, for_person};

use crate::error;

/// The longest question, in characters.
pub const QUESTION_CHARS: usize = 2_000;

/// The longest context of a question, in characters.
pub const CONTEXT_CHARS: usize = 4_000;

/// The most options of a question.
pub const MAX_OPTIONS: usize = 10;

/// The longest label of an option, in characters.
pub const LABEL_CHARS: usize = 200;

/// The longest description of an option, in characters.
pub const DESCRIPTION_CHARS: usize = 1_000;

/// A question to a person. Unless it says otherwise a typed answer is accepted and one option may
/// be chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    pub(crate) text: String,
    pub(crate) context: Option<String>,
    pub(crate) options: Vec<Choice>,
    pub(crate) free_text: bool,
    pub(crate) several: bool,
}

/// One answer that can be chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    pub(crate) label: String,
    pub(crate) description: Option<String>,
}

impl Question {
    /// A question without options.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            context: None,
            options: Vec::new(),
            free_text: true,
            several: false,
        }
    }

    /// The same question with the reason for it, and what hangs on the answer.
    #[must_use]
    pub fn with_context(mut self, context: impl Into<String>) -> Self {
        self.context = Some(context.into());
        self
    }

    /// The same question with one more option.
    #[must_use]
    pub fn with_option(mut self, option: Choice) -> Self {
        self.options.push(option);
        self
    }

    /// The same question, to be answered by its options alone.
    #[must_use]
    pub fn options_only(mut self) -> Self {
        self.free_text = false;
        self
    }

    /// The same question, of whose options several may be chosen.
    #[must_use]
    pub fn choose_several(mut self) -> Self {
        self.several = true;
        self
    }

    /// The question as it is put on a card: trimmed, and refused where nobody could answer it.
    pub(crate) fn checked(mut self) -> Result<Self, ToolError> {
        self.text = trimmed(&self.text);
        self.context = self.context.as_deref().map(trimmed).filter(|context| !context.is_empty());
        if seen(&self.text).is_empty() {
            return Err(error::invalid("`question` is empty; say what is asked"));
        }
        fits("question", &self.text, QUESTION_CHARS)?;
        if let Some(context) = &self.context {
            fits("context", context, CONTEXT_CHARS)?;
        }
        if self.options.is_empty() && !self.free_text {
            return Err(error::invalid(
                "there is no way to answer: give `options`, or leave `allow_free_text` out",
            ));
        }
        if self.options.len() > MAX_OPTIONS {
            let count = self.options.len();
            return Err(error::invalid(format!(
                "there are {count} options and a card takes {MAX_OPTIONS}; offer the likeliest and \
                 allow a typed answer"
            )));
        }
        for (index, option) in self.options.iter_mut().enumerate() {
            option.check(index)?;
        }
        let labels: Vec<_> =
            self.options.iter().map(|option| seen(&option.label).to_lowercase()).collect();
        if let Some(second) =
            (1..labels.len()).find(|index| labels[..*index].contains(&labels[*index]))
        {
            return Err(error::invalid(format!(
                "`options[{second}]` has the label of another option ({:?}); no two may look alike",
                self.options[second].label
            )));
        }
        Ok(self)
    }

    /// What a person reads of the question, in one spelling: two questions that differ in case and
    /// spacing alone are the same one.
    pub(crate) fn key(&self) -> Vec<String> {
        let options = self.options.iter();
        let options = options.flat_map(|option| [Some(&option.label), option.description.as_ref()]);
        let texts = [Some(&self.text), self.context.as_ref()].into_iter().chain(options);
        texts
            .map(|text| text.map(|text| one_line(text).to_lowercase()).unwrap_or_default())
            .collect()
    }
}

impl Choice {
    /// An option with this label, one line that a person chooses by.
    #[must_use]
    pub fn new(label: impl Into<String>) -> Self {
        Self { label: label.into(), description: None }
    }

    /// The same option with more about it.
    #[must_use]
    pub fn with_description(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }

    fn check(&mut self, index: usize) -> Result<(), ToolError> {
        self.label = one_line(&self.label);
        self.description = self.description.as_deref().map(trimmed).filter(|text| !text.is_empty());
        if seen(&self.label).is_empty() {
            return Err(error::invalid(format!(
                "`options[{index}]` has an empty label; say what choosing it means"
            )));
        }
        fits(&format!("options[{index}].label"), &self.label, LABEL_CHARS)?;
        let description = self.description.as_deref().unwrap_or_default();
        fits(&format!("options[{index}].description"), description, DESCRIPTION_CHARS)
    }
}

fn fits(name: &str, text: &str, limit: usize) -> Result<(), ToolError> {
    let count = text.chars().count();
    if count <= limit {
        return Ok(());
    }
    Err(error::invalid(format!("`{name}` has {count} characters and takes {limit}; shorten it")))
}

/// What is left of a text on a person's screen: a label of escape sequences alone is empty.
fn seen(text: &str) -> String {
    one_line(&for_person(text))
}

fn trimmed(text: &str) -> String {
    text.trim().to_owned()
}

/// The words of a text on one line.
pub(crate) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
