//! `netanvil netblt` as people use it: processes on the loopback interface and between namespaces.
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "waits for processes")]

use crate::common;
use crate::common::Scratch;
use crate::common::netblt::file_of;
use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::os::unix::ffi::OsStrExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// A server that is killed when it is dropped.
struct Server {
    child: Child,
    address: String,
}

impl Server {
    fn start(scratch: &Scratch, arguments: &str) -> Server {
        Server::start_at("127.0.0.1:0", scratch, arguments)
    }
    fn start_at(listen: &str, scratch: &Scratch, arguments: &str) -> Server {
        let mut child = Command::new(env!("CARGO_BIN_EXE_netanvil"))
            .args(["netblt", "serve", "served", "--listen", listen])
            .args(arguments.split_whitespace())
            .current_dir(scratch.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("started");
        let mut line = String::new();
        BufReader::new(child.stderr.take().expect("piped")).read_line(&mut line).expect("a line");
        let (_, rest) = line.split_once(" on ").expect(&line);
        let address = rest.split(';').next().expect("an address").to_owned();
        Server { child, address }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn scene(len: usize) -> (Scratch, Vec<u8>) {
    let scratch = Scratch::new();
    std::fs::create_dir(scratch.path().join("served")).unwrap();
    let bytes = file_of(len as u64);
    std::fs::write(scratch.path().join("file"), &bytes).unwrap();
    (scratch, bytes)
}

#[test]
fn a_file_goes_to_a_server_and_comes_back() {
    let (scratch, bytes) = scene(3_000_000);
    let server = Server::start(&scratch, "");
    let sent = scratch.run(&format!("netblt send file {} --json", server.address)).expect(0);
    let json: serde_json::Value = serde_json::from_str(&sent.stdout).unwrap();
    assert_eq!(json["complete"], true, "{}", sent.stdout);
    assert!(sent.stderr.contains("nothing is encrypted"), "{}", sent.stderr);
    assert_eq!(std::fs::read(scratch.path().join("served/file")).unwrap(), bytes);
    let got = scratch.run(&format!("netblt recv file {} --out back", server.address)).expect(0);
    assert!(got.stdout.contains("verified"), "{}", got.stdout);
    assert_eq!(std::fs::read(scratch.path().join("back")).unwrap(), bytes);

    let again = scratch.run(&format!("netblt recv file {} --out back", server.address)).expect(2);
    assert!(again.stderr.contains("--overwrite"), "{}", again.stderr);
    let refused = scratch.run(&format!("netblt send file {}", server.address)).expect(2);
    assert!(refused.stderr.contains("exists already"), "{}", refused.stderr);
    let tested = scratch
        .run(&format!("netblt test {} --bytes 1000000 --burst 10/1 --json --quiet", server.address))
        .expect(0);
    let json: serde_json::Value = serde_json::from_str(&tested.stdout).unwrap();
    // 10 packets of 1,400 bytes a millisecond are 112 Mb/s.
    let steady = json["steady_state_mbps"].as_f64().unwrap();
    assert!(steady > 1.0 && steady < 125.0, "{steady}");
    assert_eq!(json["bytes"], 1_000_000);
    assert!(json["wire_bytes_sent"].as_u64().unwrap() > 1_000_000, "{}", tested.stdout);
    assert_eq!(json["damaged_data_packets"], serde_json::Value::Null, "the server's to count");
    assert_eq!(tested.stderr, "");
}

#[test]
fn another_port_is_another_server_and_nothing_is_said_to_be_kept() {
    let (scratch, _) = scene(100_000);
    let server = Server::start(&scratch, "--port 77");
    let refused = scratch.run(&format!("netblt send file {} --quiet", server.address)).expect(2);
    assert!(refused.stderr.contains("no client at this port"), "{}", refused.stderr);
    assert!(!refused.stderr.contains("kept"), "{}", refused.stderr);
    assert!(!refused.stdout.contains("received,"), "it sends: {}", refused.stdout);
    scratch.run(&format!("netblt send file {} --quiet --port 77", server.address)).expect(0);
}

#[test]
fn a_sender_or_a_server_that_is_killed_loses_nothing_that_arrived() {
    let (scratch, bytes) = scene(6_000_000);
    let mut server = Server::start(&scratch, "");
    let part = scratch.path().join("served/.file.netblt-part");
    for kill_server in [false, true] {
        let mut sender = Command::new(env!("CARGO_BIN_EXE_netanvil"))
            .args(["netblt", "send", "file", &server.address, "--rate", "20M", "--quiet"])
            .current_dir(scratch.path())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // Until another million bytes are there.
        let before = std::fs::metadata(&part).map_or(0, |metadata| metadata.len());
        let started = Instant::now();
        while std::fs::metadata(&part).map_or(0, |metadata| metadata.len()) < before + 1_000_000 {
            assert!(started.elapsed() < Duration::from_secs(60), "nothing arrives");
            std::thread::sleep(Duration::from_millis(5));
        }
        if kill_server {
            server = Server::start(&scratch, "");
        }
        sender.kill().unwrap();
        sender.wait().unwrap();
    }
    let sent = scratch.run(&format!("netblt send file {} --json", server.address)).expect(0);
    let json: serde_json::Value = serde_json::from_str(&sent.stdout).unwrap();
    assert!(json["bytes"].as_u64().unwrap() < 5_000_000, "{}", sent.stdout);
    assert_eq!(std::fs::read(scratch.path().join("served/file")).unwrap(), bytes);
}

/// Nothing of a plain transfer is kept, and nobody is told that it is.
#[test]
fn what_arrived_is_said_to_be_kept_only_where_it_is() {
    let (scratch, _) = scene(6_000_000);
    for (plain, kept) in [("--plain", false), ("", true)] {
        let server = Server::start(&scratch, "");
        let arguments = format!(
            "netblt send file {} --quiet --rate 20M --death-timer 1 {plain}",
            server.address
        );
        let told = std::thread::scope(|scope| {
            let sender = scope.spawn(|| scratch.run(&arguments).expect(2).stderr);
            std::thread::sleep(Duration::from_millis(800));
            drop(server);
            sender.join().unwrap()
        });
        assert_eq!(told.contains("kept"), kept, "{plain}: {told}");
    }
}

#[test]
fn ipv6_does_what_ipv4_does_and_one_server_takes_both() {
    let (scratch, bytes) = scene(500_000);
    std::fs::write(scratch.path().join("key"), "5eed".repeat(16)).unwrap();
    for sealing in ["", "--key-file key"] {
        let trust = if sealing.is_empty() { "--trust --overwrite" } else { "--overwrite" };
        let server = Server::start_at("[::]:0", &scratch, &format!("{trust} {sealing}"));
        let port = server.address.rsplit(':').next().unwrap();
        for host in ["[::1]", "127.0.0.1", "localhost"] {
            let _ = std::fs::remove_file(scratch.path().join("served/file"));
            let send = format!("netblt send file {host}:{port} --json --quiet {sealing}");
            let sent = scratch.run(&send).expect(0);
            assert!(sent.stdout.contains("\"complete\": true"), "{host}: {}", sent.stdout);
            assert_eq!(std::fs::read(scratch.path().join("served/file")).unwrap(), bytes);
            let back =
                format!("netblt recv file {host}:{port} --out back --overwrite --quiet {sealing}");
            scratch.run(&back).expect(0);
            assert_eq!(std::fs::read(scratch.path().join("back")).unwrap(), bytes);
        }
    }
}

/// Runs a script in a network namespace of its own.
fn in_own_namespace(scratch: &Scratch, script: &str) -> ExitStatus {
    let mut command = Command::new("unshare");
    command.args(["--net", "sh", "-c", script]).current_dir(scratch.path());
    command.stdout(Stdio::null()).status().unwrap()
}

#[test]
fn raw_ip_is_protocol_30_and_takes_root() {
    if !common::is_root() {
        eprintln!("skipped: not root");
        return;
    }
    // A namespace of its own: no other process hears these packets.
    let (scratch, bytes) = scene(500_000);
    let program = env!("CARGO_BIN_EXE_netanvil");
    let script = format!(
        "ip link set lo up; {program} netblt serve served --raw-ip --listen 127.0.0.1:0 --once & \
         sleep 0.5; {program} netblt send file 127.0.0.1 --raw-ip --quiet && wait"
    );
    assert!(in_own_namespace(&scratch, &script).success());
    assert_eq!(std::fs::read(scratch.path().join("served/file")).unwrap(), bytes);
}

/// Two namespaces with a virtual cable between them, gone when the parent of the inner one is.
#[test]
fn a_rate_is_found_between_two_namespaces_and_a_fixed_one_is_kept() {
    if !common::is_root() {
        eprintln!("skipped: not root");
        return;
    }
    let (scratch, bytes) = scene(20_000_000);
    let program = env!("CARGO_BIN_EXE_netanvil");
    let script = format!(
        "unshare --net sleep 120 & far=$!; own=$(readlink /proc/self/ns/net); \
         while [ \"$(readlink /proc/$far/ns/net)\" = \"$own\" ]; do sleep 0.05; done; \
         ip link add near type veth peer name far netns $far; \
         ip addr add 192.0.2.1/24 dev near; ip link set near up; \
         in_far='nsenter --net --target '$far; \
         $in_far ip addr add 192.0.2.2/24 dev far; $in_far ip link set far up; \
         $in_far {program} netblt serve served --trust --overwrite --listen 192.0.2.2:20030 > told 2>&1 & server=$!; \
         until grep -q serving told; do kill -0 $server || exit 1; sleep 0.05; done; result=0; \
         {program} netblt send file 192.0.2.2 --json --quiet > found || result=1; \
         {program} netblt recv file 192.0.2.2 --out back --quiet || result=1; \
         {program} netblt send file 192.0.2.2 --at-most 100M --json --quiet > bound || result=1; \
         {program} netblt send file 192.0.2.2 --rate 200M --json --quiet > fixed || result=1; \
         kill $server $far; exit $result"
    );
    assert!(in_own_namespace(&scratch, &script).success());
    assert_eq!(std::fs::read(scratch.path().join("served/file")).unwrap(), bytes);
    assert_eq!(std::fs::read(scratch.path().join("back")).unwrap(), bytes);
    let of = |name: &str| -> serde_json::Value {
        serde_json::from_slice(&std::fs::read(scratch.path().join(name)).unwrap()).unwrap()
    };
    for name in ["found", "bound", "fixed"] {
        assert_eq!(of(name)["complete"], true, "{name}");
    }
    // What is not to be exceeded is not, however quiet or busy the machine.
    let steady = |name: &str| of(name)["steady_state_mbps"].as_f64().unwrap();
    assert!(steady("bound") < 110.0 && steady("fixed") < 220.0, "{}", steady("bound"));
}

#[test]
fn with_a_key_packets_are_sealed_and_who_has_none_or_another_is_told() {
    let (scratch, bytes) = scene(1_000_000);
    scratch.file("key", &("0123456789abcdef".repeat(4) + "\n"));
    scratch.file("other", &"f".repeat(64));
    scratch.file("phrase", "a secret that can be guessed");
    let server = Server::start(&scratch, "--key-file key");
    let send = |key: &str| format!("netblt send file {} {key}", server.address);
    let sent = scratch.run(&send("--key-file key")).expect(0);
    assert!(!sent.stderr.contains("trusted"), "{}", sent.stderr);
    assert_eq!(std::fs::read(scratch.path().join("served/file")).unwrap(), bytes);
    let got = format!("netblt recv file {} --out back", server.address);
    let got =
        scratch.command(&got).env("NETANVIL_NETBLT_KEY", "0123456789abcdef".repeat(4)).output();
    assert!(got.unwrap().status.success());
    assert_eq!(std::fs::read(scratch.path().join("back")).unwrap(), bytes);

    let plain = scratch.run(&send("")).expect(2);
    assert!(plain.stderr.contains("sealed packets only"), "{}", plain.stderr);
    let phrase = scratch.run(&send("--key-file phrase")).expect(2);
    assert!(phrase.stderr.contains("openssl rand -hex 32"), "{}", phrase.stderr);
    assert!(!phrase.stderr.contains("guessed"), "keys are not printed");
    let raw = scratch.run("netblt send file 127.0.0.1 --raw-ip --key-file key").expect(2);
    assert!(raw.stderr.contains("leave --raw-ip out"), "{}", raw.stderr);
    let without = Server::start(&scratch, "");
    std::thread::scope(|scope| {
        let other = scope.spawn(|| scratch.run(&send("--key-file other")).expect(2).stderr);
        let none = format!("netblt send file {} --key-file key", without.address);
        let none = scratch.run(&none).expect(2).stderr;
        assert!(none.contains("it has no key"), "{none}");
        let other = other.join().unwrap();
        assert!(other.contains("another key"), "{other}");
    });
}

/// A server draws a code; clients have it as an argument or type it, and another one is told.
#[test]
fn a_code_that_a_server_prints_seals_transfers() {
    let (scratch, bytes) = scene(1_000_000);
    let mut server = Server::start(&scratch, "--code --overwrite");
    let mut line = String::new();
    let output = server.child.stdout.as_mut().expect("piped");
    BufReader::new(output).read_line(&mut line).expect("a line");
    let code = line.trim().strip_prefix("code: ").expect(&line);
    let send = |code: &str| format!("netblt send file {} {code}", server.address);

    scratch.run(&send(&format!("--code={code}"))).expect(0);
    assert_eq!(std::fs::read(scratch.path().join("served/file")).unwrap(), bytes);
    std::fs::write(scratch.path().join("typed"), code.to_lowercase() + "\n").unwrap();
    let typed = std::fs::File::open(scratch.path().join("typed")).unwrap();
    let typing = scratch.command(&send("--code")).stdin(typed).output().unwrap();
    assert!(typing.status.success(), "{}", String::from_utf8_lossy(&typing.stderr));

    let other = if code == "2222-2222" { "3333-3333" } else { "2222-2222" };
    let told = scratch.run(&send(&format!("--code={other}"))).expect(2);
    assert!(
        told.stderr.contains("another code") && told.stderr.contains("--code"),
        "{}",
        told.stderr
    );
    let none = scratch.run(&send("--code=2222")).expect(2);
    assert!(none.stderr.contains("a code has 8 letters or digits"), "{}", none.stderr);
    let raw = scratch.run("netblt send file 127.0.0.1 --raw-ip --code=2222-2222").expect(2);
    assert!(raw.stderr.contains("leave --raw-ip out"), "{}", raw.stderr);
    scratch.run(&send(&format!("--code={code}"))).expect(0);
}

/// An option counts before the environment, and whoever has set the variable is told so; what is no key is refused.
/// Nobody waits for the end of a key that has none, and nobody lets others read it without a word.
#[test]
fn a_key_that_others_may_read_is_named_and_one_without_end_refused() {
    let (scratch, _) = scene(10);
    std::fs::write(scratch.path().join("key"), "5eed".repeat(16)).unwrap();
    for (mode, noted) in [(0o644, true), (0o600, false)] {
        let key = scratch.path().join("key");
        std::fs::set_permissions(key, std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap();
        let server = Server::start(&scratch, "--key-file key --overwrite");
        let send = format!("netblt send file {} --key-file key --quiet", server.address);
        let told = scratch.run(&send).expect(0).stderr;
        assert_eq!(told.contains("chmod 600 key"), noted, "{told}");
    }
    let endless = scratch.run("netblt send file 127.0.0.1:9 --key-file /dev/zero").expect(2).stderr;
    assert!(endless.contains("64 hexadecimal digits"), "{endless}");
}

#[test]
fn a_key_of_the_environment_is_never_set_aside_without_a_word() {
    let (scratch, _) = scene(1000);
    scratch.file("key", &"0123456789abcdef".repeat(4));
    let with = |arguments: &str, value: &OsStr| {
        let mut command = scratch.command(arguments);
        command.env("NETANVIL_NETBLT_KEY", value);
        command
    };
    let other = "f".repeat(64);
    for (option, name) in [("--code=2222-2222", "--code"), ("--key-file key", "--key-file")] {
        let told = format!("NETANVIL_NETBLT_KEY is set and not used: {name} is given");
        let serve = format!("netblt serve served --listen 127.0.0.1:0 --overwrite {option}");
        let mut server = with(&serve, other.as_ref());
        let server = server.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("started");
        let mut server = Server { child: server, address: String::new() };
        let mut lines = BufReader::new(server.child.stderr.take().expect("piped")).lines();
        let mut next = || lines.next().expect("a line").expect("text");
        let note = next();
        assert!(note.contains(&told), "{note}");
        let serving = next();
        let (_, address) = serving.split_once(" on ").expect(&serving);
        server.address = address.split(';').next().expect("an address").to_owned();

        let send = format!("netblt send file {} --quiet {option}", server.address);
        let sent = with(&send, other.as_ref()).output().expect("it ends");
        let stderr = String::from_utf8_lossy(&sent.stderr);
        assert!(sent.status.success() && stderr.contains(&told), "{stderr}");
        let sent = scratch.run(&send).expect(0);
        assert!(!sent.stderr.contains("NETANVIL_NETBLT_KEY"), "{}", sent.stderr);
    }
    // Nothing leaves unsealed because a variable cannot be read.
    let no_text = OsStr::from_bytes(&[0xff; 64]);
    let refused = with("netblt send file 127.0.0.1:9 --quiet", no_text).output().expect("it ends");
    let stderr = String::from_utf8_lossy(&refused.stderr);
    assert!(refused.status.code() == Some(2) && stderr.contains("NETANVIL_NETBLT_KEY"), "{stderr}");
    assert!(stderr.contains("openssl rand -hex 32"), "{stderr}");
}

#[test]
fn wrong_usage_names_the_remedy() {
    let (scratch, _) = scene(1);
    for (arguments, words) in [
        ("netblt send nothing 127.0.0.1", "cannot send nothing"),
        ("netblt send file 127.0.0.1 --rate fast", "--rate 100M"),
        ("netblt send file 127.0.0.1 --burst 0/5", "--burst 5/40"),
        ("netblt send file 127.0.0.1 --packet-size 1 --buffer-size 99999", "use larger packets"),
        ("netblt serve served --buffer-size 0", "must be at least 1"),
        ("netblt serve served --buffers 0", "must be at least 1"),
        ("netblt serve served --max-connections 0", "must be at least 1"),
        ("netblt test 127.0.0.1:0", "UDP port 0"),
        ("netblt test 127.0.0.1:9999 --raw-ip", "raw IP has no port"),
        ("netblt test 127.0.0.1 --port 0", "--port"),
        ("netblt serve nowhere", "cannot serve nowhere"),
        ("netblt serve served --listen here", "--listen 0.0.0.0:20030"),
        ("netblt serve served --listen 0.0.0.0:0", "--trust"),
        ("netblt serve served --listen 0.0.0.0:0 --raw-ip", "--trust"),
    ] {
        let ran = scratch.run(arguments).expect(2);
        assert!(ran.stderr.contains(words), "{arguments}: {}", ran.stderr);
    }
}

/// The number of the first processor that this test may run on.
fn first_processor() -> String {
    let status = std::fs::read_to_string("/proc/self/status").expect("a process has a status");
    let allowed = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    let allowed = allowed.expect("Linux says which processors are allowed").trim();
    allowed.split(['-', ',']).next().expect("at least one").to_owned()
}

#[test]
fn the_campaign_of_1987_is_near_and_says_which_findings_it_misses() {
    let scratch = Scratch::new();
    let ran = scratch.run("netblt reproduce-1987 --json").expect(1);
    let json: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(json["rows"].as_array().unwrap().len(), 96);
    assert_eq!(json["summary"]["rows_near"], true);
    let findings = json["findings"].as_array().unwrap();
    assert!(findings.iter().all(|finding| finding["published"] == true), "{findings:?}");
    let missed = findings.iter().filter(|finding| finding["ours"] == false);
    let missed: Vec<&str> = missed.map(|finding| finding["finding"].as_str().unwrap()).collect();
    // Section 6's sign is right, section 4's speeds are; docs/netblt.md tells of the three that are not met.
    let known = ["lose a third", "15 to 20 %", "5 packets in 50 ms overload"];
    assert!(missed.iter().all(|it| known.iter().any(|known| it.contains(known))), "{missed:?}");
    assert_eq!(findings.iter().filter(|finding| finding["section"] == 4).count(), 6);
    assert!(findings.iter().any(|it| it["finding"].as_str().unwrap().contains("faster than 30")));
    let unexplained = findings.iter().filter(|finding| finding["unexplained"].is_string());
    assert_eq!(unexplained.count(), missed.len());
    assert_eq!(json["summary"]["targets_met"], false);
    let mut alone = Command::new("taskset");
    alone.args(["--cpu-list", &first_processor(), env!("CARGO_BIN_EXE_netanvil")]);
    let alone = alone.args(["netblt", "reproduce-1987", "--json"]).output().expect("taskset runs");
    assert_eq!(alone.stdout, ran.stdout.as_bytes(), "with one processor as with all");
    let table = scratch.run("netblt reproduce-1987 --html page.html").expect(1).stdout;
    let page = std::fs::read_to_string(scratch.path().join("page.html")).unwrap();
    // Seven graphs, each with published marks; 96 rows below the names of the columns.
    assert_eq!(page.matches("<svg class=\"plot chart\"").count(), 7);
    assert!(page.matches(", published</li>").count() > 7);
    assert_eq!(page.matches("<td class=\"whole\">5/").count(), 96);
    assert!(table.contains("BS/BI") && table.contains("near enough"), "{table}");
    assert_eq!(table.matches("NOT MET").count(), missed.len(), "{table}");
    assert_eq!(table.matches("; unexplained: ").count(), missed.len(), "{table}");
}
