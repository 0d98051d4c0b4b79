//! What a bridged tool is called.

use std::collections::HashMap;

use sha2::{Digest as _, Sha256};

/// What every bridged name begins with, and no name of a built-in tool.
pub const NAME_PREFIX: &str = "mcp__";

/// The longest name, in characters: what all model providers accept.
const NAME_CHARS: usize = 64;

/// So many digits of the hash tell two names apart.
const HASH_DIGITS: usize = 8;

/// The names of these tools, each given by its server's name in the configuration and its own, in the same order:
/// `mcp__server__tool` with every other character than `[a-zA-Z0-9_-]` as `_`. One that is too long, and all of those that
/// would be alike, end in a hash of both names, so that a name does not depend on the order in which servers answer.
pub(crate) fn names(tools: &[(&str, &str)]) -> Vec<String> {
    let plain = tools
        .iter()
        .map(|(server, tool)| format!("{NAME_PREFIX}{}__{}", cleaned(server), cleaned(tool)));
    let plain: Vec<String> = plain.collect();
    let mut count: HashMap<&str, usize> = HashMap::new();
    for name in &plain {
        *count.entry(name).or_default() += 1;
    }
    let named = plain.iter().zip(tools).map(|(name, (server, tool))| {
        match name.len() > NAME_CHARS || count[name.as_str()] > 1 {
            true => hashed(name, server, tool),
            false => name.clone(),
        }
    });
    named.collect()
}

fn cleaned(name: &str) -> String {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    name.chars().map(|c| if fits(c) { c } else { '_' }).collect()
}

fn hashed(name: &str, server: &str, tool: &str) -> String {
    let digest = Sha256::digest(format!("{server}\0{tool}"));
    let digits: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    // Every character is ASCII by now.
    let head = &name[..name.len().min(NAME_CHARS - HASH_DIGITS - 1)];
    format!("{head}_{}", &digits[..HASH_DIGITS])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_cleaned_and_at_most_64_characters_long() {
        let long = "t".repeat(100);
        let names = names(&[("notes", "log_tail"), ("a b/ö", "x.y z"), ("s", &long)]);
        assert_eq!(names[..2], ["mcp__notes__log_tail", "mcp__a_b____x_y_z"]);
        assert_eq!(names[2].len(), 64);
        assert!(names[2].starts_with("mcp__s__ttt"), "{}", names[2]);
    }

    #[test]
    fn names_that_would_be_alike_have_a_hash_whatever_comes_first() {
        let alike = [("a", "b__c"), ("a__b", "c"), ("a", "b..c"), ("a", "d")];
        let forward = names(&alike);
        assert!(
            forward[..3].iter().all(|name| name.starts_with("mcp__a__b__c_") && name.len() == 21),
            "{forward:?}"
        );
        assert_eq!(forward[3], "mcp__a__d");
        let mut backward: Vec<_> = alike.into_iter().rev().collect();
        let mut turned = names(&backward);
        turned.reverse();
        backward.reverse();
        assert_eq!((turned, backward), (forward.clone(), alike.to_vec()));
        let distinct: std::collections::BTreeSet<_> = forward.iter().collect();
        assert_eq!(distinct.len(), 4);
    }
}
