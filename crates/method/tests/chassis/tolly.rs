//! The IP9000 tests on routers whose right answers follow from their descriptions.

use super::bed::{config, sizes, suite};
use method::chassis::ChassisTest;
use method::tolly::{TollyConfig, TollyResult, TollyRow, routes};
use method::{Attachment, Event, LegacyAddresses, SuiteConfig, Topology};
use sim::{Addresses, Description, StaticRoute};
use std::net::Ipv4Addr;
use trial::PortId;
use units::{Duration, LineRate};
use wire::ethernet::MacAddr;

const LINE: LineRate = LineRate::from_mbps(100);
const ROUTER: &str = "ports = 8\nline-rate = \"100M\"\nroute = [\"ipv4\"]\n[output]\nframes = 64\n";

fn chassis(ports: usize) -> Topology {
    let plan = Addresses::plan(ports).interfaces;
    let attach = |port: u16| {
        let device = plan[usize::from(port)];
        Attachment {
            port: PortId(port),
            mac: MacAddr([2, 0, 0, 0, port as u8, 2]),
            host_ipv4: Ipv4Addr::from_bits(device.ipv4.0.to_bits() + 1),
            host_ipv6: std::net::Ipv6Addr::LOCALHOST,
            device_mac: device.mac,
            device_ipv4: device.ipv4.0,
            device_ipv6: device.ipv6.0,
            network_hosts_ipv4: vec![],
            network_hosts_ipv6: vec![],
            network_prefix_ipv4: 24,
            prefix_hosts_ipv6: Default::default(),
            legacy: LegacyAddresses::plan(PortId(port)),
        }
    };
    let ports = (0..ports as u16).map(attach).collect();
    Topology::of(method::Forwarding::Routed, ports)
}

/// Few hosts, groups and packets, and two iterations.
fn small(test: ChassisTest, size: u32) -> SuiteConfig {
    let mut config = config(&[test]);
    config.frame_sizes = sizes(&[size]);
    config.chassis.tolly = TollyConfig {
        iterations: 2,
        routed_inputs: vec![1, 2, 4],
        routed_outputs: 4,
        hosts_per_output: 40,
        unicast_streams: 4,
        multicast_outputs: vec![2, 5],
        multicast_packets: 300,
        mesh_ports: 5,
        groups: 50,
        group_outputs: 6,
    };
    config
}

fn run_warned(text: &str, config: SuiteConfig, has_routes: bool) -> (TollyResult, Vec<String>) {
    let device = Description::from_toml(text).unwrap();
    let mut addresses = Addresses::plan(device.ports);
    let chassis = chassis(device.ports);
    if has_routes {
        let routes = routes(&chassis, &config.chassis.tolly);
        addresses.routes.extend(routes.map(|(host, via)| StaticRoute {
            network: host.into(),
            prefix_length: 32,
            via: via.into(),
        }));
    }
    let mut tester = device.tester(&addresses).unwrap();
    let mut events: Vec<Event> = vec![];
    suite(config, chassis).run(&mut tester, None, &mut events).unwrap();
    let (mut result, mut warnings) = (None, vec![]);
    for event in events {
        match event {
            Event::TestFinished(outcome) => result = Some(outcome.record().unwrap()),
            Event::Warning(why) => warnings.push(why),
            _ => {}
        }
    }
    let result: TollyResult = result.expect("an outcome");
    assert!(result.rows.iter().all(|row| row.iterations.len() == 2 && row.invalid.is_empty()));
    (result, warnings)
}

fn run(text: &str, config: SuiteConfig, has_routes: bool) -> TollyResult {
    let (result, warnings) = run_warned(text, config, has_routes);
    assert_eq!(warnings, [""; 0]);
    result
}

/// Packets of each input and of each output, and lost ones, the same in every iteration.
fn counts(row: &TollyRow) -> (u64, u64, u64) {
    let one = row.iterations[0];
    assert_eq!(row.iterations[1].received_per_output, one.received_per_output);
    assert_eq!(one.sent_per_input.0, one.sent_per_input.1);
    assert_eq!(one.received_per_output.0, one.received_per_output.1);
    (one.sent_per_input.0, one.received_per_output.0, row.lost())
}

fn is_near(found: Option<Duration>, truth: Duration) {
    let apart = found.unwrap().as_ps().abs_diff(truth.as_ps());
    assert!(apart < 1_000, "{found:?} is not {truth:?}");
}

#[test]
fn every_host_gets_a_packet_from_every_input() {
    let result = run(ROUTER, small(ChassisTest::InternetScale, 64), true);
    let found: Vec<_> = result.rows.iter().map(|row| (row.streams, counts(row))).collect();
    assert_eq!(found, [(4, (160, 40, 0)), (8, (160, 80, 0)), (16, (160, 160, 0))]);
    assert!(result.rows.iter().all(|row| row.iterations[0].elsewhere == 0));
    let whole: Vec<u64> = result.rows.iter().map(|row| row.iterations[0].whole_streams).collect();
    assert_eq!(whole, [4, 8, 16], "streams of 1, 2 and 4 inputs to 4 outputs");
}

/// The run says which picture of the document its test bed is, and has every port.
#[test]
fn the_test_bed_is_that_of_figure_7() {
    let device = Description::from_toml(ROUTER).unwrap();
    let mut tester = device.tester(&Addresses::plan(device.ports)).unwrap();
    let mut events: Vec<Event> = vec![];
    let suite = suite(small(ChassisTest::BaseUnicast, 64), chassis(8));
    suite.run(&mut tester, None, &mut events).unwrap();
    let Event::RunStarted(started) = &events[0] else { panic!("{:?}", events[0]) };
    let bed = started.test_bed.as_ref().expect("a test bed");
    let original = bed.original.as_ref().expect("that of the document");
    assert!(original.heading.contains("figure 7 of Tolly Group document 8276"), "{original:?}");
    assert_eq!(bed.ports.len(), 8);
}

/// Without a route to it a host gets nothing, and no other port does.
#[test]
fn a_table_that_is_too_small_is_seen() {
    let result = run(ROUTER, small(ChassisTest::InternetScale, 64), false);
    let lost: Vec<u64> = result.rows.iter().map(TollyRow::lost).collect();
    assert_eq!(lost, [2 * 160, 2 * 320, 2 * 640]);
    assert!(result.rows.iter().all(|row| row.iterations[0].whole_streams == 0));
    assert!(result.rows.iter().all(|row| row.iterations[0].elsewhere == 0));
}

/// All groups go to all outputs; a device with room for 30 of 50 forwards those.
#[test]
fn every_group_reaches_every_output_that_joined() {
    let whole = format!("{ROUTER}[multicast]\n");
    for size in [64, 1_518] {
        let result = run(&whole, small(ChassisTest::LargeScaleMulticast, size), false);
        assert_eq!(result.rows.len(), 1);
        assert_eq!((result.rows[0].streams, counts(&result.rows[0])), (6, (50, 50, 0)));
    }
    let small_table = format!("{ROUTER}[multicast]\ngroups = 30\n");
    let config = small(ChassisTest::LargeScaleMulticast, 64);
    let (result, warnings) = run_warned(&small_table, config, false);
    assert!(warnings[0].contains("lacks 20 of 50"), "{warnings:?}");
    assert_eq!(counts(&result.rows[0]), (50, 30, 2 * 20 * 6));
}

/// Five inputs at a quarter of wire speed: each output hears four of them, and is at wire speed.
#[test]
fn a_mesh_fills_its_outputs() {
    let text = format!("{ROUTER}[multicast]\n");
    for size in [64, 128, 512, 1_518] {
        let result = run(&text, small(ChassisTest::MulticastMesh, size), false);
        let row = &result.rows[0];
        assert_eq!((row.inputs, row.outputs, row.streams), (5, 4, 20));
        assert_eq!((row.load_percent, counts(row)), (25.0, (300, 1_200, 0)));
    }
    // Three of four that come at once find no room.
    let tight = text.replace("frames = 64", "frames = 1");
    assert!(run(&tight, small(ChassisTest::MulticastMesh, 64), false).rows[0].lost() > 0);
}

/// 20 us of delay, 3 us for a frame and 2 us for each copy after the first.
#[test]
fn multicast_latency_is_that_of_the_device() {
    let text = format!(
        "delay = \"20us\"\n{ROUTER}[multicast]\nper-copy = \"200ns\"\n[cpu]\ncost = {{ per-frame = \"3us\" }}\n"
    );
    for size in [64, 1_518] {
        let result = run(&text, small(ChassisTest::BaseMulticast, size), false);
        for (row, outputs) in result.rows.iter().zip([2u64, 5]) {
            assert_eq!((row.outputs as u64, counts(row)), (outputs, (300, 300, 0)));
            let inside = Duration::from_us(23) + Duration::from_ns(200) * (outputs - 1);
            let packet = LINE.time_of_bytes(size.into());
            let iteration = &row.iterations[0];
            is_near(iteration.cut_through(), packet + inside);
            // Up to the preamble, which leaves before the packet.
            let preamble = LINE.time_of_bytes(8);
            is_near(iteration.store_and_forward(), inside.saturating_sub(preamble));
        }
    }
}

/// 148,809.5 packets a second, or what the processors carry, and the latency at that.
#[test]
fn unicast_is_as_fast_as_the_device() {
    let result = run(ROUTER, small(ChassisTest::BaseUnicast, 64), false);
    let row = &result.rows[0];
    assert_eq!((row.load_percent, row.lost(), row.streams), (100.0, 0, 4));
    is_near(row.iterations[0].cut_through(), LINE.time_of_bytes(64));
    let slow = format!(
        "{ROUTER}[input]\nframes = 0\n[cpu]\ncost = {{ per-frame = \"10us\" }}\nservers = \"per-port\"\n"
    );
    let mut config = small(ChassisTest::BaseUnicast, 64);
    config.search.resolution_percent = 0.5;
    let row = &run(&slow, config, false).rows[0];
    let rate = row.intended.fps();
    assert!(rate <= 100_000.0 && rate > 99_400.0, "{rate}");
    is_near(row.iterations[0].cut_through(), LINE.time_of_bytes(64) + Duration::from_us(10));
}

/// Two ports with one address: refused, and no trial is made.
#[test]
fn an_address_that_two_ports_have_is_refused() {
    let attempt = |change: &dyn Fn(&mut [Attachment])| {
        let device = Description::from_toml(ROUTER).unwrap();
        let mut tester = device.tester(&Addresses::plan(device.ports)).unwrap();
        let mut chassis = chassis(8);
        change(&mut chassis.ports);
        let suite = suite(small(ChassisTest::BaseUnicast, 64), chassis);
        let mut events: Vec<Event> = vec![];
        let refusal =
            suite.run(&mut tester, None, &mut events).map(|_| ()).map_err(|e| e.to_string());
        assert!(!events.iter().any(|event| matches!(event, Event::TrialStarted(_))));
        refusal.unwrap_err()
    };
    let ipv4 = attempt(&|ports| ports[5].host_ipv4 = ports[2].host_ipv4);
    assert!(ipv4.contains("port 2 and port 5") && ipv4.contains("same address"), "{ipv4}");
    let mac = attempt(&|ports| ports[1].mac = ports[0].mac);
    assert!(mac.contains("port 0 and port 1") && mac.contains("02:00:00:00:00:02"), "{mac}");
}
