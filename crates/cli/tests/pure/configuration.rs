//! Configuration files: equal to the flags, and helpful when mistyped.

use crate::common::Scratch;

#[test]
fn what_is_printed_can_be_read_back_and_means_the_same() {
    let scratch = Scratch::new();
    let flags = "run --device linux-bridge --profile quick --sizes 64,512,imix --bidirectional \
                 --duration 1500ms --resolution 2% --line-rate 2.5G --test throughput,back-to-back \
                 --filter 25 --seed 7 --accept throughput>=1 --modifiers broadcast --capture";
    let printed = scratch.run(&format!("{flags} --print-config")).expect(0).stdout;
    scratch.file("lab.toml", &printed);
    let again = scratch.run("run --config lab.toml --print-config").expect(0).stdout;
    assert_eq!(printed, again);
    for line in ["duration = \"1500ms\"", "filter = \"25\"", "bidirectional = true", "seed = 7"] {
        assert!(printed.contains(line), "{line} is missing in\n{printed}");
    }
}

/// Flags for a search are keys of its section in a file.
#[test]
fn a_search_and_its_goals_are_chosen_by_flag_or_file() {
    let scratch = Scratch::new();
    let goals = "--goal loss=0,exceed=50%,initial=1s,final=1s,sum=21s --goal loss=0.5%,width=1%";
    let flags = format!("run --sim router --search mlrsearch {goals}");
    let printed = scratch.run(&format!("{flags} --print-config")).expect(0).stdout;
    for line in ["policy = \"mlrsearch\"", "exceed_percent = 50.0", "duration_sum_s = 21.0"] {
        assert!(printed.contains(line), "{line} is missing in\n{printed}");
    }
    scratch.file("lab.toml", &printed);
    let again = scratch.run("run --config lab.toml --print-config").expect(0).stdout;
    assert_eq!(printed, again);
    let other = scratch.run("run --config lab.toml --search step --print-config").expect(2).stderr;
    assert!(other.contains("belong to MLRsearch"), "{other}");
    let lossy = scratch.run("run --sim router --search mlrsearch --goal loss=1%").expect(2).stderr;
    assert!(lossy.contains("throughput itself"), "{lossy}");
    let typo = scratch.run("run --sim router --search mlrsearch --goal los=1%").expect(2).stderr;
    assert!(typo.contains("loss=0.5%"), "{typo}");
}

#[test]
fn the_effective_configuration_has_the_defaults_too() {
    let printed = Scratch::new().run("run --device loopback --print-config").expect(0).stdout;
    for key in ["profile", "sizes", "test", "port-type", "duration", "seed", "resolution"] {
        assert!(
            printed.lines().any(|line| line.starts_with(&format!("{key} = "))),
            "{key}\n{printed}"
        );
    }
}

/// Verifying takes time from a device on the same machine, and from no other.
#[test]
fn checksums_are_verified_unless_the_device_is_built_here_or_somebody_says_otherwise() {
    let scratch = Scratch::new();
    let cases = [
        ("--sim router", true),
        ("--ports lo,lo", true),
        ("rfc2889 --sim switch", true),
        ("--device loopback", false),
        ("--device loopback --set trial.verify_checksums=true", true),
        ("--sim router --set trial.verify_checksums=false", false),
    ];
    for (flags, expected) in cases {
        let printed = scratch.run(&format!("run {flags} --print-config")).expect(0).stdout;
        let line = format!("verify_checksums = {expected}");
        assert!(printed.contains(&line), "{flags}: no {line} in\n{printed}");
    }
}

/// What tests of many ports had under names of their own.
#[test]
fn keys_that_moved_are_named_by_their_present_names() {
    let scratch = Scratch::new();
    let moved = [
        ("chassis.trial.duration_s=1", "write trial.duration_s"),
        ("chassis.seed=2", "write seed"),
        ("chassis.search_trial_s=1", "write search.trial_duration_s"),
    ];
    for (setting, help) in moved {
        let ran = scratch.run(&format!("run rfc2889 --sim switch --set {setting}")).expect(2);
        assert!(ran.stderr.contains(help), "{setting}: {}", ran.stderr);
    }
}

/// Groups and the frames to them are of one version of IP.
#[test]
fn the_protocol_of_groups_is_that_of_their_hosts() {
    let scratch = Scratch::new();
    let run = "run rfc3918 --sim multicast --print-config";
    let printed = scratch.run(&format!("{run} --protocol udp_ipv6")).expect(0).stdout;
    assert!(printed.contains("version = \"mldv2\""), "{printed}");
    let version = "--set chassis.multicast.version=\"mldv1\"";
    let printed = scratch.run(&format!("{run} {version}")).expect(0).stdout;
    assert!(printed.contains("protocol = \"udp_ipv6\""), "{printed}");
    let ran = scratch.run(&format!("{run} {version} --protocol udp_ipv4")).expect(2);
    assert!(ran.stderr.contains("groups of MLDv1 carry UDP over IPv6"), "{}", ran.stderr);
    scratch.run(&format!("{run} --protocol ipx_raw")).expect(2);
}

#[test]
fn flags_override_the_file() {
    let scratch = Scratch::new();
    scratch.file("lab.toml", "device = \"loopback\"\nseed = 3\nbidirectional = true\n");
    let printed = scratch
        .run("run --config lab.toml --seed 4 --bidirectional=false --print-config")
        .expect(0)
        .stdout;
    assert!(printed.contains("seed = 4") && printed.contains("bidirectional = false"), "{printed}");
    assert!(printed.contains("device = \"loopback\""), "{printed}");
}

#[test]
fn a_typo_is_named_with_its_line_and_the_nearest_word() {
    let scratch = Scratch::new();
    let cases = [
        ("seed = 1\nbidirectoinal = true\n", "lab.toml:2", "`bidirectional`"),
        ("\n\ndevice = \"linux-ruoter\"\n", "lab.toml:3", "`linux-router`"),
        ("test = [\"throughput\", \"latncy\"]\n", "lab.toml:1", "`latency`"),
        ("port-type = \"afxdp\"\n", "lab.toml:1", "`af_xdp`"),
        ("profile = \"RFC\"\n", "lab.toml:1", "`rfc`"),
    ];
    for (text, place, nearest) in cases {
        scratch.file("lab.toml", text);
        let error = scratch.run("run --config lab.toml --print-config").expect(2).stderr;
        assert!(error.starts_with("error: "), "{error}");
        assert!(error.contains(place) && error.contains(nearest), "{text}: {error}");
    }
}

#[test]
fn values_that_make_no_sense_say_what_would() {
    let scratch = Scratch::new();
    for (text, help) in [
        ("duration = \"soon\"", "60s"),
        ("sizes = [63]", "between 64 and 65535"),
        ("line-rate = \"fast\"", "10G"),
        ("resolution = \"200%\"", "1%"),
        ("device = \"loopback\"\nsim = \"router\"", "contradict"),
        ("address = [\"198.18.1.2/24\"]", "belong to ports"),
        ("accept = [\"speed>=1\"]", "throughput"),
    ] {
        scratch.file("lab.toml", text);
        let error = scratch.run("run --config lab.toml --print-config").expect(2).stderr;
        assert!(error.contains(help), "{text}: {error}");
    }
}

#[test]
fn a_missing_file_is_named() {
    let error = Scratch::new().run("run --config nowhere.toml").expect(2).stderr;
    assert!(error.contains("nowhere.toml") && error.contains("No such file"), "{error}");
}
