//! Python, Ruby, PHP, Lua and Bash.
#![allow(dead_code, unused_imports, reason = "what a build uses depends on its features")]

use crate::profile::{
    ContextName, Keywords, Layout, Profile, Spelling, TokenBoundaries, USUAL, declaration,
    expression, member, opener, other, statement,
};

pub(super) static PYTHON: Profile = Profile {
    id: "python",
    aliases: &["py", "python3"],
    extensions: &["py", "pyi", "pyw"],
    contexts: &[
        statement("", "\n"),
        expression("(", "\n)"),
        member("class __C:\n ", "\n"),
        declaration(""),
        other("argument", "__f(", "\n)"),
        other("pair", "{", "\n}"),
        other("handler", "try:\n pass\n", "\n"),
        other("branch", "if __c:\n pass\n", "\n"),
        other("case", "match __v:\n ", "\n"),
        other("decorator", "", "\ndef __f(): pass\n"),
        other("parameter", "def __f(", "\n): pass\n"),
    ],
    terminators: &[""],
    reserved: &[
        "and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del",
        "elif", "else", "except", "finally", "for", "from", "global", "if", "import", "in", "is",
        "lambda", "nonlocal", "not", "or", "pass", "raise", "return", "try", "while", "with",
        "yield",
    ],
    opaque: &["string", "comment"],
    lists: &["block"],
    clauses: &["else_clause", "elif_clause", "except_clause", "finally_clause"],
    strict_separators: &["tuple", "tuple_pattern", "expression_list", "pattern_list", "subscript"],
    layout: Layout::Indented,
    ..USUAL
};

pub(super) static RUBY: Profile = Profile {
    id: "ruby",
    aliases: &["rb"],
    extensions: &["rb", "rake", "gemspec", "ru"],
    file_names: &["Rakefile", "Gemfile", "Vagrantfile", "Guardfile"],
    contexts: &[
        statement("", "\n"),
        expression("(", "\n)"),
        member("class C\n", "\nend"),
        declaration(""),
        other("argument", "__f(", "\n)"),
        other("when", "case __v\n", "\nend"),
        other("rescue", "begin\n", "\nend"),
    ],
    spellings: &[Spelling::Identifier, Spelling::Capitalised],
    terminators: &[""],
    reserved: &[
        "begin", "break", "case", "class", "def", "do", "else", "elsif", "end", "ensure", "for",
        "if", "module", "next", "rescue", "return", "then", "unless", "until", "when", "while",
        "yield",
    ],
    opaque: &[
        "string",
        "string_content",
        "chained_string",
        "heredoc_body",
        "regex",
        "character",
        "subshell",
        "string_array",
        "symbol_array",
        "delimited_symbol",
        "comment",
    ],
    lists: &["body_statement", "block_body", "then"],
    clauses: &["else", "elsif", "rescue", "ensure"],
    ..USUAL
};

pub(super) static PHP: Profile = Profile {
    id: "php",
    extensions: &["php", "phtml", "php5", "phps"],
    contexts: &[
        statement("<?php function __f() { ", "\n}"),
        expression("<?php $__v = ", "\n;"),
        member("<?php class __C { ", "\n}"),
        declaration("<?php "),
        other("case", "<?php switch ($__v) { ", "\n}"),
        other("argument", "<?php __f(", "\n);"),
        other("element", "<?php [", "\n];"),
    ],
    spellings: &[Spelling::Dollar, Spelling::Identifier, Spelling::Statement],
    openers: &[
        opener("use", ContextName::Declaration),
        opener("namespace", ContextName::Declaration),
    ],
    reserved: &[
        "break", "case", "catch", "class", "continue", "do", "echo", "else", "elseif", "for",
        "foreach", "function", "if", "new", "return", "switch", "throw", "try", "use", "while",
    ],
    opaque: &[
        "string",
        "encapsed_string",
        "heredoc",
        "nowdoc",
        "shell_command_expression",
        "comment",
        "text",
    ],
    strict_separators: &["for_statement"],
    clauses: &["else_clause", "else_if_clause", "catch_clause", "finally_clause"],
    leading: &["attribute_list"],
    keywords: Keywords::CaseInsensitive,
    ..USUAL
};

pub(super) static LUA: Profile = Profile {
    id: "lua",
    extensions: &["lua"],
    contexts: &[
        statement("", "\n"),
        expression("local __v = ", "\n"),
        member("local __t = { ", "\n}"),
        declaration(""),
    ],
    spellings: &[Spelling::Identifier, Spelling::Call],
    terminators: &[""],
    reserved: &[
        "and", "break", "do", "else", "elseif", "end", "for", "function", "if", "in", "local",
        "not", "or", "repeat", "return", "then", "until", "while",
    ],
    opaque: &["string", "comment"],
    lists: &["block", "expression_list", "variable_list"],
    clauses: &["else_statement", "elseif_statement"],
    ..USUAL
};

pub(super) static BASH: Profile = Profile {
    id: "bash",
    aliases: &["sh", "shell", "zsh"],
    extensions: &["sh", "bash", "zsh", "ksh"],
    file_names: &[".bashrc", ".bash_profile", ".profile", ".zshrc"],
    contexts: &[statement("", "\n"), declaration(""), other("case", "case __v in\n", "\nesac")],
    terminators: &[""],
    reserved: &[
        "if", "then", "else", "elif", "fi", "for", "do", "done", "while", "until", "case", "esac",
    ],
    opaque: &[
        "string",
        "raw_string",
        "ansi_c_string",
        "translated_string",
        "heredoc_body",
        "comment",
    ],
    clauses: &["else_clause", "elif_clause"],
    boundaries: TokenBoundaries::Anywhere,
    parentheses: None,
    ..USUAL
};
