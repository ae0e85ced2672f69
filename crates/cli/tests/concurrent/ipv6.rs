//! RFC 5180 through the program: extension headers and both versions of IP on this kernel's router, and
//! what is on the wire read by tshark.
//!
//! Live tests are for root only. Loads are low, counts are exact and no time is asserted.

use crate::common::{Scratch, is_root, record, results, tshark};
use serde_json::Value;

/// At most some 900 frames of 128 bytes a second.
const LOW: &str = "--line-rate 1M --sizes 128 --profile quick --skip-selftest \
                   --set trial.invalid_retries=9 --set trial.drain_s=1 --set frame_loss.step_percent=50";

/// Every load of the frame loss test came out whole.
#[track_caller]
fn assert_lossless(results: &Value, loads: usize) {
    let points = record(results, "frame_loss")["points"].as_array().unwrap();
    let whole = |point: &&Value| {
        point["invalid"] == Value::Array(vec![])
            && point["received_frames"] == point["expected_frames"]
            && point["expected_frames"].as_u64() > Some(0)
    };
    assert_eq!(points.iter().filter(whole).count(), loads, "{points:#?}");
}

#[test]
fn a_chain_of_extension_headers_is_routed_without_loss_and_comes_out_as_it_went_in() {
    if !is_root() {
        return;
    }
    let scratch = Scratch::new();
    let chain = "--protocol udp_ipv6 --extension-headers routing,destination,fragment";
    let capture = "--capture=40 --capture-ports 1";
    let ran = scratch
        .run(&format!(
            "run --device linux-router {LOW} {chain} {capture} --test loss --wide --out a"
        ))
        .expect(0);
    assert!(ran.stdout.contains("routing + destination options + fragment"), "{}", ran.stdout);
    assert_lossless(&results(&scratch, "a"), 2);
    let seen =
        tshark(&scratch, "a", "ipv6.routing && udp", &["frame.protocols", "udp.checksum.status"]);
    assert!(seen.len() >= 20, "{seen:?}");
    for line in seen {
        let chain = "eth:ethertype:ipv6:ipv6.routing:ipv6.dstopts:ipv6.fraghdr:udp";
        assert!(line.starts_with(chain) && line.ends_with("\t1"), "{line}");
    }
}

#[test]
fn hop_by_hop_options_are_observed_and_no_matter_of_throughput() {
    let scratch = Scratch::new();
    let device = if is_root() { "--device linux-router" } else { "--sim router" };
    let options = "--protocol udp_ipv6 --extension-headers hop_by_hop";
    let refused = scratch.run(&format!("run {device} {LOW} {options} --out a")).expect(2);
    assert!(refused.stderr.contains("1, 10 and 50 %"), "{}", refused.stderr);
    if is_root() {
        scratch.run(&format!("run {device} {LOW} {options} --test loss --out b")).expect(0);
        let results = results(&scratch, "b");
        assert_lossless(&results, 3);
        let loads = record(&results, "frame_loss")["points"].as_array().unwrap().iter();
        let loads: Vec<_> = loads.map(|p| p["percent_of_maximum"].as_f64().unwrap()).collect();
        assert_eq!(loads, [50.0, 10.0, 1.0]);
        // Nor is anything sent beyond, to find out what can be offered.
        assert_eq!(
            results["trials"]
                .as_array()
                .unwrap()
                .iter()
                .filter(|t| t["verdict"] != "invalid")
                .count(),
            3
        );
    }
}

/// Of ten frames one is IPv6: as they go in, and as they come out.
#[test]
fn both_versions_share_a_stream_as_configured() {
    if !is_root() {
        return;
    }
    let scratch = Scratch::new();
    let capture = "--capture=40 --capture-ports 1";
    let mix = "--ipv6-percent 10 --extension-headers destination";
    scratch
        .run(&format!("run --device linux-router {LOW} {mix} {capture} --test loss --out a"))
        .expect(0);
    assert_lossless(&results(&scratch, "a"), 2);
    let seen =
        tshark(&scratch, "a", "udp.dstport == 7", &["ip.version", "ipv6.version", "ipv6.dstopts"]);
    let first: Vec<&str> =
        seen.iter().take(20).map(|line| line.split('\t').next().unwrap()).collect();
    let expected: Vec<&str> = (1..=20).map(|n| if n % 10 == 0 { "6" } else { "4" }).collect();
    assert_eq!(first, expected, "{seen:?}");
}

/// RFC 5180 section 5.2.1: 256 networks of each length behind the router, and every frame finds its own.
#[test]
fn networks_of_every_prefix_length_are_routed() {
    if !is_root() {
        return;
    }
    let scratch = Scratch::new();
    let prefixes = "--protocol udp_ipv6 --destinations random --ipv6-prefixes 48,64,126,128";
    let set = "--set trial.duration_s=0.3 --set trial.drain_s=0.2";
    scratch
        .run(&format!("run --device linux-router {LOW} {prefixes} {set} --test loss --out a"))
        .expect(0);
    let results = results(&scratch, "a");
    let outcomes = results["outcomes"].as_array().unwrap();
    let words = |outcome: &Value| outcome["conditions"]["in_words"].as_str().unwrap().to_string();
    let said: Vec<String> = outcomes.iter().map(words).collect();
    for length in ["/48", "/64", "/126", "/128"] {
        let of_length = said.iter().filter(|said| said.contains(&format!("(IPv6: {length})")));
        assert_eq!(of_length.count(), 1, "{length}: {said:?}");
    }
    let trials = results["trials"].as_array().unwrap();
    assert!(trials.len() >= 8, "two loads of each length");
    for trial in trials {
        assert!(trial["offered_frames"].as_u64() > Some(0), "{trial}");
        assert_eq!(trial["forwarded_frames"], trial["offered_frames"], "{trial}");
    }
}
