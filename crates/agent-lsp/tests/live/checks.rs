//! `diagnostics "*"`: the project's own check.

use crate::{Case, servers::Live};

pub(crate) fn cases() -> Vec<(&'static Live, &'static str, Case)> {
    Vec::new()
}
