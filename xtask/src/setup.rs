//! Installs what the live tests need into `.tools/`, skipping what is there.

use std::{fs, path::Path};

use anyhow::{Context, Result};

use crate::sh::{command, install, root};

/// The TypeScript compiler checks and builds the TypeScript host of `fixtures/hosts`.
const NPM_PACKAGES: [&str; 2] = ["typescript@5.9.3", "@types/node@20.19.25"];

/// A real terminal for the tests of the program at one.
const TERMINAL: &str = "tmux";

pub fn setup() -> Result<()> {
    terminal()?;
    let npm = root().join(".tools/npm");
    fs::create_dir_all(&npm).with_context(|| format!("cannot create {}", npm.display()))?;
    let wanted = NPM_PACKAGES.join("\n");
    if installed(&npm) != wanted {
        eprintln!("setup: installing {}", NPM_PACKAGES.join(", "));
        let prefix = npm.to_string_lossy().into_owned();
        let fixed = ["install", "--no-audit", "--no-fund", "--no-save", "--prefix", &prefix];
        install(&mut command("npm", fixed.into_iter().chain(NPM_PACKAGES)))?;
        fs::write(npm.join("installed.txt"), &wanted)?;
    }
    Ok(())
}

/// Where it is missing it comes from the system's packages, which takes root.
fn terminal() -> Result<()> {
    if command(TERMINAL, ["-V"]).output().is_ok() {
        return Ok(());
    }
    eprintln!("setup: installing {TERMINAL}");
    let missing = || {
        format!(
            "install {TERMINAL} by your system's packages: the tests of the program at a terminal need it"
        )
    };
    install(&mut command("apt-get", ["update", "--quiet"])).with_context(missing)?;
    let fixed = ["install", "--yes", "--quiet", "--no-install-recommends", TERMINAL];
    install(&mut command("apt-get", fixed)).with_context(missing)
}

/// What an earlier setup installed, as it noted it after it was done.
fn installed(folder: &Path) -> String {
    fs::read_to_string(folder.join("installed.txt")).unwrap_or_default()
}
