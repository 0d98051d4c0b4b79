//! The command line.

use std::path::PathBuf;

use agent_tiers::Surface;
use clap::{
    Args, Parser, Subcommand, ValueEnum,
    builder::{PossibleValuesParser, TypedValueParser},
};
use serde::{Deserialize, Serialize};

const EXAMPLES: &str = "\
Examples:
  agent-run tools
  agent-run call ast_grep '{\"pattern\": \"$X.unwrap()\", \"language\": \"rust\"}'
  agent-run --approve all script calls.jsonl
  agent-run --json doctor

A staged edit lives in its run: `call ast_edit` and then `call resolve` are two runs, and the second
one knows nothing of the first one's edit_id. Stage and resolve in one `script`, or over `serve`.";

/// A run of the agent's built-in tools over a checkout.
#[derive(Debug, Parser)]
#[command(name = "agent-run", version, after_help = EXAMPLES, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub options: Options,
    #[command(subcommand)]
    pub command: Command,
}

/// What holds for every command.
#[derive(Clone, Debug, Args)]
pub(crate) struct Options {
    /// A root of the run, DIR or NAME=DIR; the first is the working directory [default: .]
    #[arg(long, global = true, value_name = "DIR")]
    pub workspace: Vec<String>,
    /// Which tools the run sees
    #[arg(long, global = true, value_name = "SURFACE", value_parser = surfaces())]
    pub surface: Option<Surface>,
    /// Who approves calls that change something [default: ask on a terminal, none elsewhere]
    #[arg(long, global = true, value_enum)]
    pub approve: Option<Approve>,
    /// Trust this checkout: its own programs may run where a tool needs them
    #[arg(long, global = true)]
    pub trust: bool,
    /// Run cells of `eval` and commands of `shell` behind this command, such as 'docker exec -i NAME'; `none` is the host
    #[arg(long, global = true, value_name = "COMMAND")]
    pub sandbox: Option<String>,
    /// The working directory inside the sandbox, where it is not the same as here
    #[arg(long, global = true, value_name = "DIR")]
    pub sandbox_folder: Option<PathBuf>,
    /// The model of a conversation: NAME, or anthropic:NAME, openai:NAME or compatible:NAME [default: `model` of your config.toml]
    #[arg(long, global = true, value_name = "MODEL")]
    pub model: Option<String>,
    /// What background workers of a tier are: TIER=COMMAND, such as 'fast=claude -p {brief}'; once for each tier. No card is shown
    /// before what such a command does: naming it is your consent
    #[arg(long, global = true, value_name = "TIER=COMMAND")]
    pub worker: Vec<String>,
    /// Turn on background workers, the tools vibe_*. Where they are commands, this is your consent to what they do
    #[arg(long, global = true)]
    pub vibe: bool,
    /// Bridge in the tools of the MCP servers in this file, {"mcpServers": {"name": {"command": …}}}; once for each file
    #[arg(long, global = true, value_name = "FILE")]
    pub mcp: Vec<PathBuf>,
    /// Print results as JSON, one object a line
    #[arg(long, global = true)]
    pub json: bool,
    /// Record every call of the run in this file, as JSON lines
    #[arg(long, global = true, value_name = "FILE.jsonl")]
    pub transcript: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List the tools on this surface, with tier and schema
    Tools,
    /// Say what can run here, why the rest cannot, and what to install
    Doctor,
    /// Print what holds here, and which layer it comes from
    Config,
    /// Make one call in a run of its own
    #[command(after_help = CALL_HELP)]
    Call {
        /// The tool's name
        tool: String,
        /// The arguments as a JSON object, or - to read them from standard input
        #[arg(value_name = "ARGS-JSON")]
        args: Option<String>,
    },
    /// Make many calls in one run: a line {"tool": …, "args": …}
    #[command(after_help = SCRIPT_HELP)]
    Script {
        /// The file with the calls, or - for standard input
        file: PathBuf,
    },
    /// Talk with a model that has these tools
    #[command(after_help = CHAT_HELP)]
    Chat(Chat),
    /// Hand one run to a harness over standard input and output
    Serve {
        /// Print the JSON Schema of all messages and end
        #[arg(long)]
        schema: bool,
    },
    /// Print the completions for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
}

/// What a conversation is begun with.
#[derive(Clone, Debug, Args)]
pub(crate) struct Chat {
    /// Answer this one prompt and end, with nobody there to ask; - reads it from standard input
    #[arg(short, long, value_name = "TEXT")]
    pub prompt: Option<String>,
    /// How the answer to --prompt is printed
    #[arg(long, value_enum, default_value_t = Printed::Text, requires = "prompt")]
    pub output: Printed,
    /// Go on with the last conversation of this working directory, at a terminal the last one that began at one; or with the one
    /// of this id, or of the beginning of it
    #[arg(long = "continue", value_name = "ID", num_args = 0..=1, require_equals = true)]
    pub go_on: Option<Option<String>>,
    /// List the conversations of this working directory, the last one first, and end
    #[arg(long, conflicts_with_all = ["prompt", "go_on"])]
    pub conversations: bool,
    /// With --conversations: list all of them, and not those alone that were used last
    #[arg(long, requires = "conversations")]
    pub all: bool,
}

/// How an answer is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Printed {
    /// The text of the last answer
    Text,
    /// One object when all is done
    Json,
    /// An object a line, as it happens
    StreamJson,
}

const CHAT_HELP: &str = "\
The model is `model` in your own config.toml, or --model. In the conversation /help lists what can be
typed; what is typed while the model works is said next; Ctrl-C ends the current step, and once more
within 5 s leaves. AGENT_RUN_IMAGES (kitty, iterm2, sixel, none) says how the terminal shows images. With --prompt a call that would ask is refused unless
--approve all is given; it ends with 0 when the model was done, with 1 when anything else ended it.";

const CALL_HELP: &str = "\
Ends with 0, with 1 for a tool's error, with 2 for a wrong command line.

A staged edit lives in its run: `call ast_edit` and then `call resolve` cannot work, since they are
two runs. Use `script` or `serve`.";

const SCRIPT_HELP: &str = "\
Example, a file of two lines:
  {\"tool\": \"ast_edit\", \"args\": {\"pattern\": \"foo($A)\", \"rewrite\": \"bar($A)\", \"language\": \"python\"}}
  {\"tool\": \"resolve\", \"args\": {\"edit_id\": \"edit_1\", \"action\": \"accept\"}}

Empty lines and lines that begin with # are passed over. A wrong line stops all of it, before the
first call. Ends with 1 if any call failed; the calls after a failed one are still made.";

/// Who approves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Approve {
    /// Every call is approved without asking; guardrails and ceilings still hold
    All,
    /// A person is asked
    Ask,
    /// Nobody is there: a call that needs approval is refused
    None,
}

/// The same as clap lists them in its help.
fn surfaces() -> impl TypedValueParser<Value = Surface> {
    PossibleValuesParser::new(Surface::ALL.map(Surface::as_str)).try_map(|name| surface(&name))
}

/// The surfaces by the names that configuration and protocol use.
pub(crate) fn surface(name: &str) -> Result<Surface, String> {
    serde_json::from_value(serde_json::Value::String(name.to_owned()))
        .map_err(|_| "takes full, plan or read-only".to_owned())
}
