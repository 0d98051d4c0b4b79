use agent_process::{
    Process,
    frame::{
        Decoder, Frame, FrameReader, FrameWriter, JsonFrame, MAX_LINE_BYTES, MAX_ODD_CHARS, Odd,
        encode,
    },
};
use proptest::{
    collection::vec,
    prelude::*,
    test_runner::{Config, TestRunner},
};
use serde_json::{Value, json};
use tokio::process::ChildStdout;

use crate::support::{Count, launcher, run};

/// Decodes bytes that came in these pieces, to the end.
fn decode<'a>(pieces: impl IntoIterator<Item = &'a [u8]>, max_body: usize) -> Vec<Frame> {
    let mut decoder = Decoder::new(max_body);
    let mut frames = Vec::new();
    for piece in pieces {
        decoder.push(piece);
        frames.extend(std::iter::from_fn(|| decoder.next_frame()));
    }
    frames.extend(decoder.finish());
    frames
}

fn body(text: &str) -> Frame {
    Frame::Body(text.as_bytes().to_vec())
}

fn noise(text: &str) -> Frame {
    Frame::Odd(Odd::Noise { text: text.to_owned() })
}

struct Peer {
    process: Process,
    writer: FrameWriter,
    reader: FrameReader<ChildStdout>,
}

impl Peer {
    async fn start(count: &Count, mode: &str) -> Self {
        let program = count.child(&format!("server {mode}"));
        let process = launcher().spawn(&program).await.unwrap();
        let writer = FrameWriter::start(process.take_stdin().unwrap());
        let reader = FrameReader::new(process.take_stdout().unwrap());
        Self { process, writer, reader }
    }

    fn ask(&self, id: u32, method: &str) {
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method});
        self.writer.send_json(&message).unwrap();
    }

    /// Everything up to the reply with this id.
    async fn until_reply(&mut self, id: u32) -> Vec<JsonFrame> {
        let mut before = Vec::new();
        loop {
            let frame = self.reader.next_json().await.unwrap().expect("the server ended");
            match &frame {
                JsonFrame::Message(message)
                    if message["id"] == id && message["method"].is_null() =>
                {
                    return before;
                }
                _ => before.push(frame),
            }
        }
    }
}

/// The nine messages of real servers that end a stricter client, and their harmless relatives: whatever came, the reply to the
/// next request is read.
pub(crate) fn no_bad_message_hides_the_next_one() {
    let log = json!({"jsonrpc": "2.0", "method": "window/logMessage", "params": {"message": "x"}});
    let published = |uri: &str, diagnostic: Value| {
        let params = json!({"uri": uri, "diagnostics": [diagnostic]});
        JsonFrame::Message(json!({"jsonrpc": "2.0", "method": "publish", "params": params}))
    };
    let said = |text: &str| JsonFrame::Odd(Odd::Noise { text: text.to_owned() });
    let oops = JsonFrame::Odd(Odd::NotJson {
        why: "key must be a string at line 1 column 2".to_owned(),
        start: "{oops".to_owned(),
    });
    let message = JsonFrame::Message;
    let cases = [
        ("noise", said("Starting up, please wait...")),
        ("noise-without-line-end", said("Starting up... ")),
        ("bare-line-feeds", message(log.clone())),
        ("no-space", message(log.clone())),
        ("content-type", message(log.clone())),
        ("content-type-first", message(log)),
        ("broken-json", oops),
        ("no-jsonrpc", message(json!({"method": "window/logMessage"}))),
        ("null-id", message(json!({"jsonrpc": "2.0", "id": null, "error": {"code": -32700}}))),
        ("negative-character", published("file:///a.c", json!({"character": -1}))),
        ("relative-uri", published("a.c", json!({}))),
        ("markup-message", published("file:///a.c", json!({"message": {"kind": "markdown"}}))),
        ("unknown-notification", message(json!({"jsonrpc": "2.0", "method": "telemetry"}))),
        ("string-id", message(json!({"jsonrpc": "2.0", "id": "ts1", "method": "ask"}))),
        ("same-id", message(json!({"jsonrpc": "2.0", "id": 1, "method": "ask"}))),
    ];
    run(async {
        let count = Count::new();
        for (mode, between) in cases {
            let mut peer = Peer::start(&count, mode).await;
            peer.ask(1, "initialize");
            assert_eq!(peer.until_reply(1).await, [], "{mode}");
            peer.ask(2, "hover");
            assert_eq!(peer.until_reply(2).await, [between], "{mode}");
        }
    });
}

pub(crate) fn a_message_comes_whole_however_it_is_split() {
    let stream = [
        "Starting\n".as_bytes(),
        &encode("{\"a\":\"åäö\"}".as_bytes()),
        b"Content-Length:2\nX-Other: 1\n\n{}",
        &encode(b""),
    ]
    .concat();
    let expected = [noise("Starting"), body("{\"a\":\"åäö\"}"), body("{}"), body("")];
    for at in 0..=stream.len() {
        let (head, tail) = stream.split_at(at);
        assert_eq!(decode([head, tail], 1000), expected, "split at {at}");
    }
    assert_eq!(decode(stream.chunks(1), 1000), expected, "byte by byte");
}

/// What a peer may write one after the other, and what of it is a message.
#[derive(Debug, Clone)]
enum Part {
    Message(Vec<u8>),
    BareMessage(Vec<u8>),
    Noise(String),
    TooLarge(usize),
}

const MAX_BODY: usize = 300;

fn part() -> impl Strategy<Value = Part> {
    prop_oneof![
        vec(any::<u8>(), 0..MAX_BODY).prop_map(Part::Message),
        vec(any::<u8>(), 0..MAX_BODY).prop_map(Part::BareMessage),
        "[ -9;-~åäö😀]{0,60}".prop_map(Part::Noise),
        "[a-z]{8150,8250}".prop_map(Part::Noise),
        (MAX_BODY + 1..5000).prop_map(Part::TooLarge),
    ]
}

/// The messages come out, all of them, in order and with equal bytes; and the odd items are the same for every split.
pub(crate) fn any_mix_of_noise_and_splits_gives_the_same_messages() {
    let config = Config { failure_persistence: None, ..Config::default() };
    let strategy = (vec(part(), 0..12), vec(1..700_usize, 1..20));
    let holds = |(parts, lengths): (Vec<Part>, Vec<usize>)| {
        let mut stream = Vec::new();
        let mut messages = Vec::new();
        let mut too_large = 0;
        for part in parts {
            match part {
                Part::Message(body) => {
                    stream.extend(encode(&body));
                    messages.push(body);
                }
                Part::BareMessage(body) => {
                    stream.extend(format!("content-length:{}\n\n", body.len()).bytes());
                    stream.extend(&body);
                    messages.push(body);
                }
                Part::Noise(text) => stream.extend(format!("{text}\n").bytes()),
                Part::TooLarge(length) => {
                    stream.extend(encode(&vec![b'x'; length]));
                    too_large += 1;
                }
            }
        }
        let whole = decode([stream.as_slice()], MAX_BODY);
        let mut rest = stream.as_slice();
        let mut sizes = lengths.iter().cycle();
        let pieces = std::iter::from_fn(|| {
            let size = rest.len().min(*sizes.next()?);
            let (piece, after) = rest.split_at(size);
            rest = after;
            (size > 0).then_some(piece)
        });
        prop_assert_eq!(&decode(pieces, MAX_BODY), &whole);
        let bodies = whole.iter().filter_map(|frame| match frame {
            Frame::Body(body) => Some(body.clone()),
            _ => None,
        });
        prop_assert_eq!(bodies.collect::<Vec<_>>(), messages);
        let skipped = |frame: &&Frame| matches!(frame, Frame::Odd(Odd::TooLarge { .. }));
        prop_assert_eq!(whole.iter().filter(skipped).count(), too_large);
        Ok(())
    };
    TestRunner::new(config).run(&strategy, holds).unwrap();
}

pub(crate) fn odd_input_is_said_with_its_text_clipped() {
    let long = "n".repeat(MAX_ODD_CHARS + 7);
    let clipped = format!("{} … 7 more bytes", "n".repeat(MAX_ODD_CHARS));
    let big = format!("{{\"id\":7,\"result\":\"{}\"}}", "r".repeat(5000));
    let line = "l".repeat(MAX_LINE_BYTES * 2);
    let odd = Frame::Odd;
    let cases: [(&str, Vec<u8>, Vec<Frame>); 9] = [
        ("noise is clipped", format!("{long}\n").into_bytes(), vec![noise(&clipped)]),
        (
            "a length that is none",
            b"Content-Length: many\r\n\r\n{}\nContent-Length: 2\r\n\r\n[]".to_vec(),
            vec![
                odd(Odd::BadLength { line: "Content-Length: many".to_owned() }),
                noise("{}"),
                body("[]"),
            ],
        ),
        (
            "a negative length, the body glued to the next header",
            b"Content-Length: -1\r\n\r\n{}Content-Length: 2\r\n\r\n[]".to_vec(),
            vec![
                odd(Odd::BadLength { line: "Content-Length: -1".to_owned() }),
                noise("{}"),
                body("[]"),
            ],
        ),
        (
            "a log line that mentions a header",
            b"got Content-Length: 52\nContent-Length: 2\r\n\r\n[]".to_vec(),
            vec![noise("got Content-Length: 52"), body("[]")],
        ),
        (
            "a body over the cap",
            [encode(big.as_bytes()), encode(b"[]")].concat(),
            vec![
                odd(Odd::TooLarge {
                    bytes: big.len() as u64,
                    start: format!("{} … 824 more bytes", &big[..MAX_ODD_CHARS]),
                }),
                body("[]"),
            ],
        ),
        (
            "an end inside of a body",
            b"Content-Length: 10\r\n\r\n{\"a\"".to_vec(),
            vec![odd(Odd::Truncated { expected: 10, got: 4, start: "{\"a\"".to_owned() })],
        ),
        (
            "an end inside of a header",
            b"Content-Length: 10\r\n".to_vec(),
            vec![odd(Odd::Truncated { expected: 10, got: 0, start: String::new() })],
        ),
        (
            "an end inside of a body over the cap",
            encode(big.as_bytes())[..2000].to_vec(),
            vec![
                odd(Odd::TooLarge {
                    bytes: big.len() as u64,
                    start: format!("{} … 824 more bytes", &big[..MAX_ODD_CHARS]),
                }),
                odd(Odd::Truncated { expected: 5020, got: 1976, start: String::new() }),
            ],
        ),
        (
            "a line without end",
            [line.as_bytes(), &encode(b"[]")].concat(),
            vec![
                noise(&format!("{} … 7928 more bytes", "l".repeat(MAX_ODD_CHARS))),
                noise(&format!("{} … 7928 more bytes", "l".repeat(MAX_ODD_CHARS))),
                noise("l".repeat(128).as_str()),
                body("[]"),
            ],
        ),
    ];
    for (name, stream, expected) in cases {
        assert_eq!(decode([stream.as_slice()], 1000), expected, "{name}");
    }
}

/// The server writes 300 kB for each change before it reads the next, while a hundred changes of 24 kB are queued: both
/// pipes are full at once, and only a writer with a task of its own gets through.
pub(crate) fn a_peer_that_writes_before_it_reads_locks_nobody_up() {
    const CHANGES: usize = 100;
    run(async {
        let count = Count::new();
        let mut peer = Peer::start(&count, "deadlock").await;
        let change = json!({"method": "change", "params": "c".repeat(24_000)});
        for _ in 0..CHANGES {
            peer.writer.send_json(&change).unwrap();
        }
        peer.ask(2, "hover");
        let before = peer.until_reply(2).await;
        let bytes = |frame: &JsonFrame| match frame {
            JsonFrame::Message(message) => message["params"].as_str().map_or(0, str::len),
            _ => 0,
        };
        assert_eq!(before.iter().map(bytes).collect::<Vec<_>>(), [300_000; CHANGES]);
        assert_eq!(peer.process.exited(), None);
    });
}
