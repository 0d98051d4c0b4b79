//! The tools: the library as a model calls it.

use std::sync::Arc;

use agent_tool_core::{
    BoxFuture, Context, Preview, Tier, Tool, ToolError, ToolOutput, ToolResult, ToolSpec,
    parse_args,
};
use schemars::{JsonSchema, schema_for};
use serde_json::Value;

use crate::{
    Structure,
    blocking::blocking,
    edit::{EditArgs, ResolveArgs},
    grep::GrepArgs,
};

const AST_GREP: &str = "Searches code by structure. A pattern is code: `dispose($X)` finds the call however it is spaced, never the \
     same characters in a string or a comment. Every named part counts: a pattern without a return type finds no \
     function that has one.";
const AST_EDIT: &str = "Rewrites code by structure: every match of `pattern` becomes `rewrite`. Writes nothing: it stages a \
     proposal, shows its diff and gives an edit_id for resolve.";
const RESOLVE: &str = "Accepts or discards an edit that ast_edit staged. Accept writes all files or none, and refuses when one \
     changed since.";

pub(crate) fn all(structure: Structure) -> Vec<Arc<dyn Tool>> {
    vec![
        Arc::new(AstGrep {
            spec: spec::<GrepArgs>("ast_grep", Tier::Read, AST_GREP),
            structure: structure.clone(),
        }),
        Arc::new(AstEdit {
            spec: spec::<EditArgs>("ast_edit", Tier::Write, AST_EDIT),
            structure: structure.clone(),
        }),
        Arc::new(Resolve { spec: spec::<ResolveArgs>("resolve", Tier::Write, RESOLVE), structure }),
    ]
}

struct AstGrep {
    spec: ToolSpec,
    structure: Structure,
}

impl Tool for AstGrep {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, args: Value, cx: &'a Context) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            let args: GrepArgs = parse_args(&self.spec, args)?;
            args.check()?;
            let structure = self.structure.clone();
            blocking(cx, move |stop| {
                let outcome = structure.grep(&args, stop)?;
                let data = serde_json::to_value(&outcome).unwrap_or_default();
                Ok(ToolOutput::text(outcome.text(&args.pattern)).with_data(data))
            })
            .await
        })
    }
}

struct AstEdit {
    spec: ToolSpec,
    structure: Structure,
}

impl Tool for AstEdit {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, args: Value, cx: &'a Context) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            let args: EditArgs = parse_args(&self.spec, args)?;
            let structure = self.structure.clone();
            blocking(cx, move |stop| structure.edit(&args, stop)).await
        })
    }
}

struct Resolve {
    spec: ToolSpec,
    structure: Structure,
}

impl Tool for Resolve {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, args: Value, cx: &'a Context) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            let args: ResolveArgs = parse_args(&self.spec, args)?;
            let (structure, within) = (self.structure.clone(), cx.clone());
            blocking(cx, move |stop| structure.resolve(&args, &within, stop)).await
        })
    }

    fn preview<'a>(
        &'a self,
        args: &'a Value,
        cx: &'a Context,
    ) -> BoxFuture<'a, Result<Preview, ToolError>> {
        Box::pin(async move {
            let args: ResolveArgs = parse_args(&self.spec, args.clone())?;
            let structure = self.structure.clone();
            blocking(cx, move |_| structure.resolve_preview(&args)).await
        })
    }
}

fn spec<A: JsonSchema>(name: &str, tier: Tier, description: &str) -> ToolSpec {
    ToolSpec::new(name, tier, description).with_input(schema_for!(A).to_value())
}
