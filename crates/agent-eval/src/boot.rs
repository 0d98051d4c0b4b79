//! The kernels as they are shipped: source that goes through the pipe, so nothing is installed where they run.

use std::hash::{BuildHasher, Hasher, RandomState};

use serde_json::{Value, json};

use crate::{Language, Limits};

const PYTHON_LOADER: &str = include_str!("../kernel/python/loader.py");
const PYTHON_SUPERVISOR: &str = include_str!("../kernel/python/supervisor.py");

/// The modules of the Python kernel, each after those that it imports.
const PYTHON_MODULES: &[(&str, &str)] = &[
    ("state", include_str!("../kernel/python/state.py")),
    ("wire", include_str!("../kernel/python/wire.py")),
    ("streams", include_str!("../kernel/python/streams.py")),
    ("mime", include_str!("../kernel/python/mime.py")),
    ("bridge", include_str!("../kernel/python/bridge.py")),
    ("packages", include_str!("../kernel/python/packages.py")),
    ("shell", include_str!("../kernel/python/shell.py")),
    ("timing", include_str!("../kernel/python/timing.py")),
    ("magics", include_str!("../kernel/python/magics.py")),
    ("reload", include_str!("../kernel/python/reload.py")),
    ("failures", include_str!("../kernel/python/failures.py")),
    ("cell", include_str!("../kernel/python/cell.py")),
    ("hooks", include_str!("../kernel/python/hooks.py")),
    ("main", include_str!("../kernel/python/main.py")),
];

const NODE_LOADER: &str = include_str!("../kernel/node/loader.cjs");
const NODE_SUPERVISOR: &str = include_str!("../kernel/node/supervisor.cjs");

/// The modules of the Node kernel, each after those that it requires.
const NODE_MODULES: &[(&str, &str)] = &[
    ("control", include_str!("../kernel/node/control.cjs")),
    ("wire", include_str!("../kernel/node/wire.cjs")),
    ("mime", include_str!("../kernel/node/mime.cjs")),
    ("modules", include_str!("../kernel/node/modules.cjs")),
    ("evaluate", include_str!("../kernel/node/evaluate.cjs")),
    ("main", include_str!("../kernel/node/main.cjs")),
];

/// How a kernel is started.
#[derive(Debug)]
pub(crate) struct Boot {
    /// The interpreter's arguments.
    pub args: Vec<String>,
    /// What its input begins with.
    pub input: Vec<u8>,
    /// What its marks are known by.
    pub token: String,
}

pub(crate) fn boot(language: Language, limits: &Limits) -> Boot {
    let token = token();
    let (supervisor, modules) = match language {
        Language::Python => (PYTHON_SUPERVISOR, PYTHON_MODULES),
        Language::JavaScript => (NODE_SUPERVISOR, NODE_MODULES),
    };
    let input = json!({
        "token": token,
        "supervisor": supervisor,
        "modules": modules.iter().map(|(name, source)| json!([name, source])).collect::<Vec<Value>>(),
        "memory_bytes": limits.memory_bytes,
        "processes": limits.processes,
    })
    .to_string()
    .into_bytes();
    let size = input.len().to_string();
    let args = match language {
        Language::Python => ["-u", "-c", PYTHON_LOADER, &size].map(str::to_owned).to_vec(),
        Language::JavaScript => ["-e", NODE_LOADER, &size].map(str::to_owned).to_vec(),
    };
    Boot { args, input, token }
}

/// Not a secret: it only has to stand in no output by chance.
fn token() -> String {
    let random = || RandomState::new().build_hasher().finish();
    format!("{:016x}{:016x}", random(), random())
}
