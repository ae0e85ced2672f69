//! `netanvil fit` before devices whose mechanisms it is not told: its twin does as they do in tests and at sizes that
//! it was not fitted to.

use crate::common::Scratch;
use serde_json::Value;

const RUN: &str = "--profile quick --skip-selftest --duration 100ms --quiet --yes";
const TESTS: &str = "--test throughput,latency,loss,back-to-back --set back_to_back.step_frames=1 \
                     --set back_to_back.repetitions=1 --set latency.repetitions=1";

/// Each with other mechanisms, and filter rules where the device has a time for them.
const DEVICES: [(&str, &str); 5] = [
    (
        "per-byte",
        "route = [\"ipv4\"]\ndelay = \"12us\"\n[input]\nframes = 70\n\
         [cpu.cost]\nper-frame = \"3us\"\nper-byte = \"9ns\"\n",
    ),
    (
        "livelock",
        "route = [\"ipv4\"]\ndelay = \"3us\"\n[input]\nframes = 40\n\
         [cpu.cost]\nper-frame = \"9us\"\nreceive = \"2500ns\"\n",
    ),
    (
        "buffers",
        "route = [\"ipv4\"]\n[input]\nframes = 30\n\
         [cpu.cost]\nper-frame = \"6us\"\nper-buffer = \"2us\"\nbuffer-bytes = 256\n",
    ),
    (
        "bytes",
        "bridge = true\n[input]\nbytes = 60000\n[cpu.cost]\nper-frame = \"1500ns\"\nper-byte = \"11ns\"\n",
    ),
    (
        "jitter",
        "route = [\"ipv4\"]\ndelay = \"40us\"\ndelay-varies-by = \"8us\"\n[input]\nframes = 200\n\
         [cpu.cost]\nper-frame = \"14us\"\n",
    ),
];

/// Figures of a run by test, size and name.
fn figures(scratch: &Scratch, device: &str, more: &str) -> Vec<(String, f64)> {
    let ran = scratch.run(&format!("run --sim {device} {RUN} {more} --json"));
    assert!(matches!(ran.code, Some(0 | 3)), "{}", ran.stderr);
    let saved: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    let mut found = vec![];
    for result in saved["outcomes"].as_array().expect("outcomes") {
        for figure in result["figures"].as_array().expect("figures") {
            let (test, size) = (&result["test"], &result["conditions"]["frame_size"]);
            let name = format!("{test} {size} {}", figure["name"]);
            found.extend(figure["value"].as_f64().map(|value| (name, value)));
        }
    }
    assert!(!found.is_empty(), "{device} {more}");
    found
}

/// Errors of the twin, figure by figure, in ascending order. Those of shares are in percentage points.
fn errors(original: &[(String, f64)], twin: &[(String, f64)]) -> Vec<(f64, String)> {
    let error = |(name, value): &(String, f64)| {
        let twin = twin.iter().find(|(other, _)| other == name)?.1;
        let error = if name.contains("loss at") {
            (twin - value).abs() / 100.0
        } else {
            (twin / value - 1.0).abs()
        };
        Some((error, format!("{name}: {value} and {twin}")))
    };
    let mut errors: Vec<(f64, String)> = original.iter().filter_map(error).collect();
    errors.sort_by(|a, b| a.0.total_cmp(&b.0));
    errors
}

#[test]
fn a_twin_does_as_its_device_does_where_it_was_not_fitted() {
    for (name, description) in DEVICES {
        let scratch = Scratch::new();
        scratch.file("hidden.toml", description);
        let sizes = "--sizes 64,256,1518 --out known";
        scratch.run(&format!("run --sim hidden.toml {RUN} {TESTS} {sizes}")).expect(0);
        let fitted = scratch.run("fit known --out twin.toml").expect(0);
        let elsewhere = format!("{TESTS} --sizes 128,1024");
        let original = figures(&scratch, "hidden.toml", &elsewhere);
        let twin = figures(&scratch, "twin.toml", &elsewhere);
        let errors = errors(&original, &twin);
        assert!(errors.len() > 20, "{name}: {} figures", errors.len());
        let median = &errors[errors.len() / 2];
        let most = &errors[errors.len() * 9 / 10];
        assert!(median.0 < 0.01, "{name}: {median:?}\n{}", fitted.stdout);
        assert!(most.0 < 0.05, "{name}: {most:?}\n{}", fitted.stdout);
    }
}

/// RFC 2544 section 11.4: without a filter and with 1 and 10 rules; then 25, which nobody measured.
#[test]
fn a_filter_of_25_rules_is_foretold_from_those_of_1_and_10() {
    let scratch = Scratch::new();
    let with = |rules: usize| {
        let deny = "{ action = \"deny\", from = \"192.0.2.9\" }, ".repeat(rules.saturating_sub(1));
        let permit = if rules > 0 { "{}" } else { "" };
        format!(
            "route = [\"ipv4\"]\n[input]\nframes = 50\n[cpu.cost]\nper-frame = \"4us\"\nper-byte = \"3ns\"\n\
             [filter]\nper-frame = \"900ns\"\nper-rule = \"310ns\"\nrules = [{deny}{permit}]\n"
        )
    };
    for rules in [0, 1, 10, 25] {
        scratch.file(&format!("{rules}.toml"), &with(rules));
        let run = format!("{RUN} --test throughput --sizes 64,512 --out run{rules}");
        scratch.run(&format!("run --sim {rules}.toml {run}")).expect(0);
    }
    scratch.run("fit run0 run1 run10 --rules 25 --out twin.toml").expect(0);
    let throughput = "--test throughput --sizes 64,512";
    let errors = errors(
        &figures(&scratch, "25.toml", throughput),
        &figures(&scratch, "twin.toml", throughput),
    );
    let errors: Vec<_> = errors.iter().filter(|it| it.1.contains("\"throughput\": ")).collect();
    assert_eq!(errors.len(), 2, "{errors:?}");
    assert!(errors[1].0 < 0.01, "{errors:?}");
    // The same by the fit itself.
    let held = scratch.run("fit run0 run1 run10 run25 --hold-out rules=25 --json").expect(0);
    let told: Value = serde_json::from_str(&held.stdout).unwrap();
    let of_25 = told["compared"].as_array().unwrap().iter().filter(|it| it["rules"] == 25);
    let of_25: Vec<&Value> = of_25.collect();
    assert_eq!(of_25.len(), 2);
    for cell in of_25 {
        assert_eq!(cell["is_fitted"], false);
        let error = cell["twin"].as_f64().unwrap() / cell["value"].as_f64().unwrap() - 1.0;
        assert!(error.abs() < 0.01, "{cell}");
    }
}

/// A device that copies the first bytes of a frame alone has no such mechanism here: that is said, and is not
/// smoothed over.
#[test]
fn what_no_mechanism_explains_is_told() {
    let scratch = Scratch::new();
    scratch.file(
        "hidden.toml",
        "route = [\"ipv4\"]\n[cpu.cost]\nper-frame = \"2us\"\nper-byte = \"80ns\"\nfirst-bytes = 200\n",
    );
    let sizes = "--sizes 64,128,300,600,1518 --out run";
    scratch.run(&format!("run --sim hidden.toml {RUN} --test throughput {sizes}")).expect(0);
    let said = scratch.run("fit run").expect(0).stdout;
    assert!(said.contains("No mechanism explains this: throughput at "), "{said}");
    assert!(said.lines().all(|line| line.chars().count() <= 100), "{said}");
}

#[test]
fn what_cannot_be_fitted_is_refused_with_its_remedy() {
    let scratch = Scratch::new();
    scratch.run(&format!("run --sim router {RUN} --test loss --sizes 64 --out loss")).expect(0);
    let refused = scratch.run("fit loss").expect(2).stderr;
    assert!(refused.contains("no throughput of one frame size"), "{refused}");
    assert!(refused.contains("help: run the test `throughput`"), "{refused}");
    let refused = scratch.run("fit nowhere").expect(2).stderr;
    assert!(refused.contains("nowhere"), "{refused}");
    let refused = scratch.run("fit loss --hold-out 65x").expect(2).stderr;
    assert!(refused.contains("neither a frame size"), "{refused}");
    let run = format!("{RUN} --test throughput --sizes 64");
    scratch.run(&format!("run --sim router {run} --bidirectional --out both")).expect(0);
    let refused = scratch.run("fit both").expect(2).stderr;
    assert!(refused.contains("--bidirectional"), "{refused}");
}
