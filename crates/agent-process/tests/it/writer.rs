use std::time::{Duration, Instant};

use agent_process::{
    ShutdownStep, ShutdownSteps,
    frame::{Closed, Frame, FrameReader, FrameWriter, Queued, SendError},
};
use tokio::io::AsyncReadExt;

use crate::support::{Count, launcher, ready, run};

const MEGABYTE: usize = 1 << 20;

pub(crate) fn a_peer_that_never_reads_is_told_as_stalled() {
    run(async {
        let count = Count::new();
        let process = launcher().spawn(&count.child("server never-reads")).await.unwrap();
        let writer = FrameWriter::with_room(process.take_stdin().unwrap(), 4 * MEGABYTE);
        ready(&process).await;
        let message = vec![b' '; MEGABYTE];
        let start = Instant::now();
        let mut sent = 0;
        let error = loop {
            match writer.send(&message) {
                Ok(()) => sent += 1,
                Err(error) => break error,
            }
        };
        assert!(start.elapsed() < Duration::from_secs(1), "a send waited");
        assert!((3..=4).contains(&sent), "{sent}");
        let SendError::Stalled(Queued { bytes, .. }) = error else { panic!("{error:?}") };
        assert!(bytes > 2 * MEGABYTE && bytes <= 4 * MEGABYTE, "{bytes}");
        let said = error.to_string();
        assert!(said.starts_with(&format!("the peer does not read: {bytes} bytes wait")), "{said}");
        drop(process);
        assert!(matches!(writer.closed().await, Closed::Broken(_)));
        count.none_is_left();
    });
}

pub(crate) fn a_stall_says_how_many_bytes_for_how_long() {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let runtime = builder.enable_all().start_paused(true).build().unwrap();
    runtime.block_on(async {
        let (near, mut far) = tokio::io::duplex(100);
        let writer = FrameWriter::with_room(near, 1000);
        assert_eq!(writer.queued(), Queued::default());
        writer.send(&[b'x'; 5000]).expect("a message over the room is taken when nothing waits");
        tokio::time::sleep(Duration::from_secs(7)).await;
        let all = "Content-Length: 5000\r\n\r\n".len() + 5000;
        let queued = writer.queued();
        assert_eq!((queued.bytes, queued.stalled), (all - 100, Duration::from_secs(7)));
        let error = writer.send(b"x").unwrap_err();
        assert_eq!(
            error.to_string(),
            "the peer does not read: 4924 bytes wait and none were taken for 7.0 s"
        );
        let mut some = [0; 50];
        far.read_exact(&mut some).await.unwrap();
        tokio::time::sleep(Duration::from_secs(2)).await;
        let queued = writer.queued();
        assert_eq!((queued.bytes, queued.stalled), (all - 150, Duration::from_secs(2)));
    });
}

pub(crate) fn a_closed_writer_ends_the_peers_input_and_reading_goes_on() {
    run(async {
        let count = Count::new();
        let process = launcher().spawn(&count.child("server x")).await.unwrap();
        let writer = FrameWriter::start(process.take_stdin().unwrap());
        let mut reader = FrameReader::new(process.take_stdout().unwrap());
        for id in 1..=50 {
            writer.send_json(&serde_json::json!({"id": id, "method": "hover"})).unwrap();
        }
        writer.close();
        assert_eq!(writer.send(b"{}"), Err(SendError::Closed(Closed::AfterQueue)));
        assert_eq!(writer.closed().await, Closed::AfterQueue);
        let mut replies = 0;
        while let Some(frame) = reader.next().await.unwrap() {
            assert!(matches!(frame, Frame::Body(_)), "{frame:?}");
            replies += 1;
        }
        assert_eq!((replies, process.wait().await.code), (50, Some(0)));
    });
}

pub(crate) fn an_aborted_writer_closes_at_once_whatever_waits() {
    run(async {
        let count = Count::new();
        let process = launcher().spawn(&count.child("server never-reads")).await.unwrap();
        let writer = FrameWriter::start(process.take_stdin().unwrap());
        writer.send(&vec![b' '; MEGABYTE]).unwrap();
        writer.close();
        let waits = tokio::time::timeout(Duration::from_millis(50), writer.closed()).await;
        assert!(waits.is_err(), "closed although the peer has not read");
        writer.abort();
        let Closed::Aborted(unwritten) = writer.closed().await else { panic!("not aborted") };
        assert!(unwritten > MEGABYTE / 2, "{unwritten}");
        let steps = ShutdownSteps::new().after_stdin(Duration::ZERO);
        assert_eq!(process.shutdown(&steps).await.by, ShutdownStep::Term);
    });
}

pub(crate) fn a_peer_that_died_breaks_the_pipe() {
    run(async {
        let count = Count::new();
        let process = launcher().spawn(&count.child("exit 0")).await.unwrap();
        let writer = FrameWriter::start(process.take_stdin().unwrap());
        process.wait().await;
        writer.send(b"{}").unwrap();
        let Closed::Broken(why) = writer.closed().await else { panic!("not broken") };
        let error = writer.send(b"{}").unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("nothing can be sent: the peer closed its input ({why})")
        );
    });
}

pub(crate) fn the_last_dropped_writer_writes_what_is_queued() {
    run(async {
        let (near, far) = tokio::io::duplex(64);
        let writer = FrameWriter::start(near);
        let other = writer.clone();
        for _ in 0..10 {
            other.send(&[b'x'; 1000]).unwrap();
        }
        drop((writer, other));
        let mut reader = FrameReader::new(far);
        let mut bodies = 0;
        while let Some(frame) = reader.next().await.unwrap() {
            assert_eq!(frame, Frame::Body(vec![b'x'; 1000]));
            bodies += 1;
        }
        assert_eq!(bodies, 10);
    });
}
