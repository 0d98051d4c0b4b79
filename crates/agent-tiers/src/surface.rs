//! Which part of a registry a model is shown.

use std::{
    fmt,
    str::FromStr,
    sync::atomic::{AtomicU8, Ordering},
};

use agent_tool_core::Tier;
use serde::{Deserialize, Serialize};

/// What a model works on. The surface decides which tools exist for it, not only which ask first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Surface {
    /// Everything that the ceiling allows.
    #[default]
    Full,
    /// Planning: nothing with side effects.
    Plan,
    /// Looking: nothing with side effects.
    ReadOnly,
}

impl Surface {
    /// All surfaces, in the order in which help texts name them.
    pub const ALL: [Surface; 3] = [Surface::Full, Surface::Plan, Surface::ReadOnly];

    /// The highest tier that exists on this surface.
    #[must_use]
    pub fn cap(self) -> Tier {
        match self {
            Surface::Full => Tier::Exec,
            Surface::Plan | Surface::ReadOnly => Tier::Read,
        }
    }

    /// Whether a tool of this tier exists on this surface.
    #[must_use]
    pub fn admits(self, tier: Tier) -> bool {
        tier <= self.cap()
    }

    /// The surface as it is written in JSON and on the command line.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Surface::Full => "full",
            Surface::Plan => "plan",
            Surface::ReadOnly => "read-only",
        }
    }
}

impl fmt::Display for Surface {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Surface {
    type Err = UnknownSurface;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|surface| surface.as_str() == name);
        found.ok_or_else(|| UnknownSurface { name: name.to_owned() })
    }
}

/// A word that names no surface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownSurface {
    name: String,
}

impl fmt::Display for UnknownSurface {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "there is no surface {:?}; it is one of full, plan, read-only", self.name)
    }
}

impl std::error::Error for UnknownSurface {}

/// The surface of a view and of everything narrowed from it, which share one cell: whoever lowers
/// the surface lowers it for the workers too.
#[derive(Debug)]
pub(crate) struct SurfaceCell(AtomicU8);

impl SurfaceCell {
    pub(crate) fn new(surface: Surface) -> Self {
        Self(AtomicU8::new(surface as u8))
    }

    pub(crate) fn get(&self) -> Surface {
        let stored = self.0.load(Ordering::SeqCst);
        let found = Surface::ALL.into_iter().find(|surface| *surface as u8 == stored);
        found.unwrap_or(Surface::ReadOnly)
    }

    /// Gives back what was there before.
    pub(crate) fn set(&self, surface: Surface) -> Surface {
        let before = self.get();
        self.0.store(surface as u8, Ordering::SeqCst);
        before
    }
}
