//! TypeScript whose types can be erased: they become spaces, so lines and columns stay.

use agent_grammars::tree_sitter::Node;

use super::{TYPESCRIPT, edits::Edits, parse, walk};

const NOT_ERASABLE: &str = "enums, namespaces and parameter properties of TypeScript cannot be erased: write them as JavaScript";

/// What a node of TypeScript's means for the text.
enum Part {
    /// It is a type and goes.
    Erase,
    /// Only what follows its first child goes: `x as T`, `x!`.
    EraseAfterFirst,
    /// It makes code.
    Keep,
    /// It is JavaScript; look inside.
    Inside,
}

/// The cell without its types; none where it is no TypeScript or its types make code.
pub(super) fn erase(source: &str) -> Option<String> {
    let tree = parse(TYPESCRIPT, source)?;
    if tree.root_node().has_error() {
        return None;
    }
    let mut edits = Edits::default();
    let mut erasable = true;
    walk(tree.root_node(), &mut |node| match part(node) {
        Part::Erase => {
            edits.blank(source, node.byte_range());
            false
        }
        Part::EraseAfterFirst => {
            if let Some(first) = node.child(0) {
                edits.blank(source, first.end_byte()..node.end_byte());
            }
            true
        }
        Part::Keep => {
            erasable = false;
            false
        }
        Part::Inside => true,
    });
    erasable.then(|| edits.apply(source))
}

/// What to say of a cell that is TypeScript and cannot be erased.
pub(super) fn refusal(source: &str) -> Option<&'static str> {
    let tree = parse(TYPESCRIPT, source)?;
    (!tree.root_node().has_error()).then_some(NOT_ERASABLE)
}

fn part(node: Node<'_>) -> Part {
    let parent = node.parent().map(|parent| parent.kind()).unwrap_or_default();
    match node.kind() {
        "accessibility_modifier" | "override_modifier" | "readonly"
            if parent.ends_with("_parameter") =>
        {
            Part::Keep
        }
        "enum_declaration" | "internal_module" | "module" | "import_alias" => Part::Keep,
        "type_annotation"
        | "type_arguments"
        | "type_parameters"
        | "interface_declaration"
        | "type_alias_declaration"
        | "accessibility_modifier"
        | "override_modifier"
        | "ambient_declaration"
        | "implements_clause"
        | "asserts_annotation"
        | "type_predicate_annotation"
        | "function_signature"
        | "index_signature"
        | "abstract_method_signature"
        | "method_signature" => Part::Erase,
        "as_expression" | "satisfies_expression" | "non_null_expression" => Part::EraseAfterFirst,
        "?" if matches!(parent, "optional_parameter" | "public_field_definition") => Part::Erase,
        "!" if matches!(parent, "public_field_definition" | "variable_declarator") => Part::Erase,
        "abstract" | "readonly" | "declare"
            if matches!(
                parent,
                "abstract_class_declaration" | "public_field_definition" | "ambient_declaration"
            ) =>
        {
            Part::Erase
        }
        "import_statement" | "export_statement" if is_type(node, 1) => Part::Erase,
        "import_specifier" | "export_specifier" if is_type(node, 0) && node.child_count() > 1 => {
            Part::Erase
        }
        _ => Part::Inside,
    }
}

fn is_type(node: Node<'_>, index: usize) -> bool {
    let index = index.try_into().unwrap_or_default();
    node.child(index).is_some_and(|child| child.kind() == "type")
}
