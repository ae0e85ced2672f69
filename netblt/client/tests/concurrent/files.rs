//! Files and bytes, there and back.

use crate::common::{Scene, client};
use futures_util::StreamExt;
use netblt_client::{Client, Error, Key, Options, Rate, ServerOptions};
use std::time::Duration;

#[test]
fn files_and_bytes_go_there_and_come_back_with_their_digest() {
    for len in [0, 1, 11_168, 11_200, 2_000_003] {
        let scene = Scene::new(len);
        pollster::block_on(async {
            let mut server = scene.serve(ServerOptions::default());
            let ends = server.transfers().unwrap();
            let client = client(&server, Options::default());
            let sent = client.send_file(scene.path("file"), "there").await.unwrap();
            assert_eq!((sent.payload_bytes(), sent.digest()), (len as u64, Some(&*scene.digest)));
            assert!(sent.sends() && sent.is_confirmed() && sent.counters().packets_sent > 1);
            assert_eq!(scene.read("served/there"), scene.bytes);

            let got = client.fetch_file("there", scene.path("back")).await.unwrap();
            assert_eq!((got.payload_bytes(), got.digest()), (len as u64, Some(&*scene.digest)));
            assert_eq!(scene.read("back"), scene.bytes);

            let sent = client.send_bytes(scene.bytes.clone(), "bytes").await.unwrap();
            assert_eq!(sent.digest(), Some(&*scene.digest));
            assert_eq!(scene.read("served/bytes"), scene.bytes);
            let fetched = client.fetch_bytes("bytes", len as u64).await.unwrap();
            assert_eq!(fetched.bytes, scene.bytes);
            assert_eq!(fetched.outcome.digest(), Some(&*scene.digest));

            server.shutdown().await.unwrap();
            let ends: Vec<_> = ends.collect().await;
            assert!(ends.len() == 4 && ends.iter().all(Result::is_ok), "{ends:?}");
        });
        assert_eq!(scene.names("served"), ["bytes", "there"], "nothing else is left");
        assert_eq!(scene.names(""), ["back", "file", "served"]);
    }
}

#[test]
fn a_larger_file_than_wanted_takes_no_memory() {
    let scene = Scene::new(50_000);
    let server = scene.serve(ServerOptions::default());
    let client = client(&server, Options::default());
    client.send_file(scene.path("file"), "there").wait().unwrap();
    let error = client.fetch_bytes("there", 49_999).wait().unwrap_err();
    assert!(matches!(error, Error::GaveUp { kept: false, .. }), "{error:?}");
    assert!(error.to_string().contains("50000 bytes"), "{error}");
}

/// What is bounded is no faster, at either end, however quiet or busy the machine; without the bound it goes on as fast
/// as it can.
#[test]
fn a_bound_changes_while_the_transfer_runs() {
    let scene = Scene::new(4_000_000);
    let server = scene.serve(ServerOptions::default());
    let client = client(&server, Options::default());
    client.send_file(scene.path("file"), "there").wait().unwrap();
    for fetches in [false, true] {
        let transfer = match fetches {
            true => client.fetch_file("there", scene.path("back")),
            false => client.send_file(scene.path("file"), "again"),
        };
        let handle = transfer.handle();
        // 2 MB at 16 Mb/s are a second.
        handle.cap_rate(Some(16e6));
        let started = std::time::Instant::now();
        let mut half = None;
        let outcome = transfer.wait_with(|progress| {
            if progress.is_some_and(|progress| progress.done_bytes >= 2_000_000) && half.is_none() {
                half = Some(started.elapsed());
                handle.cap_rate(None);
            }
            true
        });
        assert_eq!(outcome.unwrap().payload_bytes(), 4_000_000);
        let half = half.expect("it has a middle");
        assert!(half > Duration::from_millis(900), "fetches {fetches}: {half:?}");
    }
    assert_eq!(scene.read("back"), scene.bytes);
}

#[test]
fn progress_grows_and_ends_with_the_transfer() {
    let scene = Scene::new(1_000_000);
    let server = scene.serve(ServerOptions::default());
    let options = Options { rate: Rate::Fixed(16e6), ..Options::default() };
    let transfer = client(&server, options).send_file(scene.path("file"), "there");
    let watch = transfer.handle().progress_stream().collect::<Vec<_>>();
    let (outcome, seen) = pollster::block_on(futures_util::future::join(transfer, watch));
    outcome.unwrap();
    // Half a second, looked at each 50 ms at least.
    assert!(seen.len() > 3, "{seen:?}");
    assert!(seen.windows(2).all(|pair| pair[0].done_bytes <= pair[1].done_bytes), "{seen:?}");
    assert!(seen.iter().all(|progress| progress.total_bytes == 1_000_000), "{seen:?}");
}

#[test]
fn every_rate_and_a_key_do_the_same() {
    let scene = Scene::new(300_000);
    let key = Key::parse(&"5eed".repeat(16)).unwrap();
    let options =
        ServerOptions { seal: Some(key.clone().into()), overwrite: true, ..Default::default() };
    let server = scene.serve(options);
    for rate in [
        Rate::Competing { at_most_bps: Some(50e6) },
        Rate::Scavenging { at_most_bps: None },
        Rate::Fixed(100e6),
    ] {
        let options = Options { seal: Some(key.clone().into()), rate, ..Options::default() };
        let sent = client(&server, options).send_file(scene.path("file"), "there").wait().unwrap();
        assert_eq!(sent.digest(), Some(&*scene.digest), "{rate:?}");
    }
    server.stop().unwrap();
}

/// What a server may do is said when it starts.
#[test]
fn servers_are_safe_and_can_be_restricted() {
    let scene = Scene::new(1000);
    let open = ServerOptions { listen: Some("0.0.0.0:0".parse().unwrap()), ..Default::default() };
    let refused = netblt_client::Server::start(scene.path("served"), &open).unwrap_err();
    assert!(matches!(refused, Error::NotTrusted { .. }), "{refused}");
    let trusted = ServerOptions { trust: true, ..open };
    netblt_client::Server::start(scene.path("served"), &trusted).unwrap().stop().unwrap();

    let reader = scene.serve(ServerOptions { writable: false, ..Default::default() });
    let at_reader = client(&reader, Options::default());
    let refused = at_reader.send_file(scene.path("file"), "there").wait().unwrap_err();
    assert!(
        matches!(&refused, Error::Refused { reason, .. } if reason == "read only"),
        "{refused}"
    );
    assert!(refused.remedy().contains("allow to write"));
    let missing = at_reader.fetch_file("nothing", scene.path("back")).wait().unwrap_err();
    assert!(missing.remedy().contains("a name that is there"), "{missing}");
    let out = at_reader.fetch_file("../file", scene.path("back")).wait().unwrap_err();
    assert!(matches!(out, Error::Refused { .. }), "{out}");
    let dead = Client::new("no.such.host.invalid", Options::default());
    let unknown = dead.fetch_bytes("x", 1).wait().unwrap_err();
    assert!(matches!(unknown, Error::UnknownHost { .. }), "{unknown}");
}
