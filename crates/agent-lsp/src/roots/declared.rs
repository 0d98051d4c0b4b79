//! The files that declare a workspace, read as far as membership goes.

use agent_workspace::{Text, Workspace, WorkspacePath};
use serde_json::Value as Json;
use toml::{Table, Value};
use yaml_rust2::{Yaml, YamlLoader};

use super::{WorkspaceKind, members::Members};

/// A manifest is small; more is no manifest.
const MAX_MANIFEST_BYTES: u64 = 1024 * 1024;

const DEPENDENCIES: [&str; 3] = ["dependencies", "dev-dependencies", "build-dependencies"];

/// Whether a folder declares a workspace that another one below it belongs to. A manifest that cannot be read declares
/// nothing.
pub(super) fn contains(
    workspace: &Workspace,
    kind: WorkspaceKind,
    folder: &WorkspacePath,
    member: &WorkspacePath,
) -> bool {
    let Ok(below) = member.rel().strip_prefix(folder.rel()) else { return false };
    let read = |name: &str| {
        let content = workspace.read_up_to(&folder.join(name)?, MAX_MANIFEST_BYTES).ok()?;
        Some(Text::decode(&content.bytes).content)
    };
    let exists =
        |name: &str| folder.join(name).is_some_and(|path| workspace.identity(&path).is_ok());
    let members = match kind {
        WorkspaceKind::Cargo => read("Cargo.toml").and_then(|text| cargo(&text)),
        WorkspaceKind::Npm => read("package.json").and_then(|text| npm(&text)),
        WorkspaceKind::Pnpm => read("pnpm-workspace.yaml").and_then(|text| yaml(&text, "packages")),
        WorkspaceKind::Go => read("go.work").map(|text| go(&text)),
        WorkspaceKind::Uv => read("pyproject.toml").and_then(|text| uv(&text)),
        WorkspaceKind::Pub => read("pubspec.yaml").and_then(|text| yaml(&text, "workspace")),
        WorkspaceKind::Pyright => exists("pyrightconfig.json").then(Members::everything),
        WorkspaceKind::Gradle => {
            (exists("settings.gradle") || exists("settings.gradle.kts")).then(Members::everything)
        }
    };
    members.is_some_and(|members| members.contains(below))
}

fn cargo(text: &str) -> Option<Members> {
    let manifest: Table = text.parse().ok()?;
    let declared = manifest.get("workspace")?.as_table()?;
    let mut members =
        Members::of(strings(declared.get("members")), strings(declared.get("exclude")));
    // A path dependency of the root becomes a member by itself.
    let inherited = declared.get("dependencies");
    let own = DEPENDENCIES.iter().map(|key| manifest.get(*key));
    for table in own.chain([inherited]).flatten().filter_map(Value::as_table) {
        let paths = table.values().filter_map(|dependency| dependency.get("path")?.as_str());
        paths.for_each(|path| members.add(path));
    }
    Some(members)
}

fn uv(text: &str) -> Option<Members> {
    let manifest: Table = text.parse().ok()?;
    let declared = manifest.get("tool")?.get("uv")?.get("workspace")?;
    Some(Members::of(strings(declared.get("members")), strings(declared.get("exclude"))))
}

fn npm(text: &str) -> Option<Members> {
    let manifest: Json = serde_json::from_str(text).ok()?;
    let declared = manifest.get("workspaces")?;
    // An object with `packages` is how yarn's first version wrote it.
    let list = declared.as_array().or_else(|| declared.get("packages")?.as_array())?;
    Some(Members::with_negations(list.iter().filter_map(Json::as_str)))
}

fn yaml(text: &str, key: &str) -> Option<Members> {
    let document = YamlLoader::load_from_str(text).ok()?.into_iter().next()?;
    let list = document[key].as_vec()?;
    Some(Members::with_negations(list.iter().filter_map(Yaml::as_str)))
}

/// `use ./a` and `use ( … )`; the grammar of `go.work` has no more that counts here.
fn go(text: &str) -> Members {
    let mut members = Members::of([], []);
    let mut in_block = false;
    for line in text.lines() {
        let line = line.split("//").next().unwrap_or_default().trim();
        let rest = line.strip_prefix("use").filter(|rest| rest.starts_with([' ', '\t', '(']));
        match (rest.map(str::trim), in_block) {
            (Some("("), _) => in_block = true,
            (Some(path), _) => members.add(unquoted(path)),
            (None, true) if line == ")" => in_block = false,
            (None, true) if !line.is_empty() => members.add(unquoted(line)),
            (None, _) => {}
        }
    }
    members
}

fn unquoted(text: &str) -> &str {
    text.trim_matches(['"', '`'])
}

fn strings(list: Option<&Value>) -> impl Iterator<Item = &str> {
    list.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}
