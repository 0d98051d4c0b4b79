//! What a bridged tool is called.

use std::collections::{HashMap, hash_map::Entry};

use sha2::{Digest as _, Sha256};

/// What every bridged name begins with, and no name of a built-in tool.
pub const NAME_PREFIX: &str = "mcp__";

/// The longest name, in characters: what all model providers accept.
const NAME_CHARS: usize = 64;

/// So many digits of the hash tell two names apart.
const HASH_DIGITS: usize = 8;

/// The names of these tools, each given by its server's name in the configuration and its own, in the same order:
/// `mcp__server__tool` with every other character than `[a-zA-Z0-9_-]` as `_`. One that is too long, and all of those that
/// would be alike, end in a hash of both names, so that a name does not depend on the order in which servers answer. Where a tool
/// is called as another one with its hash, the later of the two has no name.
pub(crate) fn names(tools: &[(&str, &str)]) -> Vec<Result<String, Taken>> {
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
    let mut owners: HashMap<String, usize> = HashMap::new();
    let unique = named.enumerate().map(|(index, name)| match owners.entry(name) {
        Entry::Vacant(free) => {
            let name = free.key().clone();
            free.insert(index);
            Ok(name)
        }
        Entry::Occupied(taken) => Err(Taken { name: taken.key().clone(), by: *taken.get() }),
    });
    unique.collect()
}

/// Why a tool has no name: the one that it would have is that of an earlier tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Taken {
    pub(crate) name: String,
    /// Which of the tools has it.
    pub(crate) by: usize,
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

    fn all_named(tools: &[(&str, &str)]) -> Vec<String> {
        names(tools).into_iter().map(Result::unwrap).collect()
    }

    #[test]
    fn a_name_is_cleaned_and_at_most_64_characters_long() {
        let long = "t".repeat(100);
        let names = all_named(&[("notes", "log_tail"), ("a b/ö", "x.y z"), ("s", &long)]);
        assert_eq!(names[..2], ["mcp__notes__log_tail", "mcp__a_b____x_y_z"]);
        assert_eq!(names[2].len(), 64);
        assert!(names[2].starts_with("mcp__s__ttt"), "{}", names[2]);
    }

    #[test]
    fn names_that_would_be_alike_have_a_hash_whatever_comes_first() {
        let alike = [("a", "b__c"), ("a__b", "c"), ("a", "b..c"), ("a", "d")];
        let forward = all_named(&alike);
        assert!(
            forward[..3].iter().all(|name| name.starts_with("mcp__a__b__c_") && name.len() == 21),
            "{forward:?}"
        );
        assert_eq!(forward[3], "mcp__a__d");
        let mut backward: Vec<_> = alike.into_iter().rev().collect();
        let mut turned = all_named(&backward);
        turned.reverse();
        backward.reverse();
        assert_eq!((turned, backward), (forward.clone(), alike.to_vec()));
        let distinct: std::collections::BTreeSet<_> = forward.iter().collect();
        assert_eq!(distinct.len(), 4);
    }

    #[test]
    fn a_tool_that_is_called_as_another_one_with_its_hash_has_no_name() {
        let alike = all_named(&[("a", "b__c"), ("a__b", "c")]);
        let own_name = alike[0].strip_prefix("mcp__a__b__").unwrap();
        let named = names(&[("a", "b__c"), ("a__b", "c"), ("a__b", own_name), ("z", "t")]);
        let taken = Taken { name: alike[0].clone(), by: 0 };
        let expected =
            [Ok(alike[0].clone()), Ok(alike[1].clone()), Err(taken), Ok("mcp__z__t".to_owned())];
        assert_eq!(named, expected);
        let within = all_named(&[("n", "a b"), ("n", "a_b")]);
        let own_name = within[1].strip_prefix("mcp__n__").unwrap();
        let named = names(&[("n", own_name), ("n", "a b"), ("n", "a_b")]);
        let taken = Taken { name: within[1].clone(), by: 0 };
        assert_eq!(named, [Ok(within[1].clone()), Ok(within[0].clone()), Err(taken)]);
    }
}
