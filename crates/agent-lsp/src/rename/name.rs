//! The new name, by the rules of its language.

use agent_tool_core::{ErrorKind, ToolError};
use unicode_ident::{is_xid_continue, is_xid_start};

use crate::language::{Language, Raw};

/// Holds a new name against its language.
///
/// A name has the form of an identifier, is no keyword unless it is written raw (`r#type`, `` `val` ``, `@class`), keeps the
/// sigil of the old one if it has any, and is another one than the old.
///
/// # Errors
/// `invalid_name`, which says what is wrong and, where there is one, the name to take.
pub fn check_name(language: &Language, old: &str, new: &str) -> Result<(), ToolError> {
    let refuse = |why: String| {
        Err(ToolError::new(
            ErrorKind::InvalidArgs,
            "invalid_name",
            format!("`{new}` cannot be the new name of `{old}`: {why}"),
        ))
    };
    if new.is_empty() {
        return refuse("it is empty; write a name".to_owned());
    }
    if new == old {
        return refuse("it is its name already; write another".to_owned());
    }
    if let Some(raw) = language.raw
        && let Some(name) = inside(raw, new)
    {
        return match check_raw(raw, name) {
            Ok(()) => Ok(()),
            Err(why) => refuse(why),
        };
    }
    if language.is_keyword(new) {
        let raw = language.raw.filter(|raw| !raw.never.contains(&new));
        let hint = raw.map_or_else(
            || "write another".to_owned(),
            |Raw { open, close, .. }| format!("write `{open}{new}{close}`, or another"),
        );
        return refuse(format!("it is a keyword of {}; {hint}", language.name));
    }
    let name = match sigil(language, new) {
        None => new,
        found if found == sigil(language, old) => &new[found.map_or(0, char::len_utf8)..],
        Some(found) => {
            return refuse(format!("`{found}` makes it another kind of name; write it without"));
        }
    };
    match first_fault(language, name) {
        None => Ok(()),
        Some(fault) => refuse(format!(
            "it is no identifier of {} because of {fault}; write letters, digits and `_`, a letter or `_` first",
            language.name
        )),
    }
}

/// What is between the marks of a raw name.
fn inside(raw: Raw, name: &str) -> Option<&str> {
    name.strip_prefix(raw.open)?.strip_suffix(raw.close)
}

fn check_raw(raw: Raw, name: &str) -> Result<(), String> {
    if raw.never.contains(&name) {
        return Err(format!("`{name}` cannot be written raw; write another"));
    }
    let free = !raw.close.is_empty();
    let fits = if free {
        !name.contains(raw.close) && !name.contains(['\n', '\r'])
    } else {
        name.starts_with(|first| is_xid_start(first) || first == '_')
            && name.chars().all(is_xid_continue)
    };
    if name.is_empty() || !fits {
        return Err(format!("`{name}` is no identifier; write letters, digits and `_`"));
    }
    Ok(())
}

/// The mark before a name that belongs to it: `#` of a private field, `$` of a variable, `'` of a lifetime.
fn sigil(language: &Language, name: &str) -> Option<char> {
    let first = name.chars().next()?;
    let lifetime = first == '\'' && language.ids.contains(&"rust");
    (lifetime || language.before.contains(&first)).then_some(first)
}

fn first_fault(language: &Language, name: &str) -> Option<String> {
    let mut characters = name.chars().peekable();
    let Some(first) = characters.next() else { return Some("nothing after its mark".to_owned()) };
    if !(is_xid_start(first) || first == '_' || language.inside.contains(&first)) {
        return Some(format!("`{first}` at its start"));
    }
    while let Some(character) = characters.next() {
        let last = characters.peek().is_none();
        let fits = is_xid_continue(character)
            || language.inside.contains(&character)
            || (last && language.after.contains(&character));
        if !fits {
            return Some(format!("`{character}`"));
        }
    }
    None
}
