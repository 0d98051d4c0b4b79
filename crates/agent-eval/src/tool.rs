//! `eval`, as a model calls it.

use std::sync::Arc;

use agent_tool_core::{
    BoxFuture, Context, Preview, PreviewKind, Tier, Tool, ToolError, ToolOutput, ToolResult,
    ToolSpec, clip, parse_args,
};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde_json::Value;

use crate::{Cell, Interpreters, Language, Start, render};

/// The tool's name.
pub(crate) const NAME: &str = "eval";

const DESCRIPTION: &str = "Runs a cell in a Python or JavaScript interpreter whose variables, imports and data stay for the next \
     call. The last expression is shown, display() shows more, figures come back as images. In Python %pip, %cd, !cmd and \
     %%bash work. tool(\"read\", {\"path\": \"a.txt\"}) calls your other tools (`await tool(…)` in JavaScript; tool.data(…) \
     gives the structured result).";

/// How many characters of a cell a permission card shows.
const PREVIEW_LIMIT: usize = 100_000;

/// The arguments of `eval`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct EvalArgs {
    /// The cell.
    code: String,
    /// What it does, in 5 to 10 words, for the person who reads along.
    description: String,
    /// The language; python by default.
    #[serde(default)]
    #[schemars(schema_with = "languages")]
    language: Option<Language>,
    /// Begins with a clean interpreter of that language.
    reset: Option<bool>,
}

/// The names of the languages, in the form that every provider accepts.
fn languages(_: &mut SchemaGenerator) -> Schema {
    let names: Vec<&str> = Language::ALL.iter().map(|language| language.as_str()).collect();
    json_schema!({ "type": "string", "enum": names })
}

struct EvalTool {
    spec: ToolSpec,
    interpreters: Interpreters,
}

pub(crate) fn tool(interpreters: &Interpreters) -> Arc<dyn Tool> {
    let schema = schemars::schema_for!(EvalArgs).to_value();
    let idle = interpreters.idle().as_secs();
    let description =
        format!("{DESCRIPTION} A cell that shows nothing for {idle} s is stopped: print progress.");
    let spec = ToolSpec::new(NAME, Tier::Exec, description).with_input(schema).exclusive();
    Arc::new(EvalTool { spec, interpreters: interpreters.clone() })
}

impl EvalTool {
    fn args(&self, args: Value) -> Result<EvalArgs, ToolError> {
        let args: EvalArgs = parse_args(&self.spec, args)?;
        if args.description.trim().is_empty() {
            return Err(ToolError::invalid_args(
                "eval: `description` is empty; say in a few words what the cell does",
            ));
        }
        Ok(args)
    }
}

impl Tool for EvalTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, args: Value, cx: &'a Context) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            let args = self.args(args)?;
            let cell = Cell {
                code: args.code,
                language: args.language.unwrap_or_default(),
                start: if args.reset == Some(true) { Start::Reset } else { Start::Continue },
            };
            let outcome = self.interpreters.run(cell, cx).await?;
            let (parts, is_cut) = render::parts(&outcome);
            let mut data = outcome.data();
            data["truncated"] = (outcome.truncated || is_cut).into();
            let output = ToolOutput::default().with_data(data);
            Ok(parts.into_iter().fold(output, ToolOutput::with_part))
        })
    }

    fn preview<'a>(
        &'a self,
        args: &'a Value,
        _cx: &'a Context,
    ) -> BoxFuture<'a, Result<Preview, ToolError>> {
        Box::pin(async move {
            let args = self.args(args.clone())?;
            let language = args.language.unwrap_or_default().as_str();
            let title = format!("run a {language} cell: {}", args.description.trim());
            let body = clip(&args.code, PREVIEW_LIMIT);
            Ok(Preview::new(PreviewKind::Execute, title).with_clipped(body))
        })
    }
}
