//! The project's chores, one command each.

fn main() {}
