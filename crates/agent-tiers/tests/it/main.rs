//! The run's promises: who sees what, who is asked, in which order, and what is recorded.

mod approval;
mod authority;
mod calls;
mod record;
mod tools;
