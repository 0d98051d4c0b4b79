//! What no plan changes, whoever asks: to write there is to run code.

use agent_workspace::WorkspacePath;

/// The folder of a repository, or the file that names one.
const GIT: &str = ".git";

/// What file systems of Windows may call it too.
const GIT_SHORT: &str = "git~1";

/// True for the folder of a repository and all in it, at any depth.
///
/// The letters' case never counts, since file systems differ in it and a path does not say on which it lies. Nor do the
/// characters that some leave out of a name, as git itself holds it (`core.protectHFS`, `core.protectNTFS`).
pub(crate) fn is_protected(path: &WorkspacePath) -> bool {
    path.rel().components().any(|component| {
        let name = component.as_os_str().to_string_lossy();
        let plain: String = name.chars().filter(|c| !is_left_out(*c)).collect();
        let plain = plain.trim_end_matches([' ', '.']);
        [GIT, GIT_SHORT].iter().any(|git| plain.eq_ignore_ascii_case(git))
    })
}

/// The characters without a width that HFS+ does not count.
fn is_left_out(c: char) -> bool {
    matches!(c, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}')
}
