use std::{
    env, fs,
    io::{self, Read, Write},
    path::{Path, PathBuf},
    process,
};

use super::{ModelServer, Script};

/// Names the file of the script: a process with it is a server.
pub const SCRIPT_VARIABLE: &str = "AGENT_TESTKIT_MODEL";

/// Names the file to which such a process writes each request, as a line of JSON `{"path", "tools", "body"}`.
pub const LOG_VARIABLE: &str = "AGENT_TESTKIT_MODEL_LOG";

/// The exit code where the script cannot be read or the server not be started.
const BAD_SCRIPT: i32 = 4;

/// Serves and exits if this process was started as a server; else does nothing. It prints its address as a line, and
/// ends when its standard input does. A test program calls it first in `main`.
pub fn main_if_asked() {
    let Some(path) = env::var_os(SCRIPT_VARIABLE) else { return };
    let log = env::var_os(LOG_VARIABLE).map(PathBuf::from);
    match serve_file(Path::new(&path), 0, log.as_deref()) {
        Ok(_server) => {
            let _ended = io::stdin().read_to_end(&mut Vec::new());
            process::exit(0);
        }
        Err(error) => {
            let _gone = writeln!(io::stderr(), "{}: {error}", Path::new(&path).display());
            process::exit(BAD_SCRIPT);
        }
    }
}

/// Starts the server of a script in a file and prints its address as a line.
///
/// # Errors
/// The file is no script, or the port is taken.
pub fn serve_file(script: &Path, port: u16, log: Option<&Path>) -> io::Result<ModelServer> {
    let script: Script = serde_json::from_str(&fs::read_to_string(script)?)?;
    let server = ModelServer::launch(script, port, log)?;
    let mut out = io::stdout();
    writeln!(out, "{}", server.url())?;
    out.flush()?;
    Ok(server)
}
