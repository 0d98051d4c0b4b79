//! A client that sends lines as they are and reads lines as they come.

use std::{
    io::{self, BufRead, BufReader, PipeWriter, Read, Write},
    process::{Child, ExitStatus},
    sync::{
        Arc,
        mpsc::{Receiver, RecvTimeoutError, channel},
    },
    thread::{self, JoinHandle},
};

use notes_mcp::protocol::{Tools, serve};
use serde_json::{Value, json};

use crate::{program::Killed, support::IN_TIME};

pub(crate) struct Peer {
    input: Option<Box<dyn Write + Send>>,
    lines: Receiver<String>,
    server: Server,
}

enum Server {
    Program { child: Killed, stderr: JoinHandle<String> },
    Thread(JoinHandle<io::Result<()>>),
}

/// How a server ended, and what it wrote that nobody read yet.
pub(crate) struct End {
    pub(crate) status: Option<ExitStatus>,
    pub(crate) lines: Vec<Value>,
    pub(crate) stderr: String,
}

impl Peer {
    pub(crate) fn of(mut child: Child) -> Self {
        let input = child.stdin.take().expect("its input");
        let lines = lines(child.stdout.take().expect("its output"));
        let mut stderr = child.stderr.take().expect("its standard error");
        let stderr = thread::spawn(move || {
            let mut text = String::new();
            stderr.read_to_string(&mut text).expect("UTF-8");
            text
        });
        let server = Server::Program { child: Killed(child), stderr };
        Self { input: Some(Box::new(input)), lines, server }
    }

    /// A server in this process.
    pub(crate) fn of_tools(tools: impl Tools + 'static) -> Self {
        let (read, input) = io::pipe().expect("a pipe");
        let (output, write) = io::pipe().expect("a pipe");
        let tools = Arc::new(tools);
        let server = thread::spawn(move || serve(tools, BufReader::new(read), write));
        let input: PipeWriter = input;
        Self { input: Some(Box::new(input)), lines: lines(output), server: Server::Thread(server) }
    }

    pub(crate) fn send(&mut self, message: &Value) {
        self.send_bytes(format!("{message}\n").as_bytes());
    }

    pub(crate) fn send_bytes(&mut self, bytes: &[u8]) {
        let input = self.input.as_mut().expect("the input is open");
        input.write_all(bytes).expect("it reads");
        input.flush().expect("it reads");
    }

    pub(crate) fn next_line(&mut self) -> String {
        self.lines.recv_timeout(IN_TIME).expect("a line in time")
    }

    pub(crate) fn next(&mut self) -> Value {
        let line = self.next_line();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
    }

    /// Sends a request and gives back the next message, which has to be its answer.
    pub(crate) fn ask(&mut self, request: &Value) -> Value {
        self.send(request);
        let answer = self.next();
        assert_eq!(answer["id"], request["id"], "{answer}");
        answer
    }

    pub(crate) fn call(&mut self, id: u64, name: &str, arguments: Value) -> Value {
        self.ask(&call(id, name, arguments))["result"].take()
    }

    pub(crate) fn id(&self) -> u32 {
        match &self.server {
            Server::Program { child, .. } => child.0.id(),
            Server::Thread(_) => panic!("it is no program"),
        }
    }

    /// Closes the input and waits for the end.
    pub(crate) fn end(mut self) -> End {
        self.input = None;
        let mut lines = Vec::new();
        loop {
            match self.lines.recv_timeout(IN_TIME) {
                Ok(line) => lines.push(serde_json::from_str(&line).expect("a message")),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => panic!("it does not end; so far: {lines:?}"),
            }
        }
        match self.server {
            Server::Program { mut child, stderr } => {
                let status = child.0.wait().expect("an end");
                let stderr = stderr.join().expect("its standard error");
                End { status: Some(status), lines, stderr }
            }
            Server::Thread(server) => {
                server.join().expect("no panic").expect("no error");
                End { status: None, lines, stderr: String::new() }
            }
        }
    }
}

fn lines(output: impl Read + Send + 'static) -> Receiver<String> {
    let (send, lines) = channel();
    thread::spawn(move || {
        for line in BufReader::new(output).lines() {
            let Ok(line) = line else { return };
            if send.send(line).is_err() {
                return;
            }
        }
    });
    lines
}

/// What every request has to say of itself.
pub(crate) fn meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "tests", "version": "0"},
    })
}

pub(crate) fn request(id: u64, method: &str, mut params: Value) -> Value {
    params["_meta"] = meta();
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

pub(crate) fn call(id: u64, name: &str, arguments: Value) -> Value {
    request(id, "tools/call", json!({"name": name, "arguments": arguments}))
}

pub(crate) fn cancel(id: u64) -> Value {
    json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}})
}

/// A call whose client wants to be told how far it is.
pub(crate) fn watched(mut request: Value, token: Value) -> Value {
    request["params"]["_meta"]["progressToken"] = token;
    request
}
