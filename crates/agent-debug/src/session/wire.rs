//! How a session comes to its adapter.

use std::{io, path::PathBuf, time::Duration};

use agent_process::{Input, Launcher, Output, Priority, Process, Program};
use tokio::{
    io::{AsyncRead, AsyncReadExt},
    net::{TcpListener, TcpStream},
    time::timeout,
};

use super::{Live, lock};
use crate::{adapters, connection::Connection};
use std::sync::Arc;

/// How long an adapter may take to come to our port.
const CALL_TIME: Duration = Duration::from_secs(10);

const CHUNK_BYTES: usize = 16 << 10;

/// What dlv says on its own behalf on the pipes that its debuggee writes to.
const OWN_WORDS: &[u8] = b"DAP server listening at";

/// Where the adapter is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Wire {
    /// It is started from this path, in this folder.
    Program { path: PathBuf, folder: PathBuf },
    /// It listens already.
    Port(u16),
}

/// Starts the adapter or joins it.
pub(super) async fn connect(
    live: &Live,
    wire: &Wire,
    launcher: &Launcher,
) -> Result<Arc<Connection>, String> {
    let (path, folder) = match wire {
        Wire::Port(port) => {
            let stream = TcpStream::connect(("127.0.0.1", *port)).await;
            let stream =
                stream.map_err(|error| format!("nothing answers on port {port}: {error}"))?;
            return over_socket(live, stream).map_err(|error| error.to_string());
        }
        Wire::Program { path, folder } => (path, folder),
    };
    let program = Program::new(path, folder).args(live.adapter.args).priority(Priority::ADAPTER);
    match live.adapter.wire {
        adapters::Wire::Pipes => {
            let process = spawn(live, launcher, &program).await?;
            let pipes = process.take_stdout().zip(process.take_stdin());
            let (output, input) = pipes.ok_or("the adapter has no pipes")?;
            let (connection, _) = Connection::start(output, input, live.shared.clone());
            Ok(connection)
        }
        adapters::Wire::Calls(argument) => {
            let told = |error: io::Error| format!("no port could be opened: {error}");
            let listener = TcpListener::bind(("127.0.0.1", 0)).await.map_err(told)?;
            let port = listener.local_addr().map_err(told)?.port();
            let program = program
                .arg(format!("{argument}127.0.0.1:{port}"))
                .stdin(Input::Null)
                .stderr(Output::Piped);
            let process = spawn(live, launcher, &program).await?;
            if let Some(pipe) = process.take_stdout() {
                tokio::spawn(pump(pipe, live.shared.clone()));
            }
            if let Some(pipe) = process.take_stderr() {
                tokio::spawn(pump(pipe, live.shared.clone()));
            }
            let stream = tokio::select! {
                accepted = timeout(CALL_TIME, listener.accept()) => match accepted {
                    Ok(Ok((stream, _))) => stream,
                    Ok(Err(error)) => return Err(told(error)),
                    Err(_) => return Err("the adapter did not call back in 10 s".to_owned()),
                },
                exit = process.wait() => return Err(format!("the adapter {exit}")),
            };
            over_socket(live, stream).map_err(|error| error.to_string())
        }
    }
}

async fn spawn(
    live: &Live,
    launcher: &Launcher,
    program: &Program,
) -> Result<Arc<Process>, String> {
    let process = launcher.spawn(program).await.map_err(|error| error.to_string())?;
    let process = Arc::new(process);
    *lock(&live.process) = Some(process.clone());
    Ok(process)
}

fn over_socket(live: &Live, stream: TcpStream) -> io::Result<Arc<Connection>> {
    // Small requests that wait for the acknowledgement of the one before would cost 40 ms each.
    stream.set_nodelay(true)?;
    let (reader, writer) = stream.into_split();
    Ok(Connection::start(reader, writer, live.shared.clone()).0)
}

/// Old versions of dlv let the debuggee write to their own pipes.
async fn pump(mut pipe: impl AsyncRead + Unpin, shared: Arc<crate::state::Shared>) {
    let mut chunk = vec![0; CHUNK_BYTES];
    while let Ok(count @ 1..) = pipe.read(&mut chunk).await {
        if !chunk[..count].starts_with(OWN_WORDS) {
            shared.written(&chunk[..count]);
        }
    }
}
