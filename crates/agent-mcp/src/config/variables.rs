//! `${NAME}` in a value of `env`: so that a token need not stand in a file.

const OPEN: &str = "${";

/// The names of the variables that a value refers to.
pub(crate) fn referenced(value: &str) -> Vec<String> {
    pieces(value).into_iter().filter_map(|piece| Some(piece.ok()?.to_owned())).collect()
}

/// The value with the variables in it, or the name of one that is not set.
pub(crate) fn expanded(
    value: &str,
    lookup: impl Fn(&str) -> Option<String>,
) -> Result<String, String> {
    let mut whole = String::new();
    for piece in pieces(value) {
        match piece {
            Err(text) => whole.push_str(text),
            Ok(name) => whole.push_str(&lookup(name).ok_or(name)?),
        }
    }
    Ok(whole)
}

/// Refuses what other hosts may understand and is not understood here.
pub(super) fn check(value: &str) -> Result<(), String> {
    let plain = pieces(value).into_iter().filter_map(Result::err);
    for text in plain {
        if let Some(at) = text.find(OPEN) {
            let end = text[at..].find('}').map_or(text.len(), |end| at + end + 1);
            return Err(format!(
                "`env` has `{}`, and only `${{NAME}}` stands for a variable",
                &text[at..end]
            ));
        }
    }
    Ok(())
}

/// The names of variables as `Ok`, what lies between them as `Err`.
fn pieces(value: &str) -> Vec<Result<&str, &str>> {
    let mut pieces = Vec::new();
    let (mut text, mut from) = (value, 0);
    while let Some(at) = text[from..].find(OPEN).map(|at| from + at) {
        let rest = &text[at + OPEN.len()..];
        match rest.split_once('}').filter(|(name, _)| is_name(name)) {
            Some((name, after)) => {
                pieces.push(Err(&text[..at]));
                pieces.push(Ok(name));
                (text, from) = (after, 0);
            }
            None => from = at + OPEN.len(),
        }
    }
    pieces.push(Err(text));
    pieces
}

fn is_name(name: &str) -> bool {
    let letter = |c: char| c.is_ascii_alphabetic() || c == '_';
    name.starts_with(letter) && name.chars().all(|c| letter(c) || c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_stands_for_its_value_and_one_that_is_not_set_is_named() {
        let lookup = |name: &str| (name == "A").then(|| "1".to_owned());
        assert_eq!(expanded("x${A}y${A}$A", lookup), Ok("x1y1$A".to_owned()));
        assert_eq!(expanded("${B}", lookup), Err("B".to_owned()));
        assert_eq!(referenced("${A}-${B_2}-${3}"), ["A", "B_2"]);
        assert_eq!(check("${A} $B {C}"), Ok(()));
        let error = check("${A} ${B:-x} y").unwrap_err();
        assert!(error.starts_with("`env` has `${B:-x}`"), "{error}");
    }
}
