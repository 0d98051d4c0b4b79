//! Workers of a scripted factory, mostly on a paused clock.

mod ends;
mod kill;
mod load;
mod model;
mod poll;
mod run;
mod send;
mod spawn;
mod support;
mod wait;
