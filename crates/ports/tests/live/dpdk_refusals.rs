//! What a port of DPDK refuses, and in which words. What takes another process (no libraries, no permission) is
//! tested with the command line.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "measures how long a refusal takes"
)]

use crate::bed::devices;
use ports::dpdk::pci::pci_devices;
use ports::{LiveOptions, LiveTester};
use std::time::{Duration, Instant};
use trial::Tester;
use trial::conformance::{Load, Path};
use units::{FrameRate, FrameSize};
use wire::signature::Key;

fn refused(devices: &[String]) -> String {
    let opened = devices::open(devices, FrameSize::MAX_ETHERNET);
    opened.err().unwrap_or_else(|| panic!("{devices:?} were opened")).to_string()
}

fn contains(error: &str, parts: &[&str]) {
    for part in parts {
        assert!(error.contains(part), "{part:?} is missing in: {error}");
    }
}

#[test]
fn an_unknown_driver_names_the_package_that_would_have_it() {
    let _folder = devices::folder();
    let error = refused(&["net_foo0".into()]);
    contains(&error, &["dpdk:net_foo0", "no driver net_foo", "librte-net-foo23"]);
}

#[test]
fn an_argument_that_a_driver_does_not_know_is_said_in_its_words() {
    let folder = devices::folder();
    let error = refused(&[folder.memif(0, "king", "a")]);
    contains(&error, &["Unknown role: king"]);
}

#[test]
fn an_interface_by_its_name_is_refused_with_the_device_to_write() {
    let _folder = devices::folder();
    contains(&refused(&["eth1".into()]), &["dpdk:net_af_packet0,iface=eth1"]);
}

#[test]
fn a_pci_device_that_does_not_exist_is_refused() {
    let _folder = devices::folder();
    contains(&refused(&["0000:77:1f.7".into()]), &["no such PCI device"]);
}

/// This machine's own network card, if it has one: it must stay as it is.
#[test]
fn a_card_of_the_kernels_is_refused_and_left_alone() {
    let _folder = devices::folder();
    let of_kernel = || pci_devices().into_iter().find(|device| !device.is_free());
    let Some(card) = of_kernel() else { return eprintln!("no PCI network device here") };
    let error = refused(std::slice::from_ref(&card.address));
    let bind = format!("dpdk-devbind.py --bind=vfio-pci {}", card.address);
    contains(&error, &[&bind, card.driver.as_deref().unwrap_or("no driver")]);
    assert_eq!(of_kernel(), Some(card));
}

#[test]
fn a_socket_that_nobody_serves_is_waited_for_and_then_named() {
    let folder = devices::folder();
    for (role, part) in [("client", "nobody serves"), ("server", "nobody has connected")] {
        let begun = Instant::now();
        let error = refused(&[folder.memif(0, role, "nobody")]);
        let path = folder.path("nobody");
        contains(&error, &[part, &path.display().to_string()]);
        let took = begun.elapsed();
        assert!(took > Duration::from_secs(9) && took < Duration::from_secs(15), "{took:?}");
    }
    let error = refused(&[format!("net_virtio_user0,path={}", folder.path("none").display())]);
    contains(&error, &["start the device"]);
    let begun = Instant::now();
    let served = folder.path("served");
    let error = refused(&[format!("net_virtio_user1,path={},server=1", served.display())]);
    contains(&error, &["nobody has connected", &served.display().to_string()]);
    let took = begun.elapsed();
    assert!(took > Duration::from_secs(9) && took < Duration::from_secs(25), "{took:?}");
}

/// A thousand of the shortest frames a second.
fn slowly(paths: &[Path], duration: units::Duration, seed: u64) -> Load<'_> {
    Load {
        paths,
        streams_each: 1,
        sizes: &[FrameSize::MIN_ETHERNET],
        rate: FrameRate::from_fps(1_000),
        duration,
        key: Key::from_seed(seed),
    }
}

/// The first one goes on working.
#[test]
fn a_name_that_is_taken_is_refused() {
    let _folder = devices::folder();
    let first = devices::open(&["net_ring0".into()], FrameSize::MAX_ETHERNET).expect("open");
    contains(&refused(&["net_ring0".into()]), &["another port already", "net_ring1"]);
    let mut tester = LiveTester::new(first, LiveOptions::default()).expect("a tester");
    let paths = [devices::path(&tester, 0, 0)];
    let load = slowly(&paths, units::Duration::from_ms(50), 7);
    let result = tester.run(&load.trial("still there")).expect("a result");
    assert_eq!(result.lost_frames(), 0);
}

#[test]
fn a_frame_with_a_bad_fcs_is_refused() {
    let _folder = devices::folder();
    let mut tester = devices::tester(&["net_ring0".into()], FrameSize::MAX_ETHERNET);
    let paths = [devices::path(&tester, 0, 0)];
    let load = slowly(&paths, units::Duration::from_ms(50), 8);
    let mut trial = load.trial("a bad FCS");
    trial.streams[0].bad_fcs = true;
    let error = tester.run(&trial).expect_err("refused").to_string();
    contains(&error, &["bad FCS", "without an interface of the kernel"]);
}

/// A far end that goes away ends the trial with its name, and soon.
#[test]
fn a_far_end_that_goes_away_is_noticed() {
    use crate::bed::testpmd::Testpmd;
    let folder = devices::folder();
    let far = [folder.memif(0, "server", "a"), folder.memif(1, "server", "b")];
    let testpmd = Testpmd::start([&far[0], &far[1]], "io", "");
    let near = [folder.memif(0, "client", "a"), folder.memif(1, "client", "b")];
    let mut tester = devices::tester(&near, FrameSize::MAX_ETHERNET);
    let paths = [devices::path(&tester, 0, 1)];
    let load = slowly(&paths, units::Duration::from_secs(20), 9);
    let killer = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(500));
        drop(testpmd);
    });
    let begun = Instant::now();
    let error = tester.run(&load.trial("a device that dies")).expect_err("gone").to_string();
    killer.join().expect("no panic");
    contains(&error, &["net_memif", "closed the link"]);
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
}
