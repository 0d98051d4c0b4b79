//! A checkout, a home of its own for state and configuration, and the program started in both.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use serde_json::Value;

use crate::processes::Mark;

/// Everything that is started for it carries its mark, and all of it has ended when it is dropped.
pub(crate) struct Home {
    pub(crate) mark: Mark,
    pub(crate) checkout: tempfile::TempDir,
    pub(crate) home: tempfile::TempDir,
}

impl Home {
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        let (checkout, home) =
            (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
        let home = Self { mark: Mark::new(), checkout, home };
        for (path, text) in files {
            home.put(path, text);
        }
        home
    }

    /// A checkout that is a copy of the example project.
    pub(crate) fn example() -> Self {
        let home = Self::new(&[]);
        copy(&fixtures().join("projects/example"), home.checkout.path());
        home
    }

    pub(crate) fn put(&self, path: &str, text: &str) {
        let path = self.checkout.path().join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
        fs::write(path, text).expect("a file");
    }

    /// Writes the person's own configuration.
    pub(crate) fn configure(&self, text: &str) {
        let folder = self.home.path().join("config/agent-run");
        fs::create_dir_all(&folder).expect("folders");
        fs::write(folder.join("config.toml"), text).expect("a file");
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_agent-run"));
        command.args(args).current_dir(self.checkout.path()).stdin(Stdio::null());
        self.adopt(&mut command);
        command
    }

    /// The environment of everything that is started here.
    pub(crate) fn adopt(&self, command: &mut Command) {
        for name in ["AGENT_RUN_APPROVE", "AGENT_RUN_TRUST", "AGENT_RUN_SURFACE"] {
            command.env_remove(name);
        }
        command
            .env("XDG_STATE_HOME", self.state())
            .env("XDG_CONFIG_HOME", self.home.path().join("config"));
        self.mark.put_on(command);
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.home.path().join("state")
    }

    pub(crate) fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().expect("it starts")
    }

    pub(crate) fn json(&self, args: &[&str]) -> Value {
        let output = self.run(args);
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("no JSON: {output:?}"))
    }

    pub(crate) fn file(&self, path: &str) -> String {
        fs::read_to_string(self.checkout.path().join(path)).expect("a file")
    }
}

pub(crate) fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures")
}

pub(crate) fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("a folder") {
        let path = entry.expect("an entry").path();
        let target = to.join(path.file_name().expect("a name"));
        if path.is_dir() {
            copy(&path, &target)
        } else {
            fs::copy(&path, &target).map(drop).expect("a copy")
        }
    }
}
