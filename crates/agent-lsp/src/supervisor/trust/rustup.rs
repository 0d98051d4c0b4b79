//! What rustup is let read: its proxies stand for cargo, rustc and rust-analyzer on the search path, and start those of the
//! toolchain that a file of the checkout names, be it a folder of the checkout.

use std::{
    env,
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
};

use serde::Deserialize;
use toml::{Table, Value};

/// The variable that comes before every file.
pub(super) const TOOLCHAIN: &str = "RUSTUP_TOOLCHAIN";

const HOME: &str = "RUSTUP_HOME";
const SETTINGS: &str = "settings.toml";

/// What a person told rustup.
#[derive(Deserialize)]
struct Settings {
    default_toolchain: Option<String>,
    #[serde(default)]
    overrides: Table,
}

/// Whether a toolchain file names a channel and parts of it and nothing else, in either of its two forms: a line, or TOML.
pub(super) fn is_channel(text: &str) -> bool {
    is_name(text.trim()) || text.parse().is_ok_and(|table: Table| has_a_channel_alone(&table))
}

/// The toolchain that the person uses for a folder, in the words that rustup takes; none where rustup is not there.
pub(super) fn chosen_for(folder: &Path) -> Option<OsString> {
    if let Some(set) = env::var_os(TOOLCHAIN) {
        return Some(set);
    }
    let home = env::var_os(HOME).map(PathBuf::from);
    let home = home.or_else(|| Some(env::home_dir()?.join(".rustup")))?;
    chosen_in(&fs::read_to_string(home.join(SETTINGS)).ok()?, folder).map(OsString::from)
}

fn chosen_in(settings: &str, folder: &Path) -> Option<String> {
    let settings: Settings = toml::from_str(settings).ok()?;
    let set =
        folder.ancestors().find_map(|above| settings.overrides.get(above.to_str()?)?.as_str());
    set.map(str::to_owned).or(settings.default_toolchain)
}

fn has_a_channel_alone(table: &Table) -> bool {
    let is_list = |value: &Value| {
        value
            .as_array()
            .is_some_and(|list| list.iter().all(|part| part.as_str().is_some_and(is_name)))
    };
    let is_known = |(key, value): (&String, &Value)| match key.as_str() {
        "channel" | "profile" => value.as_str().is_some_and(is_name),
        "components" | "targets" => is_list(value),
        _ => false,
    };
    let toolchain = table.get("toolchain").and_then(Value::as_table);
    table.len() == 1 && toolchain.is_some_and(|toolchain| toolchain.iter().all(is_known))
}

/// Whether it can be no path.
fn is_name(text: &str) -> bool {
    let is_plain = |char: char| char.is_ascii_alphanumeric() || "-_.".contains(char);
    text.starts_with(|char: char| char.is_ascii_alphanumeric()) && text.chars().all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_channel_is_told_from_what_may_be_a_path() {
        let channels = [
            "stable",
            "nightly-2026-01-31\n",
            "  1.95.0 \n",
            "[toolchain]\nchannel = \"1.95\"",
            "[toolchain]\nchannel = \"stable\"\ncomponents = [\"rust-src\"]\ntargets = []\nprofile = \"minimal\"",
            "toolchain = { channel = \"stable\" }",
            "[toolchain]\ncomponents = [\"clippy\"]",
        ];
        for text in channels {
            assert!(is_channel(text), "{text}");
        }
        let others = [
            "",
            "/checkout/tc",
            "/checkout/tc\n",
            "./tc",
            "..",
            "tc/",
            "C:\\tc",
            "\u{feff}stable",
            "stable\n/checkout/tc",
            "/checkout/tc\n[toolchain]\nchannel = \"stable\"",
            "[toolchain]\npath = \"/checkout/tc\"",
            "[toolchain]\n\"pa\\u0074h\" = \"/checkout/tc\"",
            "toolchain.path = \"/checkout/tc\"",
            "[toolchain]\nchannel = \"stable\"\npath = \"tc\"",
            "[toolchain]\nchannel = \"/checkout/tc\"",
            "[toolchain]\nchannel = [\"stable\"]",
            "[toolchain]\nchannel = \"stable\"\ncomponents = [\"../../x\"]",
            "[toolchain]\nchannel = \"stable\"\nnew_key = true",
            "[toolchain]\nchannel = \"stable\"\n[other]",
            "[[[ no",
        ];
        for text in others {
            assert!(!is_channel(text), "{text}");
        }
    }

    #[test]
    fn a_toolchain_that_was_set_for_a_folder_comes_before_the_default() {
        let settings = "version = \"12\"\ndefault_toolchain = \"stable\"\n[overrides]\n\"/a\" = \"nightly\"\n\"/a/b/c\" = \"beta\"\n";
        let chosen = |folder: &str| chosen_in(settings, Path::new(folder));
        assert_eq!(chosen("/x").as_deref(), Some("stable"));
        assert_eq!(chosen("/a/b").as_deref(), Some("nightly"));
        assert_eq!(chosen("/a/b/c/d").as_deref(), Some("beta"));
        assert_eq!(chosen_in("version = \"12\"", Path::new("/x")), None);
        assert_eq!(chosen_in("not TOML", Path::new("/x")), None);
    }
}
