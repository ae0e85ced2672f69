//! A server that dies in the middle of a transfer, and one that ends.

use crate::common::{Scene, client, in_another_process, on_any_port, slow, until};
use netblt_client::{Client, Error, Options, Server, ServerOptions};
use std::io::{BufRead, BufReader};
use std::process::Child;

/// Serves until it is killed.
#[test]
#[ignore = "run by the tests of this file, which kill it"]
fn a_server() {
    let folder = std::env::var_os("NETBLT_FOLDER").expect("a folder");
    let server = Server::start(folder, &on_any_port(ServerOptions::default())).unwrap();
    println!("\nlistens on {}", server.address());
    loop {
        std::thread::park();
    }
}

fn start(scene: &Scene) -> (Child, String) {
    let mut child = in_another_process("concurrent::dying::a_server", &scene.path("served"));
    let lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    let address = lines.into_iter().find_map(|line| Some(line.strip_prefix("listens on ")?.into()));
    (child, address.expect("an address"))
}

#[test]
fn a_transfer_goes_on_after_the_server_died() {
    let scene = Scene::new(4_000_000);
    std::fs::copy(scene.path("file"), scene.path("served/there")).unwrap();
    for fetches in [false, true] {
        let begin = |address: &str, options| match fetches {
            true => Client::new(address, options).fetch_file("there", scene.path("back")),
            false => Client::new(address, options).send_file(scene.path("file"), "new"),
        };
        let (mut server, address) = start(&scene);
        let error = pollster::block_on(async {
            let mut transfer = begin(&address, slow());
            until(&mut transfer, 1_000_000).await;
            server.kill().unwrap();
            server.wait().unwrap();
            transfer.await.unwrap_err()
        });
        assert!(matches!(error, Error::Silent { kept: true, .. }), "{error:?}");
        assert!(error.remedy().contains("goes on where it broke"), "{error}");

        let (mut server, address) = start(&scene);
        let outcome = begin(&address, Options::default()).wait().unwrap();
        assert!(outcome.payload_bytes() < 3_100_000, "{}", outcome.payload_bytes());
        assert_eq!(outcome.digest(), Some(&*scene.digest), "of the whole file");
        server.kill().unwrap();
        server.wait().unwrap();
    }
    assert_eq!(scene.read("served/new"), scene.bytes);
    assert_eq!(scene.read("back"), scene.bytes);
}

#[test]
fn a_server_that_ends_tells_whoever_is_connected() {
    let scene = Scene::new(4_000_000);
    pollster::block_on(async {
        let server = scene.serve(ServerOptions::default());
        let mut transfer = client(&server, slow()).send_file(scene.path("file"), "there");
        until(&mut transfer, 500_000).await;
        let (ended, transfer) = futures_util::future::join(server.shutdown(), transfer).await;
        ended.unwrap();
        let error = transfer.unwrap_err();
        let told = matches!(&error, Error::PeerGaveUp { reason, kept: true, .. } if reason == "the server ends");
        assert!(told, "{error:?}");
    });
}
