//! A harness in small: JSON-RPC lines over the pipes of `agent-run serve`.

use std::{
    ffi::OsStr,
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use super::{page::Page, people};

/// Owns a run. Dropping it ends the run.
pub struct Host {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    last_id: u64,
}

impl Host {
    pub fn start(program: &Path, checkout: &Path, search_path: &OsStr) -> Result<Self> {
        let mut child = Command::new(program)
            .args(["--worker", people::WORKER, "serve"])
            .env("PATH", search_path)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start {}", program.display()))?;
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().context("a pipe from the run")?);
        let mut host = Self { child, input, output, last_id: 0 };
        let params = json!({
            "versions": [1],
            "client": {"name": "tour"},
            "roots": [checkout],
            "approve": "ask",
            "trust": true,
            "vibe": true,
            "capabilities": {"cards": true},
        });
        host.request(&mut Page::default(), "initialize", params)?;
        Ok(host)
    }

    /// Calls a tool and prints the call and what the model would read.
    pub fn call(&mut self, page: &mut Page, name: &str, args: Value) -> Result<Value> {
        self.call_in(page, &Value::Null, name, args)
    }

    /// Calls a tool in a view.
    pub fn call_in(
        &mut self,
        page: &mut Page,
        view: &Value,
        name: &str,
        args: Value,
    ) -> Result<Value> {
        page.call(name, &args);
        let call_id = format!("tour_{}", self.last_id + 1);
        let params = json!({"call_id": call_id, "name": name, "args": args, "view": view});
        let result = self.request(page, "run/call", params)?;
        page.result(&result);
        Ok(result)
    }

    /// Sends a request and serves the run's own requests until the answer is there.
    pub fn request(&mut self, page: &mut Page, method: &str, params: Value) -> Result<Value> {
        self.last_id += 1;
        let id = self.last_id;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))?;
        loop {
            let message = self.receive()?;
            if message["method"] == "card/present" {
                let reply = page.answer(&message["params"]["card"]);
                self.send(
                    &json!({"jsonrpc": "2.0", "id": message["id"], "result": {"reply": reply}}),
                )?;
            } else if message["id"] == id && message.get("method").is_none() {
                if let Some(error) = message.get("error") {
                    bail!("{method} was answered with {error}");
                }
                return Ok(message["result"].clone());
            }
        }
    }

    /// Ends the run and waits until its process is gone.
    pub fn shutdown(&mut self) -> Result<()> {
        self.request(&mut Page::default(), "run/shutdown", json!({}))?;
        self.input = None;
        let status = self.child.wait()?;
        if !status.success() {
            bail!("agent-run serve ended with {status}");
        }
        Ok(())
    }

    fn send(&mut self, message: &Value) -> Result<()> {
        let input = self.input.as_mut().context("the run was shut down")?;
        writeln!(input, "{message}").context("the run reads no more")
    }

    fn receive(&mut self) -> Result<Value> {
        let mut line = String::new();
        if self.output.read_line(&mut line)? == 0 {
            bail!("agent-run serve ended in the middle of the tour");
        }
        serde_json::from_str(&line).with_context(|| format!("no JSON: {line}"))
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
