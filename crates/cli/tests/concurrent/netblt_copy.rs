//! `netanvil netblt copy`: trees over a link with delay and loss, over real ssh, killed and gone on with,
//! beside rsync. `make netblt-copy` runs the long form: 20,000 files, and 10 of 1 GB, at 50 ms and 1 % loss.
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "waits for processes")]

use crate::common::Scratch;
use crate::common::netblt::Killed;
use link::RealTimeLink;
use netblt_studies::paths::{LinkModel, Loss};
use std::collections::BTreeMap;
use std::fs::{self, File, FileTimes, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant, UNIX_EPOCH};
use testbed::TwoHosts;

const PROGRAM: &str = env!("CARGO_BIN_EXE_netanvil");

/// Numbers that follow from a seed (splitmix64).
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }
    fn bytes(&mut self, len: usize) -> Vec<u8> {
        (0..len.div_ceil(8)).flat_map(|_| self.next().to_le_bytes()).take(len).collect()
    }
}

fn seed() -> u64 {
    let seed = std::env::var("NETANVIL_COPY_SEED").ok().and_then(|seed| seed.parse().ok());
    seed.unwrap_or(998)
}

fn is_full() -> bool {
    std::env::var("NETANVIL_COPY").is_ok_and(|form| form == "full")
}

/// A tree with the shape of a source tree: a dozen files in a directory, most of some kilobytes, each with a
/// time and a mode of its own.
fn plant(top: &Path, files: usize, large: &[usize], dice: &mut Dice) -> u64 {
    let mut directories = vec![top.to_owned()];
    let mut total = 0;
    fs::create_dir_all(top).unwrap();
    for number in 0..files {
        if number % 12 == 11 {
            let parent = &directories[dice.below(directories.len() as u64) as usize];
            let new = parent.join(format!("module_{number}"));
            fs::create_dir(&new).unwrap();
            directories.push(new);
        }
        let parent = &directories[directories.len() - 1];
        // From nothing to 64 KiB, each power of two as likely.
        let bits = dice.below(17);
        let len = dice.below(1 << bits) as usize;
        total += len as u64;
        write(&parent.join(format!("file {number}.rs")), &dice.bytes(len), dice);
    }
    for (number, len) in large.iter().enumerate() {
        total += *len as u64;
        write(&top.join(format!("large_{number}.img")), &dice.bytes(*len), dice);
    }
    symlink("file 0.rs", top.join("link")).unwrap();
    total
}

fn write(path: &Path, bytes: &[u8], dice: &mut Dice) {
    fs::write(path, bytes).unwrap();
    let file = File::open(path).unwrap();
    let mode = [0o644, 0o600, 0o755, 0o444][dice.below(4) as usize];
    file.set_permissions(Permissions::from_mode(mode)).unwrap();
    let time =
        UNIX_EPOCH + Duration::new(1_000_000_000 + dice.below(1 << 29), dice.below(1 << 29) as u32);
    file.set_times(FileTimes::new().set_modified(time)).unwrap();
}

/// Everything below a directory: kind, mode, time, length and digest.
fn picture(top: &Path) -> BTreeMap<PathBuf, (u32, i64, i64, u64, blake3::Hash)> {
    let mut all = BTreeMap::new();
    let mut left = vec![top.to_owned()];
    while let Some(path) = left.pop() {
        for entry in fs::read_dir(&path).unwrap() {
            let path = entry.unwrap().path();
            let metadata = fs::symlink_metadata(&path).unwrap();
            let mut hasher = blake3::Hasher::new();
            match metadata.file_type() {
                kind if kind.is_symlink() => {
                    hasher.update(fs::read_link(&path).unwrap().as_os_str().as_encoded_bytes());
                }
                kind if kind.is_dir() => left.push(path.clone()),
                _ => {
                    hasher.update_reader(File::open(&path).unwrap()).unwrap();
                }
            }
            let name = path.strip_prefix(top).unwrap().to_owned();
            let (time, len) = ((metadata.mtime(), metadata.mtime_nsec()), hasher.count());
            all.insert(name, (metadata.mode(), time.0, time.1, len, hasher.finalize()));
        }
    }
    all
}

/// Not `assert_eq`: what is different would fill screens.
fn assert_same(left: &Path, right: &Path) {
    let (mut left, mut right) = (picture(left), picture(right));
    let names = |one: &BTreeMap<PathBuf, _>| one.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&left).len(), names(&right).len());
    left.retain(|name, what| right.remove(name).is_none_or(|other| other != *what));
    assert!(left.is_empty() && right.is_empty(), "{:?}\n{:?}", names(&left), names(&right));
}

fn script(scratch: &Scratch, name: &str, text: &str) -> String {
    let path = scratch.file(name, &format!("#!/bin/sh\n{text}\n"));
    fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
    path.display().to_string()
}

/// A copy on this host, with a remote shell that goes nowhere.
pub fn here(scratch: &Scratch, arguments: &str) -> Command {
    by(scratch, "shift\nexec \"$@\"", arguments)
}

/// A copy on this host, with this script as its remote shell.
pub fn by(scratch: &Scratch, shell: &str, arguments: &str) -> Command {
    let rsh = script(scratch, "rsh", shell);
    let mut command = scratch.command("netblt copy --udp-host 127.0.0.1");
    command.args(["--rsh", &rsh, "--remote-program", PROGRAM]);
    command.args(arguments.split_whitespace());
    command
}

pub fn ran(mut command: Command) -> crate::common::Ran {
    command.output().unwrap().into()
}

fn end(stdout: &str) -> serde_json::Value {
    serde_json::from_str(stdout.lines().last().unwrap_or_default()).expect(stdout)
}

#[test]
fn a_tree_goes_there_and_comes_back_and_what_is_there_is_left_alone() {
    let scratch = Scratch::new();
    let mut dice = Dice(seed());
    println!("seed {}", seed());
    plant(&scratch.path().join("tree"), 300, &[300_000], &mut dice);
    let there = scratch.path().join("there");
    let to = format!("lab2:{}", there.display());
    let first = ran(here(&scratch, &format!("tree {to} --json"))).expect(0);
    assert_same(&scratch.path().join("tree"), &there.join("tree"));
    let json = end(&first.stdout);
    let entries = picture(&there).len() as u64;
    assert_eq!((&json["copied_entries"], &json["failed_entries"]), (&entries.into(), &0.into()));
    let copied = first.stdout.lines().filter(|line| line.contains(r#""state":"copied""#));
    assert_eq!(copied.count() as u64, entries, "each is told of");

    let again = end(&ran(here(&scratch, &format!("tree {to} --json"))).expect(0).stdout);
    assert_eq!((&again["moved_bytes"], &again["same_entries"]), (&0.into(), &entries.into()));

    // The same size and time, and another byte: only digests tell.
    let victim = there.join("tree/large_0.img");
    let time = fs::metadata(&victim).unwrap().modified().unwrap();
    fs::set_permissions(&victim, Permissions::from_mode(0o600)).unwrap();
    fs::write(&victim, vec![0; 300_000]).unwrap();
    File::open(&victim).unwrap().set_times(FileTimes::new().set_modified(time)).unwrap();
    let blind = end(&ran(here(&scratch, &format!("tree {to} --json"))).expect(0).stdout);
    assert_eq!(blind["moved_bytes"], 0);
    let mended =
        end(&ran(here(&scratch, &format!("tree {to} --json --checksum"))).expect(0).stdout);
    assert_eq!(mended["moved_bytes"], 300_000, "that file alone");
    assert_same(&scratch.path().join("tree"), &there.join("tree"));

    let from = format!("lab2:{}/tree/", there.display());
    ran(here(&scratch, &format!("{from} back"))).expect(0);
    assert_same(&there.join("tree"), &scratch.path().join("back"));
    let some = format!("lab2:{}/tree/*.rs some --exclude *1.rs --include *11.rs", there.display());
    ran(here(&scratch, &some)).expect(0);
    let names: Vec<_> = picture(&scratch.path().join("some")).into_keys().collect();
    assert!(names.len() > 3 && names.iter().all(|name| name.to_str().unwrap().ends_with(".rs")));
    assert!(!names.iter().any(|name| name.ends_with("file 1.rs")), "{names:?}");
}

#[test]
fn streams_go_through_and_what_cannot_be_copied_is_named() {
    let scratch = Scratch::new();
    let bytes = Dice(seed()).bytes(700_000);
    fs::write(scratch.path().join("file"), &bytes).unwrap();
    let path = |name: &str| scratch.path().join(name).display().to_string();
    let mut push = here(&scratch, &format!("- lab2:{} --quiet", path("stored")));
    push.stdin(File::open(scratch.path().join("file")).unwrap());
    let pushed = ran(push).expect(0);
    assert_eq!((pushed.stdout.as_str(), pushed.stderr.as_str()), ("", ""));
    assert!(fs::read(path("stored")).unwrap() == bytes);
    let output = here(&scratch, &format!("lab2:{} -", path("stored"))).output().unwrap();
    assert!(output.status.success() && output.stdout == bytes);

    let odd = scratch.path().join("odd");
    fs::create_dir(&odd).unwrap();
    symlink("/etc/passwd", odd.join("out")).unwrap();
    symlink("..", odd.join("up")).unwrap();
    nix::unistd::mkfifo(&odd.join("pipe"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    File::create(odd.join("holes")).unwrap().set_len(1 << 20).unwrap();
    fs::write(odd.join("line\nfeed"), "x").unwrap();
    fs::write(odd.join("good"), "x").unwrap();
    let there = path("there");
    let refused = ran(here(&scratch, &format!("odd lab2:{there}"))).expect(1).stderr;
    for words in [
        "odd/out: the link leads out",
        "odd/pipe: it is a FIFO",
        "odd/holes: it has holes (--sparse fill",
        "odd/line\\nfeed: its name has a control character",
    ] {
        assert!(refused.contains(words), "{words}: {refused}");
    }
    let kept = picture(Path::new(&there));
    assert!(kept.contains_key(Path::new("odd/good")) && kept.contains_key(Path::new("odd/up")));
    assert!(!kept.contains_key(Path::new("odd/out")) && !kept.contains_key(Path::new("odd/pipe")));
    let filled = format!("odd/holes odd/out lab2:{there} --sparse fill --links any");
    ran(here(&scratch, &filled)).expect(0);
    assert_eq!(fs::read(Path::new(&there).join("holes")).unwrap(), vec![0; 1 << 20]);
}

#[test]
fn wrong_usage_and_shells_that_talk_are_named() {
    let scratch = Scratch::new();
    fs::write(scratch.path().join("a"), "a").unwrap();
    for (arguments, words) in [
        ("a b", "one end of a copy is another host"),
        ("a --links within -- -x:y", "no host"),
        ("a [-x]:y", "no host"),
        ("none lab2:", "cannot read none"),
        ("a lab2: --exclude !x", "no pattern"),
        ("a lab2: --rate fast", "no rate: fast"),
        ("a lab2: --udp-ports 9-3", "no ports: 9-3"),
        ("a lab2:/none/there", "the directory above it must be there"),
        ("lab2:/none there", "cannot read /none"),
    ] {
        let told = ran(here(&scratch, arguments)).expect(2).stderr;
        assert!(told.contains(words), "{arguments}: {told}");
    }
    let rsh = script(&scratch, "talks", "echo Welcome; shift; exec \"$@\"");
    let told = scratch.run(&format!("netblt copy a lab2: --rsh {rsh}")).expect(2).stderr;
    assert!(told.contains("Welcome") && told.contains("must print nothing"), "{told}");
    let told = scratch.run("netblt copy a lab2: --rsh /none/rsh").expect(2).stderr;
    assert!(told.contains("cannot start /none/rsh"), "{told}");
    let told = scratch.run("netblt copy a lab2: --rsh false").expect(2).stderr;
    assert!(told.contains("is netanvil installed there?"), "{told}");
}

#[test]
fn a_copy_of_nothing_leaves_no_directory() {
    let scratch = Scratch::new();
    let told = ran(here(&scratch, "lab2:/none-*-none new")).expect(2).stderr;
    assert!(told.contains("nothing matches"), "{told}");
    assert!(!scratch.path().join("new").exists());
}

/// Of two sources with one name the second is named, and nothing of the first one is lost.
#[test]
fn a_name_that_two_sources_have_is_copied_once() {
    let scratch = Scratch::new();
    for directory in ["a", "b"] {
        fs::create_dir(scratch.path().join(directory)).unwrap();
        fs::write(scratch.path().join(directory).join("x"), directory).unwrap();
    }
    let target = scratch.path().join("dup").display().to_string();
    let told = ran(here(&scratch, &format!("a/x b/x lab2:{target}"))).expect(1).stderr;
    assert!(told.contains("1 copied") && told.contains("a source before this one"), "{told}");
    assert_eq!(fs::read(scratch.path().join("dup/x")).unwrap(), b"a");
}

/// Of a directory that is full; named where it is, whichever end that is at.
#[test]
fn a_full_disk_is_told_as_that_of_its_end() {
    let scratch = Scratch::new();
    fs::write(scratch.path().join("big"), Dice(seed()).bytes(8_000_000)).unwrap();
    let small = scratch.path().join("small");
    fs::create_dir(&small).unwrap();
    let mounted = |what: &str, arguments: &[&str]| {
        let status = Command::new(what).args(arguments).arg(&small).status().unwrap();
        assert!(status.success(), "{what}");
    };
    let big = scratch.path().join("big").display().to_string();
    for (arguments, end) in [
        (format!("big lab2:{}", small.display()), "the other end quit: No space"),
        (format!("lab2:{big} small"), "this end quit: No space"),
    ] {
        mounted("mount", &["-t", "tmpfs", "-o", "size=2m", "tmpfs"]);
        let told = ran(here(&scratch, &arguments)).expect(2).stderr;
        mounted("umount", &[]);
        assert!(told.contains(end) && !told.contains("cannot go on"), "{arguments}: {told}");
    }
}

/// 10 MB at 8 Mb/s take 10 s; without a bound hardly any time.
#[test]
fn the_rate_changes_while_a_copy_runs() {
    let scratch = Scratch::new();
    fs::write(scratch.path().join("file"), Dice(seed()).bytes(10_000_000)).unwrap();
    for arguments in ["file lab2:PATH/there", "lab2:PATH/file back"] {
        scratch.file("rate", "4Mbit/s\n");
        let path = scratch.path().display().to_string();
        let arguments = arguments.replace("PATH", &path) + " --rate-file rate --quiet --json";
        let mut child = here(&scratch, &arguments).stdout(Stdio::null()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(2500));
        assert_eq!(
            child.try_wait().unwrap(),
            None,
            "10 MB in 2.5 s are more than 4 Mb/s: {arguments}"
        );
        let target = if arguments.contains("back") { "back" } else { "there" };
        let part = fs::read_dir(scratch.path().join(target)).unwrap().next().unwrap().unwrap();
        let moved = part.metadata().unwrap().len();
        assert!(moved < 2_000_000, "{moved} bytes in 2.5 s: {arguments}");
        scratch.file("rate", "none\n");
        let changed = Instant::now();
        assert!(child.wait().unwrap().success());
        // What is left would take 16 s and more at the old rate; a busy machine is slower than a fast one.
        assert!(
            changed.elapsed() < Duration::from_secs(12),
            "{:?}: {arguments}",
            changed.elapsed()
        );
    }
}

/// Two hosts, 50 ms apart, with a link that loses one frame in a hundred.
struct Lab {
    hosts: TwoHosts,
    _link: RealTimeLink,
    scratch: Scratch,
}

impl Lab {
    fn new() -> Lab {
        Lab::with(Scratch::new())
    }
    fn with(scratch: Scratch) -> Lab {
        let hosts = TwoHosts::apart().unwrap();
        let delay = units::Duration::from_ms(25);
        let model =
            LinkModel { loss: Loss::Random(0.01), ..LinkModel::plain(500_000_000, delay, 4 << 20) };
        let link = RealTimeLink::start(&hosts, [model.clone(), model], 11).unwrap();
        Lab { hosts, _link: link, scratch }
    }
    fn path(&self, name: &str) -> PathBuf {
        self.scratch.path().join(name)
    }
    fn command(&self, host: usize, program: &str) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", self.hosts.host(host).name(), program]);
        command.current_dir(self.scratch.path());
        command
    }
    /// The far end is started in the other namespace, and leaves its process's number behind.
    fn copy(&self, arguments: &str) -> Command {
        let far = self.hosts.host(1).name();
        let pid = self.path("pid").display().to_string();
        let text = format!("shift\necho $$ > {pid}\nexec nsenter --net=/run/netns/{far} \"$@\"");
        let rsh = script(&self.scratch, "rsh", &text);
        let mut command = self.command(0, PROGRAM);
        command.args(["netblt", "copy", "--udp-host", &TwoHosts::address(1).to_string()]);
        // The link loses packets by chance and carries nobody else's.
        command.args(["--scavenge", "--rsh", &rsh, "--remote-program", PROGRAM, "--json"]);
        command.args(arguments.split_whitespace());
        command
    }

    /// sshd on the far host, with keys of its own; gives what reaches it.
    fn sshd(&self) -> (Killed, String) {
        let path = |name: &str| self.path(name).display().to_string();
        for key in ["host_key", "user_key"] {
            let made = Command::new("ssh-keygen")
                .args(["-q", "-t", "ed25519", "-N", "", "-f", &path(key)])
                .status();
            let needed = "ssh-keygen (Debian: apt-get install openssh-client)";
            assert!(made.expect(needed).success());
        }
        fs::copy(path("user_key.pub"), path("authorized")).unwrap();
        let address = TwoHosts::address(1);
        let host_key = fs::read_to_string(path("host_key.pub")).unwrap();
        self.scratch.file("known", &format!("[{address}]:2222 {host_key}"));
        let config = format!(
            "Port 2222\nListenAddress {address}\nHostKey {}\nAuthorizedKeysFile {}\nStrictModes no\n\
             UsePAM no\nPermitRootLogin yes\nPasswordAuthentication no\nPidFile none\n",
            path("host_key"),
            path("authorized")
        );
        self.scratch.file("sshd_config", &config);
        // Where Debian's sshd keeps nothing, but must be.
        fs::create_dir_all("/run/sshd").unwrap();
        let mut command = self.command(1, "/usr/sbin/sshd");
        command.args(["-D", "-e", "-f", &path("sshd_config")]).stderr(Stdio::null());
        assert!(
            Path::new("/usr/sbin/sshd").exists(),
            "sshd (Debian: apt-get install openssh-server)"
        );
        let sshd = Killed(command.spawn().unwrap());
        let rsh = format!(
            "ssh -F none -p 2222 -i {} -o UserKnownHostsFile={} -o BatchMode=yes",
            path("user_key"),
            path("known")
        );
        let started = Instant::now();
        loop {
            let mut probe = self.command(0, "ssh");
            probe.args(rsh.split(' ').skip(1)).args([&format!("root@{address}"), "true"]);
            let probed = probe.stderr(Stdio::piped()).output().unwrap();
            if probed.status.success() {
                return (sshd, rsh);
            }
            let told = String::from_utf8_lossy(&probed.stderr).into_owned();
            assert!(started.elapsed() < Duration::from_secs(20), "{told}");
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}

/// Of all files below a directory; none where it is not there.
fn bytes_in(directory: &Path) -> u64 {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let bytes = entries.map(|entry| match entry.file_type() {
        Ok(kind) if kind.is_dir() => bytes_in(&entry.path()),
        // What was there may have got its final name meanwhile.
        _ => entry.metadata().map_or(0, |known| known.len()),
    });
    bytes.sum()
}

/// Copies a tree until it is there, killed so many times on the way, each within so many milliseconds of the first bytes of
/// an attempt; what every attempt moved.
fn copied_though_killed(
    lab: &Lab,
    (arguments, target): (&str, &Path),
    (kills, within_ms): (u32, u64),
    dice: &mut Dice,
) -> Vec<u64> {
    let mut moved = Vec::new();
    let mut killed = 0;
    loop {
        let log = lab.path("log");
        let mut command = lab.copy(arguments);
        command.stdout(File::create(&log).unwrap()).stderr(Stdio::null());
        // Until this attempt has a far end, what arrives is of the one before, which is going.
        let pid = lab.path("pid");
        let _ = fs::remove_file(&pid);
        let mut child = Killed(command.spawn().unwrap());
        if killed < kills {
            // In the middle: once something more has arrived, and somewhat later.
            let before = bytes_in(target);
            let mut over = false;
            while !(over || pid.exists() && bytes_in(target) > before) {
                std::thread::sleep(Duration::from_millis(20));
                over = child.0.try_wait().unwrap().is_some();
            }
            std::thread::sleep(Duration::from_millis(dice.below(within_ms)));
            over = over || child.0.try_wait().unwrap().is_some();
            if !over {
                killed += 1;
                if killed % 2 == 0 {
                    // The far end, which is the process of the script.
                    let pid = fs::read_to_string(&pid).unwrap();
                    let pid = nix::unistd::Pid::from_raw(pid.trim().parse().unwrap());
                    let is_killed =
                        nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGKILL).is_ok();
                    let status = child.0.wait().unwrap();
                    if !is_killed && status.success() {
                        continue; // It ended between the look and the kill: the next finds all there.
                    }
                    assert_eq!(status.code(), Some(2), "the other end is gone");
                } else {
                    drop(child);
                }
                continue;
            }
        }
        let status = child.0.wait().unwrap();
        let stdout = fs::read_to_string(&log).unwrap();
        assert!(status.success(), "{status}: {stdout}");
        let json = end(&stdout);
        moved.push(json["moved_bytes"].as_u64().unwrap());
        assert_eq!(json["failed_entries"], 0);
        // In the short form it may be faster than the dice: there is nothing left to kill then.
        assert!(killed == kills || !is_full() && killed > 0, "only {killed} of {kills} kills");
        return moved;
    }
}

fn seconds<T>(what: impl FnOnce() -> T) -> (f64, T) {
    let started = Instant::now();
    let value = what();
    (started.elapsed().as_secs_f64(), value)
}

#[test]
fn trees_arrive_whole_over_delay_and_loss_though_both_ends_are_killed() {
    if !crate::common::is_root() {
        eprintln!("skipped: not root");
        return;
    }
    let (files, large, kills): (usize, &[usize], u32) = if is_full() {
        (20_000, &[100_000_000, 100_000_000], 10)
    } else {
        (1_000, &[30_000_000], 2)
    };
    println!("seed {}", seed());
    let mut dice = Dice(seed());
    let lab = Lab::new();
    let total = plant(&lab.path("tree"), files, large, &mut dice);
    let to = lab.path("there").display().to_string();
    let there = lab.path("there");
    let moved =
        copied_though_killed(&lab, (&format!("tree lab2:{to}"), &there), (kills, 800), &mut dice);
    println!(
        "{files} files, {total} bytes; killed {kills} times; the last attempt moved {moved:?}"
    );
    assert!(*moved.last().unwrap() < total, "something was kept");
    assert_same(&lab.path("tree"), &lab.path("there/tree"));
    let from = lab.path("tree").display().to_string();
    let back = lab.path("back");
    let arguments = format!("lab2:{from} back");
    copied_though_killed(&lab, (&arguments, &back), (kills, 800), &mut dice);
    assert_same(&lab.path("tree"), &lab.path("back/tree"));
}

/// Ten files of a gigabyte, ends killed ten times within the first minutes. Only in the long form: 20 GB of disk.
#[test]
fn ten_gigabytes_arrive_whole_though_both_ends_are_killed() {
    if !is_full() || !crate::common::is_root() {
        eprintln!("skipped: `make netblt-copy` runs it, as root");
        return;
    }
    println!("seed {}", seed());
    let mut dice = Dice(seed());
    let lab = Lab::with(Scratch::on_disk());
    let total = plant(&lab.path("tree"), 0, &[1_000_000_000; 10], &mut dice);
    let there = lab.path("there");
    let arguments = format!("tree lab2:{}", there.display());
    let (copy_s, moved) =
        seconds(|| copied_though_killed(&lab, (&arguments, &there), (10, 15_000), &mut dice));
    println!(
        "{total} bytes in 10 files; killed 10 times; {copy_s:.0} s; the last attempt moved {moved:?}"
    );
    assert!(*moved.last().unwrap() < total, "something was kept");
    assert_same(&lab.path("tree"), &lab.path("there/tree"));
}

fn told(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// What rsync moves over the same ssh and the same link with this control of TCP: bytes, seconds, and whether that
/// was all before it was stopped.
fn rsync(lab: &Lab, rsh: &str, control: &str, limit_s: u32) -> (u64, f64, bool) {
    for host in [0, 1] {
        let setting = format!("net.ipv4.tcp_congestion_control={control}");
        let mut sysctl = lab.command(host, "sysctl");
        assert!(sysctl.args(["-qw", &setting]).status().unwrap().success(), "{control}");
    }
    let target = lab.path(control);
    let (rsync_s, output) = seconds(|| {
        let mut rsync = lab.command(0, "timeout");
        rsync.args([&limit_s.to_string(), "rsync", "-a", "--inplace", "-e", rsh, "tree"]);
        rsync.arg(format!("root@{}:{}/", TwoHosts::address(1), target.display()));
        rsync.output().expect("timeout and rsync (Debian: apt-get install rsync)")
    });
    let all = output.status.success();
    let needed = "rsync (Debian: apt-get install rsync)";
    assert!(all || output.status.code() == Some(124), "{needed}: {}", told(&output));
    let there = match target.join("tree").exists() {
        true => picture(&target.join("tree")).values().map(|what| what.3).sum(),
        false => 0,
    };
    (there, rsync_s, all)
}

/// The short form shows that ssh reaches the far end; the long one lays rsync beside it, whose data is TCP's.
#[test]
fn real_ssh_starts_the_far_end_and_rsync_runs_beside_it() {
    if !crate::common::is_root() {
        eprintln!("skipped: not root");
        return;
    }
    let full = is_full();
    let (files, large): (usize, &[usize]) =
        if full { (20_000, &[100_000_000, 100_000_000]) } else { (200, &[1_000_000]) };
    println!("seed {}", seed());
    let lab = Lab::new();
    let total = plant(&lab.path("tree"), files, large, &mut Dice(seed()));
    let (_sshd, rsh) = lab.sshd();
    let host = format!("root@{}", TwoHosts::address(1));
    let (netblt_s, output) = seconds(|| {
        let mut copy = lab.command(0, PROGRAM);
        copy.args([
            "netblt",
            "copy",
            "--scavenge",
            "--rsh",
            &rsh,
            "--remote-program",
            PROGRAM,
            "tree",
        ]);
        copy.arg(format!("{host}:{}", lab.path("by-netblt").display())).output().unwrap()
    });
    assert!(output.status.success(), "{}", told(&output));
    assert_same(&lab.path("tree"), &lab.path("by-netblt/tree"));
    let mbps = |bytes: u64, seconds: f64| bytes as f64 * 8e-6 / seconds;
    let ours = mbps(total, netblt_s);
    println!("{total} bytes in {files} files over 500 Mb/s, 50 ms, 1 % loss, started by ssh:");
    println!("netanvil netblt copy  {netblt_s:7.1} s  {ours:8.2} Mb/s");
    // A namespace may set those that are allowed, fewer than there are.
    let allowed = fs::read_to_string("/proc/sys/net/ipv4/tcp_allowed_congestion_control").unwrap();
    for control in ["cubic", "reno", "bbr"] {
        if !allowed.split_whitespace().any(|one| one == control) || (!full && control == "bbr") {
            println!("rsync over TCP {control}: not measured");
            continue;
        }
        let (there, rsync_s, all) = rsync(&lab, &rsh, control, if full { 120 } else { 8 });
        let theirs = mbps(there, rsync_s);
        let broke = if all { "" } else { ", stopped" };
        println!("rsync over TCP {control:5}  {rsync_s:7.1} s  {theirs:8.2} Mb/s{broke}");
        if full && control != "bbr" {
            assert!(ours > theirs, "{ours} and {theirs} Mb/s");
        }
    }
}
