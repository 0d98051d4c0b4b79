use std::{env, fmt, sync::Arc};

use agent_tool_core::Secrets;

use crate::{ModelError, ModelErrorKind};

/// A key under the name of the variable that it came from. Its `Debug` shows the name.
#[derive(Clone)]
pub struct Key {
    name: Arc<str>,
    value: Arc<str>,
}

impl Key {
    /// The key in a variable of the environment.
    ///
    /// # Errors
    /// The variable is not set, is empty, or holds what no key is.
    pub fn from_env(name: impl Into<Arc<str>>) -> Result<Self, ModelError> {
        let name = name.into();
        let value = env::var(&*name).unwrap_or_default();
        if value.trim().is_empty() {
            let message = format!("the variable {name} holds no key; set it and begin again");
            return Err(ModelError::new(ModelErrorKind::Authentication, message));
        }
        Self::new(name, value.trim())
    }

    /// A key that came from elsewhere, with a name to call it by.
    ///
    /// # Errors
    /// It holds what no key is: spaces, line breaks, or letters beyond ASCII.
    pub fn new(name: impl Into<Arc<str>>, value: &str) -> Result<Self, ModelError> {
        let name = name.into();
        if value.is_empty() || !value.chars().all(|c| c.is_ascii_graphic()) {
            let message = format!("what {name} holds is not a key: it has spaces or odd letters");
            return Err(ModelError::new(ModelErrorKind::Authentication, message));
        }
        Ok(Self { name, value: value.into() })
    }

    /// What the key is called.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn value(&self) -> &str {
        &self.value
    }

    /// The text without the key, and without words that hold its beginning.
    pub(super) fn hide_in(&self, text: &str) -> String {
        Secrets::one(&*self.name, &*self.value).hidden_with_beginnings(text)
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key({})", self.name)
    }
}
