//! What a campaign is refused for, and what it finds in configurations and over time.

use crate::common::Scratch;

const SMALL: &str = r#"
name = "small"
tests = ["throughput"]
sizes = [64]
[options]
profile = "quick"
duration = "50ms"
skip-selftest = true
[[device]]
name = "router"
options = { sim = "router" }
"#;

#[test]
fn what_a_run_would_refuse_is_refused_before_any_is_begun() {
    let scratch = Scratch::new();
    for (from, to, said) in [
        ("sim = \"router\"", "sim = \"ruoter\"", "no simulated device or file `ruoter`"),
        ("sim = \"router\"", "bidirectional = true", "no device"),
        ("\"throughput\"", "\"throughputs\"", "did you mean `throughput`?"),
        ("profile =", "profil =", "did you mean `profile`?"),
        ("sizes =", "size =", "unknown field `size`"),
        ("[options]", "needs = { dut-x = 1 }\n[options]", "--resource dut-x=1"),
    ] {
        assert!(SMALL.contains(from), "{from}");
        scratch.file("c.toml", &SMALL.replacen(from, to, 1));
        let refused = scratch.run("campaign run --local c.toml").expect(2).stderr;
        assert!(refused.contains(said), "{to}: {refused}");
    }
    scratch.file(
        "c.toml",
        &format!("{SMALL}\n[[configuration]]\nname = \"x\"\nswitch = [\"true\"]\n"),
    );
    let refused = scratch.run("campaign run --local c.toml").expect(2).stderr;
    assert!(refused.contains("bisect"), "{refused}");
}

#[test]
fn a_job_that_fails_is_tried_again_and_told() {
    let scratch = Scratch::new();
    // Half an hour of virtual time at such a rate takes longer than a second.
    let slow = SMALL.replace("duration = \"50ms\"", "duration = \"1800s\"");
    scratch.file("c.toml", &slow.replace("sizes = [64]", "sizes = [64]\ntimeout-s = 1"));
    let ran = scratch.run("campaign run --local c.toml").expect(2);
    assert_eq!(
        ran.stderr.matches("an attempt failed: it took longer than 1 s").count(),
        2,
        "{}",
        ran.stderr
    );
    assert!(ran.stdout.contains("1 jobs: 0 done, 0 done before, 1 failed"), "{}", ran.stdout);
    // It stays failed until somebody asks for more.
    let again = scratch.run("campaign run --local c.toml").expect(2);
    assert!(!again.stderr.contains("an attempt failed"), "{}", again.stderr);
}

/// Devices of 100,000 frames/s down to the fifth, of 96,000 from the sixth on.
#[test]
fn a_bisection_finds_the_first_configuration_that_is_slower() {
    let scratch = Scratch::new();
    let mut text = SMALL.to_owned();
    for (number, cost_ns) in
        [10_000, 10_000, 10_000, 10_000, 10_000, 10_400, 10_400, 10_400].iter().enumerate()
    {
        let device = format!(
            "route = [\"ipv4\"]\n[input]\nframes = 100\n[cpu]\ncost = {{ per-frame = \"{cost_ns}ns\" }}\n"
        );
        scratch.file(&format!("{number}.toml"), &device);
        text += &format!(
            "[[configuration]]\nname = \"build {number}\"\noptions = {{ sim = \"{number}.toml\" }}\n"
        );
    }
    // Options of a suite have no place in a comparison.
    let text = text.replace("duration = \"50ms\"\n", "").replace("skip-selftest = true\n", "");
    scratch.file("c.toml", &text);
    let found = scratch
        .command("campaign bisect c.toml --time 10s --json")
        .args(["--fail-if", "rate < 0.98"])
        .output();
    let found = crate::common::Ran::from(found.unwrap()).expect(1);
    let told: serde_json::Value = serde_json::from_str(&found.stdout).unwrap();
    assert_eq!((&told["good"], &told["bad"]), (&"build 4".into(), &"build 5".into()));
    // The last, then at most log2(7) of the others.
    assert!(told["steps"].as_array().unwrap().len() <= 4, "{told:#}");
}

/// The example of the documentation is a campaign, and its numbers of jobs are those of its product.
#[test]
fn the_documented_campaign_can_be_run() {
    let text = include_str!("../../../../docs/fleet.md");
    let example = text.split("```toml\n").nth(1).unwrap().split("```").next().unwrap();
    let scratch = Scratch::new();
    scratch.file("nightly.toml", example);
    let jobs = scratch.run("campaign jobs nightly.toml").expect(0).stdout;
    // 2 devices x 2 configurations x 2 tests x 2 sizes x 3 repetitions.
    assert_eq!(jobs.lines().count(), 48);
    let told = scratch.run("campaign jobs nightly.toml --json").expect(0).stdout;
    let told: serde_json::Value = serde_json::from_str(&told).unwrap();
    assert!(told[0]["config"].as_str().unwrap().contains("sim = \"router\""), "{}", told[0]);
}

#[test]
fn the_campaign_over_the_kernel_can_be_run() {
    let file =
        concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/kernel-forwarding/nightly.toml");
    let jobs = Scratch::new().run(&format!("campaign jobs {file}")).expect(0).stdout;
    // 7 devices x 2 configurations x 2 tests x 3 sizes x 3 repetitions.
    assert_eq!(jobs.lines().count(), 252);
}

const SWEEP: &str = r#"
name = "routers"
devices = 40
tests = ["throughput"]
sizes = [64]
[options]
profile = "quick"
duration = "20ms"
[device]
route = ["ipv4"]
[vary]
"cpu.cost.per-frame" = { from = "5us", to = "50us", scale = "log" }
"input.frames" = { from = 10, to = 100 }
"#;

/// The capacity of each device is known from what was drawn for it.
#[test]
fn a_sweep_is_the_same_on_any_number_of_threads_and_finds_what_was_drawn() {
    let scratch = Scratch::new();
    scratch.file("s.toml", SWEEP);
    scratch.run("campaign sweep s.toml --threads 1 --out one.jsonl").expect(0);
    scratch.run("campaign sweep s.toml --threads 3 --out three.jsonl").expect(0);
    let [one, three] = ["one.jsonl", "three.jsonl"]
        .map(|name| std::fs::read_to_string(scratch.path().join(name)).unwrap());
    assert_eq!(one, three);
    assert_eq!(one.lines().count(), 41);
    for line in one.lines().skip(1) {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        let drawn = line["drawn"]["cpu.cost.per-frame"].as_str().unwrap();
        let us: f64 = drawn.strip_suffix("us").unwrap().parse().unwrap();
        let figures = line["figures"].as_array().unwrap();
        let found = figures.iter().find(|it| it["name"] == "throughput").unwrap();
        let error = found["value"].as_f64().unwrap() * us / 1e6 - 1.0;
        assert!(error.abs() < 0.03, "{line}");
    }
}

#[test]
fn a_sweep_goes_on_after_its_last_whole_line_and_with_no_other_one() {
    let scratch = Scratch::new();
    scratch.file("s.toml", SWEEP);
    scratch.run("campaign sweep s.toml").expect(0);
    let path = scratch.path().join("routers.jsonl");
    let whole = std::fs::read_to_string(&path).unwrap();
    // As a kill in the middle of the 20th line leaves it.
    let cut: usize = whole.split_inclusive('\n').take(20).map(str::len).sum();
    std::fs::write(&path, &whole[..cut + 17]).unwrap();
    scratch.run("campaign sweep s.toml").expect(0);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), whole);
    scratch.file("s.toml", &SWEEP.replace("5us", "6us"));
    let refused = scratch.run("campaign sweep s.toml").expect(2).stderr;
    assert!(refused.contains("is not of this sweep"), "{refused}");
    for (from, to, said) in [
        ("\"cpu.cost.per-frame\"", "\"cpu.cost.per-fram\"", "did you mean `per-frame`?"),
        ("from = 10,", "from = 200,", "input.frames"),
        ("duration =", "duratio =", "did you mean `duration`?"),
        (
            "duration =",
            "burst-frames = 9\nbidirectional = true\nfilter = \"10\"\nduration =",
            "--filter",
        ),
    ] {
        assert!(SWEEP.contains(from), "{from}");
        scratch.file("wrong.toml", &SWEEP.replacen(from, to, 1));
        let refused = scratch.run("campaign sweep wrong.toml --out wrong.jsonl").expect(2).stderr;
        assert!(refused.contains(said), "{to}: {refused}");
    }
}
