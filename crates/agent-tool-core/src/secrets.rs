//! Values that nobody is to read, taken out of texts.

use std::{fmt, sync::Arc};

use serde_json::{Map, Value};

/// The least length, in bytes, of a value that is looked for everywhere: what is shorter stands in texts by chance.
pub const SECRET_BYTES: usize = 8;

/// How many bytes of a value's beginning give it away where it is at least twice as long: some servers echo a key with its middle
/// left out.
const TELLING_BYTES: usize = 8;

/// Values that nobody is to read, such as keys of providers, each under a name: `[NAME]` takes their place.
///
/// A value is found as it is and no other way: not in another encoding, not in two pieces, not in an image. A clone is cheap.
///
/// ```
/// # use agent_tool_core::Secrets;
/// let secrets = Secrets::new([("MY_KEY", "sk-0123456789"), ("SHORT", "abc")]);
/// assert_eq!(secrets.hidden("abc sk-0123456789".to_owned()), "abc [MY_KEY]");
/// ```
#[derive(Clone, Default)]
pub struct Secrets {
    /// The longest first: one may begin with another.
    values: Arc<[(String, String)]>,
    /// Names of fields that are told whatever they hold.
    fields: &'static [&'static str],
}

impl Secrets {
    /// These values, each with its name. Those of less than [`SECRET_BYTES`] are left out.
    pub fn new(values: impl IntoIterator<Item = (impl Into<String>, impl Into<String>)>) -> Self {
        let values = values.into_iter().map(|(name, value)| (name.into(), value.into()));
        let mut values: Vec<(String, String)> =
            values.filter(|(_, value)| value.len() >= SECRET_BYTES).collect();
        values.sort_by_key(|(_, value)| std::cmp::Reverse(value.len()));
        Self { values: values.into(), fields: &[] }
    }

    /// One value, however short: for texts that nobody works with, such as the errors of a server that was sent it.
    pub fn one(name: impl Into<String>, value: impl Into<String>) -> Self {
        let (name, value) = (name.into(), value.into());
        let values: Vec<_> = (!value.is_empty()).then_some((name, value)).into_iter().collect();
        Self { values: values.into(), fields: &[] }
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

    /// The text with `[NAME]` for each value.
    #[must_use]
    pub fn hidden(&self, text: String) -> String {
        self.values.iter().fold(text, |text, (name, value)| match text.contains(value) {
            true => text.replace(value, &format!("[{name}]")),
            false => text,
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

    /// How many bytes at the end of a text may be the beginning of a value whose rest is still to come.
    #[must_use]
    pub fn begun_at_the_end(&self, text: &str) -> usize {
        let longest = self.values.first().map_or(0, |(_, value)| value.len() - 1);
        let from = text.len().saturating_sub(longest);
        let mut ends = (from..text.len()).filter(|at| text.is_char_boundary(*at));
        let begins = |end: &str| self.values.iter().any(|(_, value)| value.starts_with(end));
        ends.find(|at| begins(&text[*at..])).map_or(0, |at| text.len() - at)
    }

    fn is_told_by(&self, name: &str) -> bool {
        !self.fields.contains(&name) && self.values.iter().any(|(_, value)| name.contains(value))
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
        f.debug_list().entries(self.values.iter().map(|(name, _)| name)).finish()
    }
}
