//! A command before the command: `bwrap … --`, `docker exec -i NAME`, `ssh HOST`.

use std::{
    ffi::{OsStr, OsString},
    fmt,
    os::unix::ffi::{OsStrExt as _, OsStringExt as _},
    path::PathBuf,
};

use crate::{Command, CommandLine, MARK_VARIABLE, NoCommandLine, Sandbox};

/// Programs that go to files of their own: what is looked for on the host is not there.
const ELSEWHERE: [&str; 6] = ["docker", "podman", "nerdctl", "kubectl", "ssh", "lxc-attach"];

/// The one that joins its arguments with spaces and has a shell read them.
const JOINS: &str = "ssh";

/// Goes to the folder, or says that it is not there, and becomes the program.
const ENTER: &str = "cd -- \"$0\" && exec \"$@\"";

/// Puts every command behind a prefix, which passes its three pipes through. What it goes into has to run already: nothing is
/// booted, and where it is down the command fails with what the prefix says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prefix {
    name: String,
    program: PathBuf,
    args: Vec<OsString>,
    joins: bool,
    elsewhere: bool,
    folder: Option<PathBuf>,
}

/// A prefix that cannot be one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoPrefix(NoCommandLine);

impl Prefix {
    /// Reads a command line as [`CommandLine::parse`] does.
    ///
    /// # Errors
    ///
    /// Words about what is missing.
    pub fn parse(line: &str) -> Result<Self, NoPrefix> {
        let CommandLine { program, args } = CommandLine::parse(line).map_err(NoPrefix)?;
        let name = program.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok(Self {
            joins: name == JOINS,
            elsewhere: ELSEWHERE.contains(&name.as_str()),
            name,
            program,
            args: args.into_iter().map(OsString::from).collect(),
            folder: None,
        })
    }

    /// The working directory inside, where it is not that of the host.
    #[must_use]
    pub fn folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.folder = Some(folder.into());
        self
    }

    /// Whether what is started finds files of its own, such as those of a container or of another machine.
    #[must_use]
    pub fn is_elsewhere(&self) -> bool {
        self.elsewhere
    }
}

impl Sandbox for Prefix {
    fn name(&self) -> &str {
        &self.name
    }

    fn rewrite(&self, mut command: Command) -> Result<Command, String> {
        let folder = self.folder.as_deref().unwrap_or(&command.folder);
        let mut inner: Vec<OsString> = vec!["/usr/bin/env".into()];
        // An environment of its own does not have ours, and by the mark everything of a run is known.
        if self.elsewhere
            && let Some(mark) = command.environment.get(OsStr::new(MARK_VARIABLE))
        {
            let mut set = OsString::from(format!("{MARK_VARIABLE}="));
            set.push(mark);
            inner.push(set);
        }
        inner.extend(["sh".into(), "-c".into(), ENTER.into(), folder.as_os_str().to_owned()]);
        inner.push(command.program.as_os_str().to_owned());
        inner.extend(command.args.iter().cloned());
        let mut args = self.args.clone();
        if self.joins {
            let quoted: Vec<_> = inner.iter().map(|word| quote(word)).collect();
            args.push(quoted.join(OsStr::new(" ")));
        } else {
            args.extend(inner);
        }
        command.program.clone_from(&self.program);
        command.args = args;
        Ok(command)
    }
}

/// A word that a shell takes as it is.
fn quote(word: &OsStr) -> OsString {
    let mut quoted = vec![b'\''];
    for byte in word.as_bytes() {
        match byte {
            b'\'' => quoted.extend_from_slice(b"'\\''"),
            other => quoted.push(*other),
        }
    }
    quoted.push(b'\'');
    OsString::from_vec(quoted)
}

impl fmt::Display for NoPrefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; a sandbox is a command such as `bwrap --ro-bind / / --`", self.0)
    }
}

impl std::error::Error for NoPrefix {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_remote_shell_reads_is_quoted() {
        assert_eq!(quote(OsStr::new("a'b $c\n")), OsStr::new("'a'\\''b $c\n'"));
    }

    #[test]
    fn a_prefix_says_where_files_are() {
        let prefix = |line: &str| Prefix::parse(line).unwrap();
        assert!(!prefix("/usr/bin/bwrap --ro-bind / /").is_elsewhere());
        assert!(prefix("/usr/bin/docker exec -i box").is_elsewhere());
        assert!(
            Prefix::parse("no-such-sandbox-here x")
                .unwrap_err()
                .to_string()
                .contains("was not found")
        );
        assert!(Prefix::parse("").is_err());
    }
}
