//! Measures ports back to back on one veth pair: what can be sent, what can be sent and received
//! with full accounting, how exact the pace is, and how low the latency.
//!
//! ```text
//! cargo run --release -p netanvil-ports --example port_rate -- [af_packet|af_xdp|xdp] [BYTES]
//! ```

#[path = "../tests/bed/mod.rs"]
mod bed;

use ports::{LiveOptions, LiveTester, PortType, RealTime};
use trial::conformance::Load;
use trial::{Histogram, Tester, TrialResult};
use units::{Duration, FrameRate, FrameSize};
use wire::signature::Key;

/// More than any port can do: what is reached is the port's own limit.
const UNREACHABLE: FrameRate = FrameRate::from_fps(20_000_000);

fn main() {
    let mut arguments = std::env::args().skip(1);
    let port_type = arguments.next().unwrap_or_else(|| "auto".into());
    let port_type: PortType = port_type.parse().expect("a port type");
    let bytes = arguments.next().map_or(64, |text| text.parse().expect("a frame size in bytes"));
    let size = FrameSize::from_bytes(bytes);
    let mtu_bytes = bytes.max(1518) - 18;
    println!("{port_type}, {size}-byte frames, back to back on one veth pair");

    let testbed = bed::loopback(mtu_bytes);
    let paths = bed::paths(&testbed);
    let run = |tester: &mut LiveTester, label: &str, rate: FrameRate| {
        let (sizes, key) = ([size], Key::from_seed(rate.fps() as u64));
        let duration = Duration::from_secs(2);
        let load = Load { paths: &paths[..1], streams_each: 1, sizes: &sizes, rate, duration, key };
        let trial = load.trial(label);
        match tester.run(&trial) {
            Ok(result) => print_result(label, &result),
            Err(error) => println!("{label}: {error}"),
        }
    };

    let mut alone = bed::open(&testbed, port_type, size).expect("ports");
    alone.truncate(1);
    let mut tester = LiveTester::new(alone, LiveOptions::default()).expect("a tester");
    run(&mut tester, "transmit only", UNREACHABLE);
    drop(tester);

    let ports = bed::open(&testbed, port_type, size).expect("ports");
    let mut tester = LiveTester::new(ports, options()).expect("a tester");
    tester.describe().notes.iter().for_each(|note| println!("  note: {note}"));
    for _ in 0..3 {
        run(&mut tester, "transmit and receive", UNREACHABLE);
    }
    for rate in [14_880, 100_000, 300_000, 500_000, 1_000_000] {
        run(&mut tester, "paced", FrameRate::from_fps(rate));
    }
}

/// With `REAL_TIME` set in the environment transmitters run with real-time priority.
fn options() -> LiveOptions {
    let transmit = std::env::var_os("REAL_TIME").map(|_| 1);
    let real_time = RealTime { transmit, ..RealTime::default() };
    LiveOptions { real_time, ..LiveOptions::default() }
}

fn print_result(label: &str, result: &TrialResult) {
    let (offered, lost) = (result.offered_rate().fps() / 1e3, result.lost_frames());
    println!(
        "{label}: {offered:.1} kframes/s, lost {lost}, dropped by tester {}",
        result.tester_drops()
    );
    if let Some(latency) = result.latency() {
        println!("  latency  {}", spread(&latency));
    }
    for sent in &result.sent {
        let report = &sent.report;
        println!("  lateness {}; {} late", spread(&report.lateness), report.late_frames);
    }
    for received in result.expected_accounts() {
        println!("  gaps     {}", spread(&received.account.arrival_gaps));
    }
    for reason in result.invalid_reasons() {
        println!("  invalid: {reason}");
    }
}

fn spread(histogram: &Histogram) -> String {
    let percentile = |p| histogram.percentile(p).map_or("-".into(), |span| span.to_string());
    format!(
        "min {} p10 {} p50 {} p90 {} p99 {} max {}",
        histogram.min().map_or("-".into(), |span| span.to_string()),
        percentile(10.0),
        percentile(50.0),
        percentile(90.0),
        percentile(99.0),
        histogram.max().map_or("-".into(), |span| span.to_string()),
    )
}
