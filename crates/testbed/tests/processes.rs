//! What only whole processes can show: kill -9 and `clean`, living runs spared, ordinary users.
//!
//! Without arguments this program runs its tests one after the other; with one it is the
//! process under test.

mod common;

use common::{RawPort, can_build, udp4, wait_until};
use kernel::{
    InterfaceFacts, KernelError, NETNS_DIRECTORY, Namespace, REWRITING_FEATURES, Tap,
    enter_user_namespace,
};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::Duration;
use testbed::{
    DeviceKind, HardwarePorts, Impairment, REGISTRY_DIRECTORY, Speaker, Testbed, TestbedConfig,
    TestbedError, clean,
};

const NOBODY: &str = "65534";

fn main() -> ExitCode {
    match std::env::args().nth(1).as_deref() {
        Some("hold") => hold(),
        Some("hold-hardware") => hold_hardware(),
        Some("hold-speaker") => hold_speaker(),
        Some("user-namespace") => build_in_user_namespace(),
        Some("ordinary") => build_as_ordinary_user(),
        _ => return run_tests(),
    }
    ExitCode::SUCCESS
}

/// Runs the tests that a filter and `--skip` leave, of those given, as the standard harness does.
fn run_tests() -> ExitCode {
    let tests: [(&str, fn()); 9] = [
        ("live::kill_9_leaves_what_clean_removes", kill_9_leaves_what_clean_removes),
        ("live::kill_9_ends_a_speaker_and_clean_removes_it", kill_9_ends_a_speaker),
        ("live::clean_switches_hardware_ports_back", clean_switches_hardware_ports_back),
        ("live::clean_spares_the_living", clean_spares_the_living),
        ("live::a_deleted_namespace_is_named_in_the_error", a_deleted_namespace_is_named),
        ("live::a_failed_build_leaves_nothing", a_failed_build_leaves_nothing),
        (
            "live::remnants_of_the_same_process_id_are_passed_over",
            remnants_of_the_same_process_id_are_passed_over,
        ),
        ("live::an_ordinary_user_is_told_what_to_do", an_ordinary_user_is_told_what_to_do),
        ("live::an_ordinary_user_builds_in_a_user_namespace", an_ordinary_user_builds),
    ];
    let (filter, skipped, lists) = filters(std::env::args().skip(1));
    let is_wanted = |name: &str| {
        filter.as_ref().is_none_or(|filter| name.contains(filter))
            && !skipped.iter().any(|skipped| name.contains(skipped))
    };
    for (name, test) in tests.iter().filter(|(name, _)| is_wanted(name)) {
        if lists {
            println!("{name}: test");
        } else if can_build(name) {
            test();
            println!("test {name} ... ok");
        }
    }
    ExitCode::SUCCESS
}

/// The filter, what is to be skipped, and whether tests are to be listed only.
fn filters(arguments: impl Iterator<Item = String>) -> (Option<String>, Vec<String>, bool) {
    let (mut filter, mut skipped, mut lists) = (None, vec![], false);
    let mut arguments = arguments;
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--skip" => skipped.extend(arguments.next()),
            "--list" => lists = true,
            // Its value is no filter.
            "--format" | "--test-threads" => drop(arguments.next()),
            flag if flag.starts_with('-') => {}
            _ => filter = Some(argument),
        }
    }
    (filter, skipped, lists)
}

/// The process to be killed: builds a router, says so, and waits until its standard input ends.
fn hold() {
    let testbed = Testbed::build(&TestbedConfig::default()).expect("build");
    let dut = testbed.device().expect("a device");
    println!("{} {}", testbed.tester().name(), dut.namespace().name());
    let _ = std::io::stdin().lines().next();
    drop(dut);
    testbed.destroy().expect("destroy");
}

/// The same with a hardware port taken.
fn hold_hardware() {
    let taken = HardwarePorts::take(&["card0".to_owned()]).expect("take");
    println!("{} taken", taken.ports()[0].name);
    let _ = std::io::stdin().lines().next();
}

/// The same with a routing daemon alone in a namespace, and a TAP of this process.
fn hold_speaker() {
    let mut speaker = Speaker::prepare().expect("prepare");
    let tap = speaker.namespace().run(|| Tap::create("e0", [2, 0, 0, 0, 0, 1]));
    let _tap = tap.expect("enter the namespace").expect("a TAP");
    speaker.start("router id 192.0.2.1;\nprotocol device { }\n").expect("start");
    let told = speaker.ask("show status").expect("it answers");
    assert!(told.iter().any(|line| line.contains("Router ID is 192.0.2.1")), "{told:?}");
    println!("{} started", speaker.namespace().name());
    let _ = std::io::stdin().lines().next();
}

/// Starts one of the above and waits for the two words it says when it is ready.
fn start(role: &str) -> (Child, Vec<String>) {
    let mut child = Command::new(std::env::current_exe().expect("own path"))
        .arg(role)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("start");
    let mut line = String::new();
    BufReader::new(child.stdout.take().expect("piped")).read_line(&mut line).expect("read");
    let names: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    assert_eq!(names.len(), 2, "{line:?}");
    (child, names)
}

fn exists(namespace: &str) -> bool {
    Path::new(NETNS_DIRECTORY).join(namespace).exists()
}

fn record_of(namespace: &str) -> std::path::PathBuf {
    let run = namespace.trim_start_matches("netanvil-").trim_end_matches("-tester");
    Path::new(REGISTRY_DIRECTORY).join(format!("{run}.json"))
}

fn kill_9_leaves_what_clean_removes() {
    let (mut child, names) = start("hold");
    assert!(names.iter().all(|name| exists(name)) && record_of(&names[0]).exists());
    child.kill().expect("SIGKILL");
    child.wait().expect("reap");
    assert!(names.iter().all(|name| exists(name)), "a killed process cannot tidy up");
    clean(false).expect("clean");
    assert!(!names.iter().any(|name| exists(name)), "clean left {names:?}");
    assert!(!record_of(&names[0]).exists());
}

/// The daemon and the TAP end with the process; the namespace and the daemon's files are left to `clean`.
fn kill_9_ends_a_speaker() {
    let (mut child, names) = start("hold-speaker");
    let name = &names[0];
    let inside = |command: &[&str]| {
        let output = Command::new("ip").args(command).output().expect("ip");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let files =
        || ["bird.conf", "bird.ctl"].map(|file| format!("{REGISTRY_DIRECTORY}/{name}.{file}"));
    assert!(exists(name) && !inside(&["netns", "pids", name]).is_empty());
    assert!(
        inside(&["-n", name, "link"]).contains("e0")
            && files().iter().all(|f| Path::new(f).exists())
    );
    child.kill().expect("SIGKILL");
    child.wait().expect("reap");
    wait_until("the daemon to end", || inside(&["netns", "pids", name]).is_empty());
    assert!(exists(name), "a killed process cannot tidy up");
    assert!(!inside(&["-n", name, "link"]).contains("e0"), "the TAP goes with its process");
    let report = clean(false).expect("clean");
    assert!(report.removed_namespaces.contains(name), "{report:?}");
    assert!(!exists(name) && !files().iter().any(|file| Path::new(file).exists()));
}

fn clean_switches_hardware_ports_back() {
    let machine = Namespace::create_anonymous("machine").expect("namespace");
    let ip = |arguments: &str| {
        let run = || Command::new("ip").args(arguments.split(' ')).status().expect("ip");
        assert!(machine.run(run).expect("enter").success(), "ip {arguments}");
    };
    ip("link add card0 type veth peer name card1");
    ip("link set card0 up");
    ip("link set card1 up");
    let features = || {
        let facts = machine.run(|| InterfaceFacts::read("card0")).expect("enter").expect("read");
        facts.features_on(&REWRITING_FEATURES)
    };
    let before = features();
    // The child is born in the namespace of the thread that starts it.
    let (mut child, _) = machine.run(|| start("hold-hardware")).expect("enter");
    assert!(features().is_empty() && !before.is_empty());
    child.kill().expect("SIGKILL");
    child.wait().expect("reap");
    assert!(features().is_empty(), "a killed process cannot tidy up");
    let report = machine.run(|| clean(false)).expect("enter").expect("clean");
    assert!(report.restored_interfaces.contains(&"card0".to_owned()), "{report:?}");
    assert_eq!(features(), before);
}

fn clean_spares_the_living() {
    let (mut child, names) = start("hold");
    let report = clean(false).expect("clean");
    assert!(names.iter().all(|name| report.kept_namespaces.contains(name)), "{report:?}");
    assert!(names.iter().all(|name| exists(name)));
    drop(child.stdin.take());
    assert!(child.wait().expect("wait").success(), "the spared run ends in order");
    assert!(!names.iter().any(|name| exists(name)), "destroy left {names:?}");
    assert!(!record_of(&names[0]).exists());
}

fn a_deleted_namespace_is_named() {
    let testbed = Testbed::build(&TestbedConfig::default()).expect("build");
    let device = testbed.device().expect("a device");
    let name = device.namespace().name().to_owned();
    let deleted = Command::new("ip").args(["netns", "del", &name]).status().expect("ip");
    assert!(deleted.success());
    let error = device.counters().expect_err("nothing to count");
    assert!(
        matches!(&error, TestbedError::Kernel(KernelError::NamespaceGone { name: gone }) if *gone == name),
        "{error}"
    );
    // The veth pairs die with the device's end: the tester's ports are gone, and that is said too.
    wait_until("the ports to vanish", || {
        matches!(
            testbed.tester_counters(),
            Err(TestbedError::Kernel(KernelError::NoSuchInterface { .. }))
        )
    });
    testbed.destroy().expect("the rest is removed");
}

/// Namespaces of this process.
fn own_namespaces() -> Vec<String> {
    let entries = std::fs::read_dir(NETNS_DIRECTORY).expect("list").flatten();
    let own = format!("netanvil-{}.", std::process::id());
    entries
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter(|name| name.starts_with(&own))
        .collect()
}

/// The build fails when both namespaces stand already: no such rate can be loaded as a rule.
fn a_failed_build_leaves_nothing() {
    let absurd = Impairment::FrameRateLimit { frames_per_second: u64::MAX, burst_frames: 1 };
    let config = TestbedConfig { impairments: vec![absurd], ..TestbedConfig::default() };
    let error = Testbed::build(&config).expect_err("cannot be built");
    assert!(matches!(error, TestbedError::Program { program: "nft", .. }), "{error}");
    assert_eq!(own_namespaces(), Vec::<String>::new());
}

/// A killed run may have had the process id that is ours now: its remnants are not taken for our own.
fn remnants_of_the_same_process_id_are_passed_over() {
    let probe = Testbed::build(&TestbedConfig::of(DeviceKind::Loopback)).expect("build");
    let name = probe.tester().name().to_owned();
    probe.destroy().expect("destroy");
    let count: u32 = name
        .trim_end_matches("-tester")
        .rsplit_once('.')
        .and_then(|(_, count)| count.parse().ok())
        .expect("netanvil-<process>.<count>-tester");
    let next = format!("netanvil-{}.{}-dut", std::process::id(), count + 1);
    let remnant = Namespace::create_named(&next).expect("block");
    let testbed = Testbed::build(&TestbedConfig::default()).expect("build");
    assert_ne!(testbed.device().expect("a device").namespace().name(), next);
    testbed.destroy().expect("destroy");
    assert_eq!(own_namespaces(), [next]);
    remnant.remove().expect("remove");
}

/// Runs this program as nobody, from a place where nobody may read it.
fn run_as_nobody(role: &str) -> std::process::Output {
    let folder = tempfile::tempdir().expect("scratch folder");
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755)).expect("open");
    let program = folder.path().join("processes");
    std::fs::copy(std::env::current_exe().expect("own path"), &program).expect("copy");
    Command::new("setpriv")
        .args(["--reuid", NOBODY, "--regid", NOBODY, "--clear-groups"])
        .arg(program)
        .arg(role)
        .output()
        .expect("setpriv of util-linux")
}

fn build_as_ordinary_user() {
    match Testbed::build(&TestbedConfig::default()) {
        Err(TestbedError::Kernel(KernelError::NotPermitted { remedy, .. })) => {
            println!("refused: {remedy}")
        }
        other => panic!("{other:?}"),
    }
}

fn an_ordinary_user_is_told_what_to_do() {
    let output = run_as_nobody("ordinary");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(said.contains("Run as root") && said.contains("user namespace"), "{said}");
}

/// The ordinary user's process: a router in a user namespace that forwards a frame.
fn build_in_user_namespace() {
    if let Err(error) = enter_user_namespace() {
        println!("forbidden: {error}");
        return;
    }
    for kind in [DeviceKind::LinuxRouter, DeviceKind::LinuxBridge, DeviceKind::Loopback] {
        let filter = match kind {
            DeviceKind::Loopback => testbed::FilterRules::None,
            _ => testbed::FilterRules::One,
        };
        let config = TestbedConfig { filter, device_cpu: Some(0), ..TestbedConfig::of(kind) };
        let testbed = Testbed::build(&config).expect("build");
        assert!(!testbed.tester().is_named(), "nothing is left for others to see");
        let (from, to) = (RawPort::open(&testbed, 0), RawPort::open(&testbed, 1));
        let frame = udp4(&testbed, 0, 1, 40);
        from.send(&frame).expect("send");
        let got = to.receive(Duration::from_secs(2), |f| f.ends_with(&frame[42..]));
        assert!(got.is_some(), "{kind:?} carries frames");
        if let Some(device) = testbed.device() {
            println!("{kind:?}: {:?}", device.threads());
            assert_eq!(device.counters().expect("counters").interfaces["dut1"].tx_errors, 0);
        }
        testbed.destroy().expect("destroy");
    }
    println!("built");
}

fn an_ordinary_user_builds() {
    let output = run_as_nobody("user-namespace");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}{complaint}");
    if let Some(why) = said.strip_prefix("forbidden: ") {
        eprintln!("SKIPPED an_ordinary_user_builds_in_a_user_namespace: the kernel says no: {why}");
        return;
    }
    assert!(said.contains("built"), "{said}");
    print!("{said}");
}
