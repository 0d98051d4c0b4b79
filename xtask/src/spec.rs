//! Every statement of the contract with the tests that claim it.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use anyhow::{Context, Result, bail};

use crate::sh;

/// The statements that are built: from the issue on that builds them, one without a test fails.
/// A prefix ending in `-` stands for all of its statements.
const BUILT: &[&str] =
    &["ASK-", "AST-", "DBG-", "EVAL-", "LSP-", "MCP-", "NOTE-", "TIER-", "TRUST-", "VIBE-"];

pub fn spec() -> Result<()> {
    let text = fs::read_to_string("docs/spec.md").context("docs/spec.md")?;
    let statements = statements(&text);
    let claims = claims(&sh::root())?;
    let mut faults = Vec::new();
    let mut open = Vec::new();
    for id in &statements {
        let tests = claims.get(id).map(Vec::as_slice).unwrap_or_default();
        let built = BUILT
            .iter()
            .any(|prefix| id == prefix || (prefix.ends_with('-') && id.starts_with(prefix)));
        match (built, tests) {
            (true, []) => faults.push(format!("{id} is built and no test claims it")),
            (false, []) => open.push(id.as_str()),
            (_, tests) => println!("{id:9} {}", tests.join(", ")),
        }
    }
    println!("\nopen, for the issues that build them: {}", open.join(" "));
    let known: BTreeSet<&String> = statements.iter().collect();
    for (id, places) in claims.iter().filter(|(id, _)| !known.contains(id)) {
        faults.push(format!("{} claims {id}, which docs/spec.md does not have", places.join(", ")));
    }
    if !faults.is_empty() {
        bail!("spec:\n  {}", faults.join("\n  "));
    }
    eprintln!("spec: {} statements, {} open", statements.len(), open.len());
    Ok(())
}

/// The identifiers in their order: `- AST-01 …`.
fn statements(text: &str) -> Vec<String> {
    let lines = text.lines().filter_map(|line| line.strip_prefix("- "));
    let ids = lines.filter_map(|line| line.split_whitespace().next());
    ids.filter(|id| is_id(id)).map(str::to_owned).collect()
}

fn is_id(word: &str) -> bool {
    word.split_once('-').is_some_and(|(area, number)| {
        !area.is_empty()
            && area.chars().all(|c| c.is_ascii_uppercase())
            && number.len() == 2
            && number.chars().all(|c| c.is_ascii_digit())
    })
}

/// Where a test or a fixture names a statement: `// spec: AST-01, AST-02` or `"spec": ["AST-01"]`.
fn claims(root: &Path) -> Result<BTreeMap<String, Vec<String>>> {
    let mut claims: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for folder in ["crates", "fixtures"] {
        for path in sh::files(&root.join(folder))? {
            let shown = path.strip_prefix(root).unwrap_or(&path).to_string_lossy().into_owned();
            let tests = shown.contains("/tests/") || shown.starts_with("fixtures/");
            let Ok(text) = fs::read_to_string(&path) else { continue };
            if !tests {
                continue;
            }
            let ids: BTreeSet<&str> = text.split('\n').flat_map(claimed).collect();
            for id in ids {
                claims.entry(id.to_owned()).or_default().push(shown.clone());
            }
        }
    }
    Ok(claims)
}

fn claimed(line: &str) -> impl Iterator<Item = &str> {
    let claim = [("// spec:", '\n'), ("\"spec\":", ']'), ("spec = [", ']')];
    claim
        .into_iter()
        .filter_map(move |(mark, end)| line.split_once(mark).map(|(_, rest)| (rest, end)))
        .flat_map(|(rest, end)| {
            rest.split(end)
                .next()
                .unwrap_or_default()
                .split(|c: char| !c.is_ascii_alphanumeric() && c != '-')
        })
        .filter(|word| is_id(word))
}
