//! A run with tools of its own and tools that it bridges in, and a server over the latter.

use std::{
    collections::BTreeSet,
    env, fs,
    io::{self, BufRead as _, Write as _},
    path::PathBuf,
    sync::Arc,
};

use agent_astgrep::Structure;
use agent_builtins::Resources;
use agent_edits::Edits;
use agent_files::Files;
use agent_grammars::Grammars;
use agent_mcp::{Bridge, ServerConfig, Servers};
use agent_process::{Guard, Launcher};
use agent_testkit::mcp::{Script, Speaks, tool};
use agent_tiers::{Registry, Run, Surface};
use agent_tool_core::{Dispatch as _, Limits, Part, ToolCall};
use agent_workspace::Workspace;
use serde_json::{Value, json};

/// Names the folder of the run: a process with it is the server.
pub(crate) const FOLDER: &str = "AGENT_BUILTINS_MCP";

/// Where it writes the names of its whole registry.
pub(crate) const REGISTRY: &str = "registry.txt";

pub(crate) fn run() {
    let folder = PathBuf::from(env::var_os(FOLDER).unwrap());
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (registry, bridged) = registry(&folder).await;
        let names: Vec<_> = registry.iter().map(|tool| tool.spec().name.clone()).collect();
        fs::write(folder.join(REGISTRY), names.join("\n")).unwrap();
        let run = Run::builder(registry).approval(everything()).build();
        for line in io::stdin().lock().lines().map_while(Result::ok) {
            let message: Value = serde_json::from_str(&line).unwrap();
            if let Some(id) = message.get("id") {
                let result = answer(&run, &bridged, &message).await;
                let answer = json!({"jsonrpc": "2.0", "id": id, "result": result});
                io::stdout().write_all(format!("{answer}\n").as_bytes()).unwrap();
            }
        }
    });
}

fn everything() -> agent_tiers::Approval {
    use agent_tiers::{Approval, ApproveMode, Rules};
    let nobody = Arc::new(agent_testkit::NobodyThere);
    Approval::new(ApproveMode::All, Rules::default(), nobody)
}

/// The registry, and the names of what of it is bridged in.
async fn registry(folder: &std::path::Path) -> (Registry, BTreeSet<String>) {
    let checkout = folder.join("checkout");
    fs::create_dir_all(&checkout).unwrap();
    let workspace = Workspace::open(&checkout).unwrap();
    let edits = Edits::open(&workspace, folder.join("state")).unwrap();
    let script = Script::new(Speaks::Stateless).tool(tool("look"), []).tool(tool("touch"), []);
    let peer = script.peer(folder, "outside").unwrap();
    // What makes this program the server must not make its server one.
    let config =
        ServerConfig::new("env").args(["-u", FOLDER, &peer.command]).env(peer.env.0, peer.env.1);
    let servers = Servers::default().with("outside", config);
    let bridge = Bridge::builder(Launcher::new(Guard::new()), folder).connect(servers).await;
    let grammars = Arc::new(Grammars::bundled());
    let resources = Resources::new()
        .files(Files::new(workspace.clone(), edits.clone()))
        .astgrep(Structure::new(workspace, edits, grammars))
        .mcp(&bridge);
    let bridged = bridge.tools().iter().map(|tool| tool.spec().name.clone()).collect();
    (resources.registry().unwrap(), bridged)
}

async fn answer(run: &Run, bridged: &BTreeSet<String>, message: &Value) -> Value {
    let view = run.view(Surface::Full, Limits::default());
    match message["method"].as_str().unwrap() {
        "server/discover" => {
            json!({"resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}},
            "ttlMs": 0, "cacheScope": "private"})
        }
        "tools/list" => {
            let specs = view.specs().into_iter().filter(|spec| bridged.contains(&spec.name));
            let tools: Vec<_> = specs
                .map(|spec| json!({"name": spec.name, "description": spec.description, "inputSchema": spec.input_schema}))
                .collect();
            json!({"resultType": "complete", "tools": tools, "ttlMs": 0, "cacheScope": "private"})
        }
        "tools/call" => {
            let name = message["params"]["name"].as_str().unwrap();
            let call = ToolCall::new(name, message["params"]["arguments"].clone());
            let output = view.call(call).await.unwrap();
            let last = match output.parts.last() {
                Some(Part::Text { text }) => text.clone(),
                other => panic!("{other:?}"),
            };
            let text = format!("{} {last}", json!([name]));
            json!({"resultType": "complete", "content": [{"type": "text", "text": text}]})
        }
        other => panic!("{other}"),
    }
}
