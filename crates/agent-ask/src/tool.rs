//! The tool `ask_user`: the library as a model calls it.

use std::sync::Arc;

use agent_tool_core::{
    BoxFuture, Context, Tier, Tool, ToolOutput, ToolResult, ToolSpec, parse_args,
};
use schemars::{JsonSchema, schema_for};
use serde::Deserialize;
use serde_json::Value;

use crate::{Asker, Choice, Question};

const DESCRIPTION: &str = "Asks the person one question on a card and waits for the answer. This is \
    the only way to ask: never write a question as a chat message, because that ends your turn. Ask \
    where a wrong guess would cost more than the wait, and offer options. After a skip or a timeout \
    go on with a stated assumption and do not ask again.";

/// The tool `ask_user`, of tier read, one call at a time.
#[must_use]
pub fn ask_tool(asker: Asker) -> Arc<dyn Tool> {
    let schema = schema_for!(AskArgs).to_value();
    let spec = ToolSpec::new("ask_user", Tier::Read, DESCRIPTION).with_input(schema).exclusive();
    Arc::new(AskUser { spec, asker })
}

#[derive(Debug)]
struct AskUser {
    spec: ToolSpec,
    asker: Asker,
}

/// The arguments of `ask_user`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct AskArgs {
    /// What is asked: one question.
    question: String,
    /// Why it is asked, and what hangs on the answer.
    #[serde(default)]
    context: Option<String>,
    /// Answers to choose from: 2 to 5 are best, 10 the most.
    #[serde(default)]
    options: Option<Vec<OptionArgs>>,
    /// Whether a typed answer is accepted too. True if absent.
    #[serde(default)]
    allow_free_text: Option<bool>,
    /// Whether several options may be chosen. False if absent.
    #[serde(default)]
    multi_select: Option<bool>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct OptionArgs {
    /// The answer in a few words.
    label: String,
    /// What choosing it means.
    #[serde(default)]
    description: Option<String>,
}

impl Tool for AskUser {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, args: Value, cx: &'a Context) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            let args: AskArgs = parse_args(&self.spec, args)?;
            let answer = self.asker.ask(args.into(), cx).await?;
            Ok(ToolOutput::text(answer.text()).with_data(answer.data()))
        })
    }
}

impl From<AskArgs> for Question {
    fn from(args: AskArgs) -> Self {
        Self {
            text: args.question,
            context: args.context,
            options: args.options.into_iter().flatten().map(Choice::from).collect(),
            free_text: args.allow_free_text.unwrap_or(true),
            several: args.multi_select.unwrap_or(false),
        }
    }
}

impl From<OptionArgs> for Choice {
    fn from(args: OptionArgs) -> Self {
        Self { label: args.label, description: args.description }
    }
}
