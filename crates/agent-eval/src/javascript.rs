//! JavaScript cells for V8's REPL mode, which takes redeclaration, top-level await and live closures as they are.
//!
//! Only what it cannot take is rewritten, and lines stay: `import` and `export`, a top-level `return`, an object literal that would be
//! a block, and types that can be erased. A tree of the grammar says where they are; what it cannot read goes to V8 as it
//! is, whose error is better.

mod edits;
mod module;
mod types;

use std::sync::LazyLock;

use agent_grammars::{
    Grammars,
    tree_sitter::{Node, Tree},
};
use serde_json::{Value, json};

use self::edits::Edits;

static GRAMMARS: LazyLock<Grammars> = LazyLock::new(Grammars::bundled);

const JAVASCRIPT: &str = "javascript";
const TYPESCRIPT: &str = "typescript";

/// What the kernel is told of a cell.
pub(crate) fn prepare(code: &str) -> Value {
    let prepared = rewrite(code);
    let mut about = json!({
        "shows_value": prepared.shows_value,
        "declares": prepared.declares,
    });
    if prepared.code != code {
        about["rewritten"] = prepared.code.into();
    }
    if let Some(hint) = prepared.hint {
        about["hint"] = hint.into();
    }
    about
}

/// A cell as V8 takes it.
#[derive(Debug, Default, PartialEq, Eq)]
struct Prepared {
    code: String,
    /// Whether the last statement is an expression: a statement has no value here, though V8 gives it one.
    shows_value: bool,
    /// The names that it declares for later cells.
    declares: Vec<String>,
    /// What to say with V8's error, where the cell does not parse.
    hint: Option<&'static str>,
}

fn rewrite(code: &str) -> Prepared {
    let Some(source) = readable(code) else {
        let hint = types::refusal(code);
        return Prepared { code: code.to_owned(), shows_value: true, hint, ..Prepared::default() };
    };
    let Some(tree) = parse(JAVASCRIPT, &source) else {
        return Prepared { code: source, shows_value: true, ..Prepared::default() };
    };
    let root = tree.root_node();
    let mut edits = Edits::default();
    for statement in children(root) {
        module::statement(&source, statement, &mut edits);
    }
    module::calls(&source, root, &mut edits);
    let last = children(root)
        .into_iter()
        .rfind(|node| !matches!(node.kind(), "comment" | "empty_statement"));
    Prepared {
        shows_value: last.is_some_and(has_value),
        declares: declares(&source, root),
        code: edits.apply(&source),
        hint: None,
    }
}

/// The first form of the cell that the grammar reads: as it is, as an object, with a semicolon after an import, without its
/// types.
fn readable(code: &str) -> Option<String> {
    if let Some(object) = as_object(code) {
        return Some(object);
    }
    let whole =
        |source: &str| parse(JAVASCRIPT, source).is_some_and(|tree| !tree.root_node().has_error());
    if whole(code) {
        return Some(code.to_owned());
    }
    let ended = module::with_semicolons(code);
    if whole(&ended) {
        return Some(ended);
    }
    types::erase(code).filter(|erased| whole(erased))
}

/// `{a: 1}` alone is an object, as in every console.
fn as_object(code: &str) -> Option<String> {
    let text = code.trim().trim_end_matches(';').trim_end();
    if !text.starts_with('{') || !text.ends_with('}') {
        return None;
    }
    let start = code.len() - code.trim_start().len();
    let lines_above = &code[..start];
    let object = format!("{lines_above}({text})");
    let tree = parse(JAVASCRIPT, &object)?;
    let root = tree.root_node();
    let only = children(root);
    if root.has_error() || only.len() != 1 || only[0].kind() != "expression_statement" {
        return None;
    }
    let block = parse(JAVASCRIPT, code)?;
    let root = block.root_node();
    if root.has_error() {
        return Some(object);
    }
    let first = children(root).into_iter().find(|node| node.kind() != "comment")?;
    let is_block = first.kind() == "statement_block"
        && !children(first).iter().all(|inner| {
            matches!(inner.kind(), "labeled_statement" | "expression_statement" | "comment")
        });
    (!is_block).then_some(object)
}

fn has_value(statement: Node<'_>) -> bool {
    match statement.kind() {
        "expression_statement" | "return_statement" => true,
        "export_statement" => statement.child_by_field_name("value").is_some(),
        _ => false,
    }
}

/// The names of top-level declarations and imports.
fn declares(source: &str, root: Node<'_>) -> Vec<String> {
    let mut names = Vec::new();
    for statement in children(root) {
        let declaration = match statement.kind() {
            "export_statement" => statement.child_by_field_name("declaration"),
            _ => Some(statement),
        };
        let Some(declaration) = declaration else { continue };
        match declaration.kind() {
            "lexical_declaration" => children(declaration)
                .into_iter()
                .filter_map(|one| one.child_by_field_name("name"))
                .for_each(|pattern| bound(source, pattern, &mut names)),
            "class_declaration" => {
                names.extend(
                    declaration
                        .child_by_field_name("name")
                        .map(|name| text(source, name).to_owned()),
                );
            }
            "import_statement" => {
                if let Some(clause) =
                    children(declaration).into_iter().find(|node| node.kind() == "import_clause")
                {
                    bound(source, clause, &mut names);
                }
            }
            _ => {}
        }
    }
    names
}

/// The names that a pattern binds.
fn bound(source: &str, pattern: Node<'_>, names: &mut Vec<String>) {
    match pattern.kind() {
        "identifier" | "shorthand_property_identifier_pattern" => {
            names.push(text(source, pattern).to_owned())
        }
        "pair_pattern" => {
            if let Some(value) = pattern.child_by_field_name("value") {
                bound(source, value, names);
            }
        }
        "assignment_pattern" | "object_assignment_pattern" => {
            if let Some(left) = pattern.child_by_field_name("left") {
                bound(source, left, names);
            }
        }
        "import_specifier" => {
            let field = pattern
                .child_by_field_name("alias")
                .or_else(|| pattern.child_by_field_name("name"));
            names.extend(field.map(|name| text(source, name).to_owned()));
        }
        _ => children(pattern).into_iter().for_each(|inner| bound(source, inner, names)),
    }
}

fn parse(language: &str, source: &str) -> Option<Tree> {
    GRAMMARS.by_id(language).ok()?.parser().parse(source, None)
}

/// The named children, in order.
fn children(node: Node<'_>) -> Vec<Node<'_>> {
    let mut cursor = node.walk();
    node.named_children(&mut cursor).collect()
}

/// Every node below, named or not, as long as `visit` says to go deeper.
fn walk<'a>(node: Node<'a>, visit: &mut dyn FnMut(Node<'a>) -> bool) {
    let mut stack = vec![node];
    while let Some(node) = stack.pop() {
        if visit(node) {
            let mut cursor = node.walk();
            stack.extend(node.children(&mut cursor));
        }
    }
}

fn text<'a>(source: &'a str, node: Node<'_>) -> &'a str {
    source.get(node.byte_range()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(source: &str) -> String {
        rewrite(source).code
    }

    #[test]
    fn imports_become_declarations_on_the_same_lines() {
        assert_eq!(code("import fs from 'fs'"), "const { default: fs } = await __import('fs');");
        assert_eq!(
            code("import d, {\n  a,\n  b as c,\n} from './x.mjs'\na"),
            "const { default: d, a, b: c } = await __import('./x.mjs');\n\n\n\na"
        );
        assert_eq!(
            code("import p, * as ns from 'node:path'"),
            "const ns = await __import('node:path'); const p = ns.default;"
        );
        assert_eq!(code("import './side.mjs'"), "await __import('./side.mjs');");
        assert_eq!(
            code("import j from './a.json' with { type: 'json' }"),
            "const { default: j } = await __import('./a.json', { with: { type: 'json' } });"
        );
        assert_eq!(
            code("const m = await import('./x.mjs')"),
            "const m = await __import('./x.mjs')"
        );
    }

    #[test]
    fn what_stands_in_a_string_or_a_comment_is_left_alone() {
        for source in [
            "const s = \"import x from 'y'\"; // import z from 'w'",
            "`import(${1})`",
            "x.import('a')",
        ] {
            assert_eq!(code(source), source);
        }
    }

    #[test]
    fn exports_and_a_last_return_are_what_they_hold() {
        assert_eq!(code("export const a = 1").trim_start(), "const a = 1");
        let last = rewrite("const a = 1\nreturn a");
        assert_eq!(last.code, "const a = 1\n       a");
        assert!(last.shows_value);
    }

    #[test]
    fn an_object_alone_is_an_object_and_a_block_is_a_block() {
        assert_eq!(code("{a: 1}"), "({a: 1})");
        assert_eq!(code("{ let a = 1; }"), "{ let a = 1; }");
        assert_eq!(code("{ f() { return 1 }, k: 3 }"), "({ f() { return 1 }, k: 3 })");
    }

    #[test]
    fn types_become_spaces_and_what_cannot_be_erased_is_said() {
        let erased = rewrite(
            "const n: number = 3\nfunction f(x?: string): number { return (x as any)!.length }\ntype T = 1\nf()",
        );
        assert_eq!(erased.hint, None);
        assert_eq!(erased.code.lines().count(), 4);
        assert!(
            !erased.code.contains("number") && !erased.code.contains(" as "),
            "{}",
            erased.code
        );
        assert!(rewrite("enum E { A }\nE.A").hint.is_some());
        assert_eq!(rewrite("const = 3").hint, None);
    }

    #[test]
    fn only_an_expression_at_the_end_has_a_value() {
        for (source, shows) in [
            ("1", true),
            ("let a = 1", false),
            ("if (1) { 2 }", false),
            ("1 // end", true),
            ("", false),
        ] {
            assert_eq!(rewrite(source).shows_value, shows, "{source}");
        }
    }

    #[test]
    fn declared_names_are_known() {
        let names = rewrite(
            "import d, { a as b } from 'x'\nconst { c, e: [f], ...g } = h, i = 1\nclass J {}",
        )
        .declares;
        assert_eq!(names, ["d", "b", "c", "f", "g", "i", "J"]);
    }
}
