//! Grammars that are loaded while the program runs. The one here is built from the sources of a
//! bundled grammar, which cargo has unpacked.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

use std::path::{Path, PathBuf};
use std::process::Command;

use agent_grammars::{ContextName, GrammarErrorKind, Grammars, Origin};

#[test]
fn a_folder_of_libraries_adds_its_languages() {
    let folder = built_folder("loads");
    let mut grammars = Grammars::default();
    assert_eq!(grammars.add_folder(&folder).unwrap(), ["json"]);
    let json = grammars.by_id("json").unwrap();
    assert_eq!(*json.origin(), Origin::Folder { path: folder });
    assert_eq!(json.profile().contexts.len(), 1);
    assert_eq!(json.profile().contexts[0].name, ContextName::Bare);
    let tree = json.parser().parse("[1]", None).unwrap();
    assert!(!tree.root_node().has_error());
    assert_eq!(grammars.for_path(Path::new("a.json")).map(|found| found.id()), Some("json"));
}

#[cfg(feature = "lang-json")]
#[test]
fn a_bundled_grammar_shadows_a_loaded_one() {
    let folder = built_folder("shadows");
    let mut grammars = Grammars::bundled();
    assert_eq!(grammars.add_folder(&folder).unwrap(), Vec::<String>::new());
    assert!(matches!(grammars.by_id("json").unwrap().origin(), Origin::Bundled { .. }));
}

#[test]
fn a_folder_that_cannot_be_trusted_is_refused() {
    let mut grammars = Grammars::default();
    let relative = grammars.add_folder(Path::new("grammars")).unwrap_err();
    assert_eq!(relative.kind(), GrammarErrorKind::LoadFailed);
    assert!(relative.to_string().contains("is not absolute"), "{relative}");
    let missing = grammars.add_folder(Path::new("/no/such/folder")).unwrap_err();
    assert!(missing.to_string().contains("cannot be read"), "{missing}");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let folder = scratch("open");
        std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o777)).unwrap();
        let open = grammars.add_folder(&folder).unwrap_err();
        assert!(open.to_string().contains("can be written by others"), "{open}");
    }
}

fn scratch(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

fn built_folder(name: &str) -> PathBuf {
    let folder = scratch(name);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    let sources = json_sources();
    let library =
        format!("{}tree_sitter_json{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    let status = Command::new("cc")
        .args(["-shared", "-fPIC", "-I"])
        .arg(&sources)
        .arg("-o")
        .arg(folder.join(library))
        .arg(sources.join("parser.c"))
        .status()
        .unwrap();
    assert!(status.success());
    folder
}

fn json_sources() -> PathBuf {
    let home = std::env::var_os("CARGO_HOME")
        .map(PathBuf::from)
        .unwrap_or_else(|| PathBuf::from(std::env::var_os("HOME").unwrap()).join(".cargo"));
    let registries = std::fs::read_dir(home.join("registry/src")).unwrap();
    let packages =
        registries.flat_map(|registry| std::fs::read_dir(registry.unwrap().path()).unwrap());
    packages
        .map(|package| package.unwrap().path())
        .find(|path| {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            name.starts_with("tree-sitter-json-")
        })
        .unwrap()
        .join("src")
}
