//! The same futures on executors that have nothing in common.

use crate::common::{Scene, client, slow};
use netblt_client::{Error, Options, ServerOptions};
use std::time::Duration;

/// Two transfers at once, and one after them.
async fn exchange(scene: &Scene) {
    let server = scene.serve(ServerOptions::default());
    let client = client(&server, Options::default());
    let one = client.send_file(scene.path("file"), "one");
    let two = client.send_bytes(scene.bytes.clone(), "two");
    let (one, two) = futures_util::future::join(one, two).await;
    assert_eq!(one.unwrap().digest(), Some(&*scene.digest));
    assert_eq!(two.unwrap().digest(), Some(&*scene.digest));
    let fetched = client.fetch_bytes("one", 1 << 30).await.unwrap();
    assert_eq!(fetched.bytes, scene.bytes);
    server.shutdown().await.unwrap();
}

#[test]
fn on_pollster() {
    pollster::block_on(exchange(&Scene::new(400_000)));
}

#[tokio::test]
async fn on_tokio_with_one_thread() {
    exchange(&Scene::new(400_000)).await;
}

/// Spawned, so that the futures are sent to other threads.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_tokio_with_several_threads() {
    let all: Vec<_> =
        (0..3).map(|_| tokio::spawn(async { exchange(&Scene::new(400_000)).await })).collect();
    for one in all {
        one.await.unwrap();
    }
}

/// No executor is blocked by a transfer: its own timers run on.
#[tokio::test]
async fn a_timeout_of_the_executor_cancels() {
    let scene = Scene::new(8_000_000);
    let server = scene.serve(ServerOptions::default());
    let transfer = client(&server, slow()).send_file(scene.path("file"), "there");
    let late = tokio::time::timeout(Duration::from_millis(700), transfer).await;
    assert!(late.is_err(), "8 s of data within 0.7 s: {late:?}");
    let handle = {
        let transfer = client(&server, slow()).send_bytes(scene.bytes.clone(), "other");
        let handle = transfer.handle();
        let task = tokio::spawn(transfer);
        tokio::time::sleep(Duration::from_millis(300)).await;
        handle.cancel();
        task
    };
    assert!(matches!(handle.await.unwrap(), Err(Error::Cancelled { .. })));
    server.shutdown().await.unwrap();
}
