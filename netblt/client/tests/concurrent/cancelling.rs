//! Transfers that nobody wants any more.

use crate::common::{PATIENCE, Scene, client, in_another_process, slow, until, wait_until};
use futures_util::StreamExt;
use netblt_client::{Client, Error, Options, ServerOptions};
use std::pin::Pin;
use std::task::Poll;
use std::time::Instant;

#[test]
fn the_other_end_hears_that_a_transfer_was_dropped_and_what_arrived_is_kept() {
    let scene = Scene::new(4_000_000);
    pollster::block_on(async {
        let mut server = scene.serve(ServerOptions::default());
        let mut ends = server.transfers().unwrap();
        let client = client(&server, slow());
        let mut transfer = client.send_file(scene.path("file"), "there");
        until(&mut transfer, 500_000).await;
        let dropped = Instant::now();
        drop(transfer);
        let end = ends.next().await.unwrap().unwrap_err();
        let told =
            matches!(&end, Error::PeerGaveUp { reason, kept: true, .. } if reason == "cancelled");
        assert!(told, "{end:?}");
        // By QUIT, and not by silence.
        assert!(dropped.elapsed().as_millis() < 1000, "{:?}", dropped.elapsed());

        let fast = Client::new(&server.address().to_string(), Options::default());
        let sent = fast.send_file(scene.path("file"), "there").await.unwrap();
        assert!(sent.payload_bytes() < 3_600_000, "{}", sent.payload_bytes());
        assert_eq!(scene.read("served/there"), scene.bytes);

        // The same where this end receives.
        let mut transfer = client.fetch_file("there", scene.path("back"));
        until(&mut transfer, 500_000).await;
        drop(transfer);
        ends.next().await.unwrap().unwrap();
        let end = ends.next().await.unwrap().unwrap_err();
        assert!(matches!(end, Error::PeerGaveUp { .. }), "{end:?}");
        wait_until("the journal is free", || {
            let got = fast.fetch_file("there", scene.path("back")).wait();
            got.is_ok_and(|got| got.payload_bytes() < 3_600_000)
        });
        assert_eq!(scene.read("back"), scene.bytes);
    });
}

#[test]
fn nothing_is_kept_for_who_does_not_want_to_resume() {
    let scene = Scene::new(2_000_000);
    pollster::block_on(async {
        let server = scene.serve(ServerOptions::default());
        client(&server, Options::default()).send_file(scene.path("file"), "there").await.unwrap();
        for fetches in [false, true] {
            let begin = |options: Options| match fetches {
                true => client(&server, options).fetch_file("there", scene.path("back")),
                false => client(&server, options).send_file(scene.path("file"), "again"),
            };
            let mut transfer = begin(slow());
            until(&mut transfer, 500_000).await;
            let handle = transfer.handle();
            handle.cancel();
            assert!(matches!(transfer.await, Err(Error::Cancelled { .. })));
            let anew = Options { resume: false, ..Options::default() };
            let started = Instant::now();
            let outcome = loop {
                match begin(anew.clone()).await {
                    Ok(outcome) => break outcome,
                    // The attempt before may be at its end still.
                    Err(error) => assert!(started.elapsed() < PATIENCE, "{error}"),
                }
            };
            assert_eq!(outcome.payload_bytes(), 2_000_000, "fetches {fetches}");
        }
        assert_eq!(scene.read("served/again"), scene.bytes);
        assert_eq!(scene.read("back"), scene.bytes);
    });
}

fn threads() -> usize {
    std::fs::read_dir("/proc/self/task").unwrap().count()
}

#[test]
fn no_thread_is_left_behind() {
    let scene = Scene::new(4_000_000);
    let test = "concurrent::cancelling::threads_come_and_go";
    let child = in_another_process(test, scene.folder.path());
    let ran = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success() && said.contains("1 passed"), "{said}");
}

/// In a process where no other test has threads.
#[test]
#[ignore = "run by no_thread_is_left_behind in a process of its own"]
fn threads_come_and_go() {
    let scene = Scene::new(4_000_000);
    let before = threads();
    pollster::block_on(async {
        let server = scene.serve(ServerOptions::default());
        assert_eq!(threads(), before + 1, "a server is one thread");
        let client = client(&server, slow());
        let mut transfers =
            [client.send_file(scene.path("file"), "a"), client.send_file(scene.path("file"), "b")];
        for transfer in &mut transfers {
            until(transfer, 100_000).await;
        }
        // One of each, and those that write at the server.
        assert!(threads() >= before + 1 + 2, "{}", threads());
        drop(transfers);
        wait_until("the server alone", || threads() == before + 1);
        // One that is never polled begins nothing.
        drop(client.send_file(scene.path("file"), "c"));
        assert_eq!(threads(), before + 1);
        // One to nobody, which is dropped while it asks.
        let mut asking = Client::new("127.0.0.1:9", slow()).send_file(scene.path("file"), "d");
        let asked =
            std::future::poll_fn(|context| Poll::Ready(Pin::new(&mut asking).poll(context)));
        assert!(asked.await.is_pending());
        assert_eq!(threads(), before + 2);
        drop(asking);
        wait_until("the server alone again", || threads() == before + 1);
        server.shutdown().await.unwrap();
    });
    wait_until("nobody", || threads() == before);
}
