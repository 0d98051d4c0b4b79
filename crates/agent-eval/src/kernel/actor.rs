//! The task that speaks with one kernel. It reads always, between cells too, so that nothing of the kernel ever blocks on a
//! full pipe.

use std::{collections::VecDeque, future, sync::Arc, time::Duration};

use agent_process::{ExitReport, Process};
use tokio::{
    io::AsyncReadExt as _,
    process::ChildStdout,
    sync::{mpsc, oneshot},
    time::{sleep_until, timeout},
};

use super::{
    Aborted, CellEvent, Command, Job, Shared, end,
    running::{Reply, Running, Stop},
    writer::Writer,
};
use crate::{
    boot::Boot,
    budget::Step,
    outcome::{CellError, Collector, Outcome, State},
    wire::{
        Frame, FrameDecoder, Said, Scope, Sequenced, Sequencer, ToolReply, encode_message,
        encode_signal, execute_request, tool_reply,
    },
};

const CHUNK_BYTES: usize = 128 << 10;

const SIGINT: u8 = 2;
const SIGKILL: u8 = 9;

/// How long a killed kernel's pipe may stay open before the whole tree is killed from here.
const KILL_WITHIN: Duration = Duration::from_secs(2);

/// How long the supervisor's own last words are waited for.
const EXIT_WITHIN: Duration = Duration::from_secs(1);

type Ready = oneshot::Sender<(String, String)>;

pub(super) struct Actor {
    process: Process,
    output: Option<ChildStdout>,
    writer: Writer,
    commands: mpsc::UnboundedReceiver<Command>,
    shared: Arc<Shared>,
    ready: Option<Ready>,
    frames: FrameDecoder,
    order: Sequencer,
    running: Option<Running>,
    waiting: VecDeque<Job>,
    /// What came while no cell ran.
    since: Collector,
    /// How the kernel ended, as the supervisor told it.
    exit: Option<i32>,
    broken: Option<String>,
}

impl Actor {
    pub(super) fn new(
        process: Process,
        boot: Boot,
        commands: mpsc::UnboundedReceiver<Command>,
        shared: Arc<Shared>,
        ready: Ready,
    ) -> Self {
        let mut writer = Writer::new(process.take_stdin());
        writer.write(boot.input);
        Self {
            output: process.take_stdout(),
            process,
            writer,
            commands,
            shared,
            ready: Some(ready),
            frames: FrameDecoder::default(),
            order: Sequencer::new(&boot.token),
            running: None,
            waiting: VecDeque::new(),
            since: Collector::default(),
            exit: None,
            broken: None,
        }
    }

    pub(super) async fn run(mut self) {
        let Some(mut output) = self.output.take() else { return };
        let mut chunk = vec![0; CHUNK_BYTES];
        loop {
            let wake = self.running.as_ref().and_then(Running::wake);
            let events = self.running.as_ref().filter(|cell| !cell.is_stopping());
            let forgotten = events.map(|cell| cell.events.clone());
            tokio::select! {
                read = output.read(&mut chunk) => match read {
                    Ok(count @ 1..) => self.take(&chunk[..count]),
                    _ => return self.ended().await,
                },
                command = self.commands.recv() => match command {
                    None => return self.close(None).await,
                    Some(Command::Close(closed)) => return self.close(Some(closed)).await,
                    Some(command) => self.command(command),
                },
                () = self.writer.go_on() => {}
                () = until(wake) => self.tick(&mut output).await,
                () = closed(forgotten) => self.stop(Stop::Forgotten),
            }
            if self.exit.is_some() || self.broken.is_some() {
                return self.ended().await;
            }
        }
    }

    fn command(&mut self, command: Command) {
        match command {
            Command::Execute(job) if self.running.is_some() => self.waiting.push_back(job),
            Command::Execute(job) => self.begin(job),
            Command::Answer { id, reply } => self.answer(&id, &reply),
            Command::Interrupt => self.stop(Stop::Asked),
            Command::Close(_) => {}
        }
    }

    fn begin(&mut self, job: Job) {
        self.write(encode_message(&execute_request(&job.code, job.about.clone())));
        let mut since = std::mem::take(&mut self.since);
        if !since.is_empty() {
            since.note("what stands above was shown between the cells");
        }
        self.running = Some(Running::new(&job, since));
    }

    /// Stops the cell: the calls that it waits for fail first.
    fn stop(&mut self, why: Stop) {
        let Some(cell) = &mut self.running else { return };
        cell.stop(why);
        let calls: Vec<String> = cell.calls.keys().cloned().collect();
        for id in calls {
            self.give_up(&id);
            self.answer(&id, &aborted());
        }
    }

    fn give_up(&mut self, id: &str) {
        if let Some(cell) = &self.running {
            let _ = cell.events.send(CellEvent::CancelCall { id: id.to_owned() });
        }
    }

    fn answer(&mut self, id: &str, reply: &ToolReply) {
        let header = self.running.as_mut().and_then(|cell| cell.call_ended(id));
        if let Some(header) = header {
            self.write(encode_message(&tool_reply(&header, reply)));
        }
    }

    async fn tick(&mut self, output: &mut ChildStdout) {
        if self.running.as_ref().is_some_and(Running::is_silent) {
            self.stop(Stop::Silence);
        }
        match self.running.as_mut().and_then(Running::step) {
            Some(Step::Interrupt) => self.write(encode_signal(Scope::Process, SIGINT)),
            Some(Step::InterruptGroup) => self.write(encode_signal(Scope::Group, SIGINT)),
            Some(Step::Kill) => self.kill(output).await,
            None => {}
        }
    }

    /// Kills through the supervisor, which can where nothing else reaches; then from here.
    async fn kill(&mut self, output: &mut ChildStdout) {
        self.write(encode_signal(Scope::Group, SIGKILL));
        let mut chunk = vec![0; CHUNK_BYTES];
        let reading = async {
            while self.exit.is_none() {
                tokio::select! {
                    read = output.read(&mut chunk) => match read {
                        Ok(count @ 1..) => self.take(&chunk[..count]),
                        _ => return,
                    },
                    () = self.writer.go_on() => {}
                }
            }
        };
        if timeout(KILL_WITHIN, reading).await.is_err() {
            self.process.tree().kill();
        }
        self.exit.get_or_insert(i32::from(SIGKILL));
    }

    fn take(&mut self, bytes: &[u8]) {
        self.frames.push(bytes);
        loop {
            match self.frames.next() {
                Ok(None) => break,
                Ok(Some(Frame::Protocol(bytes))) => self.order.push_protocol(&bytes),
                Ok(Some(Frame::Output(stream, bytes))) => self.order.push_output(stream, &bytes),
                Ok(Some(Frame::Exit(status))) => self.exit = Some(status),
                Err(error) => {
                    self.broken = Some(error.to_string());
                    break;
                }
            }
        }
        self.hear();
    }

    fn hear(&mut self) {
        while let Some(next) = self.order.next() {
            match (next, &mut self.running) {
                (Sequenced::Text(stream, bytes), Some(cell)) => cell.text(stream, bytes),
                (Sequenced::Text(stream, bytes), None) => {
                    self.since.text(stream, &bytes);
                }
                (Sequenced::Missing(words), Some(cell)) => cell.collector.missing(words),
                (Sequenced::Missing(words), None) => self.since.missing(words),
                (Sequenced::Said(said), _) => self.said(said),
            }
        }
    }

    fn said(&mut self, said: Said) {
        match said {
            Said::Starting { version, executable } => {
                if let Some(ready) = self.ready.take() {
                    let _ = ready.send((version, executable));
                }
            }
            Said::ToolRequest { header, name, args } => self.call(*header, name, args),
            Said::ToolCancel { id } => {
                if let Some(cell) = &mut self.running
                    && cell.call_ended(&id).is_some()
                {
                    self.give_up(&id);
                }
            }
            said => match &mut self.running {
                Some(cell) => of_cell(cell, said),
                None => between(&mut self.since, said),
            },
        }
        if self.running.as_ref().is_some_and(Running::is_over) {
            self.finish(None);
        }
    }

    fn call(&mut self, header: jupyter_protocol::Header, name: String, args: serde_json::Value) {
        let id = header.msg_id.clone();
        match &mut self.running {
            Some(cell) if !cell.is_stopping() => {
                cell.call_began(id.clone(), header);
                let _ = cell.events.send(CellEvent::Call { id, name, args });
            }
            Some(_) => self.write(encode_message(&tool_reply(&header, &aborted()))),
            None => {
                let reply = ToolReply::Error {
                    message: "no cell runs: tool() works while one does".to_owned(),
                    kind: "unavailable".to_owned(),
                    code: "no_cell".to_owned(),
                };
                self.write(encode_message(&tool_reply(&header, &reply)));
            }
        }
    }

    /// The cell is over; the next one begins.
    fn finish(&mut self, death: Option<String>) {
        let Some(cell) = self.running.take() else { return };
        let events = cell.events.clone();
        let outcome = cell.finish(death);
        if events.is_closed() {
            self.shared.set_aborted(Aborted { kept: outcome.state == State::Kept });
        }
        let _ = events.send(CellEvent::Done(Box::new(outcome)));
        if self.exit.is_none()
            && let Some(job) = self.waiting.pop_front()
        {
            self.begin(job);
        }
    }

    /// The kernel has ended, by itself or not.
    async fn ended(mut self) {
        self.writer.close();
        let report = timeout(EXIT_WITHIN, self.process.wait()).await.ok();
        end(&self.process).await;
        self.order.end();
        self.hear();
        let how = how_it_ended(self.exit, self.broken.as_deref(), report.as_ref());
        self.shared.set_ended(how.clone());
        self.finish(Some(how.clone()));
        for job in std::mem::take(&mut self.waiting) {
            let _ =
                job.events.send(CellEvent::Done(Box::new(Outcome::not_run(&how, String::new()))));
        }
        // Whoever asks later finds what was left in `shared`.
        while let Ok(command) = self.commands.try_recv() {
            if let Command::Execute(job) = command {
                let _ = job
                    .events
                    .send(CellEvent::Done(Box::new(Outcome::not_run(&how, String::new()))));
            }
        }
    }

    async fn close(mut self, closed: Option<oneshot::Sender<()>>) {
        self.writer.close();
        end(&self.process).await;
        self.finish(Some("it was closed".to_owned()));
        if let Some(closed) = closed {
            let _ = closed.send(());
        }
    }

    fn write(&mut self, frame: Vec<u8>) {
        self.writer.write(frame);
    }
}

fn of_cell(cell: &mut Running, said: Said) {
    match said {
        Said::Display { data, id, left_out } => {
            cell.alive();
            cell.collector.display(id, data, left_out);
        }
        Said::Update { data, id, left_out } => {
            cell.alive();
            cell.collector.update(id.as_deref(), data, left_out);
        }
        Said::Clear => cell.collector.clear(),
        Said::Result { data, left_out } => cell.collector.result(data, left_out),
        Said::Error { name, value, traceback } => {
            cell.error = Some(CellError { name, value, traceback });
        }
        Said::Reply { ok, began, execution_count, names, more_names } => {
            cell.reply = Some(Reply { ok, began, execution_count, names: (names, more_names) });
        }
        Said::Idle => cell.idle = true,
        _ => {}
    }
}

fn between(since: &mut Collector, said: Said) {
    if let Said::Display { data, id, left_out } = said {
        since.display(id, data, left_out);
    }
}

fn aborted() -> ToolReply {
    ToolReply::Error {
        message: "the cell is being stopped".to_owned(),
        kind: "cancelled".to_owned(),
        code: "cell_stopped".to_owned(),
    }
}

/// `status` is what `wait` gives: a signal in the low seven bits, else a code in the next eight.
fn how_it_ended(status: Option<i32>, broken: Option<&str>, report: Option<&ExitReport>) -> String {
    if let Some(broken) = broken {
        let more = report.map(|report| format!("; {report}")).unwrap_or_default();
        return format!("{broken}{more}");
    }
    match (status, report) {
        (Some(status), _) if status & 0x7f == 0 => format!("exit status {}", (status >> 8) & 0xff),
        (Some(status), _) => {
            let number = status & 0x7f;
            let core = if status & 0x80 != 0 { ", core dumped" } else { "" };
            format!("killed by signal {number} ({}){core}", signal_name(number))
        }
        (None, Some(report)) => report.to_string(),
        (None, None) => "its pipe was closed".to_owned(),
    }
}

fn signal_name(number: i32) -> &'static str {
    match number {
        2 => "SIGINT",
        4 => "SIGILL",
        6 => "SIGABRT",
        7 => "SIGBUS",
        8 => "SIGFPE",
        9 => "SIGKILL",
        11 => "SIGSEGV",
        15 => "SIGTERM",
        _ => "no name known",
    }
}

async fn until(wake: Option<tokio::time::Instant>) {
    match wake {
        Some(wake) => sleep_until(wake).await,
        None => future::pending().await,
    }
}

async fn closed(events: Option<mpsc::UnboundedSender<CellEvent>>) {
    match events {
        Some(events) => events.closed().await,
        None => future::pending().await,
    }
}
