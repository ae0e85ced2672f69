//! `netanvil versus` as its users run it, on simulated devices.

use std::process::{Command, Output};

fn versus(arguments: &[&str]) -> Output {
    let program = env!("CARGO_BIN_EXE_netanvil");
    let output = Command::new(program).arg("versus").arg("--quiet").args(arguments).output();
    output.expect("netanvil starts")
}

/// The built-in router takes 10 us for a frame; this one carries 1 / 1.031 = 0.9699 as many.
fn slower(folder: &std::path::Path) -> String {
    let router = include_str!("../../sim/devices/router.toml");
    let slower = router.replace("per-frame = \"10us\"", "per-frame = \"10.31us\"");
    assert_ne!(slower, router);
    let file = folder.join("slower.toml");
    std::fs::write(&file, slower).unwrap();
    file.to_str().unwrap().to_owned()
}

#[test]
fn the_exit_code_follows_the_criterion() {
    let folder = tempfile::tempdir().unwrap();
    let slower = slower(folder.path());
    let run = |criterion| {
        let sides = ["--a-sim", "router", "--b-sim", &slower, "--trial", "50ms"];
        let output = versus(&[&sides[..], &["--json", "--fail-if", criterion]].concat());
        let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let rate = json["ratios"][0]["interval"]["ratio"].as_f64().unwrap();
        // A frame more or less of 5,000.
        assert!((rate - 10.0 / 10.31).abs() < 0.0005, "{json}");
        output.status.code()
    };
    assert_eq!(run("rate < 0.98"), Some(1));
    assert_eq!(run("rate < 0.96"), Some(0));
}

#[test]
fn what_is_asked_for_in_vain_is_refused() {
    let refused = |arguments: &[&str], what: &str| {
        let output = versus(arguments);
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(text.contains(what), "{text}");
    };
    refused(&["--sim", "router", "--accept", "throughput>=1"], "accept");
    refused(&["--sim", "router", "--fail-if", "speed < 1"], "latency_p50");
    refused(&["--sim", "router", "--sizes", "64,128"], "one frame size");
    refused(&["--sim", "router", "--b-do", "true"], "runs no commands");
    refused(&["--sim", "router", "--time", "1s"], "eight blocks");
}
