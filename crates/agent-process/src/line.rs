//! A command as a person writes it on one line.

use std::{
    env, fmt,
    path::{Path, PathBuf},
};

/// A program and its arguments, read from one line.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CommandLine {
    /// The program's absolute path.
    pub program: PathBuf,
    /// Its arguments, in order.
    pub args: Vec<String>,
}

/// A line that is no command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoCommandLine(String);

impl CommandLine {
    /// Reads a command line: words apart by spaces, `'…'`, `"…"` and `\` as a shell takes them, nothing expanded. The program is
    /// an absolute path, or a name that is looked for now in the absolute folders of the search path.
    ///
    /// # Errors
    ///
    /// Words about what is missing.
    pub fn parse(line: &str) -> Result<Self, NoCommandLine> {
        let mut words = split(line)?.into_iter();
        let Some(first) = words.next() else {
            return Err(NoCommandLine("the command is empty; name a program".to_owned()));
        };
        Ok(Self { program: find(&first)?, args: words.collect() })
    }
}

fn find(name: &str) -> Result<PathBuf, NoCommandLine> {
    let path = Path::new(name);
    if path.is_absolute() {
        return Ok(path.to_owned());
    }
    if name.contains('/') {
        return Err(NoCommandLine(format!("{name} has to be a name or an absolute path")));
    }
    let search = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&search)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(name))
        .find(|path| path.is_file())
        .ok_or_else(|| {
            NoCommandLine(format!("{name} was not found; install it, or name another program"))
        })
}

/// Splits a command line as a shell does, without expanding anything.
fn split(line: &str) -> Result<Vec<String>, NoCommandLine> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut rest = line.chars();
    while let Some(c) = rest.next() {
        match c {
            c if c.is_whitespace() => words.extend(word.take()),
            '\'' | '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match rest.next() {
                        Some(end) if end == c => break,
                        Some('\\') if c == '"' => word.extend(rest.next()),
                        Some(other) => word.push(other),
                        None => {
                            return Err(NoCommandLine(format!("a {c} is not closed in `{line}`")));
                        }
                    }
                }
            }
            '\\' => word.get_or_insert_default().extend(rest.next()),
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    Ok(words)
}

impl fmt::Display for NoCommandLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NoCommandLine {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_line_is_split_as_a_shell_does() {
        let words = |line: &str| split(line).map_err(|error| error.to_string());
        assert_eq!(
            words("bwrap --bind '/a b' \"/c\\\"d\" e\\ f ''").unwrap(),
            ["bwrap", "--bind", "/a b", "/c\"d", "e f", ""]
        );
        assert_eq!(words("x 'y"), Err("a ' is not closed in `x 'y`".to_owned()));
        assert_eq!(words("  ").unwrap(), Vec::<String>::new());
    }

    #[test]
    fn a_program_is_absolute_or_on_the_search_path() {
        let program = |line: &str| CommandLine::parse(line).map(|line| line.program);
        assert_eq!(program("/nowhere/tool x"), Ok("/nowhere/tool".into()));
        assert!(program("sh -c x").unwrap().ends_with("sh"));
        for (line, said) in [
            ("./tool x", "./tool has to be a name or an absolute path"),
            ("no-such-program-here", "was not found; install it"),
            ("", "the command is empty"),
        ] {
            let error = program(line).unwrap_err().to_string();
            assert!(error.contains(said), "{line}: {error}");
        }
    }
}
