//! Values that nobody is to read, taken out of texts.

mod escaped;

use std::{fmt, sync::Arc};

use serde_json::{Map, Value};

use crate::for_person;

/// The least length, in bytes, of a value that is looked for everywhere: what is shorter stands in texts by chance.
pub const SECRET_BYTES: usize = 8;

/// How many bytes of a value's beginning give it away where it is at least twice as long: some servers echo a key with its middle
/// left out.
const TELLING_BYTES: usize = 8;

/// What begins a text that [`for_person`] leaves out.
const VANISHES: [char; 3] = ['\u{1b}', '\u{9b}', '\r'];

/// What the lines around a key in a text form have at both ends: they say what it is and are the same for all.
const ARMOUR: &str = "-----";

/// Values that nobody is to read, such as keys of providers, each under a name: `[NAME]` takes their place.
///
/// A value is found as it is, without the blanks around it, as JSON writes it in a text, and with colours and other escape sequences in
/// it; and each of its lines that is long enough is one too, but for those that name the kind of a key. It is not found in
/// another encoding, in two pieces, or in an image. A clone is cheap.
///
/// ```
/// # use agent_tool_core::Secrets;
/// let secrets = Secrets::new([("MY_KEY", "sk-0123456789"), ("SHORT", "abc")]);
/// assert_eq!(secrets.hidden("abc sk-0123456789".to_owned()), "abc [MY_KEY]");
/// ```
#[derive(Clone, Default)]
pub struct Secrets {
    /// What is looked for, the longest first: one may begin with another.
    values: Arc<[(String, String)]>,
    /// The lines of those with several, which are looked for once no whole value is left.
    lines: Arc<[(String, String)]>,
    /// Names of fields that are told whatever they hold.
    fields: &'static [&'static str],
}

impl Secrets {
    /// These values, each with its name. Those of less than [`SECRET_BYTES`] are left out.
    pub fn new(values: impl IntoIterator<Item = (impl Into<String>, impl Into<String>)>) -> Self {
        let values = values.into_iter().map(|(name, value)| (name.into(), value.into()));
        let values = values.filter(|(_, value)| value.trim().len() >= SECRET_BYTES);
        Self::of(&values.collect::<Vec<_>>())
    }

    fn of(given: &[(String, String)]) -> Self {
        let each = |forms: fn(&str) -> Vec<String>| {
            let of_one = |(name, value): &(String, String)| {
                forms(value).into_iter().map(|form| (name.clone(), form)).collect::<Vec<_>>()
            };
            let mut forms: Vec<_> = given.iter().flat_map(of_one).collect();
            forms.retain(|(_, form)| !form.is_empty());
            forms.sort_by_key(|(_, form)| std::cmp::Reverse(form.len()));
            forms.into()
        };
        Self { values: each(wholes), lines: each(lines), fields: &[] }
    }

    /// One value, however short: for texts that nobody works with, such as the errors of a server that was sent it.
    pub fn one(name: impl Into<String>, value: impl Into<String>) -> Self {
        let (name, value) = (name.into(), value.into());
        Self::of(&[(name, value)])
    }

    /// The same with names of fields that stay, such as those by which a protocol is read.
    #[must_use]
    pub fn keeping(mut self, fields: &'static [&'static str]) -> Self {
        self.fields = fields;
        self
    }

    /// Whether there is nothing to hide.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The text with `[NAME]` for each value. Where one has escape sequences in it, the whole text loses them.
    #[must_use]
    pub fn hidden(&self, text: String) -> String {
        if self.is_empty() {
            return text;
        }
        let hidden = self.without_values(text);
        if !hidden.contains(VANISHES) {
            return hidden;
        }
        let cleaned = for_person(&hidden);
        let hidden_cleaned = self.without_values(cleaned.clone());
        if hidden_cleaned == cleaned { hidden } else { hidden_cleaned }
    }

    fn without_values(&self, text: String) -> String {
        [&self.values, &self.lines].into_iter().fold(text, |text, values| {
            let text = values.iter().fold(text, |text, (name, value)| match text.contains(value) {
                true => text.replace(value, &format!("[{name}]")),
                false => text,
            });
            escaped::without(text, values)
        })
    }

    /// The same, and without the rest of each word that holds the beginning of a value.
    #[must_use]
    pub fn hidden_with_beginnings(&self, text: &str) -> String {
        self.values.iter().fold(self.hidden(text.to_owned()), |text, (name, value)| {
            match value.get(..TELLING_BYTES) {
                Some(start) if value.len() >= 2 * TELLING_BYTES && text.contains(start) => {
                    without_words_of(&text, start, name)
                }
                _ => text,
            }
        })
    }

    /// The same as [`Secrets::hidden`] in every string of a value and in every name of a field but those that stay.
    pub fn hidden_in(&self, value: &mut Value) {
        match value {
            _ if self.is_empty() => {}
            Value::String(text) => *text = self.hidden(std::mem::take(text)),
            Value::Array(items) => items.iter_mut().for_each(|item| self.hidden_in(item)),
            Value::Object(fields) => {
                fields.values_mut().for_each(|field| self.hidden_in(field));
                if fields.keys().any(|name| self.is_told_by(name)) {
                    *fields = self.renamed(std::mem::take(fields));
                }
            }
            _ => {}
        }
    }

    /// What of a text that comes in pieces may be told with this one, without values. `held` is what of the pieces before was not
    /// told yet, and is then the end that may be the beginning of a value; whoever knows that no piece follows tells it as it is.
    #[must_use]
    pub fn hidden_in_pieces(&self, held: &mut String, piece: &str) -> String {
        let mut text = self.hidden(std::mem::take(held) + piece);
        *held = text.split_off(text.len() - self.begun_at_the_end(&text));
        text
    }

    /// How many bytes at the end of a text may be the beginning of a value whose rest is still to come.
    #[must_use]
    pub fn begun_at_the_end(&self, text: &str) -> usize {
        let all = || self.values.iter().chain(self.lines.iter());
        let longest = all().map(|(_, value)| value.len() - 1).max().unwrap_or_default();
        let from = text.len().saturating_sub(longest);
        let mut ends = (from..text.len()).filter(|at| text.is_char_boundary(*at));
        let begins = |end: &str| all().any(|(_, value)| value.starts_with(end));
        ends.find(|at| begins(&text[*at..])).map_or(0, |at| text.len() - at)
    }

    fn is_told_by(&self, name: &str) -> bool {
        !self.fields.contains(&name) && self.hidden(name.to_owned()) != name
    }

    /// The fields under names without secrets. Two that are alike by then are numbered, since none may go.
    fn renamed(&self, fields: Map<String, Value>) -> Map<String, Value> {
        let (told, mut renamed): (Map<_, _>, Map<_, _>) =
            fields.into_iter().partition(|(name, _)| self.is_told_by(name));
        for (name, value) in told {
            let name = self.hidden(name);
            let numbered = (2..).map(|number| format!("{name} ({number})"));
            let mut names = std::iter::once(name.clone()).chain(numbered);
            let free = names.find(|name| !renamed.contains_key(name));
            renamed.insert(free.unwrap_or(name), value);
        }
        renamed
    }
}

/// A value without the blanks around it, and with the ends of lines that are left of it on a screen.
fn wholes(value: &str) -> Vec<String> {
    let value = value.trim();
    let at_screen = value.contains("\r\n").then(|| value.replace("\r\n", "\n"));
    std::iter::once(value.to_owned()).chain(at_screen).collect()
}

/// The lines of a value with several, but for short ones and those that name the kind of a key.
fn lines(value: &str) -> Vec<String> {
    let lines = value.trim().lines().map(str::trim);
    let lines = lines.filter(|line| line.len() >= SECRET_BYTES);
    let lines = lines.filter(|line| !(line.starts_with(ARMOUR) && line.ends_with(ARMOUR)));
    lines.filter(|line| line.len() < value.trim().len()).map(str::to_owned).collect()
}

fn without_words_of(text: &str, start: &str, name: &str) -> String {
    let words = text.split_inclusive(char::is_whitespace);
    let words = words.map(|word| match word.find(start) {
        Some(at) => {
            let end = word.trim_end().len();
            format!("{}[{name}]{}", &word[..at], &word[end..])
        }
        None => word.to_owned(),
    });
    words.collect()
}

/// Shows the names alone.
impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut names: Vec<&str> = Vec::new();
        for (name, _) in self.values.iter() {
            if !names.contains(&name.as_str()) {
                names.push(name);
            }
        }
        f.debug_list().entries(names).finish()
    }
}
