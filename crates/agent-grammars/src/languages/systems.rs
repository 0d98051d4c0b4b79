//! Rust, Go and Zig.
#![allow(dead_code, unused_imports, reason = "what a build uses depends on its features")]

use crate::profile::{
    ContextName, Profile, Spelling, USUAL, declaration, expression, member, opener, other,
    quoted_opener, statement,
};

pub(super) static RUST: Profile = Profile {
    id: "rust",
    aliases: &["rs"],
    extensions: &["rs"],
    contexts: &[
        statement("fn __f() { ", "\n}"),
        expression("const __V: () = ", "\n;"),
        member("impl __T { ", "\n}"),
        declaration(""),
        other("match arm", "fn __f() { match __v { ", "\n} }"),
        other("field", "struct __S { ", "\n}"),
        other("type", "type __T = ", "\n;"),
        other("pattern", "fn __f() { let ", "\n = __v; }"),
    ],
    reserved: &[
        "as", "break", "const", "continue", "else", "enum", "extern", "fn", "for", "if", "impl",
        "in", "let", "loop", "match", "mod", "move", "mut", "pub", "ref", "return", "static",
        "struct", "trait", "type", "unsafe", "use", "where", "while", "async", "await",
    ],
    opaque: &[
        "string_literal",
        "raw_string_literal",
        "char_literal",
        "line_comment",
        "block_comment",
    ],
    comments: &["line_comment", "block_comment"],
    strict_separators: &[
        "tuple_expression",
        "tuple_pattern",
        "tuple_type",
        "array_expression",
        "array_type",
        "token_tree",
    ],
    clauses: &["else_clause"],
    equivalents: &[&["function_item", "function_item"]],
    macro_bodies: &["token_tree"],
    ..USUAL
};

pub(super) static GO: Profile = Profile {
    id: "go",
    aliases: &["golang"],
    extensions: &["go"],
    contexts: &[
        statement("package p\nfunc __f() { ", "\n}"),
        expression("package p\nvar __v = ", "\n"),
        member("package p\ntype __T struct { ", "\n}"),
        declaration("package p\n"),
        other("interface member", "package p\ntype __T interface { ", "\n}"),
        other("case", "package p\nfunc __f() { switch __v { ", "\n} }"),
        other("type", "package p\nvar __v ", "\n"),
        other("clause", "", "\n"),
    ],
    spellings: &[Spelling::Identifier, Spelling::Quoted],
    terminators: &[""],
    openers: &[
        quoted_opener("import", ContextName::Declaration),
        opener("package", ContextName::Other("clause")),
    ],
    reserved: &[
        "break",
        "case",
        "chan",
        "const",
        "continue",
        "default",
        "defer",
        "else",
        "for",
        "func",
        "go",
        "goto",
        "if",
        "import",
        "interface",
        "map",
        "package",
        "range",
        "return",
        "select",
        "struct",
        "switch",
        "type",
        "var",
    ],
    opaque: &["interpreted_string_literal", "raw_string_literal", "rune_literal", "comment"],
    lists: &["statement_list", "expression_list"],
    strict_separators: &["for_clause", "for_statement"],
    ..USUAL
};

pub(super) static ZIG: Profile = Profile {
    id: "zig",
    values: &["null", "undefined", "unreachable", "true", "false"],
    extensions: &["zig", "zon"],
    contexts: &[
        statement("fn __f() void { ", "\n}"),
        expression("const __v = ", "\n;"),
        member("const __S = struct { ", "\n};"),
        declaration(""),
        other("case", "fn __f() void { switch (__v) { ", "\n} }"),
        other("type", "const __v: ", "\n = __w;"),
    ],
    spellings: &[Spelling::Identifier, Spelling::Statement, Spelling::Quoted],
    openers: &[
        opener("fn", ContextName::Member),
        opener("pub", ContextName::Member),
        opener("test", ContextName::Declaration),
    ],
    reserved: &[
        "break", "const", "continue", "defer", "else", "enum", "errdefer", "fn", "for", "if",
        "orelse", "pub", "return", "struct", "switch", "test", "try", "union", "var", "while",
    ],
    opaque: &["string", "multiline_string", "character", "comment"],
    clauses: &["else_clause"],
    ..USUAL
};
