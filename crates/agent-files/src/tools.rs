//! The tools: the library as a model calls it.

use std::{fmt, sync::Arc};

use agent_tool_core::{
    BoxFuture, Context, Preview, Stop, Tier, Tool, ToolError, ToolOutput, ToolResult, ToolSpec,
    parse_args,
};
use schemars::{JsonSchema, schema_for};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{
    ApplyPatchArgs, Change, EditArgs, Files, ReadArgs, SearchArgs, WriteArgs, blocking::blocking,
    read, search,
};

const READ: &str = "Reads a file with line numbers, or shows a png, jpeg, gif or webp picture.";
const WRITE: &str = "Creates a file, with its folders, or replaces all of its text. To change a \
                     part use edit.";
const EDIT: &str = "Replaces an exact text in a file. The text must be unique unless replace_all \
                    is set.";
const APPLY_PATCH: &str = "Applies a patch to several files, all or none: a unified diff, or\n\
    *** Begin Patch\n*** Update File: a.rs\n*** Move to: b.rs (optional)\n@@ line above the change \
    (optional)\n kept\n-removed\n+added\n*** Add File: c.rs\n+line\n*** Delete File: d.rs\n*** End \
    Patch";
const SEARCH: &str = "Searches files with a regular expression, or lists them. Respects \
                      .gitignore.";

impl Files {
    /// All five tools: `read`, `write`, `edit`, `apply_patch` and `search`.
    #[must_use]
    pub fn tools(self) -> Vec<Arc<dyn Tool>> {
        vec![
            read_tool(self.clone()),
            write_tool(self.clone()),
            edit_tool(self.clone()),
            apply_patch_tool(self.clone()),
            search_tool(self),
        ]
    }
}

/// The tool `read`, of tier read.
#[must_use]
pub fn read_tool(files: Files) -> Arc<dyn Tool> {
    let work =
        |files: &Files, args: &ReadArgs, stop: &Stop| files.read(args, stop).map(read::output);
    Arc::new(Looking { spec: spec::<ReadArgs>("read", Tier::Read, READ), files, work })
}

/// The tool `write`, of tier write.
#[must_use]
pub fn write_tool(files: Files) -> Arc<dyn Tool> {
    let spec = spec::<WriteArgs>("write", Tier::Write, WRITE);
    Arc::new(Changing { spec, files, plan: Files::plan_write })
}

/// The tool `edit`, of tier write.
#[must_use]
pub fn edit_tool(files: Files) -> Arc<dyn Tool> {
    let spec = spec::<EditArgs>("edit", Tier::Write, EDIT);
    Arc::new(Changing { spec, files, plan: Files::plan_edit })
}

/// The tool `apply_patch`, of tier write.
#[must_use]
pub fn apply_patch_tool(files: Files) -> Arc<dyn Tool> {
    let spec = spec::<ApplyPatchArgs>("apply_patch", Tier::Write, APPLY_PATCH);
    Arc::new(Changing { spec, files, plan: Files::plan_patch })
}

/// The tool `search`, of tier read.
#[must_use]
pub fn search_tool(files: Files) -> Arc<dyn Tool> {
    let work = |files: &Files, args: &SearchArgs, stop: &Stop| {
        files.search(args, stop).map(search::output)
    };
    Arc::new(Looking { spec: spec::<SearchArgs>("search", Tier::Read, SEARCH), files, work })
}

/// A tool that changes nothing.
struct Looking<A> {
    spec: ToolSpec,
    files: Files,
    work: fn(&Files, &A, &Stop) -> Result<ToolOutput, ToolError>,
}

impl<A: DeserializeOwned + Send + 'static> Tool for Looking<A> {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, args: Value, cx: &'a Context) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            let args: A = parse_args(&self.spec, args)?;
            let (files, work) = (self.files.clone(), self.work);
            blocking(cx, move |stop| work(&files, &args, stop)).await
        })
    }
}

/// A tool that plans a change, shows it as a preview, and applies it.
struct Changing<A> {
    spec: ToolSpec,
    files: Files,
    plan: fn(&Files, &A, &Stop) -> Result<Change, ToolError>,
}

impl<A: DeserializeOwned + Send + 'static> Tool for Changing<A> {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, args: Value, cx: &'a Context) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            let args: A = parse_args(&self.spec, args)?;
            let (files, plan, own) = (self.files.clone(), self.plan, cx.clone());
            blocking(cx, move |stop| {
                let change = plan(&files, &args, stop)?;
                files.apply(&change, &own, stop)
            })
            .await
        })
    }

    fn preview<'a>(
        &'a self,
        args: &'a Value,
        cx: &'a Context,
    ) -> BoxFuture<'a, Result<Preview, ToolError>> {
        Box::pin(async move {
            let args: A = parse_args(&self.spec, args.clone())?;
            let (files, plan, name) = (self.files.clone(), self.plan, self.spec.name.clone());
            blocking(cx, move |stop| Ok(plan(&files, &args, stop)?.preview(&name))).await
        })
    }
}

impl<A> fmt::Debug for Looking<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Looking").field("spec", &self.spec).finish_non_exhaustive()
    }
}

impl<A> fmt::Debug for Changing<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Changing").field("spec", &self.spec).finish_non_exhaustive()
    }
}

fn spec<A: JsonSchema>(name: &str, tier: Tier, description: &str) -> ToolSpec {
    ToolSpec::new(name, tier, description).with_input(schema_for!(A).to_value())
}
