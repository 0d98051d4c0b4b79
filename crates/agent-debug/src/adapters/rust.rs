//! Rust values in LLDB: rustc's formatters, of which some hang the adapter, behind a module of ours that makes them safe.

use std::{fs, path::Path};

use agent_process::{Finder, Launcher, Place, Program, RunLimits, Wanted};

const MODULE: &str = include_str!("rust_lldb.py");
const MODULE_FILE: &str = "agent_debug_rust.py";
const ETC: &str = "@ETC@";

/// Functions that a panic passes, at which the debuggee is to stop.
pub(super) const PANIC_FUNCTIONS: [&str; 1] = ["rust_panic"];

/// The commands that load the formatters of the toolchain that `folder` uses; none where there is no toolchain.
pub(super) async fn commands(
    finder: &Finder,
    place: &Place,
    launcher: &Launcher,
    folder: &Path,
    scratch: &Path,
) -> Vec<String> {
    let Some(sysroot) = sysroot(finder, place, launcher, folder).await else { return Vec::new() };
    let etc = Path::new(&sysroot).join("lib/rustlib/etc");
    let text = serde_json::Value::from(etc.to_string_lossy());
    let module = MODULE.replacen(&format!("\"{ETC}\""), &text.to_string(), 1);
    let path = scratch.join(MODULE_FILE);
    match fs::write(&path, module) {
        Ok(()) => vec![format!("command script import \"{}\"", path.display())],
        Err(_) => Vec::new(),
    }
}

async fn sysroot(
    finder: &Finder,
    place: &Place,
    launcher: &Launcher,
    folder: &Path,
) -> Option<String> {
    let rustc = finder.find(&Wanted::new("rustc"), place).await.ok()?;
    let program = Program::new(rustc.path, folder).args(["--print", "sysroot"]);
    let ran = launcher.run(&program, &RunLimits::new()).await.ok()?;
    let text = String::from_utf8(ran.stdout).ok()?;
    let sysroot = text.trim();
    (!sysroot.is_empty()).then(|| sysroot.to_owned())
}

#[cfg(test)]
mod tests {
    use super::{ETC, MODULE};

    #[test]
    fn the_module_has_one_place_for_the_folder() {
        assert_eq!(MODULE.matches(&format!("\"{ETC}\"")).count(), 1);
    }
}
