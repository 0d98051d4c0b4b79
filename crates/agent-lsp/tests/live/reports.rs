//! What was reported of real servers and belongs to no other case.

use std::{fs, time::Duration};

use agent_lsp::table::Trust;
use agent_testkit::processes::{descendants, kill};

use crate::{
    Case,
    servers::{Live, TSC, TYPESCRIPT_LANGUAGE_SERVER},
    session::Session,
};

/// How long the language server that was ended may take until it may be started again.
const RESTART: Duration = Duration::from_millis(2_500);

pub(crate) fn cases() -> Vec<(&'static Live, &'static str, Case)> {
    vec![
        (&TYPESCRIPT_LANGUAGE_SERVER, "a_dead_tsserver_is_no_answer", |live| {
            Box::pin(a_dead_tsserver_is_no_answer(live))
        }),
        (&TYPESCRIPT_LANGUAGE_SERVER, "a_project_below_the_root_is_found", |live| {
            Box::pin(a_project_below_the_root_is_found(live))
        }),
        (&TSC, "a_project_below_the_root_is_found", |live| {
            Box::pin(a_project_below_the_root_is_found(live))
        }),
    ]
}

// spec: LSP-07, LSP-16
// report: D18
async fn a_dead_tsserver_is_no_answer(live: &'static Live) {
    let before = descendants();
    let session = Session::new(live);
    let language = live.language;
    let at = (language.main, language.uses);
    let all = session.ask("references", at, language.function).await["total"].clone();
    assert_eq!(all, language.references.len());

    kill(&descendants().difference(&before).copied().collect(), "tsserver.js");
    let line = session.line(at);
    let args = serde_json::json!({
        "action": "references", "file": at.0, "line": line, "symbol": language.function,
    });
    // The death is noticed, or not yet: an answer is whole or none.
    match session.call(args.clone()).await {
        Ok(output) => assert_eq!(output.data["total"], all, "{}", output.joined_text()),
        Err(error) => {
            assert_eq!(error.code, "server_failed", "{error}");
            assert!(error.message.contains("its tsserver ended"), "{error}");
        }
    }
    let again = async {
        loop {
            if let Ok(output) = session.call(args.clone()).await {
                return output;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    let output = tokio::time::timeout(RESTART * 10, again).await.unwrap();
    assert_eq!(output.data["total"], all, "{}", output.joined_text());
}

// spec: LSP-01, LSP-06
// report: D16
async fn a_project_below_the_root_is_found(live: &'static Live) {
    let session = Session::at(live, "shop", Trust::Trusted);
    let language = live.language;
    // The project moves into a folder of a repository that has another one beside it.
    let root = session.root();
    let web = root.join("packages/web");
    fs::create_dir_all(&web).unwrap();
    for entry in fs::read_dir(root).unwrap() {
        let name = entry.unwrap().file_name();
        if name != "packages" {
            fs::rename(root.join(&name), web.join(&name)).unwrap();
        }
    }
    let other = root.join("packages/other");
    fs::create_dir_all(other.join("src")).unwrap();
    fs::copy(web.join("tsconfig.json"), other.join("tsconfig.json")).unwrap();
    let same = format!("export function {}(): string {{ return \"\"; }}\n", language.function);
    fs::write(other.join("src/order.ts"), same).unwrap();

    let main: &'static str = format!("packages/web/{}", language.main).leak();
    let found = session.ask("references", (main, language.uses), language.function).await;
    let files: Vec<_> = found["locations"]
        .as_array()
        .unwrap()
        .iter()
        .map(|at| at["file"].as_str().unwrap().to_owned())
        .collect();
    let expected: Vec<_> =
        language.references.iter().map(|(file, _)| format!("packages/web/{file}")).collect();
    assert_eq!(files, expected, "{found:#}");
    let servers = session.lsp.status().await.servers;
    let roots: Vec<_> =
        servers.iter().filter(|server| server.pid.is_some()).map(|server| &server.root).collect();
    assert_eq!(roots, [&Some("packages/web".to_owned())]);
}
