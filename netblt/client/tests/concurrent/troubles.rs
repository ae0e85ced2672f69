//! Keys that differ, nobody who listens, disks that are full.

use crate::common::{Scene, client};
use netblt_client::{Client, Code, Error, Key, Options, Refusal, Seal, ServerOptions};
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use std::net::UdpSocket;
use std::path::Path;

#[test]
fn who_has_another_key_or_none_is_told() {
    let scene = Scene::new(1000);
    let key = |digits: &str| Some(Key::parse(&digits.repeat(16)).unwrap().into());
    let sealed = scene.serve(ServerOptions { seal: key("5eed"), ..Default::default() });
    let plain = scene.serve(ServerOptions::default());
    let send = |server, seal: Option<Seal>| {
        let options = Options { seal, ..Options::default() };
        client(server, options).send_file(scene.path("file"), "there").wait()
    };
    for refused in [send(&sealed, key("beef")), send(&plain, key("5eed"))] {
        let error = refused.unwrap_err();
        assert!(matches!(error, Error::OtherKey { .. }), "{error:?}");
        assert!(error.remedy().contains("the same key"));
    }
    let error = send(&sealed, None).unwrap_err();
    assert!(matches!(error, Error::Refused { .. }), "{error:?}");
    assert!(error.remedy().contains("give the key"), "{error}");
    send(&sealed, key("5eed")).unwrap();
}

/// Over real sockets: by a code, by another one, and by the right one once ten wrong ones came.
#[test]
fn a_code_opens_a_server_and_ten_wrong_ones_close_it() {
    let scene = Scene::new(100_000);
    let code = Code::draw().unwrap();
    let server = ServerOptions {
        seal: Some(code.clone().into()),
        overwrite: true,
        ..ServerOptions::default()
    };
    let server = scene.serve(server);
    let send = |code: Code| {
        let options = Options { seal: Some(code.into()), ..Options::default() };
        client(&server, options).send_file(scene.path("file"), "there").wait()
    };
    send(code.clone()).unwrap();
    let wrong: Vec<_> = std::thread::scope(|scope| {
        let guess = || send(Code::draw().unwrap());
        let guesses: Vec<_> = (0..10).map(|_| scope.spawn(guess)).collect();
        guesses.into_iter().map(|guess| guess.join().unwrap().unwrap_err()).collect()
    });
    for error in wrong {
        let refused = matches!(error, Error::OtherKey { refusal: Refusal::OtherCode, .. });
        assert!(
            refused && error.remedy().contains("the code that the server has printed"),
            "{error:?}"
        );
    }
    let error = send(code).unwrap_err();
    assert!(matches!(error, Error::OtherKey { refusal: Refusal::Burnt, .. }), "{error:?}");
    assert!(error.remedy().contains("with a new code"));
}

/// Six OPENs, the last after 23 s, and 8 s for its answer.
#[test]
fn nobody_who_listens_is_no_answer() {
    let scene = Scene::new(1000);
    let silent = UdpSocket::bind("127.0.0.1:0").unwrap();
    let address = silent.local_addr().unwrap().to_string();
    let transfer = Client::new(&address, Options::default()).send_file(scene.path("file"), "x");
    let error = transfer.wait().unwrap_err();
    assert!(matches!(error, Error::NoAnswer { .. }), "{error:?}");
    assert!(error.remedy().contains("start a server there"));
}

/// Mounts a file system of its own for this thread and those that it starts.
fn mount_small(at: &Path) -> nix::Result<()> {
    unshare(CloneFlags::CLONE_NEWNS)?;
    let nothing: Option<&str> = None;
    mount(nothing, "/", nothing, MsFlags::MS_REC | MsFlags::MS_PRIVATE, nothing)?;
    mount(Some("tmpfs"), at, Some("tmpfs"), MsFlags::empty(), Some("size=1m"))
}

fn make_read_only(at: &Path) -> nix::Result<()> {
    let nothing: Option<&str> = None;
    mount(nothing, at, nothing, MsFlags::MS_REMOUNT | MsFlags::MS_RDONLY, nothing)
}

#[test]
fn a_full_disk_at_either_end_is_named_and_what_came_is_kept() {
    if !nix::unistd::geteuid().is_root() {
        eprintln!("skipped: not root");
        return;
    }
    let scene = Scene::new(3_000_000);
    let small = scene.path("small");
    std::fs::create_dir(&small).unwrap();
    mount_small(&small).unwrap();
    std::fs::copy(scene.path("file"), scene.path("served/there")).unwrap();

    let server = scene.serve(ServerOptions::default());
    let near = client(&server, Options::default());
    let error = near.fetch_file("there", small.join("back")).wait().unwrap_err();
    let full = |reason: &str| reason.contains("No space left");
    assert!(matches!(&error, Error::GaveUp { reason, .. } if full(reason)), "{error:?}");

    let options = crate::common::on_any_port(ServerOptions::default());
    let far = netblt_client::Server::start(&small, &options).unwrap();
    let there = client(&far, Options::default());
    let error = there.send_file(scene.path("file"), "new").wait().unwrap_err();
    assert!(matches!(&error, Error::PeerGaveUp { reason, .. } if full(reason)), "{error:?}");

    // Nobody may have a file open there.
    far.stop().unwrap();
    crate::common::wait_until("read-only", || make_read_only(&small).is_ok());
    let far = netblt_client::Server::start(&small, &options).unwrap();
    let there = client(&far, Options::default());
    for error in [
        near.fetch_file("there", small.join("other")).wait().unwrap_err(),
        there.send_file(scene.path("file"), "other").wait().unwrap_err(),
    ] {
        assert!(error.to_string().contains("Read-only file system"), "{error:?}");
    }
    let nowhere = near.fetch_file("there", scene.path("no/such/folder")).wait().unwrap_err();
    assert!(matches!(nowhere, Error::CannotWrite { .. }), "{nowhere:?}");
}
