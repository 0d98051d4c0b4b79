//! Which tools there are, for which resources, and at which tier.

#[cfg(all(feature = "ask", feature = "vibe"))]
mod people;
#[cfg(all(feature = "files", feature = "astgrep"))]
mod registry;
