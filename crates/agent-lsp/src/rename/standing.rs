//! How a symbol stands among those of its file: whether it is one of a function's own, and whether its new name is taken.

use crate::{language::Language, query::Symbol};

/// The kinds in which symbols are local.
const BODIES: [&str; 3] = ["function", "method", "constructor"];

/// What the symbols of the file say of the one that is renamed.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Standing {
    /// It is a function's own, so no other file can mean it.
    pub(super) local: bool,
    /// Where the new name is already, beside it: `lib.py:3`.
    pub(super) taken: Option<String>,
}

impl Standing {
    /// The symbol of this name that is defined in this line. A server that names no symbols says nothing of any.
    pub(super) fn of(
        symbols: &[Symbol],
        language: &Language,
        (old, new): (&str, &str),
        line: usize,
    ) -> Self {
        let named = |symbol: &&Symbol, name: &str| language.same(bare(&symbol.name), name);
        let own = symbols.iter().find(|symbol| symbol.line == line && named(symbol, old));
        let Some(own) = own else {
            // Parameters, and what most servers do not list of a function.
            return Self { local: !symbols.is_empty(), taken: None };
        };
        let holds = |outer: &&Symbol| match outer.container.as_str() {
            "" => outer.name == own.container,
            container => own.container == format!("{container}.{}", outer.name),
        };
        let outer = symbols.iter().find(holds);
        let taken = symbols
            .iter()
            .find(|other| other.container == own.container && named(other, new))
            .map(|other| format!("{}:{}", other.file, other.line));
        Self { local: outer.is_some_and(|outer| BODIES.contains(&outer.kind.as_str())), taken }
    }
}

/// Whether a name is defined as a member of something, as `self.total = 0` and the key of `{ total: 0 }` are: such is not listed
/// by every server, and anybody may mean it. A parameter with a type is taken for a key where the two look alike.
pub(super) fn is_member(language: &Language, text: &str, start: usize, name: &str) -> bool {
    let (before, rest) = text.split_at(start.min(text.len()));
    let after = rest.get(name.len()..).unwrap_or_default().trim_start();
    let keyed = language.ids.iter().any(|id| ["javascript", "typescript"].contains(id));
    before.ends_with('.') || (keyed && after.trim_start_matches('?').starts_with(':'))
}

/// The name without the parameters that some servers put behind it.
fn bare(name: &str) -> &str {
    name.split_once('(').map_or(name, |(bare, _)| bare)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn symbol(name: &str, kind: &str, container: &str, line: usize) -> Symbol {
        Symbol {
            name: name.to_owned(),
            kind: kind.to_owned(),
            container: container.to_owned(),
            file: "lib.py".to_owned(),
            line,
            column: 1,
        }
    }

    #[test]
    fn what_is_a_functions_own_and_what_is_taken_is_told_by_the_files_symbols() {
        let symbols = [
            symbol("helper", "function", "", 1),
            symbol("inner", "variable", "helper", 2),
            symbol("K", "class", "", 3),
            symbol("area(int)", "method", "K", 4),
            symbol("size", "method", "K", 5),
        ];
        let of =
            |line, old, new| Standing::of(&symbols, Language::by_id("python"), (old, new), line);
        let taken = |local, at: &str| Standing { local, taken: Some(at.to_owned()) };
        let free = |local| Standing { local, taken: None };
        assert_eq!(of(1, "helper", "K"), taken(false, "lib.py:3"));
        assert_eq!(of(1, "helper", "size"), free(false), "it is in another scope");
        assert_eq!(of(2, "inner", "K"), free(true));
        assert_eq!(of(4, "area", "size"), taken(false, "lib.py:5"));
        assert_eq!(of(5, "size", "area"), taken(false, "lib.py:4"));
        assert_eq!(of(2, "parameter", "x"), free(true));
        let member = |language: &str, text: &str| {
            is_member(Language::by_id(language), text, text.find("total").unwrap(), "total")
        };
        assert!(member("python", "self.total = 0"));
        assert!(member("typescript", "return { total: 0 }"));
        assert!(member("typescript", "(total?: number)"), "it may be one");
        for (language, text) in [
            ("python", "def f(total: int)"),
            ("go", "total := 0"),
            ("typescript", "const total = 0"),
        ] {
            assert!(!member(language, text), "{text}");
        }
        let none = Standing::of(&[], Language::by_id("python"), ("a", "b"), 1);
        assert_eq!(none, free(false), "nothing is known");
    }
}
