//! What `netanvil netblt` reports of transfers that end before they are complete: by a signal, by the death of the
//! other end, by a path that breaks.
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "waits for processes")]

use crate::common::netblt::file_of;
use crate::common::{self, Ran, Scratch};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

const PROGRAM: &str = env!("CARGO_BIN_EXE_netanvil");
/// Long enough not to be over before it is interrupted, at `RATE`.
const LEN: u64 = 6_000_000;
const RATE: &str = "--rate 20M --quiet";
/// How long anything may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// Killed when dropped, even if it is stopped.
struct Process(Child);

impl Process {
    fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.0.id() as i32), signal).expect("it lives");
    }
    fn ran(mut self) -> Ran {
        let started = Instant::now();
        while self.0.try_wait().expect("a child").is_none() {
            assert!(started.elapsed() < PATIENCE, "it does not end");
            sleep(Duration::from_millis(10));
        }
        let mut ran = Ran { code: None, stdout: String::new(), stderr: String::new() };
        let (stdout, stderr) = (self.0.stdout.take(), self.0.stderr.take());
        ran.code = self.0.wait().expect("a child").code();
        ran.stdout = std::io::read_to_string(stdout.expect("piped")).expect("text");
        ran.stderr = std::io::read_to_string(stderr.expect("piped")).expect("text");
        ran
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn start(mut command: Command) -> Process {
    let command = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    Process(command.spawn().expect("the program starts"))
}

fn scene() -> Scratch {
    let scratch = Scratch::new();
    fs::create_dir(scratch.path().join("served")).unwrap();
    let bytes = file_of(LEN);
    fs::write(scratch.path().join("file"), &bytes).unwrap();
    fs::write(scratch.path().join("served/there"), &bytes).unwrap();
    scratch
}

fn serve(scratch: &Scratch) -> (Process, String) {
    let mut server = start(scratch.command("netblt serve served --listen 127.0.0.1:0"));
    let mut line = String::new();
    BufReader::new(server.0.stderr.take().unwrap()).read_line(&mut line).unwrap();
    let address = line.split_once(" on ").expect(&line).1.split(';').next().unwrap().to_owned();
    (server, address)
}

fn wait_for(what: &str, mut is_there: impl FnMut() -> bool) {
    let started = Instant::now();
    while !is_there() {
        assert!(started.elapsed() < PATIENCE, "{what}");
        sleep(Duration::from_millis(5));
    }
}

fn len(path: &Path) -> u64 {
    fs::metadata(path).map_or(0, |metadata| metadata.len())
}

/// The one object on standard output.
#[track_caller]
fn object(ran: &Ran) -> Value {
    let mut objects = serde_json::Deserializer::from_str(&ran.stdout).into_iter::<Value>();
    let first = objects.next().unwrap_or_else(|| panic!("no object; {}", ran.stderr));
    assert!(objects.next().is_none(), "{}", ran.stdout);
    first.unwrap()
}

/// A transfer, and the file by whose size it is known that something has arrived.
const TRANSFERS: [(&str, Option<&str>); 3] = [
    ("send file HOST", Some("served/.file.netblt-part")),
    ("recv there HOST --out back", Some(".back.netblt-part")),
    ("test HOST --bytes 6000000", None),
];

/// Starts a transfer; returns when a million bytes have arrived (or two seconds are over, of memory).
fn under_way(scratch: &Scratch, arguments: &str, part: Option<&str>, address: &str) -> Process {
    let arguments = arguments.replace("HOST", address);
    let transfer = start(scratch.command(&format!("netblt {arguments} {RATE}")));
    match part {
        Some(part) => {
            let part = scratch.path().join(part);
            wait_for("nothing arrives", || len(&part) > 1_000_000);
        }
        None => sleep(Duration::from_secs(1)),
    }
    transfer
}

/// Each of the transfers under way, with these options, in a thread, with a scene and a server of its own.
fn each_under_way(options: &str, test: impl Fn((Process, Process), Option<&'static str>) + Sync) {
    let test = &test;
    std::thread::scope(|scope| {
        for (arguments, part) in TRANSFERS {
            scope.spawn(move || {
                let scratch = scene();
                let (server, address) = serve(&scratch);
                let transfer =
                    under_way(&scratch, &format!("{arguments} {options}"), part, &address);
                test((server, transfer), part);
            });
        }
    });
}

/// What a transfer that ended before it was complete says: whether a signal did it, and whether it keeps anything.
fn assert_incomplete(ran: &Ran, interrupted: bool, part: Option<&str>) -> Value {
    let json = object(ran);
    let said = (&json["complete"], &json["interrupted"]);
    assert_eq!(said, (&false.into(), &interrupted.into()), "{}", ran.stdout);
    let kept = json["kept_bytes"].as_u64().unwrap();
    assert_eq!(kept > 0, part.is_some(), "{}", ran.stdout);
    json
}

/// The other end is stopped, so that it confirms nothing: the report comes all the same, within seconds, and says
/// what is kept; the same command goes on there.
#[test]
fn who_is_interrupted_reports_though_nobody_confirms() {
    std::thread::scope(|scope| {
        for (number, (arguments, part)) in TRANSFERS.into_iter().enumerate() {
            scope.spawn(move || {
                let scratch = scene();
                let (server, address) = serve(&scratch);
                let json = format!("{arguments} --json");
                let transfer = under_way(&scratch, &json, part, &address);
                server.signal(Signal::SIGSTOP);
                let signalled = Instant::now();
                transfer.signal([Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP][number]);
                let ran = transfer.ran().expect(2);
                assert!(signalled.elapsed() < Duration::from_secs(20), "{:?}", signalled.elapsed());
                let json = object(&ran);
                assert_eq!(
                    (&json["complete"], &json["interrupted"]),
                    (&false.into(), &true.into())
                );
                let (bytes, kept) = (json["bytes"].as_u64().unwrap(), &json["kept_bytes"]);
                assert!(ran.stderr.contains("interrupted"), "{}", ran.stderr);
                assert_eq!(ran.stderr.contains("goes on"), part.is_some(), "{}", ran.stderr);
                let Some(_) = part else {
                    return assert_eq!((bytes > 0, kept), (true, &0.into()), "{}", ran.stdout);
                };
                let kept = kept.as_u64().unwrap();
                assert!(kept > 0 && kept <= bytes && bytes < LEN, "{}", ran.stdout);

                server.signal(Signal::SIGCONT);
                let again =
                    format!("netblt {} --json --quiet", arguments.replace("HOST", &address));
                let again = object(&scratch.run(&again).expect(0));
                assert_eq!(again["complete"], true);
                assert_eq!(
                    (&again["interrupted"], &again["kept_bytes"]),
                    (&false.into(), &Value::Null)
                );
                assert!(again["bytes"].as_u64().unwrap() <= LEN - kept, "{kept} kept: {again}");
            });
        }
    });
}

/// Two signals, the second once the first has been heard. The process ends within seconds less than the other end would
/// have had to confirm, 5 s.
fn interrupted_twice(mut transfer: Process, stopped: Pid) -> Ran {
    let mut stderr = BufReader::new(transfer.0.stderr.take().expect("piped"));
    let mut heard = String::new();
    transfer.signal(Signal::SIGINT);
    while !heard.contains("stopping") {
        assert!(stderr.read_line(&mut heard).expect("text") > 0, "it has ended: {heard}");
    }
    let signalled = Instant::now();
    transfer.signal(Signal::SIGINT);
    let code = transfer.0.wait().expect("a child").code();
    assert!(signalled.elapsed() < Duration::from_secs(4), "{:?}", signalled.elapsed());
    // It may hold the other end of standard error.
    let _ = kill(stopped, Signal::SIGCONT);
    let stdout = std::io::read_to_string(transfer.0.stdout.take().expect("piped")).unwrap();
    Ran { code, stdout, stderr: heard + &std::io::read_to_string(stderr).expect("text") }
}

/// The other end is stopped, and the second signal comes while it is waited for.
#[test]
fn a_second_signal_ends_it_at_once_and_what_is_kept_is_said() {
    std::thread::scope(|scope| {
        scope.spawn(|| {
            each_under_way("--json", |(server, transfer), part| {
                server.signal(Signal::SIGSTOP);
                let other_end = Pid::from_raw(server.0.id() as i32);
                let ran = interrupted_twice(transfer, other_end).expect(2);
                assert_incomplete(&ran, true, part);
                assert!(ran.stderr.contains("interrupted at once"), "{}", ran.stderr);
                assert_eq!(ran.stderr.contains("goes on"), part.is_some(), "{}", ran.stderr);
            });
        });
        for arguments in ["file lab2:HERE/target", "lab2:HERE/file target"] {
            scope.spawn(move || {
                let scratch = scene();
                let (copy, far) = copying(&scratch, arguments);
                kill(far, Signal::SIGSTOP).unwrap();
                let ran = interrupted_twice(copy, far).expect(2);
                let last = ran.stdout.lines().last().unwrap_or_default();
                let end: Value = serde_json::from_str(last).expect(&ran.stderr);
                let said = (&end["event"], &end["interrupted"], &end["resumable"]);
                assert_eq!(said, (&"end".into(), &true.into(), &true.into()), "{last}");
                assert!(ran.stderr.contains("interrupted at once"), "{}", ran.stderr);
                assert!(ran.stderr.contains("the same command goes on"), "{}", ran.stderr);
            });
        }
    });
}

#[test]
fn people_read_what_is_kept() {
    let scratch = scene();
    for (arguments, part) in TRANSFERS {
        // Confirmed, too: the other end lives.
        let (_server, address) = serve(&scratch);
        let transfer = under_way(&scratch, arguments, part, &address);
        transfer.signal(Signal::SIGINT);
        let ran = transfer.ran().expect(2);
        let line = ran.stdout.lines().find(|line| line.starts_with("not complete; "));
        let line = line.unwrap_or_else(|| panic!("{arguments}: {}\n{}", ran.stdout, ran.stderr));
        assert_eq!(line.contains("goes on there"), part.is_some(), "{line}");
        assert_eq!(line.contains("nothing of it is kept"), part.is_none(), "{line}");
    }
}

/// Nobody answers, and who waits has enough.
#[test]
fn who_is_interrupted_before_anything_began_reports_that() {
    let scratch = scene();
    let (server, address) = serve(&scratch);
    server.signal(Signal::SIGSTOP);
    let transfer = start(scratch.command(&format!("netblt send file {address} --json --quiet")));
    sleep(Duration::from_millis(1500));
    transfer.signal(Signal::SIGTERM);
    let ran = transfer.ran().expect(2);
    let json = object(&ran);
    assert_eq!(
        (&json["interrupted"], &json["bytes"], &json["kept_bytes"]),
        (&true.into(), &0.into(), &0.into())
    );
    assert!(!ran.stderr.contains("goes on"), "{}", ran.stderr);
}

#[test]
fn who_loses_the_other_end_reports_what_is_kept() {
    each_under_way("--json --death-timer 1", |(server, transfer), part| {
        drop(server);
        let ran = transfer.ran().expect(2);
        let json = assert_incomplete(&ran, false, part);
        assert_eq!(json["outcome"], "the other end fell silent", "{}", ran.stdout);
    });
}

/// A path that breaks under a transfer, in a namespace of its own.
#[test]
fn who_loses_the_path_reports_what_is_kept() {
    if !common::is_root() {
        eprintln!("skipped: not root");
        return;
    }
    let scratch = scene();
    let script = format!(
        "ip link set lo up; {PROGRAM} netblt serve served --listen 127.0.0.1:20030 & server=$!; sleep 0.5; \
         {PROGRAM} netblt send file 127.0.0.1 {RATE} --json --death-timer 1 & sender=$!; \
         until [ \"$(stat -c %s served/.file.netblt-part 2>/dev/null || echo 0)\" -gt 1000000 ]; do sleep 0.05; done; \
         ip link set lo down; wait $sender; code=$?; kill $server; exit $code"
    );
    let mut command = Command::new("unshare");
    command.args(["--net", "sh", "-c", &script]).current_dir(scratch.path());
    let ran = start(command).ran().expect(2);
    let json = object(&ran);
    assert_eq!((&json["complete"], &json["interrupted"]), (&false.into(), &false.into()));
    assert!(json["kept_bytes"].as_u64().unwrap() > 0, "{}", ran.stdout);
}

/// A copy on this host; its far end writes its process's number into a file.
fn copying(scratch: &Scratch, arguments: &str) -> (Process, Pid) {
    let rsh =
        scratch.file("rsh", "#!/bin/sh\necho $$ > pid.new; mv pid.new pid\nshift\nexec \"$@\"\n");
    fs::set_permissions(&rsh, fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = scratch.command("netblt copy --udp-host 127.0.0.1 --json --rate 20Mbit/s");
    command.arg("--rsh").arg(&rsh).args(["--remote-program", PROGRAM]);
    command
        .args(arguments.replace("HERE", &scratch.path().display().to_string()).split_whitespace());
    let copy = start(command);
    wait_for("the far end does not start", || scratch.path().join("pid").exists());
    let pid = fs::read_to_string(scratch.path().join("pid")).unwrap().trim().parse().unwrap();
    let target = scratch.path().join("target");
    let arrived = || {
        let all = fs::read_dir(&target).into_iter().flatten().flatten();
        all.map(|entry| len(&entry.path())).sum::<u64>() > 1_000_000
    };
    wait_for("nothing arrives", arrived);
    (copy, Pid::from_raw(pid))
}

/// The remote shell neither answers nor lets go of its output.
#[test]
fn a_copy_whose_other_end_never_answers_ends_at_a_signal() {
    let scratch = scene();
    let text = "#!/bin/sh\necho $$ > pid.new; mv pid.new pid\nsleep 60 2>/dev/null\n";
    let rsh = scratch.file("rsh", text);
    fs::set_permissions(&rsh, fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = scratch.command("netblt copy file lab2:there");
    let copy = start({
        command.arg("--rsh").arg(&rsh);
        command
    });
    wait_for("the remote shell does not start", || scratch.path().join("pid").exists());
    copy.signal(Signal::SIGTERM);
    let signalled = Instant::now();
    let ran = copy.ran().expect(2);
    assert!(signalled.elapsed() < Duration::from_secs(10), "{:?}", signalled.elapsed());
    assert!(ran.stderr.contains("before the other end had answered"), "{}", ran.stderr);
}

/// Both directions, and both troubles: a signal while the far end is silent, and the death of the far end.
#[test]
fn a_copy_that_breaks_off_ends_with_its_report() {
    std::thread::scope(|scope| {
        for arguments in ["file lab2:HERE/target", "lab2:HERE/file target"] {
            for dies in [false, true] {
                scope.spawn(move || {
                    let scratch = scene();
                    let (copy, far) = copying(&scratch, arguments);
                    if dies {
                        kill(far, Signal::SIGKILL).unwrap();
                    } else {
                        kill(far, Signal::SIGSTOP).unwrap();
                        copy.signal(Signal::SIGINT);
                    }
                    let signalled = Instant::now();
                    let ran = copy.ran().expect(2);
                    assert!(
                        signalled.elapsed() < Duration::from_secs(20),
                        "{:?}",
                        signalled.elapsed()
                    );
                    let last = ran.stdout.lines().last().unwrap_or_default();
                    let end: Value = serde_json::from_str(last).unwrap();
                    assert_eq!(end["event"], "end", "{}\n{}", ran.stdout, ran.stderr);
                    let said = (&end["complete"], &end["interrupted"], &end["resumable"]);
                    assert_eq!(said, (&false.into(), &(!dies).into(), &true.into()), "{last}");
                    assert!(end["moved_bytes"].as_u64().unwrap() > 0, "{last}");
                    assert!(ran.stderr.contains("the same command goes on"), "{}", ran.stderr);
                    assert_eq!(ran.stderr.contains("interrupted"), !dies, "{}", ran.stderr);
                });
            }
        }
    });
}
