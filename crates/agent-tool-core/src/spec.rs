//! What a tool says of itself: its name, tier, schema and whether it is safe in parallel.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{ErrorKind, ToolError};

/// How far a tool reaches. Declared by the tool, interpreted by the runtime alone.
///
/// The order is the order of authority: `Read < Write < Exec`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Tier {
    /// No side effects.
    Read,
    /// Changes files.
    Write,
    /// Starts or drives a process.
    Exec,
}

impl Tier {
    /// The tier as it is written in schemas, logs and on the command line.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Tier::Read => "read",
            Tier::Write => "write",
            Tier::Exec => "exec",
        }
    }
}

impl std::fmt::Display for Tier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.as_str())
    }
}

/// The longest name of a tool, in characters: what all model providers accept.
const NAME_LIMIT: usize = 64;

/// A tool as it is listed: one object for the model's schema and for the dispatch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ToolSpec {
    /// The name by which the tool is called, `[a-zA-Z0-9_-]{1,64}`.
    pub name: String,
    /// How far the tool reaches.
    pub tier: Tier,
    /// Whether that is what somebody said of a program that is not ours: it decides what is asked for and proves nothing. What a call
    /// of such a tool left is not known by its tier.
    #[serde(skip)]
    pub tier_is_hearsay: bool,
    /// Whether two calls in one run may overlap. An exclusive tool is called in turns.
    pub parallel: bool,
    /// What the tool does and when to call it, for the model.
    pub description: String,
    /// One flat JSON Schema object, in the portable subset that [`portable`](crate::portable)
    /// makes.
    pub input_schema: Value,
    /// What arguments are checked against, where that is not `input_schema`: the same schema with `"nullable": true` in each
    /// part that takes `null`. No model is offered it and it is not serialized, since providers differ in how they say null.
    #[serde(skip)]
    pub held_to: Option<Value>,
}

impl ToolSpec {
    /// A parallel tool without arguments.
    #[must_use]
    pub fn new(name: impl Into<String>, tier: Tier, description: impl Into<String>) -> Self {
        let input_schema = crate::portable(serde_json::json!({"type": "object", "properties": {}}));
        Self {
            name: name.into(),
            tier,
            tier_is_hearsay: false,
            parallel: true,
            description: description.into(),
            input_schema,
            held_to: None,
        }
    }

    /// The same tool with these arguments; the schema is brought into the portable form. What it says
    /// of the arguments as a whole is left out: that is the tool's description.
    #[must_use]
    pub fn with_input(mut self, mut schema: Value) -> Self {
        if let Some(fields) = schema.as_object_mut() {
            fields.remove("description");
        }
        self.input_schema = crate::portable(schema);
        self.held_to = None;
        self
    }

    /// The same tool, one call at a time: for tools that hold state between calls.
    #[must_use]
    pub fn exclusive(mut self) -> Self {
        self.parallel = false;
        self
    }

    /// Holds the name to `[a-zA-Z0-9_-]{1,64}` and the schema to an object.
    ///
    /// # Errors
    ///
    /// `invalid_spec`, naming what is wrong.
    pub fn validate(&self) -> Result<(), ToolError> {
        let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if self.name.is_empty() || self.name.len() > NAME_LIMIT || !self.name.chars().all(fits) {
            return Err(ToolError::new(
                ErrorKind::InvalidArgs,
                "invalid_spec",
                format!("tool name {:?} is not of the form [a-zA-Z0-9_-]{{1,64}}", self.name),
            ));
        }
        if self.input_schema.get("type").and_then(Value::as_str) != Some("object") {
            return Err(ToolError::new(
                ErrorKind::InvalidArgs,
                "invalid_spec",
                format!("the input schema of {} is not an object schema", self.name),
            ));
        }
        Ok(())
    }
}
