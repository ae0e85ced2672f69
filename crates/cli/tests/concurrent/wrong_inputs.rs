//! Wrong inputs, one a line: each error names what was wrong, where, and what to write; nothing is built, sent or
//! left behind.

#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "times real programs")]

use crate::common::{Ran, Scratch, left_by};
use std::process::Stdio;
use std::time::{Duration, Instant};

/// Files that the inputs name.
const FILES: [(&str, &str); 13] = [
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
    ("ports.json", "{\"ports\": 3}"),
    ("cut.json", "{"),
    ("stream.toml", "[[stream]]\nname = \"a\"\nweigth = 3\n"),
];

/// The arguments; then what was wrong, where, and what to write.
const WRONG: [(&str, &[&str]); 114] = [
    // What is tested.
    ("run", &["nothing to test", "--device linux-router", "--ports eth1,eth2", "--sim router"]),
    ("run --device linux-ruoter", &["'linux-ruoter'", "--device", "'linux-router'"]),
    ("run --sim ruoter", &["`ruoter`", "did you mean `router`?", "TOML file"]),
    ("run --sim missing.toml", &["`missing.toml`", "built in are", "TOML file"]),
    ("run --device loopback --sim router", &["--device", "--sim", "cannot be used with"]),
    ("run rfc9999", &["'rfc9999'", "[SUITE]", "rfc2889"]),
    ("run --ports eth1", &["two ports at least", "--ports eth1,eth2"]),
    ("run --ports lo,lo", &["error: interface lo is not Ethernet"]),
    (
        "run --ports a,b --address 198.18.0.2/24,198.18.0.3/24 --gateway 198.18.0.1,198.18.0.1",
        &["in one network", "198.19.1.2/24", "leave out --gateway"],
    ),
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
    (
        "run --sim router --set throughput.final_trials=-1",
        &["error: --set throughput.final_trials=-1: ", "a whole number from 0"],
    ),
    ("run --sim router --set trial.limits.shortfall=2", &["shortfall", "between 0 and 1"]),
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
    ("traffic --sim router --rate -5pps", &["`-5pps` is below 0", "--rate", "write 1Mpps"]),
    ("traffic --sim router --rate 0pps", &["`0pps` is 0", "--rate", "write 1Mpps"]),
    (
        "traffic --sim router --rate 1kpps --line-rate 0",
        &["`0` is 0, and a rate is above it", "--line-rate", "write 10G"],
    ),
    (
        "traffic --sim router --rate 1kpps --line-rate -1G",
        &["`-1G` is below 0", "--line-rate", "write 10G"],
    ),
    ("run --sim router --line-rate 0", &["`0` is 0", "--line-rate", "write 10G"]),
    ("run --sim router --line-rate 0G", &["`0G` is 0", "--line-rate", "write 10G"]),
    ("run --sim router --duration -5s", &["`-5s` is below 0", "--duration", "write 60s"]),
    ("run --sim router --rate -5pps", &["--rate", "leave it out", "netanvil traffic --rate"]),
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
    ("traffic --sim router --rate 1kpps --flows 0", &["0 flows", "1 to 64512"]),
    ("traffic --sim router --rate 2Mpps", &["2 Mpps is more than", "at 1 Gb/s"]),
    (
        "traffic --sim router --rate 1kpps --vlan 1,2,3,4,5",
        &["64 bytes is too small", "at least 72", "802.1Q 4"],
    ),
    ("traffic --sim router --rate 1kpps --sizes 64,128", &["one frame size", "dist:64*7,1518*3"]),
    ("traffic --sim router --rate 1kpps --pcap missing.pcap", &["cannot read missing.pcap"]),
    (
        "traffic --sim router --rate 1kpps --streams stream.toml",
        &["stream.toml:3", "`weigth`", "did you mean `weight`"],
    ),
    ("traffic --sim router --rate 1kpps --otg ports.json", &["ports.json: ports", "a list"]),
    ("traffic --sim router --rate 1kpps --otg cut.json", &["cut.json", "line 1"]),
    (
        "traffic --sim router --rate 1kpps --fail-if speed>1",
        &["speed>1", "--fail-if", "latency_p99"],
    ),
    ("traffic --sim router --rate 1kpps --out a", &["--out has no effect on traffic"]),
    // Two configurations, and two runs.
    ("versus --sim router --b-sim ruoter", &["`ruoter`", "built in are", "TOML file"]),
    ("versus --sim router --b-sim device.toml", &["device.toml:2", "`frame`", "`frames`"]),
    (
        "versus --sim router --b-sim router --fail-if speed>1",
        &["speed>1", "--fail-if", "rate, latency_p50"],
    ),
    ("versus --sim router --rate 10", &["'--rate'", "Usage: netanvil versus"]),
    ("compare missing", &["<AFTER>", "Usage: netanvil compare <BEFORE> <AFTER>"]),
    ("compare missing missing", &["missing is not a run folder", "events.jsonl", "runs/"]),
    ("compare no.pcap no.pcap", &["no.pcap is not a run folder", "events.jsonl", "runs/"]),
    ("report no.pcap", &["no.pcap is not a run folder", "events.jsonl", "runs/"]),
    // The tester and its host.
    ("selftest --ports none1,none2", &["interface none1 does not exist", "ip -br link"]),
    ("selftest --port-type xpd", &["'xpd'", "--port-type", "xdp, af_xdp, af_packet"]),
    ("selftest --sizes 63", &["63 bytes", "--sizes", "between 64 and"]),
    ("doctor --port none1", &["'--port'", "'--ports'"]),
    ("clean now", &["'now'", "Usage: netanvil clean"]),
    ("tests rfc9", &["'rfc9'", "[SUITE]", "rfc2544"]),
    ("devices nothing", &["`nothing`", "`netanvil devices` lists them"]),
    ("completions tcsh", &["'tcsh'", "<SHELL>", "bash"]),
    ("man --dir no.pcap/x", &["no.pcap/x", "manual pages", "Not a directory"]),
    // Servers.
    ("serve --listen here", &["'here'", "--listen", "127.0.0.1:"]),
    ("serve --listen 127.0.0.1:99999", &["'127.0.0.1:99999'", "--listen", "127.0.0.1:2544"]),
    (
        "serve --listen 0.0.0.0:0",
        &["0.0.0.0:0", "reachable from other hosts", "--token-file", "127.0.0.1"],
    ),
    ("otg --listen here", &["'here'", "--listen", "127.0.0.1:"]),
    // Files by NETBLT, and its link.
    ("netblt send", &["<FILE>", "<HOST>", "Usage: netanvil netblt send"]),
    ("netblt send missing 127.0.0.1", &["cannot send missing", "No such file"]),
    ("netblt send no.pcap 127.0.0.1:1 --rate fast", &["no rate: fast", "--rate 100M"]),
    ("netblt receive", &["'receive'", "'recv'"]),
    ("netblt paths --seed x", &["'x'", "--seed", "whole number"]),
    ("link --rate 10", &["`10` has no unit", "--rate", "10G"]),
    ("link --delay soon", &["`soon` is no time", "--delay", "60s"]),
    ("link --loss 200%", &["`200%` is no share", "--loss", "1% or 0.01"]),
    // The generator and the counter of 1989.
    ("hammer", &["--interface <IF>", "Usage: netanvil hammer"]),
    ("anvil missing", &["cannot read missing", "No such file"]),
];

/// Longer than anybody waits; a busy machine is given its time.
const WITHIN: Duration = Duration::from_secs(10);

#[test]
fn each_names_what_was_wrong_where_and_what_to_write() {
    let scratch = Scratch::new();
    FILES.iter().for_each(|(name, text)| drop(scratch.file(name, text)));
    let mut wanting = vec![];
    for (arguments, told) in WRONG {
        let begins = Instant::now();
        let mut command = scratch.command(arguments);
        let child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let pid = child.id();
        let ran = Ran::from(child.wait_with_output().expect("its output"));
        assert!(begins.elapsed() < WITHIN, "{arguments}: {:?}", begins.elapsed());
        assert_eq!(left_by(pid), [""; 0], "{arguments} leaves network namespaces");
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
