//! What the profiles claim about the grammars, held against the grammars.

#[cfg(feature = "language-pack")]
mod pack;

use std::path::Path;

use agent_grammars::{ContextName, Grammars};
#[cfg(feature = "core-langs")]
use agent_grammars::{GrammarErrorKind, Origin};

/// Everything that `all-langs` bundles.
#[cfg(feature = "all-langs")]
const ALL: [&str; 29] = [
    "bash",
    "c",
    "cpp",
    "csharp",
    "css",
    "dart",
    "elixir",
    "go",
    "haskell",
    "hcl",
    "html",
    "java",
    "javascript",
    "json",
    "kotlin",
    "lua",
    "nix",
    "php",
    "python",
    "ruby",
    "rust",
    "scala",
    "solidity",
    "swift",
    "toml",
    "tsx",
    "typescript",
    "yaml",
    "zig",
];

// spec: AST-03
#[cfg(feature = "all-langs")]
#[test]
fn all_languages_are_bundled() {
    let grammars = Grammars::bundled();
    assert_eq!(grammars.ids().collect::<Vec<_>>(), ALL);
    for grammar in grammars.iter() {
        assert!(matches!(grammar.origin(), Origin::Bundled { .. }));
    }
}

#[test]
fn every_kind_of_a_profile_is_a_kind_of_its_grammar() {
    let mut unknown = Vec::new();
    for grammar in Grammars::bundled().iter() {
        let profile = grammar.profile();
        let kinds = [
            profile.opaque,
            profile.comments,
            profile.prose,
            profile.lists,
            profile.clauses,
            profile.leading,
            profile.misreadings,
            profile.strict_separators,
            profile.transparent,
            profile.macro_bodies,
        ];
        let kinds = kinds.into_iter().chain(profile.equivalents.iter().copied()).flatten();
        for kind in kinds {
            if grammar.language().id_for_node_kind(kind, true) == 0 {
                unknown.push(format!("{}: {kind}", grammar.id()));
            }
        }
    }
    assert_eq!(unknown, Vec::<String>::new());
}

#[test]
fn every_ladder_begins_with_a_bare_statement() {
    for grammar in Grammars::bundled().iter() {
        let profile = grammar.profile();
        assert_eq!(profile.contexts[0].name, ContextName::Statement, "{}", grammar.id());
        assert_eq!(profile.terminators[0], "", "{}", grammar.id());
        for opener in profile.openers {
            let known = profile.contexts.iter().any(|context| context.name == opener.context);
            assert!(known, "{}: {}", grammar.id(), opener.word);
        }
    }
}

// spec: AST-03
#[cfg(feature = "core-langs")]
#[test]
fn an_alias_is_as_good_as_an_id() {
    let grammars = Grammars::bundled();
    let pairs = [
        ("rs", "rust"),
        ("PY", "python"),
        ("js", "javascript"),
        ("ts", "typescript"),
        ("c++", "cpp"),
        ("sh", "bash"),
        ("golang", "go"),
        ("yml", "yaml"),
        #[cfg(feature = "all-langs")]
        ("c#", "csharp"),
    ];
    for (alias, id) in pairs {
        assert_eq!(grammars.by_id(alias).map(|grammar| grammar.id()), Ok(id));
    }
}

#[test]
fn no_two_languages_claim_an_alias_or_an_extension() {
    let grammars = Grammars::bundled();
    for grammar in grammars.iter() {
        let profile = grammar.profile();
        for alias in profile.aliases {
            assert_eq!(grammars.by_id(alias).map(|found| found.id()), Ok(grammar.id()), "{alias}");
        }
        for extension in profile.extensions {
            let path = format!("a/b.{extension}");
            let found = grammars.for_path(Path::new(&path)).map(|found| found.id());
            assert_eq!(found, Some(grammar.id()), "{extension}");
        }
    }
}

// spec: AST-03
#[cfg(feature = "core-langs")]
#[test]
fn a_file_name_tells_the_language() {
    let grammars = Grammars::bundled();
    let of = |path: &str| grammars.for_path(Path::new(path)).map(|grammar| grammar.id().to_owned());
    assert_eq!(of("src/a.rs").as_deref(), Some("rust"));
    assert_eq!(of("a.h").as_deref(), Some("c"));
    assert_eq!(of("a.H").as_deref(), Some("cpp"));
    assert_eq!(of("A.PY").as_deref(), Some("python"));
    assert_eq!(of("a.tsx").as_deref(), Some("tsx"));
    assert_eq!(of("a.unknown"), None);
    assert_eq!(of("rs"), None);
}

// spec: AST-03
#[cfg(feature = "core-langs")]
#[test]
fn an_unknown_id_lists_the_known_ones() {
    let grammars = Grammars::bundled();
    let error = grammars.by_id("klingon").unwrap_err();
    assert_eq!(error.kind(), GrammarErrorKind::UnknownLanguage);
    assert_eq!(error.code(), "unknown_language");
    assert!(error.known_ids().contains(&"dart".to_owned()));
    assert!(error.to_string().contains("dart"), "{error}");
}

#[cfg(feature = "core-langs")]
#[test]
fn a_grammar_added_later_does_not_replace_a_bundled_one() {
    let mut grammars = Grammars::bundled();
    let count = grammars.ids().count();
    let rust = grammars.by_id("rust").unwrap().clone();
    let c = grammars.by_id("c").unwrap().clone();
    let fork = agent_grammars::Grammar::new(
        "rust",
        c.language().clone(),
        c.profile(),
        Origin::Folder { path: "/grammars".into() },
    );
    grammars.add(fork.unwrap());
    assert_eq!(grammars.ids().count(), count);
    assert_eq!(grammars.by_id("rust").unwrap().origin(), rust.origin());
}
