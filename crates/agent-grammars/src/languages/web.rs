//! JavaScript, TypeScript, HTML and CSS.
#![allow(dead_code, unused_imports, reason = "what a build uses depends on its features")]

use crate::profile::{
    ContextName, Profile, Spelling, TokenBoundaries, USUAL, declaration, expression, member, other,
    statement,
};

pub(super) static JAVASCRIPT: Profile = Profile {
    id: "javascript",
    aliases: &["js", "jsx", "node", "ecmascript"],
    extensions: &["js", "jsx", "mjs", "cjs"],
    contexts: &[
        statement("async function* __f() { ", "\n}"),
        expression("__v = ", "\n;"),
        member("class __C { ", "\n}"),
        declaration(""),
        other("object member", "__v = { ", "\n};"),
        other("case", "switch (__v) { ", "\n}"),
        other("decorator", "class __C { ", "\n__m() {} }"),
    ],
    spellings: &[Spelling::Identifier, Spelling::Quoted],
    reserved: &[
        "break",
        "case",
        "catch",
        "class",
        "const",
        "continue",
        "default",
        "delete",
        "do",
        "else",
        "export",
        "extends",
        "finally",
        "for",
        "function",
        "if",
        "in",
        "instanceof",
        "new",
        "return",
        "switch",
        "throw",
        "try",
        "typeof",
        "var",
        "void",
        "while",
        "with",
    ],
    opaque: &["string", "template_string", "regex", "comment", "html_comment", "jsx_text"],
    comments: &["comment", "html_comment"],
    prose: &["jsx_text"],
    strict_separators: &["for_statement", "array", "sequence_expression"],
    clauses: &["else_clause", "catch_clause", "finally_clause"],
    misreadings: &["labeled_statement"],
    leading: &["decorator"],
    ..USUAL
};

pub(super) static TYPESCRIPT: Profile = Profile {
    id: "typescript",
    aliases: &["ts"],
    extensions: &["ts", "mts", "cts"],
    contexts: &[
        statement("async function* __f() { ", "\n}"),
        expression("__v = ", "\n;"),
        // `key: value` is a pair more often than a field with its type.
        other("object member", "__v = { ", "\n};"),
        member("class __C { ", "\n}"),
        declaration(""),
        other("interface member", "interface __I { ", "\n}"),
        other("type", "type __T = ", "\n;"),
        other("case", "switch (__v) { ", "\n}"),
        other("decorator", "class __C { ", "\n__m() {} }"),
    ],
    opaque: &[
        "string",
        "template_string",
        "template_literal_type",
        "regex",
        "comment",
        "html_comment",
        "jsx_text",
    ],
    ..JAVASCRIPT
};

pub(super) static TSX: Profile =
    Profile { id: "tsx", aliases: &["typescriptreact"], extensions: &["tsx"], ..TYPESCRIPT };

pub(super) static HTML: Profile = Profile {
    id: "html",
    aliases: &["htm", "xhtml"],
    extensions: &["html", "htm", "xhtml"],
    contexts: &[statement("", "\n"), other("attribute", "<a ", "\n></a>")],
    terminators: &[""],
    opaque: &["quoted_attribute_value", "comment"],
    prose: &["text"],
    boundaries: TokenBoundaries::Anywhere,
    parentheses: None,
    ..USUAL
};

pub(super) static CSS: Profile = Profile {
    id: "css",
    extensions: &["css"],
    contexts: &[
        statement("", "\n"),
        member("__a { ", "\n}"),
        declaration(""),
        expression("__a { __p: ", "\n; }"),
    ],
    opaque: &["string_value", "comment", "js_comment"],
    comments: &["comment", "js_comment"],
    boundaries: TokenBoundaries::Anywhere,
    parentheses: None,
    ..USUAL
};
