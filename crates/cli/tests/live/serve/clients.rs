//! A hundred clients at once, while a device is tested.

use super::client::Events;
use super::server::Server;
use crate::common::{Scratch, turn};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

const CLIENTS: usize = 100;
/// A rate that a router on one processor forwards by far, so that a trial depends on the tester alone.
const TRAFFIC: &str = "traffic --device linux-router --rate 5kpps --duration 8s";

/// The share of the load that was sent, and whether the tester kept up.
fn sent(server: &Server, clients: usize) -> (f64, bool, u64) {
    let id = server.run(TRAFFIC);
    let over = Arc::new(AtomicBool::new(false));
    let streams: Vec<_> = (0..clients)
        .map(|_| {
            let (address, id) = (server.address.clone(), id.clone());
            let over = over.clone();
            std::thread::spawn(move || {
                let mut events = Events::of(&address, &id, None);
                let mut told = 0;
                // As a page does it: the stream, and the list once a second.
                while let Some(event) = events.next() {
                    told += 1;
                    if event.data["kind"] == "summary" || over.load(Ordering::Relaxed) {
                        break;
                    }
                    super::client::get(&address, "/api/state", &[]);
                }
                told
            })
        })
        .collect();
    let told = Events::of(&server.address, &id, None).until("summary");
    std::thread::sleep(std::time::Duration::from_secs(1));
    over.store(true, Ordering::Relaxed);
    for stream in streams {
        assert!(stream.join().expect("a client") >= 8, "every client is told every second");
    }
    server.end_of(&id);
    let summary = told.last().expect("a summary").data.clone();
    (
        summary["load_share"].as_f64().unwrap(),
        summary["tester_kept_up"] == true,
        summary["sent_frames"].as_u64().unwrap(),
    )
}

#[test]
fn a_hundred_clients_do_not_keep_the_tester_from_its_load() {
    if !super::can_build_devices("a_hundred_clients_do_not_keep_the_tester_from_its_load") {
        return;
    }
    let _turn = turn::wait();
    let scratch = Scratch::new();
    let server = Server::start(&scratch, "");
    // On a machine that is busy with other things a tester may fall short without any client: then nothing is
    // learnt of them, and it is tried again.
    for _ in 0..5 {
        let alone = sent(&server, 0);
        let watched = sent(&server, CLIENTS);
        eprintln!("alone {alone:?}, with {CLIENTS} clients {watched:?}");
        if !alone.1 {
            continue;
        }
        assert!(
            watched.1,
            "the tester fell short with {CLIENTS} clients and not without: {alone:?}, {watched:?}"
        );
        return;
    }
    panic!("the tester fell short five times without any client");
}
