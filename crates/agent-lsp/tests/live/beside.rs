//! What a write changes of files that it does not write: by a configuration, by a header, by a file that comes.

use serde_json::Value;

use crate::{
    Case,
    servers::{
        BASEDPYRIGHT, CLANGD, GOPLS, Live, RUST_ANALYZER, TSC, TY, TYPESCRIPT_LANGUAGE_SERVER,
    },
    session::Session,
};

/// TypeScript's error of a parameter whose type nothing says, under `strict`.
const IMPLICIT_ANY: &str = "7006";
/// And of a type that does not fit.
const NOT_ASSIGNABLE: &str = "2322";

pub(crate) fn cases() -> Vec<(&'static Live, &'static str, Case)> {
    let mut cases: Vec<(&'static Live, &'static str, Case)> = Vec::new();
    for live in [&BASEDPYRIGHT, &TY, &TSC, &TYPESCRIPT_LANGUAGE_SERVER, &CLANGD, &RUST_ANALYZER] {
        cases.push((live, "a_configuration_breaks_what_is_open", |live| {
            Box::pin(a_configuration_breaks_what_is_open(live))
        }));
    }
    cases.extend(others());
    cases
}

fn others() -> Vec<(&'static Live, &'static str, Case)> {
    vec![
        (&TSC, "a_changed_configuration_is_read", |live| {
            Box::pin(a_changed_configuration_is_read(live))
        }),
        (&TSC, "what_a_configuration_names_is_read", |live| {
            Box::pin(what_a_configuration_names_is_read(live))
        }),
        (&CLANGD, "a_header_breaks_a_file_that_was_only_looked_into", |live| {
            Box::pin(a_header_breaks_a_file_that_was_only_looked_into(live))
        }),
        (&TYPESCRIPT_LANGUAGE_SERVER, "a_file_made_after_its_importer_is_found", |live| {
            Box::pin(a_file_made_after_its_importer_is_found(live))
        }),
        (&TSC, "a_file_made_after_its_importer_is_found", |live| {
            Box::pin(a_file_made_after_its_importer_is_found(live))
        }),
        (&RUST_ANALYZER, "a_check_that_cannot_run_confirms_nothing", |live| {
            Box::pin(a_check_that_cannot_run_confirms_nothing(live))
        }),
        (&RUST_ANALYZER, "what_depends_on_a_broken_library_is_not_confirmed", |live| {
            Box::pin(what_depends_on_a_broken_library_is_not_confirmed(live))
        }),
        (&RUST_ANALYZER, "a_build_script_that_fails_confirms_nothing", |live| {
            Box::pin(a_build_script_that_fails_confirms_nothing(live))
        }),
        (&RUST_ANALYZER, "a_dependency_that_cannot_be_had_confirms_nothing", |live| {
            Box::pin(a_dependency_that_cannot_be_had_confirms_nothing(live))
        }),
        (&GOPLS, "a_module_that_does_not_load_is_not_clean", |live| {
            Box::pin(a_module_that_does_not_load_is_not_clean(live))
        }),
        (&RUST_ANALYZER, "two_binaries_written_at_once_are_both_checked", |live| {
            Box::pin(two_binaries_written_at_once_are_both_checked(live))
        }),
    ]
}

/// A file that a configuration breaks, and the line that it breaks then.
struct Configuration {
    file: &'static str,
    /// A part of its text and what is there instead.
    change: (&'static str, &'static str),
    broken: (&'static str, &'static str, usize),
}

impl Configuration {
    fn of(live: &Live) -> Self {
        match live.id {
            "basedpyright" => Self {
                file: "pyproject.toml",
                change: ("\"off\"", "\"standard\""),
                broken: ("shop/conf.py", "def f(x: int) -> str:\n    return x\n", 2),
            },
            "ty" => Self {
                file: "pyproject.toml",
                change: ("\"ignore\"", "\"error\""),
                broken: ("shop/conf.py", "def f(x: int) -> str:\n    return x\n", 2),
            },
            "clangd" => Self {
                file: "compile_commands.json",
                change: ("-DWHOLE", "-DBROKEN"),
                broken: ("conf.cpp", "#ifdef BROKEN\n#error broken\n#endif\n", 2),
            },
            "rust-analyzer" => Self {
                file: "Cargo.toml",
                change: ("edition = \"2021\"", "edition = \"2015\""),
                broken: ("src/bin/conf.rs", "async fn f() {}\nfn main() {\n    drop(f());\n}\n", 1),
            },
            _ => Self {
                file: "tsconfig.json",
                change: ("\"strict\": false", "\"strict\": true"),
                broken: ("src/conf.ts", "export function q(a) { return a }\n", 1),
            },
        }
    }

    /// The text of the configuration that breaks nothing.
    fn whole(&self, live: &Live, session: &Session) -> String {
        let text = session.read(self.file);
        match live.id {
            "basedpyright" => text.replace("\"standard\"", "\"off\""),
            "ty" => format!("{text}\n[tool.ty.rules]\ninvalid-return-type = \"ignore\"\n"),
            "clangd" => format!(
                "[{{ \"directory\": {:?}, \"command\": \"c++ -std=c++17 -DWHOLE -c conf.cpp\", \"file\": \"conf.cpp\" }}]\n",
                session.root()
            ),
            "rust-analyzer" => {
                assert!(text.contains(self.change.0), "{text}");
                text
            }
            _ => text.replace("\"strict\": true", "\"strict\": false"),
        }
    }
}

// spec: LSP-13, LSP-16
async fn a_configuration_breaks_what_is_open(live: &'static Live) {
    let session = Session::new(live);
    let configuration = Configuration::of(live);
    let (file, text, line) = configuration.broken;
    let whole = configuration.whole(live, &session);
    let (from, to) = configuration.change;
    let breaks = whole.replace(from, to);
    assert_ne!(whole, breaks);
    session.put(configuration.file, &whole);
    session.put(file, text);
    let state = async || session.diagnostics(file).await["state"].clone();
    assert_eq!(state().await, "clean");

    let told = session.write(configuration.file, Some(&breaks)).await;
    assert!(
        told.text.contains(&format!("{} configures {}", configuration.file, live.id)),
        "{}",
        told.text
    );
    // There the compiler and the server say it, in words of their own.
    let times = if live.id == "rust-analyzer" { 2 } else { 1 };
    let places = vec![(file, line); times];
    told.without_unopened(file, file).assert(&places, &[], "dirty");
    assert_eq!(state().await, "dirty");
    let told = session.write(configuration.file, Some(&whole)).await;
    told.without_unopened(file, file).assert(&[], &places, "unknown");
    assert_eq!(state().await, "clean");
    // By another hand, and asked at once.
    for (text, expected) in [(&breaks, "dirty"), (&whole, "clean")] {
        session.put(configuration.file, text);
        assert_eq!(state().await, expected);
    }
}

fn codes(found: &Value) -> Vec<&str> {
    let list = found["diagnostics"].as_array().unwrap().iter();
    list.map(|found| found["code"].as_str().unwrap()).collect()
}

// spec: LSP-16
async fn a_changed_configuration_is_read(live: &'static Live) {
    let session = Session::new(live);
    let strict = session.read("tsconfig.json");
    let loose = strict.replace("\"strict\": true", "\"strict\": false");
    session.put("tsconfig.json", &loose);
    let told = session.write("src/loose.ts", Some("export function q(a) { return a }\n")).await;
    told.assert(&[], &[], "clean");
    for (configuration, expected) in
        [(&strict, &[IMPLICIT_ANY][..]), (&loose, &[]), (&strict, &[IMPLICIT_ANY])]
    {
        session.write("tsconfig.json", Some(configuration)).await;
        let found = session.diagnostics("src/loose.ts").await;
        assert_eq!(codes(&found), expected, "{found:#}");
    }
}

// spec: LSP-16
async fn what_a_configuration_names_is_read(live: &'static Live) {
    let session = Session::new(live);
    let base = |strict: bool| {
        format!(
            "{{ \"compilerOptions\": {{ \"strict\": {strict}, \"module\": \"ESNext\", \"moduleResolution\": \"bundler\", \
             \"resolveJsonModule\": true, \"noEmit\": true }} }}\n"
        )
    };
    session.put("tsconfig.base.json", &base(false));
    session.put(
        "tsconfig.json",
        "{ \"extends\": \"./tsconfig.base.json\", \"include\": [\"src\"] }\n",
    );
    session.put("data.json", "{ \"n\": 1 }\n");
    let text = "import data from \"../data.json\";\nexport const n: number = data.n;\nexport function q(a) { return a }\n";
    session.put("src/a.ts", text);
    let clean = session.diagnostics("src/a.ts").await;
    assert_eq!(clean["state"], "clean", "{clean:#}");

    session.write("data.json", Some("{ \"n\": \"a text\" }\n")).await;
    let found = session.diagnostics("src/a.ts").await;
    assert_eq!(codes(&found), [NOT_ASSIGNABLE], "{found:#}");
    session.write("tsconfig.base.json", Some(&base(true))).await;
    let found = session.diagnostics("src/a.ts").await;
    assert_eq!(codes(&found), [NOT_ASSIGNABLE, IMPLICIT_ANY], "{found:#}");

    session.put("data.json", "{ \"n\": 1 }\n");
    session.put("tsconfig.base.json", &base(false));
    let clean = session.diagnostics("src/a.ts").await;
    assert_eq!(clean["state"], "clean", "{clean:#}");
}

/// What was published for a file is known, though nobody asked for its diagnostics.
// spec: LSP-13
async fn a_header_breaks_a_file_that_was_only_looked_into(live: &'static Live) {
    let session = Session::new(live);
    let language = live.language;
    let at = (language.main, language.uses);
    session.ask("hover", at, language.function).await;
    let line = session.line(at);
    let told = session.edit(&language.breaks_users).await;
    let told = told.without_unopened(language.main, language.breaks_users.file);
    told.assert(&[(language.main, line)], &[], "clean");
    assert!(!told.text.contains("when they were looked at last"), "{}", told.text);
}

// spec: LSP-13, LSP-16
async fn a_file_made_after_its_importer_is_found(live: &'static Live) {
    let session = Session::new(live);
    let importer =
        "import { weight } from \"./later\";\nexport const twice: number = weight * 2;\n";
    session.write("src/late.ts", Some(importer)).await.assert(&[("src/late.ts", 1)], &[], "dirty");
    let told = session.write("src/later.ts", Some("export const weight = 12;\n")).await;
    told.assert(&[], &[("src/late.ts", 1)], "clean");
    let found = session.diagnostics("src/late.ts").await;
    assert_eq!(found["state"], "clean", "{found:#}");
}

// spec: LSP-16
async fn a_check_that_cannot_run_confirms_nothing(live: &'static Live) {
    let session = Session::new(live);
    let language = live.language;
    let clean = session.diagnostics(language.main).await;
    assert_eq!(clean["state"], "clean", "{clean:#}");
    session.put(".cargo/config.toml", "[build\n");
    let found = session.edit(&language.breaks).await;
    assert!(!found.text.contains("confirmed"), "{}", found.text);
    let found = session.diagnostics(language.main).await;
    assert_ne!(found["state"], "clean", "{found:#}");
}

/// What rustc alone finds, once it comes to the crate.
const MOVED_TWICE: &str = "#[allow(dead_code)]\nfn twice() {\n    let text = String::new();\n    drop(text);\n    drop(text);\n}\n";

/// Makes a program that rustc alone finds broken, which cargo does not come to, and finds nothing of it confirmed.
async fn break_unseen(session: &Session, why: &str) {
    let main = session.language.main;
    let broken = session.read(main) + MOVED_TWICE;
    let told = session.write(main, Some(&broken)).await;
    assert!(!told.text.contains("confirmed"), "{}", told.text);
    assert_eq!(told.data["state"], "unknown", "{:#}", told.data);
    let found = session.diagnostics(main).await;
    assert_eq!(found["state"], "unknown", "{found:#}");
    assert!(found["why"].as_str().unwrap().contains(why), "{found:#}");
}

// spec: LSP-04, LSP-13
async fn what_depends_on_a_broken_library_is_not_confirmed(live: &'static Live) {
    let session = Session::new(live);
    let (library, sound) = ("src/lib.rs", "pub fn weight() -> u32 {\n    12\n}\n");
    session.put(library, sound);
    for file in [live.language.main, library] {
        assert_eq!(session.diagnostics(file).await["state"], "clean");
    }
    let broken = sound.replace("12", "\"12\"");
    let told = session.write(library, Some(&broken)).await;
    assert_eq!((&told.data["new_total"], &told.data["state"]), (&1.into(), &"dirty".into()));
    break_unseen(&session, "the check ended with errors in src/lib.rs").await;

    let told = session.write(library, Some(sound)).await;
    assert!(told.text.contains("E0382"), "{}", told.text);
    // By whichever look it was found, the write that mended the library did not make it.
    let own = told.text.rsplit("since the last result").next().unwrap();
    assert!(!own.contains("new in other files"), "{}", told.text);
    let found = session.diagnostics(live.language.main).await;
    assert_eq!(codes(&found), ["E0382"], "{found:#}");
}

// spec: LSP-04, LSP-16
async fn a_build_script_that_fails_confirms_nothing(live: &'static Live) {
    let session = Session::new(live);
    assert_eq!(session.diagnostics(live.language.main).await["state"], "clean");
    session.write("build.rs", Some("fn main() {\n    panic!(\"no\");\n}\n")).await;
    break_unseen(&session, "").await;
}

// spec: LSP-04, LSP-16
async fn a_dependency_that_cannot_be_had_confirms_nothing(live: &'static Live) {
    let session = Session::new(live);
    assert_eq!(session.diagnostics(live.language.main).await["state"], "clean");
    let manifest = session.read("Cargo.toml");
    let wants = format!("{manifest}\n[dependencies]\nnone = {{ path = \"../none\" }}\n");
    session.write("Cargo.toml", Some(&wants)).await;
    break_unseen(&session, "").await;
}

// spec: LSP-16
async fn a_module_that_does_not_load_is_not_clean(live: &'static Live) {
    let broken = "package main\n\nfunc main() {\n\tvar x int = \"a\"\n}\n";
    for (text, state) in [(Some(broken), "dirty"), (None, "clean")] {
        let session = Session::hasty(live);
        let module = session.read("go.mod");
        session.put("go.mod", &format!("{module}\nnonsense go1.99\n"));
        if let Some(text) = text {
            session.put(live.language.main, text);
        }
        let found = session.diagnostics(live.language.main).await;
        assert_eq!(found["state"], "unknown", "{found:#}");
        session.put("go.mod", &module);
        let found = session.diagnostics(live.language.main).await;
        assert_eq!(found["state"], state, "{found:#}");
    }
}

/// By the save of a binary's file rust-analyzer checks that binary alone, even where another one's was saved right after it.
// spec: LSP-13
async fn two_binaries_written_at_once_are_both_checked(live: &'static Live) {
    let session = Session::new(live);
    let binary = "fn main() {\n    let _one: u8 = 1;\n}\n";
    session.put("src/bin/one.rs", binary);
    session.put("src/bin/two.rs", binary);
    assert_eq!(session.diagnostics("src/bin/one.rs").await["state"], "clean");
    assert_eq!(session.diagnostics("src/bin/two.rs").await["state"], "clean");
    let broken = binary.replace("= 1", "= \"1\"");
    let told = session.write_all(&[("src/bin/one.rs", &broken), ("src/bin/two.rs", &broken)]).await;
    told.assert(&[("src/bin/one.rs", 2), ("src/bin/two.rs", 2)], &[], "dirty");
}
