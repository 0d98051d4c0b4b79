//! The models that a person names in their own configuration.

use agent_loop::{
    ModelLimits,
    providers::{Format, Key, Remote},
};
use anyhow::{Context as _, Result, bail};
use serde::Deserialize;

use crate::visible::readable;

/// The variables in which providers themselves have keys.
const ANTHROPIC_KEY: &str = "ANTHROPIC_API_KEY";
const OPENAI_KEY: &str = "OPENAI_API_KEY";

/// The variables in which every provider has its key.
pub(crate) const PROVIDER_KEYS: [&str; 2] = [ANTHROPIC_KEY, OPENAI_KEY];

/// What stands for a model.
const NAMES: &str = "NAME, anthropic:NAME, openai:NAME or compatible:NAME";

/// Names of models that OpenAI tuned for somebody begin with it.
const OPENAI_TUNED: &str = "ft";

/// So long is no name of a variable that looks like a key.
const KEY_CHARS: usize = 20;

/// What a model is reached by. It comes from the person's own file, the environment or flags alone.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(try_from = "Written")]
pub(crate) struct ModelConfig {
    pub provider: Provider,
    /// The model's name, as the provider has it.
    pub name: String,
    /// Another address than the provider's own, most often with `/v1` at its end.
    pub url: Option<String>,
    /// The variable that holds the key; the provider's own by default.
    pub key: Option<String>,
    /// Tokens of context.
    pub context: Option<usize>,
    /// The most tokens of one answer.
    pub output: Option<u32>,
    /// Whether it takes images; it does unless this is false.
    pub images: Option<bool>,
}

/// The same as a file has it, where the name may say whose it is.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Written {
    provider: Option<Provider>,
    name: String,
    url: Option<String>,
    key: Option<String>,
    context: Option<usize>,
    output: Option<u32>,
    images: Option<bool>,
}

impl TryFrom<Written> for ModelConfig {
    type Error = anyhow::Error;

    fn try_from(written: Written) -> Result<Self> {
        let Written { provider, name, url, key, context, output, images } = written;
        let config = |provider, name: &str| Self {
            provider,
            name: name.to_owned(),
            url,
            key,
            context,
            output,
            images,
        };
        Ok(match (Provider::before(&name), provider) {
            (Some((says, rest)), None) => config(says, rest),
            (Some((says, rest)), Some(given)) if says == given => config(given, rest),
            (_, given) => {
                let config = config(given.unwrap_or_default(), &name);
                config.check_colon(&name, "`name`")?;
                config
            }
        })
    }
}

/// Whose format a model speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Provider {
    #[default]
    Anthropic,
    OpenAi,
    /// Any server that speaks OpenAI's chat completions; it needs a `url`, and no key unless one is named.
    Compatible,
}

impl Provider {
    /// Whose name in configuration this is.
    fn named(name: &str) -> Option<Self> {
        [Self::Anthropic, Self::OpenAi, Self::Compatible]
            .into_iter()
            .find(|provider| provider.as_str() == name)
    }

    /// What a name says before a colon, and what stands behind that.
    fn before(name: &str) -> Option<(Self, &str)> {
        let (head, rest) = name.split_once(':')?;
        Some((Self::named(head)?, rest))
    }

    /// The name as configuration has it.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Provider::Anthropic => "anthropic",
            Provider::OpenAi => "openai",
            Provider::Compatible => "compatible",
        }
    }
}

impl ModelConfig {
    /// Refuses a name that none can be: one with blanks, or with signs that nobody sees.
    pub(crate) fn check_name(&self) -> Result<()> {
        let shown = readable(&self.name);
        if shown != self.name || self.name.contains(char::is_whitespace) {
            bail!("{shown:?} is no name of a model: it has blanks, or signs that nobody sees");
        }
        Ok(())
    }

    /// Refuses a key that stands where the name of its variable belongs, and does not repeat it.
    pub(crate) fn check_key(&self) -> Result<()> {
        let Some(key) = &self.key else { return Ok(()) };
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
        // Keys have small letters and digits; a variable's name that has both is short.
        let mixed =
            key.chars().any(|c| c.is_ascii_lowercase()) && key.chars().any(|c| c.is_ascii_digit());
        if key.is_empty() || !key.chars().all(plain) || mixed && key.len() >= KEY_CHARS {
            bail!(
                "`key` of a model takes the name of a variable that holds the key, such as {OPENAI_KEY}; what stands \
                 there is no such name, and is not repeated here, since it may be the key itself: take it out of the \
                 file and into a variable"
            );
        }
        Ok(())
    }

    /// `anthropic claude-sonnet-4-5 at https://…`.
    pub(crate) fn in_words(&self) -> String {
        let provider = self.provider.as_str();
        let place = self.shown_url().map_or(String::new(), |url| format!(" at {url}"));
        format!("{provider} {}{place}", self.name)
    }

    /// `anthropic claude-sonnet-4-5 at https://…, key in ANTHROPIC_API_KEY, 200000 tokens of context`.
    pub(crate) fn described(&self) -> String {
        let mut words = self.in_words();
        match self.key_variable() {
            Some(name) => words.push_str(&format!(", key in {name}")),
            None => words.push_str(", no key"),
        }
        if let Some(tokens) = self.context {
            words.push_str(&format!(", {tokens} tokens of context"));
        }
        if let Some(tokens) = self.output {
            words.push_str(&format!(", {tokens} of an answer"));
        }
        if self.images == Some(false) {
            words.push_str(", no images");
        }
        words
    }

    /// The address, without what may be secret in it.
    pub(crate) fn shown_url(&self) -> Option<String> {
        self.url.as_deref().map(without_secrets)
    }

    /// The variable that holds the key; none where none is sent.
    pub(crate) fn key_variable(&self) -> Option<&str> {
        match (&self.key, self.provider) {
            (Some(name), _) => Some(name),
            (None, Provider::Anthropic) => Some(ANTHROPIC_KEY),
            (None, Provider::OpenAi) => Some(OPENAI_KEY),
            (None, Provider::Compatible) => None,
        }
    }

    /// A name such as `claude-sonnet-4-5` or `openai:gpt-5`, in place of what is configured.
    pub(crate) fn named(&self, name: &str) -> Result<Self> {
        if name.is_empty() {
            bail!("--model names none; it takes {NAMES}");
        }
        let Some((provider, name)) = Provider::before(name) else {
            self.check_colon(name, "--model")?;
            return Ok(Self { name: name.to_owned(), ..self.clone() });
        };
        if name.is_empty() {
            bail!("no name stands behind the provider; --model takes {NAMES}");
        }
        let same = self.provider == provider;
        let rest = if same { self.clone() } else { Self::default() };
        Ok(Self { provider, name: name.to_owned(), ..rest })
    }

    /// Refuses a name with a colon where names have none: on no server of the person's own, such as `qwen3:8b`, and not of the
    /// models that OpenAI tuned.
    fn check_colon(&self, name: &str, place: &str) -> Result<()> {
        let Some((head, _)) = name.split_once(':') else { return Ok(()) };
        let own_server = self.provider == Provider::Compatible || self.url.is_some();
        if own_server || self.provider == Provider::OpenAi && head == OPENAI_TUNED {
            return Ok(());
        }
        let provider = self.provider.as_str();
        if Provider::named(head).is_some() {
            bail!("{place} says {head}, and `provider` says {provider}");
        }
        bail!(
            "{head:?} in {place} is no provider, and no model of {provider} has a colon in its name; {place} takes {NAMES}; a \
             compatible server needs its `url` in `[model]` of your own config.toml"
        )
    }

    /// The model. Nothing is sent yet.
    pub(crate) fn open(&self) -> Result<Remote> {
        if self.name.is_empty() {
            bail!(
                "no model is named; give --model NAME, or in your own config.toml\n\n  [model]\n  provider = \
                 \"anthropic\"   # or \"openai\", or \"compatible\" with a url\n  name = \"…\""
            );
        }
        let key = |own: &str| Key::from_env(self.key.as_deref().unwrap_or(own).to_owned());
        let mut model = match self.provider {
            Provider::Anthropic => Remote::anthropic(&self.name, key(ANTHROPIC_KEY)?)?,
            Provider::OpenAi => Remote::openai(&self.name, key(OPENAI_KEY)?)?,
            Provider::Compatible => {
                let url = self.url.as_deref();
                let url = url.context(
                    "a compatible model needs a `url`, such as http://127.0.0.1:11434/v1",
                )?;
                let model = Remote::of(Format::OpenAi, url, &self.name)?;
                match &self.key {
                    Some(name) => model.with_key(Key::from_env(name.clone())?)?,
                    None => model,
                }
            }
        };
        if let (Some(url), true) = (&self.url, self.provider != Provider::Compatible) {
            model = model.at(url)?;
        }
        let limits = agent_loop::Model::limits(&model);
        let mut wanted = ModelLimits::new(self.context.unwrap_or(limits.context));
        if let Some(output) = self.output.or(limits.output) {
            wanted = wanted.with_output(output);
        }
        if self.images == Some(false) {
            wanted = wanted.without_images();
        }
        Ok(model.with_limits(wanted))
    }
}

/// An address without the parts in which a password or a key may stand.
fn without_secrets(url: &str) -> String {
    let (address, query) = match url.split_once(['?', '#']) {
        Some((address, _)) => (address, "?…"),
        None => (url, ""),
    };
    let (scheme, rest) = match address.split_once("://") {
        Some((scheme, rest)) => (format!("{scheme}://"), rest),
        None => (String::new(), address),
    };
    let host_end = rest.find('/').unwrap_or(rest.len());
    let rest = match rest[..host_end].rfind('@') {
        Some(at) => format!("…{}", &rest[at..]),
        None => rest.to_owned(),
    };
    format!("{scheme}{rest}{query}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_in_the_place_of_its_variable_is_refused_and_not_repeated() {
        let with = |key: &str| ModelConfig { key: Some(key.to_owned()), ..ModelConfig::default() };
        for key in ["sk-proj-abcdef1234567890", "AIzaSyA1234567890abcdefgh", ""] {
            let refused = with(key).check_key().expect_err("no name").to_string();
            assert!(refused.contains("name of a variable"), "{refused}");
            assert!(key.is_empty() || !refused.contains(key), "{refused}");
        }
        for name in ["OPENAI_API_KEY", "my_key", "KEY2"] {
            assert!(with(name).check_key().is_ok(), "{name}");
        }
    }

    #[test]
    fn a_name_with_a_colon_is_a_name_where_names_have_one() {
        use Provider::{Anthropic, Compatible, OpenAi};
        let of = |provider| ModelConfig { provider, ..ModelConfig::default() };
        let url = Some("http://127.0.0.1:11434/v1".to_owned());
        let own = ModelConfig { url: url.clone(), ..of(Compatible) };
        let behind = ModelConfig { url, ..of(Anthropic) };
        for (config, named, provider, name) in [
            (&of(Anthropic), "openai:gpt-5", OpenAi, "gpt-5"),
            (&of(OpenAi), "ft:gpt-5:me::id", OpenAi, "ft:gpt-5:me::id"),
            (&of(OpenAi), "gpt-5", OpenAi, "gpt-5"),
            (&own, "qwen3:8b", Compatible, "qwen3:8b"),
            (&own, "compatible:openai:x", Compatible, "openai:x"),
            (&behind, "some.claude-v1:0", Anthropic, "some.claude-v1:0"),
        ] {
            let taken = config.named(named).expect(named);
            assert_eq!((taken.provider, taken.name.as_str()), (provider, name), "{named}");
        }
        for (config, named) in
            [(of(Anthropic), "nope:x"), (of(OpenAi), "qwen3:8b"), (of(OpenAi), "openai:")]
        {
            let refused = config.named(named).expect_err(named).to_string();
            assert!(refused.contains(NAMES), "{refused}");
        }
    }

    #[test]
    fn a_name_in_a_file_says_whose_it_is_as_a_flag_does() {
        use Provider::{Anthropic, Compatible, OpenAi};
        for (text, provider, name) in [
            ("name = 'openai:gpt-5'", OpenAi, "gpt-5"),
            ("name = 'openai:gpt-5'\nurl = 'http://127.0.0.1:1/v1'", OpenAi, "gpt-5"),
            ("name = 'openai:gpt-5'\nprovider = 'openai'", OpenAi, "gpt-5"),
            ("name = 'openai:x'\nprovider = 'compatible'\nurl = 'u'", Compatible, "openai:x"),
            ("name = 'qwen3:8b'\nurl = 'http://127.0.0.1:1/v1'", Anthropic, "qwen3:8b"),
            ("name = 'ft:gpt-5:me::id'\nprovider = 'openai'", OpenAi, "ft:gpt-5:me::id"),
            ("context = 1000", Anthropic, ""),
        ] {
            let taken: ModelConfig = toml::from_str(text).expect(text);
            assert_eq!((taken.provider, taken.name.as_str()), (provider, name), "{text}");
        }
        for (text, part) in [
            ("name = 'qwen3:8b'", "\"qwen3\" in `name` is no provider"),
            (
                "name = 'openai:x'\nprovider = 'anthropic'",
                "`name` says openai, and `provider` says",
            ),
            ("nmae = 'x'", "unknown field `nmae`"),
        ] {
            let refused = toml::from_str::<ModelConfig>(text).expect_err(text).to_string();
            assert!(refused.contains(part), "{refused}");
        }
    }

    #[test]
    fn an_address_is_shown_without_what_may_be_secret() {
        let cases = [
            ("http://127.0.0.1:9/v1", "http://127.0.0.1:9/v1"),
            ("http://user:secret@host/v1?api_key=qq", "http://…@host/v1?…"),
            ("http://host/a@b", "http://host/a@b"),
        ];
        for (url, shown) in cases {
            assert_eq!(without_secrets(url), shown);
        }
    }
}
