//! What of the own environment a child gets: everything but keys and tokens.

use std::{
    collections::BTreeSet,
    ffi::{OsStr, OsString},
    io,
};

use crate::platform;

/// A name with a word that ends so is a secret: `GH_TOKEN`, `npm_config__authToken`, `PGPASSWORD`, `TOKEN_FOR_CI`.
const SECRET_WORD_ENDS: &[&str] = &[
    "APIKEY",
    "APIKEYS",
    "CREDENTIAL",
    "CREDENTIALS",
    "PASSPHRASE",
    "PASSWD",
    "PASSWORD",
    "PASSWORDS",
    "SECRET",
    "SECRETS",
    "TOKEN",
    "TOKENS",
];

/// A name with these words side by side is a secret: `OPENAI_API_KEY`, `AWS_ACCESS_KEY_ID`.
const SECRET_WORD_PAIRS: &[(&str, &str)] = &[
    ("ACCESS", "KEY"),
    ("ACCOUNT", "KEY"),
    ("API", "KEY"),
    ("API", "KEYS"),
    ("APP", "KEY"),
    ("AUTH", "KEY"),
    ("CONNECTION", "STRING"),
    ("DEPLOY", "KEY"),
    ("ENCRYPTION", "KEY"),
    ("LICENSE", "KEY"),
    ("MASTER", "KEY"),
    ("PRIVATE", "KEY"),
    ("SERVICE", "KEY"),
    ("SIGNING", "KEY"),
    ("SUBSCRIPTION", "KEY"),
];

/// A name whose last word is one of these is a secret: `NPM_AUTH`, `GITHUB_PAT`, `MYSQL_PWD`.
const SECRET_LAST_WORDS: &[&str] = &["AUTH", "PAT", "PWD"];

/// Names that the rules above do not see.
const SECRET_NAMES: &[&str] =
    &["ANTHROPIC_CUSTOM_HEADERS", "DOCKER_AUTH_CONFIG", "OTEL_EXPORTER_OTLP_HEADERS", "SSHPASS"];

/// Names that the rules above would take for a secret and that hold none.
const HARMLESS_NAMES: &[&str] = &["PWD", "OLDPWD"];

/// Which variables of the own environment a child gets. The default takes away every name that reads like a secret, whatever
/// its value: a name is upper-cased and split at `_`, and it is a secret
///
/// - when one of its words ends in `TOKEN`, `SECRET`, `PASSWORD`, `PASSWD`, `PASSPHRASE`, `CREDENTIAL`, `APIKEY` or their
///   plural,
/// - when `KEY` follows `API`, `ACCESS`, `PRIVATE`, `SIGNING`, `ENCRYPTION`, `MASTER`, `SERVICE` or the like, or `STRING`
///   follows `CONNECTION`,
/// - when its last word is `AUTH`, `PAT` or `PWD` (the shell's own `PWD` and `OLDPWD` stay),
/// - or when it is one of a few names that carry headers with keys.
///
/// Values are not looked at. An address with a password in it, as `DATABASE_URL` or `HTTPS_PROXY` may be, passes: the
/// project's own programs and tests need it, and a host that has one of its own there gives it to [`EnvironmentRule::remove`].
///
/// A harmless variable taken away costs a note to [`EnvironmentRule::keep`] it; a key passed on cannot be called back. What a
/// caller sets on a [`crate::Program`] itself is its own decision and passes.
///
/// A child of the same user can still read what the system shows of its parent, its environment included, unless that calls
/// [`close_to_children`].
#[derive(Debug, Clone, Default)]
pub struct EnvironmentRule {
    removed: BTreeSet<OsString>,
    kept: BTreeSet<OsString>,
}

impl EnvironmentRule {
    /// The default rule.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes this name away too, such as the one that the host's configuration names for a provider's key.
    pub fn remove(mut self, name: impl Into<OsString>) -> Self {
        self.removed.insert(name.into());
        self
    }

    /// Lets this name pass although it reads like a secret. A name that was given to [`EnvironmentRule::remove`] stays away.
    pub fn keep(mut self, name: impl Into<OsString>) -> Self {
        self.kept.insert(name.into());
        self
    }

    /// Whether a child gets the variable of this name.
    pub fn passes(&self, name: &OsStr) -> bool {
        if self.removed.contains(name) {
            return false;
        }
        self.kept.contains(name) || !reads_like_a_secret(&name.to_string_lossy())
    }

    /// The variables that pass.
    pub fn apply(
        &self,
        environment: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> Vec<(OsString, OsString)> {
        environment.into_iter().filter(|(name, _)| self.passes(name)).collect()
    }
}

/// Closes this process to other programs of the same user, on Linux: they can neither read its environment and memory, as
/// `/proc` shows them, nor attach a debugger to it, and it leaves no core dump. What it starts is open again. Root, and whoever may
/// debug everything, reads it all the same. Elsewhere nothing is done.
///
/// # Errors
///
/// The system refuses.
pub fn close_to_children() -> io::Result<()> {
    platform::close_to_others()
}

fn reads_like_a_secret(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    if HARMLESS_NAMES.contains(&name.as_str()) {
        return false;
    }
    let words: Vec<&str> = name.split('_').filter(|word| !word.is_empty()).collect();
    SECRET_NAMES.contains(&name.as_str())
        || words.iter().any(|word| SECRET_WORD_ENDS.iter().any(|end| word.ends_with(end)))
        || words.windows(2).any(|pair| SECRET_WORD_PAIRS.contains(&(pair[0], pair[1])))
        || words.last().is_some_and(|word| SECRET_LAST_WORDS.contains(word))
}
