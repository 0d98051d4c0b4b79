//! The tool `shell`: the library as a model calls it.

use std::{fmt, sync::Arc};

use agent_tool_core::{
    BoxFuture, Context, Preview, PreviewKind, Tier, Tool, ToolError, ToolOutput, ToolResult,
    ToolSpec, clip, parse_args,
};
use schemars::schema_for;
use serde_json::Value;

use crate::{Shell, ShellArgs};

const DESCRIPTION: &str = "Runs a shell command and returns its output with its exit code. It has no terminal and no input, \
    and what it starts is ended with the call: do not start servers in the background.";

/// How many characters of a command a preview's title shows.
const TITLE_CHARS: usize = 100;

/// A command of one line that is no longer is the title alone, so that nobody reads it twice.
const LINE_CHARS: usize = 500;

impl Shell {
    /// The tool `shell`, of tier exec, one command at a time.
    #[must_use]
    pub fn tool(self) -> Arc<dyn Tool> {
        let schema = schema_for!(ShellArgs).to_value();
        let spec = ToolSpec::new("shell", Tier::Exec, DESCRIPTION).with_input(schema).exclusive();
        Arc::new(ShellTool { spec, shell: self })
    }
}

struct ShellTool {
    spec: ToolSpec,
    shell: Shell,
}

impl Tool for ShellTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, args: Value, cx: &'a Context) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            let args: ShellArgs = parse_args(&self.spec, args)?;
            let report = self.shell.run(&args, cx).await?;
            let data = serde_json::to_value(&report).unwrap_or_default();
            let output = ToolOutput::text(report.text()).with_data(data);
            Ok(output.with_changes(report.changes))
        })
    }

    fn preview<'a>(
        &'a self,
        args: &'a Value,
        _cx: &'a Context,
    ) -> BoxFuture<'a, Result<Preview, ToolError>> {
        Box::pin(async move {
            let parsed: ShellArgs = parse_args(&self.spec, args.clone())?;
            let place = match self.shell.sandbox() {
                None => "on this machine".to_owned(),
                Some(sandbox) => format!("in the sandbox {sandbox}"),
            };
            let folder = parsed.cwd.as_deref().unwrap_or("the working directory");
            let command = parsed.command.trim();
            let is_line = !command.contains('\n') && command.chars().count() <= LINE_CHARS;
            let (title, below) = match is_line {
                true => (command.to_owned(), String::new()),
                false => {
                    let title = clip(command, TITLE_CHARS).text.replace('\n', " ");
                    (title, format!("{}\n\n", parsed.command))
                }
            };
            Ok(Preview::new(PreviewKind::Execute, format!("shell: {title}"))
                .with_body(format!("{below}{place}, in {folder}")))
        })
    }
}

impl fmt::Debug for ShellTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ShellTool").field("shell", &self.shell).finish_non_exhaustive()
    }
}
