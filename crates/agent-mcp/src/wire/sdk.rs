//! What the SDK's own transport and greeting do, which is why these are ours. Where one of these fails, the SDK has mended it.

use std::time::Duration;

use rmcp::{
    RoleClient, ServiceError,
    model::{CallToolRequestParams, ProtocolVersion, ServerCapabilities, ServerPeerInfo},
    service::{
        ClientInitializeError, ClientLifecycleMode, RunningService, serve_client_with_lifecycle,
        serve_directly,
    },
    transport::async_rw::AsyncRwTransport,
};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, ReadHalf, WriteHalf},
    time::timeout,
};

/// The longest line that the client of these tests takes.
const LIMIT: usize = 1_000;

/// A server that is played by the test.
struct Played {
    lines: tokio::io::Lines<BufReader<ReadHalf<DuplexStream>>>,
    output: WriteHalf<DuplexStream>,
}

impl Played {
    async fn next(&mut self) -> Value {
        serde_json::from_str(&self.lines.next_line().await.unwrap().unwrap()).unwrap()
    }

    async fn write(&mut self, message: &Value) {
        self.output.write_all(format!("{message}\n").as_bytes()).await.unwrap();
    }
}

type Transport = AsyncRwTransport<RoleClient, ReadHalf<DuplexStream>, WriteHalf<DuplexStream>>;

fn transport() -> (Transport, Played) {
    let (ours, theirs) = tokio::io::duplex(1 << 16);
    let (input, output) = tokio::io::split(ours);
    let (lines, theirs) = tokio::io::split(theirs);
    let transport = AsyncRwTransport::new_client(input, output).with_max_line_length(LIMIT);
    (transport, Played { lines: BufReader::new(lines).lines(), output: theirs })
}

fn client() -> (RunningService<RoleClient, ()>, Played) {
    let (transport, played) = transport();
    let info = ServerPeerInfo::new(ProtocolVersion::V_2026_07_28, ServerCapabilities::default());
    (serve_directly((), transport, Some(info)), played)
}

#[tokio::test(start_paused = true)]
async fn the_sdk_leaves_a_call_waiting_whose_answer_was_too_long() {
    let (client, mut server) = client();
    let call = client.peer().call_tool(CallToolRequestParams::new("t"));
    let play = async {
        let id = server.next().await["id"].clone();
        let content = json!([{"type": "text", "text": "x".repeat(2 * LIMIT)}]);
        server.write(&json!({"jsonrpc": "2.0", "id": id, "result": {"content": content}})).await;
        std::future::pending::<()>().await;
    };
    let ended = timeout(Duration::from_secs(3_600), async {
        tokio::select! {
            answer = call => drop(answer),
            () = play => {}
        }
    });
    assert!(ended.await.is_err(), "it waits for an hour");
}

#[tokio::test]
async fn the_sdk_answers_what_is_no_message() {
    let (_client, mut server) = client();
    server.write(&json!({"level": "info", "message": "a log line"})).await;
    assert_eq!(server.next().await["error"]["code"], -32600);
}

#[tokio::test]
async fn the_sdk_lists_no_tool_where_one_is_malformed() {
    let (client, mut server) = client();
    let play = async {
        let id = server.next().await["id"].clone();
        let tools =
            json!([{"name": "good", "inputSchema": {"type": "object"}}, {"name": "no_schema"}]);
        let result =
            json!({"resultType": "complete", "tools": tools, "ttlMs": 0, "cacheScope": "private"});
        server.write(&json!({"jsonrpc": "2.0", "id": id, "result": result})).await;
    };
    let (listed, ()) = tokio::join!(client.peer().list_tools(None), play);
    assert!(matches!(listed, Err(ServiceError::UnexpectedResponse)), "{listed:?}");
}

#[tokio::test(start_paused = true)]
async fn the_sdk_ends_at_an_answer_that_comes_late() {
    let (transport, mut server) = transport();
    let lifecycle = ClientLifecycleMode::Auto {
        preferred_versions: vec![ProtocolVersion::V_2026_07_28],
        legacy_version: None,
    };
    let play = async {
        let discover = server.next().await;
        // It answers the first question when the second one comes.
        server.next().await;
        let result = json!({"resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {}, "ttlMs": 0,
            "cacheScope": "private"});
        server.write(&json!({"jsonrpc": "2.0", "id": discover["id"], "result": result})).await;
        std::future::pending::<()>().await;
    };
    tokio::select! {
        client = serve_client_with_lifecycle((), transport, lifecycle) => {
            let error = client.expect_err("it gave up");
            assert!(matches!(error, ClientInitializeError::ConflictInitResponseId(..)), "{error}");
        }
        () = play => {}
    }
}
