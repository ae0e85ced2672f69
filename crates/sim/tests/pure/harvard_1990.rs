//! The models of the products of 1990, run in virtual time, forward what was published.

use serde::Deserialize;
use sim::{Addresses, Description, SimTester};
use std::net::Ipv4Addr;
use std::path::PathBuf;
use traffic::template::FrameTemplate;
use trial::{
    Expectation, PortId, PortLoad, Prelude, Role, Schedule, Stream, StreamFrame, StreamId, Tester,
    Trial, ValidityLimits, Waits,
};
use units::{Duration, FrameSize};
use wire::ethernet::MacAddr;
use wire::learning;
use wire::signature::Key;

#[derive(Deserialize)]
struct Figure {
    device: String,
    path: String,
    frame_size_bytes: u32,
    column: String,
    frames_per_second: String,
}

fn folder(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// IP frames from port 0 as fast as the tester can, for two seconds.
fn flood(device: &Description, to: u16, size: u32) -> Trial {
    let plan = Addresses::plan(device.ports).interfaces;
    let host = |port: u16| {
        let [a, b, c, _] = plan[usize::from(port)].ipv4.0.octets();
        Ipv4Addr::new(a, b, c, 2)
    };
    let mac = |port: u16| MacAddr([2, 0, 0, 0, port as u8, 2]);
    let size = FrameSize::from_bytes(size);
    let template = FrameTemplate::udp_ipv4((mac(0), host(0)), (plan[0].mac, host(to)));
    let prepared = template.prepare(size, Some((Key::from_seed(1), 1))).unwrap();
    let rate = device.line_rate.line_rate().max_frame_rate(size);
    let out = plan[usize::from(to)].ipv4.0;
    Trial {
        label: "flood".into(),
        key: Key::from_seed(1),
        streams: vec![Stream {
            id: StreamId(1),
            name: "flood".into(),
            role: Role::Test,
            from: PortId(0),
            expect: Expectation::Ports(vec![PortId(to)]),
            frames: vec![StreamFrame { bytes: prepared.frame(0), form: prepared.form() }],
            fingerprint: None,
            given_up: vec![],
            bad_fcs: false,
            grows_by_bytes: 0,
        }],
        loads: vec![PortLoad {
            port: PortId(0),
            schedule: Schedule::constant(rate, Duration::from_secs(2)),
            order: vec![StreamId(1)],
            insertions: vec![],
        }],
        prelude: vec![Prelude {
            port: PortId(to),
            frames: vec![learning::arp_request(mac(to), host(to), out)],
            wait: Duration::from_ms(100),
        }],
        waits: Waits::fixed(Duration::from_secs(1), Duration::ZERO),
        tagging: None,
        count_flows: false,
        verify_payload: false,
        action: None,
        captures: vec![],
        limits: ValidityLimits::default(),
    }
}

fn forwarded_fps(device: &Description, to: u16, size: u32) -> f64 {
    let mut tester = device.tester(&Addresses::plan(device.ports)).unwrap();
    let result = SimTester::run(&mut tester, &flood(device, to, size)).unwrap();
    let report = &result.sent[0].report;
    let sent_for = report.last_departure.unwrap().since(report.first_departure.unwrap());
    result.forwarded_frames() as f64 / sent_for.as_secs_f64()
}

/// Of the IP flood figures of all products four in five come out within 6 %: what the fit's
/// arithmetic says, the simulated devices do. (The others are those that the fit lists.)
#[test]
fn simulated_products_forward_what_was_published() {
    let figures = csv::Reader::from_path(folder("../../data/harvard-1990.csv")).unwrap();
    let figures = figures.into_deserialize::<Figure>().map(Result::unwrap);
    let (mut near, mut far) = (0, vec![]);
    for figure in figures.filter(|figure| figure.column == "ip_fld") {
        let letter = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
        let file: String = figure.device.chars().map(letter).collect();
        let file = folder("devices/harvard-1990").join(format!("{}.toml", file.trim_matches('-')));
        let device = Description::from_toml(&std::fs::read_to_string(&file).unwrap()).unwrap();
        let to = if figure.path == "within" { 1 } else { 2 };
        let forwarded = forwarded_fps(&device, to, figure.frame_size_bytes);
        let published: f64 = figure.frames_per_second.parse().unwrap();
        let difference = forwarded / published - 1.0;
        match difference.abs() <= 0.06 {
            true => near += 1,
            false => far.push((figure.device, figure.path, figure.frame_size_bytes, difference)),
        }
    }
    assert!(near >= 4 * far.len(), "{near} near; far: {far:?}");
    assert!(near + far.len() >= 60);
}
