//! Models behind a provider's HTTP interface: Anthropic's messages and OpenAI's chat completions, at
//! their own addresses or at any other that speaks the same.
//!
//! ```no_run
//! use agent_loop::providers::{Key, Remote};
//!
//! let claude = Remote::anthropic("claude-sonnet-4-5", Key::from_env("ANTHROPIC_API_KEY")?)?;
//! let gpt = Remote::openai("gpt-5", Key::from_env("OPENAI_API_KEY")?)?;
//! let local = Remote::compatible("http://127.0.0.1:11434/v1", "qwen3:8b")?;
//! # Ok::<(), agent_loop::ModelError>(())
//! ```
//!
//! A key is in the header of a request and nowhere else: no error, no `Debug`, no log has it, whatever a
//! server echoes. Redirects are not followed, since a key would go with them.

mod failure;
mod hear;
mod key;
mod noted;
mod remote;
mod request;
mod silent;

pub use self::{
    key::Key,
    remote::{
        ANTHROPIC_CONTEXT, ANTHROPIC_OUTPUT, COMPATIBLE_CONTEXT, CONNECT_TIME, Format,
        OPENAI_CONTEXT, Remote,
    },
};
