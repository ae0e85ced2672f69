//! A hundred clients at once, while a device is tested.

use crate::common::{Scratch, turn, undecided};
use crate::concurrent::serve::client::Events;
use crate::concurrent::serve::server::Server;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

const CLIENTS: usize = 100;
/// A rate that a router on one processor forwards by far, so that a trial depends on the tester alone.
const TRAFFIC: &str = "traffic --device linux-router --rate 5kpps --duration 5s";

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
                    crate::concurrent::serve::client::get(&address, "/api/state", &[]);
                }
                told
            })
        })
        .collect();
    let told = Events::of(&server.address, &id, None).until("summary");
    std::thread::sleep(std::time::Duration::from_secs(1));
    over.store(true, Ordering::Relaxed);
    for stream in streams {
        assert!(stream.join().expect("a client") >= 5, "every client is told every second");
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
    if !crate::concurrent::serve::can_build_devices(
        "a_hundred_clients_do_not_keep_the_tester_from_its_load",
    ) {
        return;
    }
    let _turn = turn::wait();
    let scratch = Scratch::new();
    let server = Server::start(&scratch, "");
    // On a machine that is busy with other things a tester may fall short without any client, or by chance
    // with them: it is tried again.
    let mut fell_short = 0;
    for _ in 0..5 {
        let alone = sent(&server, 0);
        let watched = sent(&server, CLIENTS);
        eprintln!("alone {alone:?}, with {CLIENTS} clients {watched:?}");
        match (alone.1, watched.1) {
            (true, true) => return,
            (true, false) => fell_short += 1,
            (false, _) => {}
        }
    }
    assert!(
        fell_short < 5,
        "the tester fell short with {CLIENTS} clients each time, and never without"
    );
    undecided::tell("the tester fell short without any client, too");
}
