//! Placeholders: how a metavariable is written so that the grammar takes it.

use std::ops::Range;

use agent_grammars::{Profile, Spelling};

use crate::metavar::{Occurrence, Sigil};

/// Beyond this many ways to spell a fragment, only those near the usual one are tried.
const MAX_PRODUCT: usize = 4096;

/// How one occurrence is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Choice {
    Spelled(SpellingOrder),
    /// Left out together with a comma beside it, and its place remembered.
    Erased,
}

/// A spelling as a number, so that choices have an order.
type SpellingOrder = u8;

impl Choice {
    pub(super) fn plain() -> Self {
        Self::of(Spelling::Identifier)
    }

    fn of(spelling: Spelling) -> Self {
        Self::Spelled(match spelling {
            Spelling::Dollar => 1,
            Spelling::Capitalised => 2,
            Spelling::Quoted => 3,
            Spelling::Statement => 4,
            Spelling::Call => 5,
            Spelling::CallStatement => 6,
            _ => 0,
        })
    }
}

/// A fragment with placeholders in it.
#[derive(Debug)]
pub(crate) struct Spelled {
    pub(crate) text: String,
    /// One for each occurrence, in order.
    pub(crate) spots: Vec<Spot>,
}

/// Where an occurrence went.
#[derive(Debug)]
pub(crate) struct Spot {
    pub(crate) fragment: Range<usize>,
    pub(crate) spelled: Range<usize>,
    pub(crate) erased: bool,
}

impl Spelled {
    /// The offset in the fragment for one in the spelled text.
    pub(super) fn to_fragment(&self, offset: usize) -> usize {
        match self.spots.iter().rev().find(|spot| spot.spelled.start <= offset) {
            None => offset,
            Some(spot) if offset < spot.spelled.end => spot.fragment.start,
            Some(spot) => spot.fragment.end + (offset - spot.spelled.end),
        }
    }
}

/// Writes the fragment with each occurrence as chosen.
pub(super) fn spell(fragment: &str, occurrences: &[Occurrence], choices: &[Choice]) -> Spelled {
    let stem = unused_stem(fragment);
    let mut spelled = Spelled { text: String::new(), spots: Vec::new() };
    let mut position = 0;
    for (index, (occurrence, choice)) in occurrences.iter().zip(choices).enumerate() {
        spelled.text.push_str(&fragment[position..occurrence.range.start.max(position)]);
        position = occurrence.range.end;
        let mut from = occurrence.range.start;
        if let Choice::Spelled(order) = *choice {
            let start = spelled.text.len();
            // One name, one placeholder: some grammars compare names, such as those of tags.
            let name = |other: &Occurrence| {
                occurrence.name.is_some()
                    && other.name == occurrence.name
                    && other.sigil == occurrence.sigil
            };
            let first = occurrences.iter().position(name).unwrap_or(index);
            spelled.text.push_str(&placeholder(order, &stem, first));
            let spot = Spot {
                fragment: from..position,
                spelled: start..spelled.text.len(),
                erased: false,
            };
            spelled.spots.push(spot);
            continue;
        }
        let rest = &fragment[position..];
        let after = rest.trim_start();
        if after.starts_with(',') {
            position += rest.len() - after.len() + 1;
        } else if spelled.text.trim_end().ends_with(',') {
            let kept = spelled.text.trim_end().len() - 1;
            from -= spelled.text.len() - kept;
            spelled.text.truncate(kept);
        }
        let start = spelled.text.len();
        spelled.text.push(' ');
        let spot = Spot { fragment: from..position, spelled: start..start + 1, erased: true };
        spelled.spots.push(spot);
    }
    spelled.text.push_str(&fragment[position.min(fragment.len())..]);
    spelled
}

fn placeholder(order: SpellingOrder, stem: &str, index: usize) -> String {
    match order {
        1 => format!("${stem}{index}x"),
        2 => format!("{}{}{index}x", stem[..1].to_uppercase(), &stem[1..]),
        3 => format!("\"{stem}{index}x\""),
        4 => format!("{stem}{index}x;"),
        5 => format!("{stem}{index}x()"),
        6 => format!("{stem}{index}x();"),
        _ => format!("{stem}{index}x"),
    }
}

/// A start of names that the fragment does not use.
fn unused_stem(fragment: &str) -> String {
    let mut stem = "mvq".to_owned();
    while fragment.to_ascii_lowercase().contains(&stem) {
        stem.push('q');
    }
    stem
}

/// The ways to spell all occurrences, the usual first, then those that differ least from it.
pub(super) fn combinations(
    profile: &Profile,
    fragment: &str,
    occurrences: &[Occurrence],
) -> Vec<Vec<Choice>> {
    let preferred = super::opener(profile, fragment).and_then(|opener| opener.spelling);
    let options: Vec<Vec<Choice>> =
        occurrences.iter().map(|one| options(profile, fragment, one, preferred)).collect();
    let product = options.iter().fold(1, |product: usize, some| product.saturating_mul(some.len()));
    let mut indexes = if product <= MAX_PRODUCT { all(&options) } else { near(&options) };
    indexes.sort_by_cached_key(|indexes| (distance(indexes, occurrences), indexes.clone()));
    indexes.dedup();
    let choose = |indexes: Vec<usize>| {
        indexes.iter().zip(&options).map(|(&index, some)| some[index]).collect()
    };
    indexes.into_iter().map(choose).collect()
}

fn options(
    profile: &Profile,
    fragment: &str,
    occurrence: &Occurrence,
    preferred: Option<Spelling>,
) -> Vec<Choice> {
    let mut options: Vec<Choice> = preferred.into_iter().map(Choice::of).collect();
    let spellings = profile.spellings.iter().copied();
    if occurrence.sigil == Sigil::Many {
        let only_quoted = profile.spellings == [Spelling::Quoted];
        options.clear();
        options.extend(
            spellings
                .filter(|&spelling| spelling != Spelling::Quoted || only_quoted)
                .filter(|&spelling| spelling != Spelling::Statement)
                .map(Choice::of),
        );
        if profile.terminators.contains(&";") {
            options.push(Choice::of(Spelling::Statement));
        }
        options.push(Choice::Erased);
    } else {
        options.extend(spellings.map(Choice::of));
    }
    let statement = may_end_statement(&fragment[occurrence.range.end..]);
    let ends_statement = [Choice::of(Spelling::Statement), Choice::of(Spelling::CallStatement)];
    let mut seen = Vec::new();
    options.retain(|option| {
        let new = !seen.contains(option) && (statement || !ends_statement.contains(option));
        seen.push(*option);
        new
    });
    options
}

/// Whether a statement may end before `rest`: a terminator in the middle of an expression would make
/// two of it.
fn may_end_statement(rest: &str) -> bool {
    let rest = rest.trim_start_matches([' ', '\t']);
    let next_word = |word: &&str| rest.starts_with(*word);
    rest.is_empty()
        || rest.starts_with(['\n', '}', '$'])
        || ["else", "while", "case", "default"].iter().any(next_word)
}

/// How far a combination is from the usual one. All ellipses alike count as one difference.
fn distance(indexes: &[usize], occurrences: &[Occurrence]) -> usize {
    let of = |sigil: Sigil| -> Vec<usize> {
        let kinds = indexes.iter().zip(occurrences);
        kinds
            .filter(|(_, one)| (one.sigil == Sigil::Many) == (sigil == Sigil::Many))
            .map(|(&index, _)| index)
            .collect()
    };
    let cost = |indexes: &[usize]| {
        let differing = indexes.iter().filter(|&&index| index != 0).count();
        let uniform = indexes.windows(2).all(|pair| pair[0] == pair[1]);
        if uniform { differing.min(1) } else { differing }
    };
    cost(&of(Sigil::One)) + cost(&of(Sigil::Many))
}

fn all(options: &[Vec<Choice>]) -> Vec<Vec<usize>> {
    let mut combinations = vec![Vec::new()];
    for some in options {
        combinations = combinations
            .into_iter()
            .flat_map(|start: Vec<usize>| {
                (0..some.len()).map(move |index| {
                    let mut longer = start.clone();
                    longer.push(index);
                    longer
                })
            })
            .collect();
    }
    combinations
}

/// The usual spelling, each other one throughout, and each with one difference.
fn near(options: &[Vec<Choice>]) -> Vec<Vec<usize>> {
    let most = options.iter().map(Vec::len).max().unwrap_or(0);
    let uniform = (0..most)
        .map(|index| options.iter().map(|some| index.min(some.len() - 1)).collect::<Vec<_>>());
    let mut combinations: Vec<_> = uniform.collect();
    for start in combinations.clone() {
        for (position, some) in options.iter().enumerate() {
            combinations.extend((0..some.len()).map(|index| {
                let mut changed = start.clone();
                changed[position] = index;
                changed
            }));
        }
    }
    combinations.sort();
    combinations.dedup();
    combinations
}
