//! Which debug adapters there are, as data, and which of them fit here.

mod detect;
mod launch;
mod rust;
mod table;

pub(crate) use self::{
    detect::{Checkout, Detected},
    launch::{Launch, Prepared, attach_arguments, prepare},
    table::{ADAPTERS, Adapter, Wire},
};
