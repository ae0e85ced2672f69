//! The tests of 1998 on the kernel's own forwarding: a packet to every host behind every output, to every
//! group at every output and in a mesh, each frame of them laid beside the kernel's counters.

use live::{Audited, Bed, Capture, Direction, GroupsCounted, can_run, undecided};
use method::chassis::ChassisTest;
use method::registry::SuiteName;
use method::rfc3918::group_v4;
use method::tolly::{Membership, TollyConfig, TollyResult, TollyRow, host_behind, memberships};
use method::{Event, Profile, Suite, SuiteConfig, TestKind};
use ports::PortType;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::process::Command;
use testbed::{
    DeviceKind, GroupRange, MulticastRouting, PortAddresses, TestbedConfig, routed_host,
};
use traffic::size::SizePattern;
use traffic::test_frame;
use trial::{
    Expectation, PortId, PortLoad, Role, Schedule, Segment, Stream, StreamFrame, StreamId, Tester,
    Trial, ValidityLimits, Waits,
};
use units::{Duration, FrameRate, FrameSize, LineRate};
use wire::ethernet::MacAddr;
use wire::signature::Key;

/// The output at which the wire is looked at.
const WATCHED_OUTPUT: usize = 4;
const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/tolly.py");

/// One iteration of trials that a shared machine carries; one in which the tester was held up is repeated.
fn config(tests: &[ChassisTest], tolly: TollyConfig) -> SuiteConfig {
    let mut config = SuiteConfig::of_suite(SuiteName::Tolly, Profile::Quick);
    config.tests = tests.iter().copied().map(TestKind::Chassis).collect();
    config.frame_sizes = vec![SizePattern::Fixed(FrameSize::MIN_ETHERNET)];
    config.chassis.tolly = tolly;
    config.search.resolution_percent = 60.0;
    config.trial.duration_s = 0.5;
    // It ends as soon as everything is there.
    config.trial.drain_s = 5.0;
    config.trial.settle_s = 0.0;
    config.trial.learning_wait_s = 0.01;
    config.trial.invalid_retries = 5;
    config.trial.limits.late_after_us = 100_000;
    config.trial.limits.shortfall = 0.2;
    config.chassis.learning_interval_s = 0.001;
    config
}

fn small() -> TollyConfig {
    TollyConfig { iterations: 1, ..TollyConfig::default() }
}

/// The results in order; a warning is a failure.
fn run(bed: &Bed, tester: &mut dyn Tester, config: SuiteConfig) -> Vec<TollyResult> {
    let suite = Suite {
        program: "live test".into(),
        device: "built".into(),
        environment: BTreeMap::new(),
        config,
        topology: bed.topology(),
        self_test: None,
        more: &[],
    };
    let mut events: Vec<Event> = vec![];
    suite.run(tester, None, &mut events).expect("a run");
    let result = |event: Event| match event {
        Event::TestFinished(outcome) => Some(outcome.record().expect("its record")),
        Event::Warning(why) if !why.starts_with("no self-test") => panic!("{why}"),
        _ => None,
    };
    events.into_iter().filter_map(result).collect()
}

/// Inputs, outputs, packets of each input, packets of each output; nothing lost, nothing elsewhere.
fn counts(row: &TollyRow) -> (usize, usize, u64, u64) {
    assert_eq!(row.iterations.len(), 1, "{row:?}");
    let one = row.iterations[0];
    assert_eq!((one.lost, one.elsewhere), (0, 0), "{row:?}");
    assert_eq!(one.sent_per_input.0, one.sent_per_input.1, "{row:?}");
    assert_eq!(one.received_per_output.0, one.received_per_output.1, "{row:?}");
    (row.inputs, row.outputs, one.sent_per_input.0, one.received_per_output.0)
}

#[test]
fn every_host_behind_a_router_gets_its_packet_from_every_input() {
    if !can_run("every_host_behind_a_router_gets_its_packet_from_every_input") {
        return;
    }
    const HOSTS: u32 = 512;
    assert_eq!(routed_host(5, HOSTS).address, IpAddr::V4(host_behind(5, HOSTS.into())));
    let bed = Bed::build(&TestbedConfig {
        ports: 6,
        routes_per_port: HOSTS,
        ..TestbedConfig::of(DeviceKind::LinuxRouter)
    });
    let tolly = TollyConfig {
        routed_inputs: vec![1, 2],
        routed_outputs: 4,
        hosts_per_output: HOSTS.into(),
        unicast_streams: 3,
        ..small()
    };
    let tester = bed.live(PortType::AF_PACKET, FrameSize::MAX_ETHERNET, LineRate::from_mbps(2));
    let mut tester = Audited::new(tester, &bed);
    let watch = |port, way| {
        let device = bed.device().expect("a device");
        Capture::start(device.namespace(), &device.connector(port), way)
    };
    let (into, out) = (watch(0, Direction::In), watch(WATCHED_OUTPUT, Direction::Out));
    let tests = [ChassisTest::InternetScale, ChassisTest::BaseUnicast];
    let results = run(&bed, &mut tester, config(&tests, tolly));
    on_the_wire(HOSTS.into(), into, out);
    let routed: Vec<_> = results[0].rows.iter().map(counts).collect();
    let hosts = u64::from(HOSTS);
    assert_eq!(routed, [(1, 4, 4 * hosts, hosts), (2, 4, 4 * hosts, 2 * hosts)]);
    let (inputs, outputs, sent, received) = counts(&results[1].rows[0]);
    assert_eq!((inputs, outputs), (3, 3));
    assert!(sent == received && sent > 0, "{sent} {received}");
    // What the kernel forwarded and what came in and out at each port was compared in each of them.
    assert!(tester.audited() >= 3, "{}", tester.audited());
}

/// Every host in turn, by a script of its own: from the first input in both lines of the table, and at one of
/// the four outputs, where a third of what is sent in them, or more if a trial was repeated, comes from it.
fn on_the_wire(hosts: u64, into: Capture, out: Capture) {
    let (into, out) = (into.finish(2 * 4 * hosts), out.finish(3 * hosts));
    let mut script = Command::new("python3");
    script.arg(SCRIPT).args(["0", "2", "4"]).arg(hosts.to_string()).arg(into.path());
    let output = script.arg(WATCHED_OUTPUT.to_string()).arg(out.path()).output();
    let output = output.expect("python3 (Debian: apt-get install python3)");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let said = String::from_utf8_lossy(&output.stdout);
    let said: Vec<u64> = said.split_whitespace().map(|n| n.parse().expect("a number")).collect();
    let [trials, sent, left] = said[..] else { panic!("{said:?}") };
    assert!(trials >= 2 && sent == trials * 4 * hosts && left >= 3 * hosts, "{said:?}");
}

/// In the kernel's table, as the document has them defined on the router; each packet of each of two
/// million pairs of group and output, whatever the device loses on a busy machine before it copies.
#[test]
fn sixty_five_thousand_groups_leave_by_thirty_one_outputs() {
    if !can_run("sixty_five_thousand_groups_leave_by_thirty_one_outputs") {
        return;
    }
    let bed = Bed::build(&TestbedConfig {
        ports: 32,
        multicast: MulticastRouting::Table,
        ..TestbedConfig::of(DeviceKind::LinuxMcast)
    });
    let device = bed.device().expect("a device");
    let all = memberships(
        &TollyConfig::default(),
        &[TestKind::Chassis(ChassisTest::LargeScaleMulticast)],
    );
    let loaded = device.load_groups(&[range(&all[0])]).expect("a table");
    println!("{loaded}");
    assert_eq!((loaded.groups, loaded.copies), (65_536, 65_536 * 31));
    let mut tester = bed.live(PortType::XDP, FrameSize::MAX_ETHERNET, LineRate::from_mbps(10));
    let (mut sent_before, mut agreed) = (vec![0; 65_536], false);
    for _ in 0..ATTEMPTS {
        let result = tester.run(&to_every_group(&bed, &all[0])).expect("a result");
        let counted: BTreeMap<_, _> = device
            .group_counters()
            .expect("counters")
            .into_iter()
            .map(|entry| (entry.group, entry))
            .collect();
        assert_eq!(counted.len(), 65_536);
        let counts: Vec<u64> = (0..65_536).map(|n| counted[&group_v4(n)].packets).collect();
        let here: Vec<u64> =
            counts.iter().zip(&sent_before).map(|(now, then)| now - then).collect();
        sent_before = counts;
        // What the device could not hand over is no loss of its own, and of no known group.
        let handed_over = device.turned_away().expect("counters").iter().all(|count| *count == 0);
        if !result.is_valid() || !handed_over {
            continue;
        }
        assert_eq!(result.streams[0].sent, 65_536);
        for port in result.received.iter().filter(|port| port.port != PortId(0)) {
            let arrived: Vec<u64> = port.streams[0].flows.counts().take(65_536).collect();
            assert!(arrived == here, "{}: not what the kernel forwarded", port.port);
        }
        assert_eq!(result.flood_count(), 0);
        println!("{} of 65536 groups reached 31 outputs", here.iter().sum::<u64>());
        assert!(here.iter().sum::<u64>() > 0);
        agreed = true;
        break;
    }
    if !agreed {
        undecided::tell("no valid trial of 65,536 groups");
    }
}

const ATTEMPTS: u32 = 3;

/// A packet to each group, at a rate that a small machine carries with 31 copies of each.
fn to_every_group(bed: &Bed, groups: &Membership) -> Trial {
    let (key, id) = (Key::from_seed(1998), StreamId(1));
    let source = &bed.ports()[groups.input];
    let frame = |number| {
        let group = group_v4(groups.first + number);
        let to = (MacAddr::of_ipv4_group(group), group);
        let template = test_frame::template((MacAddr(source.mac), source.addresses.ipv4.host), to);
        let prepared = template.prepare(FrameSize::MIN_ETHERNET, Some((key, id.0)));
        let prepared = prepared.expect("a frame");
        StreamFrame { bytes: prepared.frame(0), form: prepared.form() }
    };
    let outputs = groups.outputs.iter().map(|port| PortId(*port as u16));
    let segment = Segment::constant(FrameRate::from_fps(8_000), groups.count);
    Trial {
        label: "a packet to each group".into(),
        key,
        streams: vec![Stream {
            id,
            name: "0 to all others".into(),
            role: Role::Test,
            from: PortId(groups.input as u16),
            expect: Expectation::Ports(outputs.collect()),
            frames: (0..groups.count).map(frame).collect(),
            fingerprint: None,
            given_up: vec![],
            bad_fcs: false,
            grows_by_bytes: 0,
        }],
        loads: vec![PortLoad {
            port: PortId(groups.input as u16),
            schedule: Schedule { segments: vec![segment] },
            order: vec![id],
            insertions: vec![],
        }],
        prelude: vec![],
        waits: Waits::fixed(Duration::from_secs(10), Duration::ZERO),
        tagging: None,
        count_flows: true,
        verify_payload: false,
        action: None,
        captures: vec![],
        // Groups and outputs are counted here: a moment for which the tester is held up may be given up.
        limits: ValidityLimits {
            late_after_us: 1_000_000,
            shortfall: 0.2,
            ..ValidityLimits::default()
        },
    }
}

fn range(groups: &Membership) -> GroupRange {
    GroupRange {
        input: groups.input,
        source: PortAddresses::of_port(groups.input).ipv4.host,
        first: group_v4(groups.first),
        groups: groups.count as u32,
        outputs: groups.outputs.clone(),
    }
}

#[test]
fn groups_joined_through_a_daemon_reach_a_mesh_and_every_number_of_outputs() {
    if !can_run("groups_joined_through_a_daemon_reach_a_mesh_and_every_number_of_outputs") {
        return;
    }
    let bed = Bed::build(&TestbedConfig { ports: 4, ..TestbedConfig::of(DeviceKind::LinuxMcast) });
    let tolly = TollyConfig {
        multicast_outputs: vec![2, 3],
        multicast_packets: 300,
        mesh_ports: 4,
        groups: 200,
        group_outputs: 3,
        ..small()
    };
    let tests =
        [ChassisTest::LargeScaleMulticast, ChassisTest::MulticastMesh, ChassisTest::BaseMulticast];
    // 744 packets a second.
    let line = LineRate::from_bps(500_000);
    let tester = bed.live(PortType::AF_PACKET, FrameSize::MAX_ETHERNET, line);
    let mut tester = GroupsCounted::new(tester, &bed);
    let results = run(&bed, &mut tester, config(&tests, tolly));
    let found: Vec<Vec<_>> =
        results.iter().map(|result| result.rows.iter().map(counts).collect()).collect();
    let base = vec![(1, 2, 300, 300), (1, 3, 300, 300)];
    assert_eq!(found, [vec![(1, 3, 200, 200)], vec![(4, 3, 300, 900)], base]);
    // Each pair of group and output in each of the trials that count.
    assert!(tester.agreed() >= 3 * 200 + 4 * 3 + 2 + 3, "{}", tester.agreed());
}
