//! Where the hunks of one file belong.
//!
//! Each hunk is looked for by its lines alone, in all of the file. Where it fits in several places,
//! what else it says decides: the end of the file, the order of the hunks, the header that it
//! stands below, the line number. What is then still open is refused.

use super::Hunk;
use crate::lines::Line;

/// A hunk that has no place, or no single one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Misfit {
    /// The hunk, from 0.
    pub(crate) hunk: usize,
    pub(crate) reason: Reason,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    /// Its lines are not in the file.
    NoSuchLines,
    /// Its lines are in the file, and not at its end, where it says that they are.
    NotAtEnd,
    /// The line that it stands below is not in the file, or not above its lines.
    NoSuchHeader(String),
    /// It only fits before, or within, the hunk before it.
    OutOfOrder,
    /// It fits in several places, lines from 1.
    Several(Vec<usize>),
    /// It has neither context nor a line number.
    NoContext,
    /// It has no context, and the line number lies after the end of the file.
    PastEnd,
}

/// The first line of each hunk, from 0, in the order of the hunks.
pub(super) fn locate(file: &[Line<'_>], hunks: &[Hunk]) -> Result<Vec<usize>, Misfit> {
    let mut fits = Vec::with_capacity(hunks.len());
    for (index, hunk) in hunks.iter().enumerate() {
        fits.push(candidates(file, hunk).map_err(|reason| Misfit { hunk: index, reason })?);
    }
    let lengths: Vec<_> = hunks.iter().map(|hunk| hunk.old().count()).collect();
    let latest = latest(&fits, &lengths)?;
    let mut places = Vec::with_capacity(hunks.len());
    let (mut from, mut drift) = (0, 0);
    for (index, hunk) in hunks.iter().enumerate() {
        let open: Vec<_> =
            fits[index].iter().copied().filter(|p| (from..=latest[index]).contains(p)).collect();
        let place = choose(hunk, &open, drift).map_err(|reason| Misfit { hunk: index, reason })?;
        if let Some(start) = hunk.old_start {
            drift = signed(place) - signed(start.saturating_sub(usize::from(lengths[index] > 0)));
        }
        from = place + lengths[index];
        places.push(place);
    }
    Ok(places)
}

/// All places at which `needle` stands, in one pass (Knuth, Morris and Pratt): a file of equal
/// lines must not cost the square of its length.
pub(crate) fn occurrences<T: PartialEq>(haystack: &[T], needle: &[T]) -> Vec<usize> {
    if needle.is_empty() || needle.len() > haystack.len() {
        return Vec::new();
    }
    let mut borders = vec![0; needle.len()];
    let mut length = 0;
    for index in 1..needle.len() {
        while length > 0 && needle[index] != needle[length] {
            length = borders[length - 1];
        }
        length += usize::from(needle[index] == needle[length]);
        borders[index] = length;
    }
    let mut found = Vec::new();
    let mut matched = 0;
    for (index, item) in haystack.iter().enumerate() {
        while matched > 0 && (matched == needle.len() || *item != needle[matched]) {
            matched = borders[matched - 1];
        }
        matched += usize::from(*item == needle[matched]);
        if matched == needle.len() {
            found.push(index + 1 - matched);
        }
    }
    found
}

fn candidates(file: &[Line<'_>], hunk: &Hunk) -> Result<Vec<usize>, Reason> {
    let old: Vec<&str> = hunk.old().map(|line| line.text.as_str()).collect();
    let below = headers(file, &hunk.headers)?;
    if old.is_empty() {
        return insertion(file, hunk, below.as_deref()).map(|place| vec![place]);
    }
    let texts: Vec<&str> = file.iter().map(|line| line.text).collect();
    let mut fits = occurrences(&texts, &old);
    if fits.is_empty() {
        let trimmed = |lines: &[&'_ str]| -> Vec<String> {
            lines.iter().map(|line| line.trim_end().to_owned()).collect()
        };
        fits = occurrences(&trimmed(&texts), &trimmed(&old));
    }
    if fits.is_empty() {
        return Err(Reason::NoSuchLines);
    }
    if hunk.at_end || hunk.lines.iter().any(|line| line.no_newline) && ends_at_mark(hunk) {
        fits.retain(|place| place + old.len() == file.len());
        if fits.is_empty() {
            return Err(Reason::NotAtEnd);
        }
    }
    match below {
        Some(headers) => below_header(file, &fits, &headers)
            .ok_or_else(|| Reason::NoSuchHeader(hunk.headers.join("\n"))),
        None => Ok(fits),
    }
}

/// True where the last line of the old or the new side has the mark, as it must.
fn ends_at_mark(hunk: &Hunk) -> bool {
    hunk.old().last().is_some_and(|line| line.no_newline)
        || hunk.new_lines().last().is_some_and(|line| line.no_newline)
}

/// The lines that the innermost header can be; `None` where there is no header.
fn headers(file: &[Line<'_>], headers: &[String]) -> Result<Option<Vec<usize>>, Reason> {
    let mut above: Option<Vec<usize>> = None;
    for header in headers {
        let wanted = header.trim();
        let from = above.as_ref().and_then(|lines| lines.first().copied());
        let named = |exact: bool| -> Vec<usize> {
            let lines = file.iter().enumerate();
            let lines = lines.filter(|(index, line)| {
                let text = line.text.trim();
                from.is_none_or(|from| *index > from)
                    && if exact { text == wanted } else { text.starts_with(wanted) }
            });
            lines.map(|(index, _)| index).collect()
        };
        let mut lines = named(true);
        if lines.is_empty() {
            lines = named(false);
        }
        if let Some(outer) = above.filter(|outer| outer.len() == 1) {
            let inside: Vec<_> =
                lines.iter().copied().filter(|line| block(file, outer[0]).contains(line)).collect();
            if !inside.is_empty() {
                lines = inside;
            }
        }
        if lines.is_empty() {
            return Err(Reason::NoSuchHeader(header.clone()));
        }
        above = Some(lines);
    }
    Ok(above)
}

/// Narrows to the places below a header: those in its block, or else those after it.
fn below_header(file: &[Line<'_>], fits: &[usize], headers: &[usize]) -> Option<Vec<usize>> {
    // The header may be a line of the hunk itself.
    let after = |place: usize| headers.iter().any(|header| *header <= place);
    let inside = |place: usize| headers.iter().any(|header| block(file, *header).contains(&place));
    let mut narrowed: Vec<_> = fits.iter().copied().filter(|place| inside(*place)).collect();
    if narrowed.is_empty() {
        narrowed = fits.iter().copied().filter(|place| after(*place)).collect();
    }
    (!narrowed.is_empty()).then_some(narrowed)
}

/// The lines that belong to a header by their indentation: up to the next line that is indented no
/// deeper and begins with a letter, so that a closing brace still belongs to its block.
fn block(file: &[Line<'_>], header: usize) -> std::ops::Range<usize> {
    let indent = |line: &str| line.len() - line.trim_start().len();
    let own = indent(file[header].text);
    let ends = |line: &Line<'_>| {
        let text = line.text.trim_start();
        indent(line.text) <= own
            && text.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '#' | '@' | '<'))
    };
    let below = &file[header + 1..];
    let length = below.iter().position(ends).unwrap_or(below.len());
    header..header + 1 + length
}

fn insertion(file: &[Line<'_>], hunk: &Hunk, headers: Option<&[usize]>) -> Result<usize, Reason> {
    if hunk.at_end || file.is_empty() {
        return Ok(file.len());
    }
    match (headers, hunk.old_start) {
        (Some([header]), _) => Ok(header + 1),
        (Some(several), _) => Err(Reason::Several(several.iter().map(|line| line + 1).collect())),
        (None, Some(after)) if after <= file.len() => Ok(after),
        (None, Some(_)) => Err(Reason::PastEnd),
        (None, None) => Err(Reason::NoContext),
    }
}

/// The latest place of each hunk at which those after it still have one.
fn latest(fits: &[Vec<usize>], lengths: &[usize]) -> Result<Vec<usize>, Misfit> {
    let mut latest = vec![0; fits.len()];
    let mut before = usize::MAX;
    for index in (0..fits.len()).rev() {
        let place = fits[index].iter().rev().find(|place| *place + lengths[index] <= before);
        let Some(place) = place else {
            return Err(Misfit { hunk: index + 1, reason: Reason::OutOfOrder });
        };
        latest[index] = *place;
        before = *place;
    }
    Ok(latest)
}

fn choose(hunk: &Hunk, open: &[usize], drift: i64) -> Result<usize, Reason> {
    let several = || Reason::Several(open.iter().map(|place| place + 1).collect());
    match (open, hunk.old_start) {
        ([], _) => Err(Reason::OutOfOrder),
        ([only], _) => Ok(*only),
        (_, Some(start)) => {
            let expected = signed(start) - 1 + drift;
            nearest(open, expected).ok_or_else(several)
        }
        (_, None) => Err(several()),
    }
}

/// How many times as far as the nearest place the next one is at least.
const CLEARLY: i64 = 4;

/// The place that is clearly the nearest. Nearer alone is no claim, since line numbers of a model
/// are guesses.
fn nearest(open: &[usize], expected: i64) -> Option<usize> {
    let mut by_distance: Vec<_> =
        open.iter().map(|place| ((signed(*place) - expected).abs(), *place)).collect();
    by_distance.sort_unstable();
    match by_distance.as_slice() {
        [(first, place), (second, _), ..] if first * CLEARLY <= *second && first != second => {
            Some(*place)
        }
        _ => None,
    }
}

fn signed(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
