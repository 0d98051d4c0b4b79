//! Which tools of a checkout there are, for which resources, and at which tier.

use std::sync::Arc;

use agent_astgrep::Structure;
use agent_builtins::{Resources, default_rules};
use agent_edits::Edits;
use agent_files::Files;
use agent_grammars::Grammars;
use agent_tiers::Policy;
use agent_tool_core::{
    Tier::{self, Exec, Read, Write},
    ToolSpec,
};
use agent_workspace::Workspace;
use serde_json::{Value, json};

/// The contract's tools and their tiers, whether they are built yet or not.
const CONTRACT: [(&str, Tier); 13] = [
    ("lsp", Read),
    ("ast_grep", Read),
    ("ask_user", Read),
    ("vibe_spawn", Read),
    ("vibe_send", Read),
    ("vibe_wait", Read),
    ("vibe_kill", Read),
    ("vibe_list", Read),
    ("lsp_rename", Write),
    ("ast_edit", Write),
    ("resolve", Write),
    ("debug", Exec),
    ("eval", Exec),
];

/// The harness's generic tools and theirs.
const FILES: [(&str, Tier); 5] =
    [("read", Read), ("write", Write), ("edit", Write), ("apply_patch", Write), ("search", Read)];

/// The parser's tools.
const ASTGREP: [&str; 3] = ["ast_grep", "ast_edit", "resolve"];

struct Checkout {
    workspace: Workspace,
    edits: Edits,
    _folders: [tempfile::TempDir; 2],
}

impl Checkout {
    fn new() -> Self {
        let folders = [(); 2].map(|()| tempfile::tempdir().expect("a folder"));
        let workspace = Workspace::open(folders[0].path()).expect("a workspace");
        let edits = Edits::open(&workspace, folders[1].path().join("state")).expect("a journal");
        Self { workspace, edits, _folders: folders }
    }

    fn files(&self) -> Files {
        Files::new(self.workspace.clone(), self.edits.clone())
    }

    fn structure(&self) -> Structure {
        let grammars = Arc::new(Grammars::bundled());
        Structure::new(self.workspace.clone(), self.edits.clone(), grammars)
    }
}

fn tiers(resources: Resources) -> Vec<(String, Tier)> {
    let registry = resources.registry().expect("a registry");
    registry.iter().map(|tool| (tool.spec().name.clone(), tool.spec().tier)).collect()
}

// spec: TIER-02
#[test]
fn every_tool_has_the_tier_of_the_contract() {
    let checkout = Checkout::new();
    let all = Resources::new().files(checkout.files()).astgrep(checkout.structure());
    let expected: Vec<_> = FILES.iter().chain(&CONTRACT).collect();
    let tiers = tiers(all);
    for (name, tier) in &tiers {
        let (_, expected) = expected
            .iter()
            .find(|(expected, _)| expected == name)
            .unwrap_or_else(|| panic!("{name} is no tool of the contract"));
        assert_eq!(tier, expected, "{name}");
    }
    assert_eq!(tiers.len(), FILES.len() + ASTGREP.len());
}

// spec: TIER-04
#[test]
fn a_tool_is_there_when_its_resource_is_and_not_otherwise() {
    let checkout = Checkout::new();
    let names = |resources| tiers(resources).into_iter().map(|(name, _)| name).collect::<Vec<_>>();
    assert_eq!(names(Resources::new()), [""; 0]);
    assert_eq!(names(Resources::new().files(checkout.files())), FILES.map(|(name, _)| name));
    assert_eq!(names(Resources::new().astgrep(checkout.structure())), ASTGREP);
}

// spec: TIER-02, TIER-04, TIER-08
#[cfg(feature = "debug")]
#[test]
fn a_debugger_gives_debug_which_takes_turns() {
    use agent_process::{Guard, Launcher, Trust};

    let checkout = Checkout::new();
    let launcher = Launcher::new(Guard::new());
    let debugger =
        agent_debug::Debugger::new(checkout.workspace.clone(), launcher, Trust::Untrusted);
    let registry = Resources::new().debug(debugger).registry().expect("a registry");
    let specs: Vec<_> = registry.iter().map(|tool| tool.spec().clone()).collect();
    let [spec] = specs.as_slice() else { panic!("{specs:?}") };
    assert_eq!((spec.name.as_str(), spec.tier, spec.parallel), ("debug", Exec, false));
}

// spec: TIER-02, TIER-04, TIER-08
#[cfg(feature = "eval")]
#[tokio::test]
async fn interpreters_give_eval_which_takes_turns_and_asks() {
    let checkout = Checkout::new();
    let launcher = agent_process::Launcher::new(agent_process::Guard::new());
    let interpreters =
        agent_eval::Interpreters::builder(checkout.workspace.clone(), launcher).build();
    let registry = Resources::new().eval(interpreters).registry().expect("a registry");
    let specs: Vec<_> = registry.iter().map(|tool| tool.spec().clone()).collect();
    let [spec] = specs.as_slice() else { panic!("{specs:?}") };
    assert_eq!((spec.name.as_str(), spec.tier, spec.parallel), ("eval", Exec, false));
    let args = json!({"code": "1", "description": "one"});
    assert_eq!(default_rules().policy(spec, &args), Policy::Ask);
}

// spec: TIER-07
#[test]
fn by_default_what_stages_or_looks_goes_on_and_the_rest_asks() {
    let rules = default_rules();
    let cases: [(&str, Value, Policy); 13] = [
        ("ast_grep", json!({}), Policy::Allow),
        ("read", json!({}), Policy::Allow),
        ("ast_edit", json!({}), Policy::Allow),
        ("resolve", json!({"action": "discard"}), Policy::Allow),
        ("resolve", json!({"action": "accept"}), Policy::Ask),
        ("resolve", json!({}), Policy::Ask),
        ("write", json!({}), Policy::Ask),
        ("debug", json!({"op": "stack"}), Policy::Allow),
        ("debug", json!({"op": "launch"}), Policy::Ask),
        ("debug", json!({"op": ["launch"]}), Policy::Ask),
        ("debug", json!({"op": "breakpoints", "hit_condition": "3"}), Policy::Allow),
        ("debug", json!({"op": "breakpoints", "condition": "f() > 1"}), Policy::Ask),
        ("debug", json!({"op": "breakpoints", "log_message": "{f()}"}), Policy::Ask),
    ];
    for (name, args, expected) in cases {
        let mut tools = FILES.iter().chain(&CONTRACT);
        let (_, tier) = tools.find(|(tool, _)| *tool == name).expect("a tool");
        let spec = ToolSpec::new(name, *tier, "");
        assert_eq!(rules.policy(&spec, &args), expected, "{name} {args}");
    }
}
