//! The main job, end to end: this program is the harness that owns a run over `agent-run serve`.

mod cells;
mod crash;
mod host;
mod page;
mod people;
mod servers;

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use self::{host::Host, page::Page};
use crate::{features, setup, sh};

/// What each search must find at least: the example's README says what is planted where.
const SEARCHES: [Search; 5] = [
    Search { language: "dart", pattern: "if ($X != null) $X.dispose()", at_least: 3 },
    Search { language: "rust", pattern: "$X.unwrap()", at_least: 5 },
    Search { language: "python", pattern: "$A == None", at_least: 3 },
    Search { language: "c", pattern: "if ($P == NULL) return $E;", at_least: 3 },
    Search { language: "typescript", pattern: "console.log($$$ARGS)", at_least: 5 },
];

/// Where setup puts the server that the tour shows: the one that starts fastest.
const TYPESCRIPT: &str = "typescript-7/node_modules/.bin";

/// Where setup puts the debugger of Python.
const DEBUGPY: &str = "debugpy/bin";

/// Where setup puts the Python whose libraries the cells of the tour import.
const EVAL: &str = "eval/bin";

struct Search {
    language: &'static str,
    pattern: &'static str,
    at_least: u64,
}

pub fn tour() -> Result<()> {
    setup::setup()?;
    let all = features::everything();
    let program = sh::built(["--features", &all])?;
    let checkout = Checkout::copy(&sh::root().join("fixtures/projects/example"))?;
    let mut page = Page::default();
    let path = setup::search_path(&[TYPESCRIPT, EVAL, DEBUGPY])?;
    let mut host = Host::start(&program, &checkout.0, &path)?;

    page.chapter("The tools of a run, and of a run that plans");
    surfaces(&mut host, &mut page)?;
    page.chapter("Searching five languages by structure");
    for search in SEARCHES {
        let args = json!({"pattern": search.pattern, "language": search.language});
        let found = host.call(&mut page, "ast_grep", args)?;
        let total = found["data"]["total"].as_u64().unwrap_or_default();
        page.check(total >= search.at_least, &format!("{total} matches in {}", search.language));
    }
    page.chapter("A pattern that no context accepts is an error, never \"not found\"");
    let args = json!({"pattern": "if ($X != ) {", "language": "dart"});
    let refused = host.call(&mut page, "ast_grep", args)?;
    page.check(
        refused["error"]["code"] == "unparsable_pattern",
        "the pattern is said to be unparsable",
    );
    accept(&mut host, &mut page, &checkout)?;
    refuse(&mut host, &mut page, &checkout)?;
    servers::servers(&mut host, &mut page, &checkout)?;
    crash::crash(&mut host, &mut page)?;
    cells::cells(&mut host, &mut page)?;
    people::people(&mut host, &mut page)?;
    host.shutdown()?;
    page.check(true, "the run ended and left nothing behind");
    page.close()
}

fn surfaces(host: &mut Host, page: &mut Page) -> Result<()> {
    let full = names(&host.request(page, "run/tools", json!({}))?);
    let view = host.request(page, "view/open", json!({"surface": "plan"}))?["view"].clone();
    let plan = names(&host.request(page, "run/tools", json!({"view": view}))?);
    page.line(&format!("full   {}", full.join("  ")));
    page.line(&format!("plan   {}", plan.join("  ")));
    let hidden = host.call_in(page, &view, "ast_edit", json!({"pattern": "a", "rewrite": "b"}))?;
    page.check(
        hidden["error"]["code"] == "unknown_tool",
        "what the plan surface hides cannot be called by name",
    );
    let wanted = [
        "ast_grep",
        "ast_edit",
        "resolve",
        "debug",
        "eval",
        "lsp",
        "lsp_rename",
        "read",
        "write",
        "edit",
        "apply_patch",
        "search",
        "shell",
        "ask_user",
        "vibe_spawn",
    ];
    page.check(
        wanted.iter().all(|name| full.iter().any(|tool| tool == name)),
        "every tool is on the full surface",
    );
    page.check(
        plan.iter().all(|name| {
            ["read", "search", "ast_grep", "lsp", "ask_user"].contains(&name.as_str())
                || name.starts_with("vibe_")
        }),
        "plan sees what only reads, asks, or has workers under the same ceiling",
    );
    Ok(())
}

/// Stages a rewrite, shows that nothing was written, accepts it, and accepts it again.
fn accept(host: &mut Host, page: &mut Page, checkout: &Checkout) -> Result<()> {
    page.chapter("A rewrite: staged, shown, accepted once");
    let before = checkout.texts("web")?;
    let args = json!({"pattern": "console.log($$$ARGS)", "rewrite": "logger.debug($$$ARGS)", "language": "typescript", "path": "web"});
    let staged = host.call(page, "ast_edit", args)?;
    let opening = text(&staged);
    page.check(opening.starts_with("(proposed) "), "the result says that it is a proposal");
    page.check(checkout.texts("web")? == before, "nothing is written yet");
    let edit = staged["data"]["edit_id"].clone();
    let applied = host.call(page, "resolve", json!({"edit_id": edit, "action": "accept"}))?;
    page.check(applied["data"]["status"] == "applied", "accepted: every file changed");
    let after = checkout.texts("web")?;
    let held = after.iter().filter(|text| text.contains("logger.debug(")).count();
    page.check(
        Some(held) == staged["data"]["files"].as_array().map(Vec::len),
        "the staged files hold the rewrite",
    );
    let again = host.call(page, "resolve", json!({"edit_id": edit, "action": "accept"}))?;
    page.check(
        again["data"]["status"] == "already_applied",
        "accepted again: already_applied, and nothing changes",
    );
    page.check(checkout.texts("web")? == after, "the files are the same as before");
    Ok(())
}

/// Stages a rewrite, changes a file behind its back, and shows that all of it is refused.
fn refuse(host: &mut Host, page: &mut Page, checkout: &Checkout) -> Result<()> {
    page.chapter("A rewrite whose files changed in the meantime is refused whole");
    let args = json!({"pattern": "$A == None", "rewrite": "$A is None", "language": "python"});
    let staged = host.call(page, "ast_edit", args)?;
    let file = staged["data"]["files"][0]["file"].as_str().context("a staged file")?.to_owned();
    let path = checkout.0.join(&file);
    let changed = format!("{}\n# somebody else was here\n", fs::read_to_string(&path)?);
    fs::write(&path, changed)?;
    page.line(&format!("(an editor saves {file})"));
    let before = checkout.texts("")?;
    let edit = staged["data"]["edit_id"].clone();
    let refused = host.call(page, "resolve", json!({"edit_id": edit, "action": "accept"}))?;
    page.check(refused["error"]["code"] == "stale_edit", "refused: a file is not what was staged");
    page.check(checkout.texts("")? == before, "no file of the rewrite was touched");
    Ok(())
}

fn names(tools: &Value) -> Vec<String> {
    let tools = tools["tools"].as_array().into_iter().flatten();
    tools.filter_map(|tool| tool["name"].as_str()).map(str::to_owned).collect()
}

fn text(result: &Value) -> String {
    result["parts"][0]["text"].as_str().unwrap_or_default().to_owned()
}

/// A copy of the example, removed at the end.
struct Checkout(PathBuf);

impl Checkout {
    fn copy(example: &Path) -> Result<Self> {
        let folder = std::env::temp_dir().join(format!("agent-run-tour-{}", std::process::id()));
        let checkout = Self(folder);
        for file in sh::files(example)? {
            let target = checkout.0.join(file.strip_prefix(example)?);
            if let Some(folder) = target.parent() {
                fs::create_dir_all(folder)?;
            }
            fs::copy(&file, &target)?;
        }
        if !checkout.0.is_dir() {
            bail!("{} has no files", example.display());
        }
        Ok(checkout)
    }

    fn texts(&self, below: &str) -> Result<Vec<String>> {
        let files = sh::files(&self.0.join(below))?;
        files.iter().map(|file| Ok(fs::read_to_string(file)?)).collect()
    }
}

impl Drop for Checkout {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
