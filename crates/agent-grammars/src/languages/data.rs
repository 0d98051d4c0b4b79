//! JSON, YAML, TOML and HCL.
#![allow(dead_code, unused_imports, reason = "what a build uses depends on its features")]

use crate::profile::{
    Layout, Profile, Spelling, TokenBoundaries, USUAL, declaration, expression, member, other,
    statement,
};

pub(super) static JSON: Profile = Profile {
    id: "json",
    aliases: &["jsonc"],
    extensions: &["json", "jsonc", "geojson", "webmanifest"],
    contexts: &[statement("", "\n"), member("{ ", "\n}"), other("element", "[ ", "\n]")],
    spellings: &[Spelling::Quoted],
    terminators: &[""],
    opaque: &["string", "comment"],
    parentheses: None,
    ..USUAL
};

pub(super) static YAML: Profile = Profile {
    id: "yaml",
    aliases: &["yml"],
    extensions: &["yaml", "yml"],
    contexts: &[statement("", "\n"), expression("__k: ", "\n")],
    terminators: &[""],
    lists: &["block_mapping", "block_sequence"],
    opaque: &["double_quote_scalar", "single_quote_scalar", "block_scalar", "comment"],
    layout: Layout::Indented,
    boundaries: TokenBoundaries::Anywhere,
    parentheses: None,
    ..USUAL
};

pub(super) static TOML: Profile = Profile {
    id: "toml",
    extensions: &["toml"],
    file_names: &["Cargo.lock", "Pipfile", "poetry.lock"],
    contexts: &[statement("", "\n"), expression("v = ", "\n")],
    spellings: &[Spelling::Identifier, Spelling::Quoted],
    terminators: &[""],
    opaque: &["string", "comment"],
    parentheses: None,
    ..USUAL
};

pub(super) static HCL: Profile = Profile {
    id: "hcl",
    aliases: &["terraform", "tf"],
    extensions: &["hcl", "tf", "tfvars", "nomad"],
    contexts: &[
        statement("", "\n"),
        expression("__v = ", "\n"),
        other("element", "__v = { ", "\n}"),
    ],
    spellings: &[Spelling::Identifier, Spelling::Quoted],
    terminators: &[""],
    opaque: &["string_lit", "quoted_template", "heredoc_template", "template_literal", "comment"],
    lists: &["body"],
    ..USUAL
};
