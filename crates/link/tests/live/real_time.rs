//! Real datagrams between two namespaces: what becomes of them is what the model decides.
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "real sockets, real time")]

use kernel::Privilege;
use link::RealTimeLink;
use netblt_studies::paths::{Bursts, Fate, Link, LinkModel, Loss, Overtaking};
use std::net::UdpSocket;
use std::thread;
use std::time::{Duration as Span, Instant as Clock};
use testbed::TwoHosts;
use units::{Duration, Instant};

const PORT: u16 = 7000;
/// Of the datagrams' headers: IP and UDP.
const HEADERS_BYTES: usize = 28;
const MBPS: u64 = 1_000_000;

fn is_root() -> bool {
    let root = Privilege::current() == Privilege::Root;
    if !root {
        eprintln!("skipped: not root");
    }
    root
}

/// A link without any limit that matters.
fn clear() -> LinkModel {
    LinkModel::plain(10_000 * MBPS, Duration::from_ms(1), 1 << 30)
}

/// A socket of each host, connected to the other.
fn sockets(hosts: &TwoHosts) -> [UdpSocket; 2] {
    [0, 1].map(|host| {
        let [own, other] = [host, 1 - host].map(TwoHosts::address);
        let socket = hosts.host(host).run(|| UdpSocket::bind((own, PORT))).unwrap().unwrap();
        socket.connect((other, PORT)).unwrap();
        socket.set_read_timeout(Some(Span::from_secs(1))).unwrap();
        socket
    })
}

/// Numbers of the datagrams that arrived, in order, until the link carries none any more.
fn arrivals(socket: &UdpSocket) -> Vec<u32> {
    let mut bytes = [0; 2048];
    let mut numbers = Vec::new();
    while let Ok(len) = socket.recv(&mut bytes) {
        numbers.push(u32::from_be_bytes(bytes[..len][..4].try_into().unwrap()));
    }
    numbers
}

#[test]
fn chance_loses_and_overtakes_the_very_packets_that_it_does_in_the_model() {
    if !is_root() {
        return;
    }
    const COUNT: u32 = 3000;
    let bursts = Bursts { to_bad: 0.02, to_good: 0.25, loss_while_bad: 1.0 };
    let models = [
        LinkModel {
            loss: Loss::Random(0.1),
            // So late that all others are there before.
            overtaking: Some(Overtaking { share: 0.02, late: Duration::from_ms(600) }),
            ..clear()
        },
        LinkModel { loss: Loss::Bursts(bursts), ..clear() },
    ];
    let hosts = TwoHosts::apart().unwrap();
    let link = RealTimeLink::start(&hosts, models.clone(), 7).unwrap();
    let sockets = sockets(&hosts);
    for (from, model) in models.into_iter().enumerate() {
        let arrived = thread::scope(|scope| {
            let receiver = scope.spawn(|| arrivals(&sockets[1 - from]));
            for number in 0..COUNT {
                sockets[from].send(&number.to_be_bytes()).unwrap();
                if number % 20 == 0 {
                    thread::sleep(Span::from_millis(1));
                }
            }
            receiver.join().unwrap()
        });
        let (mut model, mut dice) = (Link::new(model), RealTimeLink::dice(7, from));
        let fates = (0..COUNT).map(|number| {
            let now = Instant::from_ps(u64::from(number) * 1_000_000);
            (number, model.carry(now, 4 + HEADERS_BYTES, &mut dice))
        });
        let (mut in_order, mut overtaken) = (Vec::new(), Vec::new());
        for (number, fate) in fates {
            match fate {
                Fate::Carried { at: Some(_), late: true, .. } => overtaken.push(number),
                Fate::Carried { at: Some(_), .. } => in_order.push(number),
                _ => {}
            }
        }
        assert!((2500..2900).contains(&(in_order.len() + overtaken.len())), "as the shares say");
        let mut sorted = arrived.clone();
        sorted.sort_unstable();
        let mut expected = [&in_order[..], &overtaken].concat();
        expected.sort_unstable();
        assert!(sorted == expected, "from host {from}: {:?}", link.counts());
        if from == 0 {
            let stays = |number: &&u32| !overtaken.contains(number);
            assert!(arrived.iter().filter(stays).eq(&in_order));
            assert_ne!(arrived, sorted, "some were overtaken");
        }
    }
    let counts = link.stop();
    assert_eq!(counts[0].missed_frames + counts[1].missed_frames, 0);
    assert_eq!(counts[0].arrived_frames, u64::from(COUNT));
    assert_eq!(counts[0].lost_frames + counts[0].delivered_frames, u64::from(COUNT));
}

#[test]
fn packets_take_the_time_of_rate_and_delay_at_least() {
    if !is_root() {
        return;
    }
    let slow = LinkModel::plain(8 * MBPS, Duration::from_ms(30), 1 << 20);
    let hosts = TwoHosts::apart().unwrap();
    let _link = RealTimeLink::start(&hosts, [slow, clear()], 1).unwrap();
    let sockets = sockets(&hosts);
    // 100 packets of 1,000 bytes at a byte a microsecond.
    let started = Clock::now();
    for number in 0..100u32 {
        let mut bytes = vec![0; 1000 - HEADERS_BYTES];
        bytes[..4].copy_from_slice(&number.to_be_bytes());
        sockets[0].send(&bytes).unwrap();
    }
    let mut bytes = [0; 2048];
    for _ in 0..100 {
        sockets[1].recv(&mut bytes).unwrap();
    }
    let elapsed = started.elapsed();
    assert!(elapsed >= Span::from_millis(130), "{elapsed:?}");
}

#[test]
fn what_the_queue_does_not_hold_is_dropped() {
    if !is_root() {
        return;
    }
    // A packet takes 8 s: all of them come while the first one leaves.
    let narrow = LinkModel::plain(1000, Duration::ZERO, 10_000);
    let hosts = TwoHosts::apart().unwrap();
    let link = RealTimeLink::start(&hosts, [narrow, clear()], 1).unwrap();
    let sockets = sockets(&hosts);
    for _ in 0..50 {
        sockets[0].send(&[0; 1000 - HEADERS_BYTES]).unwrap();
    }
    let started = Clock::now();
    while link.counts()[0].arrived_frames < 50 {
        assert!(started.elapsed() < Span::from_secs(5), "{:?}", link.counts());
        thread::sleep(Span::from_millis(10));
    }
    let counts = link.stop();
    assert_eq!(counts[0].dropped_frames, 40, "ten packets of 1,000 bytes fill the queue");
    assert_eq!(counts[0].delivered_frames, 0);
    assert!(counts[0].is_faithful());
}

#[test]
fn hosts_that_are_joined_by_a_cable_need_no_link() {
    if !is_root() {
        return;
    }
    let hosts = TwoHosts::joined().unwrap();
    assert!(RealTimeLink::start(&hosts, [clear(), clear()], 1).is_err());
    let sockets = sockets(&hosts);
    sockets[0].send(&7u32.to_be_bytes()).unwrap();
    let mut bytes = [0; 8];
    assert_eq!(sockets[1].recv(&mut bytes).unwrap(), 4);
    let names: Vec<String> = [0, 1].map(|host| hosts.host(host).name().to_owned()).into();
    drop(sockets);
    drop(hosts);
    for name in names {
        assert!(!std::path::Path::new("/run/netns").join(&name).exists(), "{name}");
    }
}
