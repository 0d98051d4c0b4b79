//! Scala, Haskell, Elixir and Nix.
#![allow(dead_code, unused_imports, reason = "what a build uses depends on its features")]

use crate::profile::{
    ContextName, Layout, Profile, Spelling, TokenBoundaries, USUAL, declaration, expression,
    member, opener, other, statement,
};

pub(super) static SCALA: Profile = Profile {
    id: "scala",
    aliases: &["sc"],
    extensions: &["scala", "sc", "sbt"],
    contexts: &[
        statement("object __O { def __f() = { ", "\n} }"),
        expression("object __O { val __v = ", "\n}"),
        member("class __C { ", "\n}"),
        declaration(""),
        other("case", "object __O { val __v = __w match { ", "\n} }"),
        other("type", "object __O { type __t = ", "\n}"),
    ],
    terminators: &[""],
    reserved: &[
        "case", "catch", "class", "def", "do", "else", "extends", "for", "if", "import", "match",
        "new", "object", "package", "return", "throw", "trait", "try", "val", "var", "while",
        "yield",
    ],
    opaque: &[
        "string",
        "interpolated_string",
        "interpolated_string_expression",
        "character_literal",
        "comment",
        "block_comment",
    ],
    comments: &["comment", "block_comment"],
    lists: &["indented_block"],
    clauses: &["catch_clause", "finally_clause"],
    leading: &["annotation"],
    ..USUAL
};

pub(super) static HASKELL: Profile = Profile {
    id: "haskell",
    aliases: &["hs"],
    extensions: &["hs"],
    contexts: &[
        statement("f = do\n  ", "\n"),
        expression("f = ", "\n"),
        declaration(""),
        member("class C a where\n  ", "\n"),
        other("alternative", "f = case v of\n  ", "\n"),
        other("type", "f :: ", "\n"),
    ],
    spellings: &[Spelling::Identifier, Spelling::Capitalised],
    terminators: &[""],
    openers: &[
        opener("import", ContextName::Declaration),
        opener("module", ContextName::Declaration),
        opener("data", ContextName::Declaration),
        opener("newtype", ContextName::Declaration),
        opener("type", ContextName::Declaration),
        opener("class", ContextName::Declaration),
        opener("instance", ContextName::Declaration),
    ],
    reserved: &[
        "case", "class", "data", "deriving", "do", "else", "if", "import", "in", "infix",
        "instance", "let", "module", "newtype", "of", "then", "type", "where",
    ],
    opaque: &["string", "char", "comment", "haddock", "pragma"],
    comments: &["comment", "haddock"],
    lists: &["declarations", "alternatives"],
    layout: Layout::Indented,
    ..USUAL
};

pub(super) static ELIXIR: Profile = Profile {
    id: "elixir",
    aliases: &["ex", "exs"],
    extensions: &["ex", "exs"],
    contexts: &[
        statement("", "\n"),
        expression("(", "\n)"),
        other("clause", "case __v do\n", "\nend"),
        other("argument", "__f(", "\n)"),
    ],
    spellings: &[Spelling::Identifier, Spelling::Capitalised],
    terminators: &[""],
    reserved: &["after", "catch", "do", "else", "end", "rescue"],
    opaque: &["string", "charlist", "sigil", "quoted_content", "char", "comment"],
    lists: &["body"],
    clauses: &["else_block", "rescue_block", "after_block", "catch_block"],
    ..USUAL
};

pub(super) static NIX: Profile = Profile {
    id: "nix",
    extensions: &["nix"],
    contexts: &[statement("", "\n"), member("{ ", "\n}"), other("formal", "{ ", "\n}: __v")],
    terminators: &["", ";"],
    reserved: &["assert", "else", "if", "in", "inherit", "let", "rec", "then", "with"],
    opaque: &["string_expression", "indented_string_expression", "comment"],
    lists: &["binding_set"],
    ..USUAL
};
