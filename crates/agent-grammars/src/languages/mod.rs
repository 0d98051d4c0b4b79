//! The profiles of the bundled languages, by family.

mod c_family;
mod data;
mod functional;
mod mobile;
mod scripting;
mod systems;
mod web;

use crate::error::GrammarError;
use crate::grammar::Grammar;

/// One line for each grammar: its feature, its tables, its profile, and the crate it comes from.
macro_rules! grammars {
    ($($feature:literal $profile:path, $tables:expr, $crate_name:literal;)*) => {
        /// The grammars that this build has linked in.
        pub(crate) fn bundled() -> Vec<Grammar> {
            let grammars: Vec<Result<Grammar, GrammarError>> = vec![$(
                #[cfg(feature = $feature)]
                Grammar::new(
                    $profile.id,
                    $tables.into(),
                    &$profile,
                    crate::grammar::Origin::Bundled { crate_name: $crate_name },
                ),
            )*];
            // A bundled grammar that this tree-sitter cannot run is a fault of this crate, found by
            // its tests; there is nothing that a caller could do about it.
            grammars.into_iter().flatten().collect()
        }
    };
}

grammars! {
    "lang-bash" scripting::BASH, tree_sitter_bash::LANGUAGE, "tree-sitter-bash";
    "lang-c" c_family::C, tree_sitter_c::LANGUAGE, "tree-sitter-c";
    "lang-cpp" c_family::CPP, tree_sitter_cpp::LANGUAGE, "tree-sitter-cpp";
    "lang-csharp" c_family::CSHARP, tree_sitter_c_sharp::LANGUAGE, "tree-sitter-c-sharp";
    "lang-css" web::CSS, tree_sitter_css::LANGUAGE, "tree-sitter-css";
    "lang-dart" mobile::DART, tree_sitter_dart::LANGUAGE, "tree-sitter-dart";
    "lang-elixir" functional::ELIXIR, tree_sitter_elixir::LANGUAGE, "tree-sitter-elixir";
    "lang-go" systems::GO, tree_sitter_go::LANGUAGE, "tree-sitter-go";
    "lang-haskell" functional::HASKELL, tree_sitter_haskell::LANGUAGE, "tree-sitter-haskell";
    "lang-hcl" data::HCL, tree_sitter_hcl::LANGUAGE, "tree-sitter-hcl";
    "lang-html" web::HTML, tree_sitter_html::LANGUAGE, "tree-sitter-html";
    "lang-java" c_family::JAVA, tree_sitter_java::LANGUAGE, "tree-sitter-java";
    "lang-javascript" web::JAVASCRIPT, tree_sitter_javascript::LANGUAGE, "tree-sitter-javascript";
    "lang-json" data::JSON, tree_sitter_json::LANGUAGE, "tree-sitter-json";
    "lang-kotlin" mobile::KOTLIN, tree_sitter_kotlin_ng::LANGUAGE, "tree-sitter-kotlin-ng";
    "lang-lua" scripting::LUA, tree_sitter_lua::LANGUAGE, "tree-sitter-lua";
    "lang-nix" functional::NIX, tree_sitter_nix::LANGUAGE, "tree-sitter-nix";
    "lang-php" scripting::PHP, tree_sitter_php::LANGUAGE_PHP, "tree-sitter-php";
    "lang-python" scripting::PYTHON, tree_sitter_python::LANGUAGE, "tree-sitter-python";
    "lang-ruby" scripting::RUBY, tree_sitter_ruby::LANGUAGE, "tree-sitter-ruby";
    "lang-rust" systems::RUST, tree_sitter_rust::LANGUAGE, "tree-sitter-rust";
    "lang-scala" functional::SCALA, tree_sitter_scala::LANGUAGE, "tree-sitter-scala";
    "lang-solidity" c_family::SOLIDITY, tree_sitter_solidity::LANGUAGE, "tree-sitter-solidity";
    "lang-swift" mobile::SWIFT, tree_sitter_swift::LANGUAGE, "tree-sitter-swift";
    "lang-toml" data::TOML, tree_sitter_toml_ng::LANGUAGE, "tree-sitter-toml-ng";
    "lang-typescript" web::TYPESCRIPT, tree_sitter_typescript::LANGUAGE_TYPESCRIPT, "tree-sitter-typescript";
    "lang-typescript" web::TSX, tree_sitter_typescript::LANGUAGE_TSX, "tree-sitter-typescript";
    "lang-yaml" data::YAML, tree_sitter_yaml::LANGUAGE, "tree-sitter-yaml";
    "lang-zig" systems::ZIG, tree_sitter_zig::LANGUAGE, "tree-sitter-zig";
}
