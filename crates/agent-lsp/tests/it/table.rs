use std::{collections::BTreeMap, path::Path};

use agent_lsp::table::{Known, Naming, Role, Server, ServerTable, TableErrorKind, Trust, Wait};
use serde_json::json;

fn ids(path: &str) -> Vec<String> {
    let table = ServerTable::bundled();
    table
        .for_path(Path::new(path))
        .into_iter()
        .map(|(server, language)| format!("{}:{language}", server.id))
        .collect()
}

fn fails(user: &str) -> (TableErrorKind, String) {
    let error = ServerTable::with_user_rows(user).unwrap_err();
    (error.kind(), error.to_string())
}

#[test]
fn every_row_is_complete() {
    let table = ServerTable::bundled();
    let mut ids = BTreeMap::new();
    for Server { id, programs, probe, languages, roots, install, settings, .. } in table.servers() {
        assert_eq!(ids.insert(id, ()), None, "{id} is there twice");
        assert!(
            !programs.is_empty() && programs.iter().all(|program| !program.contains('/')),
            "{id}"
        );
        assert!(
            probe.is_empty() || probe.len() > 1,
            "{id}: a probe without arguments would start a server"
        );
        assert!(!roots.is_empty(), "{id}");
        assert!(!install.is_empty(), "{id}");
        assert!(settings.is_null() || settings.is_object(), "{id}");
        for (language, patterns) in languages {
            assert!(!patterns.is_empty(), "{id}: {language}");
        }
    }
    for id in [
        "rust-analyzer",
        "pyright",
        "basedpyright",
        "ty",
        "ruff",
        "pylsp",
        "zuban",
        "pyrefly",
        "typescript",
        "typescript-language-server",
        "vtsls",
        "clangd",
        "gopls",
        "dart",
        "bash",
        "lua",
        "yaml",
        "json",
        "css",
        "html",
        "jdtls",
        "zls",
        "intelephense",
        "solargraph",
        "ruby-lsp",
        "kotlin",
    ] {
        assert!(table.by_id(id).is_some(), "{id} is missing");
    }
}

#[test]
fn what_a_run_in_ci_meets_is_marked_and_measured() {
    let table = ServerTable::bundled();
    let met: Vec<_> =
        table.servers().iter().filter(|row| row.met_in_ci).map(|row| row.id.as_str()).collect();
    assert_eq!(
        met,
        [
            "clangd",
            "gopls",
            "rust-analyzer",
            "basedpyright",
            "typescript",
            "ty",
            "typescript-language-server"
        ]
    );
    for row in table.servers() {
        assert!(row.measured || !row.met_in_ci, "{}", row.id);
    }
}

#[test]
fn no_two_full_servers_of_a_language_have_the_same_priority() {
    let table = ServerTable::bundled();
    let mut taken = BTreeMap::new();
    for server in table.servers().iter().filter(|server| server.role == Role::Full) {
        for language in server.languages.keys() {
            let other = taken.insert((language, server.priority), &server.id);
            assert_eq!(other, None, "{language} {}", server.id);
        }
    }
    let (kind, message) = fails("[[server]]\nid = \"ty\"\npriority = 10\n");
    assert_eq!(kind, TableErrorKind::Priority);
    assert_eq!(
        message,
        "the servers `pyright` and `ty` have the same priority for python; give one of them another"
    );
}

#[test]
fn a_file_has_its_servers_in_order_with_the_linters_last() {
    let python = ["pyright", "basedpyright", "ty", "pyrefly", "zuban", "pylsp", "ruff"];
    let python: Vec<_> = python.iter().map(|id| format!("{id}:python")).collect();
    assert_eq!(ids("src/a.py"), python);
    assert_eq!(ids("src/A.PY"), python);
    let table = [
        ("src/main.rs", vec!["rust-analyzer:rust"]),
        ("a.c", vec!["clangd:c"]),
        ("a.C", vec!["clangd:cpp"]),
        ("go.mod", vec!["gopls:go.mod"]),
        (".bashrc", vec!["bash:shellscript"]),
        ("Gemfile", vec!["ruby-lsp:ruby", "solargraph:ruby"]),
        ("rs", vec![]),
        (".rs", vec![]),
        ("README", vec![]),
    ];
    for (path, expected) in table {
        assert_eq!(ids(path), expected, "{path}");
    }
    assert_eq!(ids("a.tsx")[1], "typescript:typescriptreact");
}

#[test]
fn the_users_rows_change_add_and_remove() {
    let table = ServerTable::with_user_rows(
        r#"
        [[server]]
        id = "css"
        settings = { css = { lint = { emptyRules = "error" } } }

        [[server]]
        id = "clangd"
        args = ["--log=error"]
        wait = { class = "push_unversioned", settle_ms = 1, budget_ms = 2 }

        [[server]]
        id = "pyright"
        disabled = true

        [[server]]
        id = "gleam"
        programs = ["gleam"]
        args = ["lsp"]
        languages = { gleam = ["*.gleam"] }
        roots = ["gleam.toml"]
        priority = 10
        wait = { class = "pull" }
        install = "the package gleam"
        "#,
    )
    .unwrap();
    // Settings are merged, everything else is replaced.
    assert_eq!(
        table.by_id("css").unwrap().settings,
        json!({
            "css": {"validate": true, "lint": {"emptyRules": "error"}}, "scss": {"validate": true},
            "less": {"validate": true},
        })
    );
    let clangd = table.by_id("clangd").unwrap();
    assert_eq!(clangd.args, ["--log=error"]);
    assert_eq!(clangd.wait, Wait::PushUnversioned { settle_ms: 1, budget_ms: 2, beside_ms: 150 });
    assert_eq!(clangd.roots[0], "compile_commands.json");
    assert_eq!(table.by_id("pyright"), None);
    assert_eq!(table.by_id("gleam").unwrap().role, Role::Full);
    assert_eq!(ServerTable::with_user_rows("").unwrap(), ServerTable::bundled());
}

#[test]
fn a_row_that_cannot_be_used_is_named() {
    let table = [
        ("server = 1", TableErrorKind::Shape, "[[server]]"),
        ("server = [1]", TableErrorKind::Shape, "[[server]]"),
        ("[[server]]\nprograms = []", TableErrorKind::Shape, "no `id`"),
        ("[[server]", TableErrorKind::Syntax, "no TOML"),
        (
            "[[server]]\nid = \"ty\"\ncommand = \"x\"",
            TableErrorKind::Row,
            "`ty` is not complete: unknown field `command`",
        ),
        (
            "[[server]]\nid = \"new\"\nprograms = [\"new\"]",
            TableErrorKind::Row,
            "`new` is not complete: missing field",
        ),
        ("[[server]]\nid = \"ty\"\nroots = []", TableErrorKind::Row, "`ty` has an empty `roots`"),
        (
            "[[server]]\nid = \"ty\"\nwait = { class = \"hope\" }",
            TableErrorKind::Row,
            "unknown variant `hope`",
        ),
    ];
    for (user, kind, part) in table {
        let (found, message) = fails(user);
        assert_eq!(found, kind, "{message}");
        assert!(message.contains(part), "{message}");
    }
}

#[test]
fn in_an_untrusted_checkout_rust_analyzer_runs_none_of_its_code() {
    let table = ServerTable::bundled();
    let server = table.by_id("rust-analyzer").unwrap();
    let search = json!({"symbol": {"search": {"kind": "all_symbols", "limit": 10_000}}});
    assert_eq!(
        server.settings_for(Trust::Trusted),
        json!({"rust-analyzer": {"checkOnSave": false, "workspace": search}})
    );
    assert_eq!(
        server.settings_for(Trust::Untrusted),
        json!({"rust-analyzer": {
            "workspace": search, "checkOnSave": false, "cargo": {"buildScripts": {"enable": false}}, "procMacro": {"enable": false},
        }})
    );
}

// spec: TRUST-02
#[test]
fn what_a_checkout_may_name_for_a_server_is_known() {
    let table = ServerTable::bundled();
    let of = |id: &str| table.by_id(id).unwrap().untrusted_without.clone();
    let there = |name: &str| Naming::There(name.to_owned());
    assert!(of("rust-analyzer").contains(&there(".cargo/config.toml")));
    for file in ["rust-toolchain.toml", "rust-toolchain"] {
        let toolchain = Naming::Other { file: file.to_owned(), other_than: Known::RustupChannel };
        assert!(of("rust-analyzer").contains(&toolchain));
    }
    assert_eq!(of("basedpyright"), [there(".venv/bin/python")]);
    assert_eq!(of("typescript-language-server")[0], there("node_modules/typescript"));
    // Where a build is code, each marker of a project is enough.
    for id in
        ["jdtls", "kotlin", "zls", "csharp", "swift", "elixir", "deno", "ruby-lsp", "solargraph"]
    {
        for root in &table.by_id(id).unwrap().roots {
            assert!(of(id).contains(&there(root)), "{id}: {root}");
        }
    }
}
