//! The place of a text that is most like some lines: what an error shows instead of a bare "no".

use std::{
    collections::HashMap,
    hash::{DefaultHasher, Hash, Hasher},
};

use crate::lines::Line;

/// Beyond so many lines of text nothing near is looked for.
const MAX_TEXT_LINES: usize = 100_000;

/// So many of the wanted lines are compared.
const MAX_WANTED_LINES: usize = 100;

/// So many characters of a line are compared.
const MAX_COMPARED: usize = 400;

/// So many of the best places are looked at closely.
const CLOSE_LOOKS: usize = 8;

/// Less alike than this is not worth showing; 1 is equal but for blanks.
const LEAST_LIKENESS: f64 = 0.45;

/// Where the text is most like what was wanted.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Nearest {
    /// The first line, from 0.
    pub(crate) line: usize,
    /// How many lines.
    pub(crate) count: usize,
    /// What the difference is, where it is of one kind.
    pub(crate) differs: Differs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Differs {
    Newlines,
    Indentation,
    Blanks,
    Case,
    Content,
}

impl Differs {
    pub(crate) fn words(self) -> Option<&'static str> {
        match self {
            Differs::Newlines => Some("only line endings, or a newline at the end, differ"),
            Differs::Indentation => Some("only the indentation differs"),
            Differs::Blanks => Some("only blanks differ"),
            Differs::Case => Some("only upper and lower case differ"),
            Differs::Content => None,
        }
    }
}

/// Finds the place; `None` where nothing is alike.
pub(crate) fn nearest(file: &[Line<'_>], wanted: &[&str]) -> Option<Nearest> {
    let blank = |line: &&&str| line.trim().is_empty();
    let lead = wanted.iter().take_while(blank).count();
    let wanted = &wanted[lead..];
    let wanted = &wanted[..wanted.len() - wanted.iter().rev().take_while(blank).count()];
    if wanted.is_empty() || file.is_empty() || file.len() > MAX_TEXT_LINES {
        return None;
    }
    let count = wanted.len().min(file.len());
    let wanted = &wanted[..count];
    let starts = starts(file, &wanted[..count.min(MAX_WANTED_LINES)]);
    let scored =
        starts.into_iter().map(|start| (likeness(&file[start..start + count], wanted), start));
    // Of equal likeness, the first place counts.
    let (score, line) = scored.min_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)))?;
    let differs = differs(&file[line..line + count], wanted);
    (score >= LEAST_LIKENESS).then_some(Nearest { line, count, differs })
}

/// The starts that share the most lines, and those whose most telling line is the likest.
fn starts(file: &[Line<'_>], wanted: &[&str]) -> Vec<usize> {
    let last = file.len() - wanted.len();
    let keys: Vec<u64> = file.iter().map(|line| key(line.text)).collect();
    let mut places: HashMap<u64, Vec<usize>> = HashMap::new();
    for (index, line) in wanted.iter().enumerate() {
        if !line.trim().is_empty() {
            places.entry(key(line)).or_default().push(index);
        }
    }
    let mut shared = vec![0_u32; last + 1];
    for (index, key) in keys.iter().enumerate() {
        for place in places.get(key).into_iter().flatten() {
            if let Some(start) = index.checked_sub(*place).filter(|start| *start <= last) {
                shared[start] += 1;
            }
        }
    }
    let mut starts = best(shared.iter().map(|shared| f64::from(*shared)));
    let telling = (0..wanted.len()).max_by_key(|index| wanted[*index].trim().len()).unwrap_or(0);
    let grams = Grams::of(wanted[telling]);
    let likes = (0..=last).map(|start| grams.likeness(file[start + telling].text));
    starts.extend(best(likes));
    starts
}

fn best(scores: impl Iterator<Item = f64>) -> Vec<usize> {
    let mut best: Vec<(f64, usize)> = Vec::with_capacity(CLOSE_LOOKS + 1);
    for (start, score) in scores.enumerate() {
        if score <= 0.0 || best.len() == CLOSE_LOOKS && score <= best[CLOSE_LOOKS - 1].0 {
            continue;
        }
        let at = best.partition_point(|(other, _)| *other >= score);
        best.insert(at, (score, start));
        best.truncate(CLOSE_LOOKS);
    }
    best.into_iter().map(|(_, start)| start).collect()
}

fn likeness(file: &[Line<'_>], wanted: &[&str]) -> f64 {
    let (mut sum, mut weights) = (0.0, 0.0);
    for (line, wanted) in file.iter().zip(wanted) {
        // A long line tells more than a brace, but not in proportion.
        let weight = f64::from(u32::try_from(wanted.trim().len()).unwrap_or(u32::MAX)).sqrt();
        sum += weight * Grams::of(wanted).likeness(line.text);
        weights += weight;
    }
    if weights > 0.0 { sum / weights } else { 0.0 }
}

fn differs(file: &[Line<'_>], wanted: &[&str]) -> Differs {
    let all = |same: fn(&str, &str) -> bool| {
        file.iter().zip(wanted).all(|(line, wanted)| same(line.text, wanted))
    };
    if all(|a, b| a == b) {
        Differs::Newlines
    } else if all(|a, b| a.trim_start() == b.trim_start()) {
        Differs::Indentation
    } else if all(|a, b| solid(a).eq(solid(b))) {
        Differs::Blanks
    } else if all(|a, b| a.trim().to_lowercase() == b.trim().to_lowercase()) {
        Differs::Case
    } else {
        Differs::Content
    }
}

/// The characters that are no blanks.
fn solid(text: &str) -> impl Iterator<Item = char> + '_ {
    text.chars().filter(|c| !c.is_whitespace())
}

fn key(line: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    solid(line).for_each(|c| c.hash(&mut hasher));
    hasher.finish()
}

/// The pairs of neighbouring characters of a line without its blanks, counted: the measure of Dice.
struct Grams {
    counts: HashMap<(char, char), i32>,
    total: usize,
    solid: String,
}

impl Grams {
    fn of(line: &str) -> Self {
        let solid: String = solid(line).take(MAX_COMPARED).collect();
        let mut counts = HashMap::new();
        let mut total = 0;
        for pair in solid.chars().zip(solid.chars().skip(1)) {
            *counts.entry(pair).or_default() += 1;
            total += 1;
        }
        Self { counts, total, solid }
    }

    fn likeness(&self, line: &str) -> f64 {
        let other = Self::of(line);
        if self.total == 0 || other.total == 0 {
            return if self.solid == other.solid { 1.0 } else { 0.0 };
        }
        let shared: i32 = other
            .counts
            .iter()
            .map(|(pair, count)| self.counts.get(pair).map_or(0, |own| *own.min(count)))
            .sum();
        let total = u32::try_from(self.total + other.total).unwrap_or(u32::MAX);
        2.0 * f64::from(shared) / f64::from(total)
    }
}
