//! Agents in time namespaces run on the clock of this host, hours ahead: the truth is known to the nanosecond, and so
//! is whether each bound holds.

use crate::lab::{AgentProcess, Claim, Lab, SlowPath};
use agent::Session;
use ports::PortType;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration as Span;
use trial::{Tester, TrialResult};
use units::Duration;

/// `make agents` asks for more.
fn trials() -> u64 {
    std::env::var("NETANVIL_AGENT_TRIALS").ok().and_then(|n| n.parse().ok()).unwrap_or(8)
}

/// By how much the session's conversion is wrong now.
fn error_ns(session: &Session, agent: &AgentProcess) -> u64 {
    let now_ns = ports::clock::own_ns();
    let agents_ns = now_ns + agent.hours_ahead * 3_600_000_000_000;
    session.converted_ns(agents_ns).abs_diff(now_ns)
}

struct Judged {
    valid: u64,
    least_ns: u64,
    worst_ns: u64,
    known_by: BTreeSet<String>,
    /// Of each port.
    warnings: [BTreeSet<String>; 2],
}

/// Runs trials; every bound holds the truth, and nothing is lost.
fn judge(
    lab: &Lab,
    agents: &[AgentProcess; 2],
    sessions: &[Arc<Session>; 2],
    port_type: PortType,
) -> Judged {
    let mut tester = lab.tester(sessions, port_type);
    let mut judged = Judged {
        valid: 0,
        least_ns: u64::MAX,
        worst_ns: 0,
        known_by: BTreeSet::new(),
        warnings: Default::default(),
    };
    for number in 1..=trials() {
        let trial = lab.one_way(number, 2_000, Duration::from_ms(200));
        let result = tester.run(&trial).expect("a trial");
        assert_eq!(result.clocks.len(), 2, "{:?}", result.clocks);
        for (clock, (session, agent)) in result.clocks.iter().zip(sessions.iter().zip(agents)) {
            let error = error_ns(session, agent);
            let bound = clock.error.expect("nobody has set a clock").as_ns();
            assert!(error <= bound + 1_000, "off by {error} ns, and {bound} ns were stated");
            judged.least_ns = judged.least_ns.min(bound);
            judged.worst_ns = judged.worst_ns.max(bound);
            judged.known_by.insert(clock.known_by.clone());
            judged.warnings[usize::from(clock.port.0)].extend(clock.warning.clone());
        }
        assert_eq!(result.latency().expect("latencies").count(), result.forwarded_frames());
        if result.is_valid() {
            assert_eq!(
                (result.lost_frames(), result.offered_frames()),
                (0, 400),
                "{:?}",
                result.notes
            );
            judged.valid += 1;
        } else {
            eprintln!("trial {number}: {}", reasons(&result));
        }
    }
    judged
}

fn reasons(result: &TrialResult) -> String {
    let reasons = result.invalid_reasons().iter().map(ToString::to_string);
    reasons.collect::<Vec<_>>().join("; ")
}

fn check(port_type: PortType) {
    let lab = Lab::new();
    let agents = [lab.agent(0, 5), lab.agent(1, 19)];
    let sessions = agents.each_ref().map(|agent| lab.session(agent.address).expect("a session"));
    let judged = judge(&lab, &agents, &sessions, port_type);
    eprintln!(
        "{port_type}: {} of {} trials valid, bounds of {} to {} us",
        judged.valid,
        trials(),
        judged.least_ns / 1_000,
        judged.worst_ns / 1_000
    );
    assert!(judged.valid > 0, "the tester was held up in every trial");
}

#[test]
fn bounds_hold_and_nothing_is_lost_by_af_packet() {
    check(PortType::AF_PACKET);
}

/// Its programs read the kernel's clock, which no time namespace changes.
#[test]
fn bounds_hold_and_nothing_is_lost_by_xdp() {
    check(PortType::XDP);
}

/// 1 ms there and 6 ms back, each up to 3 ms longer: the bounds are wide, and still hold.
#[test]
fn bounds_hold_over_a_lopsided_path_with_jitter() {
    let lab = Lab::new();
    let agents = [lab.agent(0, 1), lab.agent(1, 30)];
    let ms = Span::from_millis;
    let paths =
        agents.each_ref().map(|agent| SlowPath::to(&lab, agent.address, (ms(1), ms(6)), ms(3)));
    let sessions = paths.each_ref().map(|path| lab.session(path.address).expect("a session"));
    let judged = judge(&lab, &agents, &sessions, PortType::AF_PACKET);
    eprintln!(
        "{} of {} trials valid, bounds of {} to {} us",
        judged.valid,
        trials(),
        judged.least_ns / 1_000,
        judged.worst_ns / 1_000
    );
    // Nothing that takes 7 ms there and back tells more than 2.5 ms.
    assert!(judged.least_ns > 2_500_000, "{} ns", judged.least_ns);
    assert!(judged.valid > 0, "the tester was held up in every trial");
}

/// Over such a path, but with times of day that both ends know well: what is stated shrinks to about what they claim.
#[test]
fn claims_of_ntp_narrow_the_bounds_of_a_slow_path() {
    let lab = Lab::new();
    let claim = |error_us| Claim { error_us, wrong_ns: 0 };
    let agents = [lab.agent_claiming(0, 3, claim(201)), lab.agent_claiming(1, 8, claim(251))];
    let (judged, _paths) = judge_slowly(&lab, &agents, claim(101));
    assert!(judged.valid > 0, "the tester was held up in every trial");
    assert!(judged.known_by.iter().any(|by| by.contains("NTP")), "{:?}", judged.known_by);
    // 0.1 ms and 0.2 ms at the least, and less than exchanges tell.
    assert!(judged.least_ns > 302_000, "{} ns", judged.least_ns);
    assert!(judged.worst_ns < 2_000_000, "{} ns", judged.worst_ns);
    assert!(judged.warnings.iter().all(BTreeSet::is_empty), "{:?}", judged.warnings);
}

/// One end claims to know the time within 0.2 ms, and is 80 ms off: exchanges say so, and count alone.
#[test]
fn a_false_claim_of_ntp_is_found_and_its_host_named() {
    let lab = Lab::new();
    let claim = |error_us, wrong_ns| Claim { error_us, wrong_ns };
    let agents =
        [lab.agent_claiming(0, 3, claim(201, 80_000_000)), lab.agent_claiming(1, 8, claim(251, 0))];
    let (judged, _paths) = judge_slowly(&lab, &agents, claim(101, 0));
    assert!(judged.valid > 0, "the tester was held up in every trial");
    let [false_one, true_one] = &judged.warnings;
    assert!(true_one.is_empty(), "{true_one:?}");
    assert_eq!(false_one.len(), 1, "{false_one:?}");
    let warning = false_one.first().expect("one");
    assert!(warning.contains("is wrong") && warning.contains("127.0.0.1"), "{warning}");
    assert!(judged.known_by.contains("exchanges of times"), "{:?}", judged.known_by);
    assert!(judged.worst_ns > 2_500_000, "{} ns", judged.worst_ns);
}

fn judge_slowly(lab: &Lab, agents: &[AgentProcess; 2], claim: Claim) -> (Judged, [SlowPath; 2]) {
    let ms = Span::from_millis;
    let paths =
        agents.each_ref().map(|agent| SlowPath::to(lab, agent.address, (ms(1), ms(6)), ms(3)));
    let sessions = paths.each_ref().map(|path| lab.session_claiming(path.address, claim));
    let judged = judge(lab, agents, &sessions, PortType::AF_PACKET);
    eprintln!(
        "{} of {} trials valid, bounds of {} to {} us, by {:?}",
        judged.valid,
        trials(),
        judged.least_ns / 1_000,
        judged.worst_ns / 1_000,
        judged.known_by
    );
    (judged, paths)
}
