//! `import` and `export` as calls and declarations. The kernel's `__import` resolves as a file of the working directory would.

use agent_grammars::tree_sitter::Node;

use super::{children, edits::Edits, text, walk};

/// One top-level statement.
pub(super) fn statement(source: &str, node: Node<'_>, edits: &mut Edits) {
    match node.kind() {
        "import_statement" => {
            if let Some(replacement) = import(source, node) {
                let lines = text(source, node).matches('\n').count();
                edits.replace(node.byte_range(), replacement + &"\n".repeat(lines));
            }
        }
        "export_statement" => {
            let inner = node
                .child_by_field_name("declaration")
                .or_else(|| node.child_by_field_name("value"));
            let end = inner.map_or(node.end_byte(), |inner| inner.start_byte());
            edits.blank(source, node.start_byte()..end);
        }
        // At the end of a cell it is a value; anywhere else it stays V8's error.
        "return_statement" if node.next_named_sibling().is_none() => {
            if let Some(keyword) = node.child(0) {
                edits.blank(source, keyword.byte_range());
            }
        }
        _ => {}
    }
}

/// `import(…)` anywhere.
pub(super) fn calls(source: &str, root: Node<'_>, edits: &mut Edits) {
    walk(root, &mut |node| {
        if node.kind() == "import_statement" {
            return false;
        }
        if node.kind() == "call_expression"
            && let Some(function) =
                node.child(0).filter(|function| text(source, *function) == "import")
        {
            edits.replace(function.byte_range(), "__import");
        }
        true
    });
}

/// The grammar takes an import and a next line that begins with a bracket for one statement.
pub(super) fn with_semicolons(source: &str) -> String {
    let ended = source.split_inclusive('\n').map(|line| {
        let code = line.trim_end();
        let start = code.trim_start();
        let imports = start.starts_with("import ") || start.starts_with("} from ");
        if imports && code.ends_with(['\'', '"']) {
            format!("{code};{}", &line[code.len()..])
        } else {
            line.to_owned()
        }
    });
    ended.collect()
}

fn import(source: &str, node: Node<'_>) -> Option<String> {
    let specifier = text(source, node.child_by_field_name("source")?);
    let call = format!("await __import({specifier}{})", attributes(source, node));
    let Some(clause) = children(node).into_iter().find(|child| child.kind() == "import_clause")
    else {
        return Some(format!("{call};"));
    };
    let (mut default, mut namespace, mut named) = (None, None, Vec::new());
    for child in children(clause) {
        match child.kind() {
            "identifier" => default = Some(text(source, child)),
            "namespace_import" => namespace = child.named_child(0).map(|name| text(source, name)),
            "named_imports" => named = names(source, child),
            _ => {}
        }
    }
    Some(match (default, namespace) {
        (None, Some(namespace)) => format!("const {namespace} = {call};"),
        (Some(default), Some(namespace)) => {
            format!("const {namespace} = {call}; const {default} = {namespace}.default;")
        }
        (default, None) => {
            let default = default.map(|name| format!("default: {name}"));
            let all: Vec<_> = default.into_iter().chain(named).collect();
            if all.is_empty() {
                return Some(format!("{call};"));
            }
            format!("const {{ {} }} = {call};", all.join(", "))
        }
    })
}

fn names(source: &str, node: Node<'_>) -> Vec<String> {
    let specifiers = children(node).into_iter().filter(|child| child.kind() == "import_specifier");
    let name = |specifier: Node<'_>| {
        let name = text(source, specifier.child_by_field_name("name")?);
        Some(match specifier.child_by_field_name("alias") {
            Some(alias) => format!("{name}: {}", text(source, alias)),
            None => name.to_owned(),
        })
    };
    specifiers.filter_map(name).collect()
}

/// `with { type: "json" }` as the second argument.
fn attributes(source: &str, node: Node<'_>) -> String {
    let attribute = children(node).into_iter().find(|child| child.kind() == "import_attribute");
    let object =
        attribute.and_then(|one| children(one).into_iter().find(|child| child.kind() == "object"));
    object.map(|object| format!(", {{ with: {} }}", text(source, object))).unwrap_or_default()
}
