//! Help, completions, manual pages, and how wrong usage ends.

use crate::common::Scratch;

const SUBCOMMANDS: [&str; 23] = [
    "run",
    "selftest",
    "doctor",
    "report",
    "publish",
    "compare",
    "versus",
    "campaign",
    "history",
    "fit",
    "traffic",
    "serve",
    "clean",
    "devices",
    "tests",
    "hammer",
    "anvil",
    "netblt",
    "link",
    "agent",
    "otg",
    "completions",
    "man",
];

#[test]
fn every_subcommand_has_help_with_examples() {
    let scratch = Scratch::new();
    let overview = scratch.run("--help").expect(0).stdout;
    for subcommand in SUBCOMMANDS {
        assert!(overview.contains(&format!("\n  {subcommand} ")), "{subcommand} is not listed");
        let help = scratch.run(&format!("{subcommand} --help")).expect(0).stdout;
        assert!(help.contains(&format!("Usage: netanvil {subcommand}")), "{help}");
        let example = format!("\n  netanvil {subcommand}");
        assert!(help.contains(&example), "no example in the help of {subcommand}");
    }
}

/// What one needs every day fits a screen or two; the rest is in `--help`.
#[test]
fn the_short_help_is_short_and_names_the_long_one() {
    let scratch = Scratch::new();
    for (command, most) in [("run", 75), ("traffic", 75), ("versus", 75), ("selftest", 45)] {
        let short = scratch.run(&format!("{command} -h")).expect(0).stdout;
        let long = scratch.run(&format!("{command} --help")).expect(0).stdout;
        let lines = short.lines().count();
        assert!(lines <= most && lines * 2 < long.lines().count(), "{command}: {lines} lines");
        assert!(short.contains(&format!("netanvil {command} --help")), "{short}");
    }
    let long = scratch.run("run --help").expect(0).stdout;
    assert!(long.contains("--far-community") && long.contains("netanvil run --resume"), "{long}");
}

#[test]
fn what_others_did_decades_ago_stands_in_a_group_of_its_own() {
    let help = Scratch::new().run("-h").expect(0).stdout;
    let (every_day, history) = help.split_once("\nHistory:\n").expect("a group");
    for command in ["hammer", "anvil", "harvard"] {
        assert!(
            history.contains(&format!("\n  {command} "))
                || history.starts_with(&format!("  {command} "))
        );
        assert!(!every_day.contains(&format!("\n  {command} ")), "{every_day}");
    }
    assert!(every_day.contains("\n  traffic "), "{every_day}");
}

#[test]
fn exit_codes_are_documented() {
    let scratch = Scratch::new();
    for text in [scratch.run("--help").expect(0).stdout, scratch.run("man").expect(0).stdout] {
        for words in ["acceptance criterion failed", "a test has no valid result", "wrong usage"] {
            assert!(text.contains(words), "`{words}` is missing in\n{text}");
        }
    }
}

#[test]
fn wrong_usage_ends_with_2_and_names_the_nearest_word() {
    let scratch = Scratch::new();
    let ran = scratch.run("run --device linux-ruoter").expect(2);
    assert!(ran.stderr.contains("'linux-router'"), "{}", ran.stderr);
    let ran = scratch.run("run --bidirectoinal").expect(2);
    assert!(ran.stderr.contains("--bidirectional"), "{}", ran.stderr);
    let ran = scratch.run("doctr").expect(2);
    assert!(ran.stderr.contains("'doctor'"), "{}", ran.stderr);
    scratch.run("run --device loopback --sim router").expect(2);
    scratch.run("run --device loopback --sizes 63").expect(2);
    let ran = scratch.run("run").expect(2);
    assert!(ran.stderr.contains("help: ") && ran.stderr.contains("--device"), "{}", ran.stderr);
}

/// Of settings of one key the last counts, as with flags of other programs.
#[test]
fn the_last_setting_of_a_key_counts() {
    let scratch = Scratch::new();
    let twice = "run --sim router --set trial.drain_s=0.1 --set trial.drain_s=0.2 --print-config";
    let ran = scratch.run(twice).expect(0);
    assert!(ran.stdout.contains("drain_s = 0.2"), "{}", ran.stdout);
}

#[test]
fn selftest_and_versus_show_the_options_that_they_use() {
    let scratch = Scratch::new();
    for (command, used, not_used) in [
        (
            "selftest",
            &["--sizes", "--vlan", "--mtu"][..],
            &["--tbf-rate", "--accept", "--far-lag"][..],
        ),
        ("versus", &["--sizes", "--vlan", "--tbf-rate"], &["--accept", "--burst-frames", "--goal"]),
    ] {
        let help = scratch.run(&format!("{command} --help")).expect(0).stdout;
        let lists = |flag: &&&str| help.contains(&format!("{flag} <"));
        let missing: Vec<_> = used.iter().filter(|flag| !lists(flag)).collect();
        let idle: Vec<_> = not_used.iter().filter(lists).collect();
        assert!(missing.is_empty() && idle.is_empty(), "{command}: {missing:?} {idle:?}");
    }
}

#[test]
fn completions_know_the_options() {
    let scratch = Scratch::new();
    for shell in ["bash", "zsh", "fish"] {
        let script = scratch.run(&format!("completions {shell}")).expect(0).stdout;
        assert!(script.contains("random-macs"), "{shell}");
    }
}

#[test]
fn bash_accepts_its_completions() {
    let scratch = Scratch::new();
    let script = scratch.run("completions bash").expect(0).stdout;
    let file = scratch.file("completions.bash", &script);
    let check = format!(
        "set -e; source {}; COMP_WORDS=(netanvil run --dev); COMP_CWORD=2; \
         _netanvil netanvil --dev run; echo \"${{COMPREPLY[@]}}\"",
        file.display()
    );
    let output = std::process::Command::new("bash").args(["-c", &check]).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.split_whitespace().any(|word| word == "--device"), "{text} {output:?}");
}

#[test]
fn manual_pages_of_all_subcommands_are_written() {
    let scratch = Scratch::new();
    scratch.run("man --dir pages").expect(0);
    for subcommand in SUBCOMMANDS {
        let path = scratch.path().join(format!("pages/netanvil-{subcommand}.1"));
        let page = std::fs::read_to_string(&path).unwrap_or_default();
        let title = page.lines().find(|line| line.starts_with(".TH ")).unwrap_or_default();
        // man(7): title, section, date, source.
        let start = format!(".TH netanvil-{subcommand} 1 \"\" \"netanvil 0.");
        assert!(title.starts_with(&start), "{}: {title}", path.display());
    }
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    use std::process::Stdio;
    let scratch = Scratch::new();
    let mut child = scratch.command("man").stdout(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn devices_lists_what_run_takes() {
    let text = Scratch::new().run("devices").expect(0).stdout;
    for name in ["linux-router", "linux-bridge", "loopback", "--drop-every", "shared-bus"] {
        assert!(text.contains(name), "{name}");
    }
}

#[test]
fn tests_lists_every_test_with_its_source_and_its_options() {
    let scratch = Scratch::new();
    let text = scratch.run("tests").expect(0).stdout;
    for test in method::registry::all() {
        let (title, source) = (test.title(), test.source());
        let is_listed = text.lines().any(|line| {
            line.trim_start().starts_with(&format!("{} ", test.id))
                && line.contains(&title)
                && line.ends_with(&source)
        });
        assert!(is_listed, "{} {title}: {source}", test.id);
    }
    let one = scratch.run("tests rfc2889 congestion").expect(0).stdout;
    assert!(one.contains("--vlan") && !one.contains("--destinations"), "{one}");
    scratch.run("tests rfc2889 latency").expect(2);
}

/// Where a document leaves no room for an option, the refusal says what its tests do instead.
#[test]
fn an_option_that_a_document_leaves_no_room_for_is_refused_with_the_reason() {
    let scratch = Scratch::new();
    for (arguments, why) in [
        ("rfc2889 --sim switch --destinations random", "RFC 2889 section 5"),
        ("rfc3918 --sim router --destinations random", "RFC 3918 section 4.1"),
        ("rfc3918 --sim router --test encapsulation --vlan 7", "no VLAN tags"),
        ("rfc2889 --sim switch --routing-updates", "no route to learn"),
    ] {
        let ran = scratch.run(&format!("run {arguments}")).expect(2);
        assert!(ran.stderr.contains(why), "{arguments}: {}", ran.stderr);
    }
}
