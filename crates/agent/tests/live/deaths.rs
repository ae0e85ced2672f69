//! An agent, a tester, or the path between them dies in a trial.

use crate::lab::{Lab, SlowPath};
use ports::PortType;
use std::time::Duration as Span;
use trial::{Tester, TesterError};
use units::Duration;

/// `make agents` asks for more.
fn deaths() -> u64 {
    std::env::var("NETANVIL_AGENT_DEATHS").ok().and_then(|n| n.parse().ok()).unwrap_or(4)
}

/// Killed at any moment of a trial, an agent's end is an error that names it, and its ports are free.
#[test]
fn an_agent_that_is_killed_ends_the_run_and_frees_its_port() {
    let lab = Lab::new();
    let one = lab.agent(1, 3);
    for number in 0..deaths() {
        let mut other = lab.agent(0, 7);
        let sessions = [&other, &one].map(|agent| lab.session(agent.address).expect("a session"));
        let mut tester = lab.tester(&sessions, PortType::AF_PACKET);
        let name = other.address.to_string();
        let trial = lab.trial(number + 1, 2_000, Duration::from_ms(600));
        // From before the first frame to after the last.
        let moment = Span::from_millis(number * 7_919 % 900);
        let killer = std::thread::spawn(move || {
            std::thread::sleep(moment);
            other.kill();
        });
        let mut outcome = tester.run(&trial);
        killer.join().expect("killed");
        if outcome.is_ok() {
            // It came too late for this trial: the next one has it.
            outcome = tester.run(&trial);
        }
        match outcome {
            Err(TesterError::PortGone { port, detail }) => {
                assert!(
                    port.contains(&name) && detail.contains("netanvil agent"),
                    "{port}: {detail}"
                );
            }
            other => panic!("killed after {moment:?}: {other:?}"),
        }
        drop((tester, sessions));
        assert!(lab.is_free_within(0, Span::from_secs(5)), "port 0");
        assert!(lab.is_free_within(1, Span::from_secs(5)), "port 1, of the agent that lives");
    }
}

/// Nothing passes any more and nobody is told: both ends find out within seconds.
#[test]
fn a_path_that_is_cut_in_a_trial_ends_it_and_frees_the_port() {
    let lab = Lab::new();
    let agents = [lab.agent(0, 2), lab.agent(1, 2)];
    let path = SlowPath::to(&lab, agents[0].address, (Span::ZERO, Span::ZERO), Span::ZERO);
    let sessions = [path.address, agents[1].address].map(|at| lab.session(at).expect("a session"));
    let mut tester = lab.tester(&sessions, PortType::AF_PACKET);
    let trial = lab.trial(1, 1_000, Duration::from_secs(2));
    let cutter = std::thread::spawn(move || {
        std::thread::sleep(Span::from_millis(700));
        path.cut();
    });
    let outcome = tester.run(&trial);
    cutter.join().expect("cut");
    assert!(matches!(outcome, Err(TesterError::PortGone { .. })), "{outcome:?}");
    assert!(lab.is_free_within(0, Span::from_secs(15)), "port 0");
    drop((tester, sessions));
    assert!(lab.is_free_within(1, Span::from_secs(5)), "port 1");
}

/// A tester that goes away in the middle leaves a port that the next one can have.
#[test]
fn a_port_is_lent_again_when_its_tester_is_gone() {
    let lab = Lab::new();
    let agents = [lab.agent(0, 2), lab.agent(1, 4)];
    for number in 1..=2 {
        let sessions =
            agents.each_ref().map(|agent| lab.session(agent.address).expect("a session"));
        let mut tester = lab.tester(&sessions, PortType::AF_PACKET);
        let result = tester.run(&lab.trial(number, 1_000, Duration::from_ms(100)));
        assert_eq!(result.expect("a trial").offered_frames(), 200);
    }
}
