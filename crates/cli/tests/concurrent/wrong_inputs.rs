//! Wrong inputs, one a line: each error names what was wrong, where, and what to write; nothing is built, sent or
//! left behind.

use crate::common::Scratch;

/// Files that the inputs name.
const FILES: [(&str, &str); 10] = [
    ("key.toml", "device = \"linux-router\"\nprofil = \"quick\"\n"),
    ("section.toml", "device = \"linux-router\"\n[latency]\nrepetition = 3\n"),
    ("quote.toml", "device = \"linux-router\n"),
    ("time.toml", "sim = \"router\"\nduration = \"10 parsecs\"\n"),
    ("size.toml", "sim = \"router\"\nsizes = [63]\n"),
    ("rate.toml", "sim = \"router\"\nline-rate = \"10\"\n"),
    ("device.toml", "[input]\nframe = 9\n"),
    ("cost.toml", "[cpu]\ncost = { per-frame = \"soon\" }\n"),
    ("weight.toml", "[[stream]]\nname = \"a\"\nweight = 0\n"),
    ("no.pcap", "hello"),
];

/// The arguments; then what was wrong, where, and what to write.
const WRONG: [(&str, &[&str]); 62] = [
    // What is tested.
    ("run", &["nothing to test", "--device linux-router", "--ports eth1,eth2", "--sim router"]),
    ("run --device linux-ruoter", &["'linux-ruoter'", "--device", "'linux-router'"]),
    ("run --sim ruoter", &["`ruoter`", "router", "TOML file"]),
    ("run --sim missing.toml", &["`missing.toml`", "built in are", "TOML file"]),
    ("run --device loopback --sim router", &["--device", "--sim", "cannot be used with"]),
    ("run rfc9999", &["'rfc9999'", "[SUITE]", "rfc2889"]),
    ("run --ports eth1", &["two ports at least", "--ports eth1,eth2"]),
    ("run --ports none1,none2", &["interface none1 does not exist", "ip -br link"]),
    (
        "run --device linux-router --address 198.18.1.2/24",
        &["address", "belong to ports", "remove"],
    ),
    ("run --ports a,b --gateway 198.18.1,198.19.1.1", &["'198.18.1'", "--gateway", "198.18.1.1"]),
    ("run --sim router --tunnel gre", &["--tunnel", "--device linux-router"]),
    ("run --device linux-router --device-cpu 9999", &["--device-cpu 9999", "processors 0 to"]),
    ("run --device linux-router --mtu 10", &["10 bytes", "MTU", "1280"]),
    ("run --device linux-router --filter 7", &["'7'", "--filter", "10, 25"]),
    ("run --device ovs-userspace --filter 25", &["--filter", "linux-router", "leave it out"]),
    ("run --device linux-router --tbf-rate 100", &["`100` has no unit", "--tbf-rate", "100M"]),
    ("run --device-info firmware --sim router", &["--device-info firmware", "firmware=4.2"]),
    // Which tests, and how.
    ("run --sim router --test throughputs", &["'throughputs'", "--test", "'throughput'"]),
    ("run --sim router --test congestion", &["`congestion`", "run rfc2889 --test congestion"]),
    ("run --sim router --profile fast", &["'fast'", "--profile", "minutes, quick"]),
    ("run --sim router --sizes 63", &["63 bytes", "--sizes", "between 64 and"]),
    ("run --sim router --sizes 64,64", &["names a size twice", "leave the second one out"]),
    ("run --sim router --sizes abc", &["`abc` is no frame size", "--sizes", "64..1518", "imix"]),
    ("run --sim router --sizes dist:64", &["without weight", "--sizes", "write 64*7"]),
    ("run --sim router --duration 10parsec", &["`10parsec` is no time", "--duration", "2min"]),
    ("run --sim router --resolution 200%", &["`200%` is no share", "--resolution", "1% or 0.01"]),
    ("run --sim router --line-rate 10", &["`10` has no unit", "--line-rate", "10G"]),
    ("run --sim router --loss-tolerance 5G", &["`5G` is no share", "--loss-tolerance", "1%"]),
    ("run --sim router --seed one", &["'one'", "--seed", "whole number"]),
    ("run --sim router --accept throughput", &["`throughput` is no criterion", "FIGURE>=NUMBER"]),
    ("run --sim router --accept speed>=3", &["`speed>=3`", "throughput, loss"]),
    ("run --sim router --accept throughput>=10G", &["`throughput>=10G`", "FIGURE>=NUMBER"]),
    ("run --sim router --set latency.repetition=5", &["`repetition`", "--set", "`repetitions`"]),
    ("run --sim router --set latency", &["no value", "--set", "latency.repetitions=5"]),
    ("run --sim router --goal lost=1%", &["no key `lost`", "--goal", "loss=0.5%"]),
    ("run --sim router --goal loss=1%", &["MLRsearch", "search.policy = \"mlrsearch\""]),
    ("run --sim router --pattern ring", &["'ring'", "--pattern", "pairs"]),
    ("run --sim router --capture-streams 1", &["--capture-streams", "add --capture"]),
    ("run --sim router --drop-every 9", &["--drop-every", "leave it out"]),
    // What is sent.
    ("run --sim router --vlan 5000", &["5000", "--vlan", "1..=4094"]),
    ("run --sim router --vlan blue", &["'blue'", "--vlan", "whole number"]),
    ("run --sim router --protocol udp", &["'udp'", "--protocol", "udp_ipv4"]),
    ("run --sim router --ipv6-percent 100", &["100", "--ipv6-percent", "1..=99"]),
    // Files.
    ("run --config missing.toml", &["cannot read missing.toml", "No such file"]),
    ("run --config key.toml", &["key.toml:2", "`profil`", "did you mean `profile`"]),
    (
        "run --config section.toml",
        &["section.toml:3", "`repetition`", "did you mean `repetitions`"],
    ),
    ("run --config quote.toml", &["quote.toml:1", "expected `\"`", "in `device = \"linux-router`"]),
    ("run --config time.toml", &["time.toml:2", "`10 parsecs` is no time", "write 60s"]),
    ("run --config size.toml", &["size.toml:2", "63 bytes", "between 64 and"]),
    ("run --config rate.toml", &["rate.toml:2", "`10` has no unit", "write 10G"]),
    ("run --sim device.toml", &["device.toml:2", "`frame`", "did you mean `frames`"]),
    ("run --sim cost.toml", &["cost.toml:2", "`soon` is no time", "write 60s"]),
    ("run --resume missing", &["missing is not a run folder", "config.toml", "runs/"]),
    ("report missing", &["missing is not a run folder", "events.jsonl"]),
    ("run --sim router --out no.pcap/a", &["no.pcap/a", "cannot make the folder", "--out"]),
    // Traffic.
    ("traffic --sim router --rate 10", &["`10` is ambiguous", "--rate", "10pps, 10Mbit/s or 10%"]),
    ("traffic --sim router --rate 10Gpbs", &["`10Gpbs` is no load", "--rate", "1Mpps"]),
    (
        "traffic --sim router --rate 1kpps --duration soon",
        &["`soon` is no time", "--duration", "60s"],
    ),
    ("traffic --sim router --rate 1kpps --flows many", &["'many'", "--flows", "whole number"]),
    ("traffic --sim router --rate 1kpps --pcap no.pcap", &["no.pcap", "it is no capture"]),
    (
        "traffic --sim router --rate 1kpps --streams weight.toml",
        &["stream a", "weight of 0", "1 or more"],
    ),
    ("otg --listen here", &["'here'", "--listen", "127.0.0.1:"]),
];

#[test]
fn each_names_what_was_wrong_where_and_what_to_write() {
    let scratch = Scratch::new();
    FILES.iter().for_each(|(name, text)| drop(scratch.file(name, text)));
    let mut wanting = vec![];
    for (arguments, told) in WRONG {
        let ran = scratch.run(arguments);
        let missing: Vec<&&str> = told.iter().filter(|word| !ran.stderr.contains(**word)).collect();
        let is_refused = ran.code == Some(2) && ran.stdout.is_empty();
        if !is_refused || !missing.is_empty() {
            wanting.push(format!("{arguments}: {:?}, lacks {missing:?}\n{}", ran.code, ran.stderr));
        }
    }
    assert!(wanting.is_empty(), "{}", wanting.join("\n"));
    let left: Vec<String> = std::fs::read_dir(scratch.path())
        .unwrap()
        .map(|file| file.unwrap().file_name().to_string_lossy().into_owned())
        .filter(|name| !FILES.iter().any(|(known, _)| known == name) && name != "cache")
        .collect();
    assert_eq!(left, [""; 0], "a refused run leaves a folder");
}
