//! The real binary, run as a user would.
#![allow(dead_code, reason = "each test file uses its own share of it")]
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "waits for processes")]

#[path = "../../../ports/tests/bed/busy.rs"]
pub mod busy;
/// Transmitters spin on the same processor: two live runs at once would each have half of it.
#[path = "../../../ports/tests/bed/turn.rs"]
pub mod turn;
#[path = "../../../ports/tests/bed/undecided.rs"]
pub mod undecided;

pub mod forwarder;
pub mod lab;
pub mod netblt;
pub mod terminal;

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A rate that any machine keeps up with, so that answers are the medium's: 10 Mb/s carries 2,349 frames of 512
/// bytes a second (RFC 2544 appendix B).
pub const SLOW: &str =
    "--line-rate 10M --sizes 512 --skip-selftest --profile quick --test throughput";

/// What a run of the program came to.
pub struct Ran {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        Ran {
            code: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

impl Ran {
    /// Fails the test, showing everything, unless the program ended with this code.
    #[track_caller]
    pub fn expect(self, code: i32) -> Self {
        assert_eq!(
            self.code,
            Some(code),
            "\n--- stdout\n{}\n--- stderr\n{}",
            self.stdout,
            self.stderr
        );
        self
    }

    /// Fails the test unless the run went to its end. Where it could not measure everything (3), the test is
    /// counted as undecided, and says so. Gives whether everything was measured.
    #[track_caller]
    pub fn expect_complete(&self) -> bool {
        assert!(matches!(self.code, Some(0 | 3)), "{:?}\n{}", self.code, self.stderr);
        if self.code == Some(3) {
            undecided::tell(self.stderr.lines().next_back().unwrap_or_default());
        }
        self.code == Some(0)
    }
}

/// A file system in memory from which programs may be started.
fn memory() -> Option<&'static Path> {
    use nix::sys::statvfs::{FsFlags, statvfs};
    const ROOM_BYTES: u64 = 1 << 30;
    let memory = Path::new("/dev/shm");
    let facts = statvfs(memory).ok()?;
    let room_bytes = facts.blocks_available() * facts.fragment_size();
    (room_bytes >= ROOM_BYTES && !facts.flags().contains(FsFlags::ST_NOEXEC)).then_some(memory)
}

/// A scratch folder with a cache of its own, so that tests neither use nor fill the user's.
pub struct Scratch {
    folder: tempfile::TempDir,
}

impl Scratch {
    /// In memory where there is room: runs save each event for good, and disks take their time over it.
    pub fn new() -> Self {
        let folder = match memory() {
            Some(memory) => tempfile::tempdir_in(memory),
            None => tempfile::tempdir(),
        };
        Scratch { folder: folder.expect("a scratch folder") }
    }
    /// For more than memory holds.
    pub fn on_disk() -> Self {
        Scratch { folder: tempfile::tempdir().expect("a scratch folder") }
    }
    pub fn path(&self) -> &Path {
        self.folder.path()
    }
    pub fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path().join(name);
        std::fs::write(&path, text).expect("a scratch file");
        path
    }
    /// The program with these arguments, separated by blanks, in the scratch folder.
    pub fn command(&self, arguments: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_netanvil"));
        command.args(arguments.split_whitespace()).current_dir(self.path());
        command.env("XDG_CACHE_HOME", self.path().join("cache")).stdin(Stdio::null());
        let path = std::env::var("PATH").unwrap_or_default();
        command.env("PATH", format!("{path}:{}", forwarder::built().display()));
        command
    }
    /// Runs it to its end.
    pub fn run(&self, arguments: &str) -> Ran {
        self.command(arguments).output().expect("the program starts").into()
    }
}

/// Whether this test may create network namespaces.
pub fn is_root() -> bool {
    nix::unistd::geteuid().is_root()
}

/// Says past the test harness's capture that a test did not run, since something is missing here: a part of this
/// kernel, say. `make kernels` runs such tests on other kernels, and takes this line for "not run".
pub fn skipped(test: &str, why: &str) {
    use std::io::Write;
    let _ = writeln!(std::io::stderr().lock(), "SKIPPED {test}: {}", why.trim());
}

/// A copy of the program that every user may read and execute.
pub fn public_copy(scratch: &Scratch) -> PathBuf {
    use std::os::unix::fs::PermissionsExt;
    let copy = scratch.path().join("netanvil");
    std::fs::copy(env!("CARGO_BIN_EXE_netanvil"), &copy).expect("a copy of the program");
    let everybody = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(scratch.path(), std::fs::Permissions::from_mode(0o777)).unwrap();
    std::fs::set_permissions(&copy, everybody).expect("executable by everybody");
    copy
}

/// The program run by an ordinary user (nobody), in the scratch folder.
pub fn as_ordinary_user(scratch: &Scratch, arguments: &str) -> Command {
    let program = public_copy(scratch);
    let mut command = match is_root() {
        true => {
            let mut command = Command::new("setpriv");
            command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(program);
            command
        }
        false => Command::new(program),
    };
    command.args(arguments.split_whitespace()).current_dir(scratch.path());
    command.env("XDG_CACHE_HOME", scratch.path().join("cache")).stdin(Stdio::null());
    command
}

/// Runs a command of the system, which must succeed; gives its output.
#[track_caller]
pub fn sh(command: &str) -> String {
    let output = Command::new("sh").args(["-c", command]).output().expect("sh");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
    text
}

/// Namespaces that a process made and that are still there.
pub fn left_by(pid: u32) -> Vec<String> {
    let names = std::fs::read_dir("/run/netns").into_iter().flatten().flatten();
    let names = names.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.filter(|name| name.starts_with(&format!("netanvil-{pid}."))).collect()
}

/// Files and folders in its name, beside the records of runs and among temporary ones.
pub fn files_left_by(pid: u32) -> Vec<String> {
    let of = |folder: &Path| std::fs::read_dir(folder).into_iter().flatten().flatten();
    let temporary = std::env::temp_dir();
    let names = of(Path::new(testbed::REGISTRY_DIRECTORY)).chain(of(&temporary));
    let names = names.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let own = pid.to_string();
    let is_own = |name: &String| name.split(['-', '.']).any(|part| part == own);
    names.filter(|name| name.starts_with("netanvil-") && is_own(name)).collect()
}

/// A run in the background.
pub struct Running {
    child: std::process::Child,
    folder: PathBuf,
}

impl Scratch {
    /// Starts a run into `folder`; returns when its events contain `until`.
    #[track_caller]
    pub fn start(&self, arguments: &str, folder: &str, until: &str) -> Running {
        self.start_command(self.command(&format!("{arguments} --out {folder}")), folder, until)
    }
    /// The same with a command put together by hand.
    #[track_caller]
    pub fn start_command(&self, mut command: Command, folder: &str, until: &str) -> Running {
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn().expect("the program starts");
        let mut running = Running { child, folder: self.path().join(folder) };
        let log = running.folder.join("events.jsonl");
        let give_up = std::time::Instant::now() + std::time::Duration::from_secs(300);
        while !std::fs::read_to_string(&log).is_ok_and(|log| log.contains(until)) {
            if let Some(status) = running.child.try_wait().expect("a child") {
                let ran = Ran::from(running.child.wait_with_output().expect("its output"));
                panic!("ended with {status} before {until}\n{}\n{}", ran.stdout, ran.stderr);
            }
            assert!(std::time::Instant::now() < give_up, "{until}: not within five minutes");
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        running
    }
}

impl Scratch {
    /// Kills a run with so many daemons of its own: they end with it, and `clean` removes all the rest.
    #[track_caller]
    pub fn kill_and_clean(&self, running: Running, daemons: usize) {
        let pid = running.pid();
        let own = format!("netanvil-{pid}.");
        assert_eq!(processes_with(&format!("/{own}")).len(), daemons, "daemons of the run");
        running.signal("KILL");
        running.wait();
        for _ in 0..500 {
            if processes_with(&format!("/{own}")).is_empty() {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        assert_eq!(processes_with(&format!("/{own}")), [""; 0], "daemons outlive the run");
        self.run("clean").expect(0);
        assert_eq!(left_by(pid), [""; 0]);
        assert_eq!(files_with(&own), [""; 0]);
    }
}

/// Command lines of living processes that contain `word`.
pub fn processes_with(word: &str) -> Vec<String> {
    let processes = std::fs::read_dir("/proc").expect("processes").flatten();
    let lines = processes.filter_map(|process| {
        let line = std::fs::read(process.path().join("cmdline")).ok()?;
        Some(String::from_utf8_lossy(&line).replace('\0', " "))
    });
    lines.filter(|line| line.contains(word)).collect()
}

/// What runs have left beside their records, by name.
pub fn files_with(word: &str) -> Vec<String> {
    let files = std::fs::read_dir(testbed::REGISTRY_DIRECTORY).expect("records").flatten();
    let names = files.map(|file| file.file_name().to_string_lossy().into_owned());
    names.filter(|name| name.contains(word)).collect()
}

impl Running {
    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }
    /// A namespace that it made: `tester` or `dut` of its newest test bed.
    pub fn namespace(&self, role: &str) -> Option<String> {
        let names = std::fs::read_dir("/run/netns").into_iter().flatten().flatten();
        let names = names.map(|entry| entry.file_name().to_string_lossy().into_owned());
        let prefix = format!("netanvil-{}.", self.pid());
        names.filter(|name| name.starts_with(&prefix) && name.ends_with(&format!("-{role}"))).max()
    }
    /// Sends a signal.
    pub fn signal(&self, signal: &str) {
        sh(&format!("kill -{signal} {}", self.pid()));
    }
    /// Waits for its end.
    pub fn wait(self) -> Ran {
        Ran::from(self.child.wait_with_output().expect("its output"))
    }
}

/// What a run in the scratch folder has saved.
#[track_caller]
pub fn results(scratch: &Scratch, folder: &str) -> serde_json::Value {
    let path = scratch.path().join(folder).join("results.json");
    let text = std::fs::read_to_string(path).expect("results");
    serde_json::from_str(&text).expect("JSON")
}

/// What a test came to, a frame size after the other.
pub fn outcomes<'a>(results: &'a serde_json::Value, test: &str) -> Vec<&'a serde_json::Value> {
    outcomes_of(results, &test.into())
}

/// The same of a test of many ports, whose name is `{"chassis": NAME}`.
pub fn outcomes_of<'a>(
    results: &'a serde_json::Value,
    test: &serde_json::Value,
) -> Vec<&'a serde_json::Value> {
    let all = results["outcomes"].as_array().into_iter().flatten();
    all.filter(|outcome| outcome["test"] == *test).collect()
}

/// The record of the first outcome of a test.
#[track_caller]
pub fn record<'a>(results: &'a serde_json::Value, test: &str) -> &'a serde_json::Value {
    let outcomes = outcomes(results, test);
    &outcomes.first().unwrap_or_else(|| panic!("no {test}"))["detail"]
}

/// The first figure of the first outcome of a test.
#[track_caller]
pub fn figure<'a>(results: &'a serde_json::Value, test: &str) -> &'a serde_json::Value {
    let outcomes = outcomes(results, test);
    &outcomes.first().unwrap_or_else(|| panic!("no {test}"))["figures"][0]
}

/// A rate of a record, in frames a second.
pub fn fps(rate: &serde_json::Value) -> Option<f64> {
    Some(rate["frames"].as_f64()? / rate["per_seconds"].as_f64()?)
}

/// What tshark reads in the first capture of a run that has any: these fields of each frame that the
/// filter passes, separated by tabs, checksums verified.
#[track_caller]
pub fn tshark(scratch: &Scratch, folder: &str, filter: &str, fields: &[&str]) -> Vec<String> {
    let captures = std::fs::read_dir(scratch.path().join(folder).join("captures")).unwrap();
    let mut files: Vec<PathBuf> = captures.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let fields: String = fields.iter().map(|field| format!(" -e {field}")).collect();
    let read = |file: &PathBuf| {
        let verify = "-o udp.check_checksum:TRUE -o ip.check_checksum:TRUE";
        let all = "-E occurrence=a";
        sh(&format!(
            "tshark -n -r {} -Y '{filter}' {verify} -T fields {all}{fields}",
            file.display()
        ))
    };
    let lines = files.iter().map(read).find(|text| !text.is_empty()).unwrap_or_default();
    lines.lines().map(str::to_owned).collect()
}

/// Bytes of a pcap file: frames of UDP over IPv4 with so many bytes of payload, at these microseconds.
pub fn pcap(frames: &[(u32, usize)]) -> Vec<u8> {
    let mut file = vec![];
    for word in [0xa1b2_c3d4u32, 0x0004_0002, 0, 0, 65_535, 1] {
        file.extend(word.to_le_bytes());
    }
    for (at_us, payload) in frames {
        let mut frame = vec![9; 12];
        frame.extend([0x08, 0x00, 0x45, 0]);
        frame.extend((28 + *payload as u16).to_be_bytes());
        frame.extend([0, 0, 0, 0, 64, 17, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2]);
        frame.extend([0, 53, 0, 53]);
        frame.extend((8 + *payload as u16).to_be_bytes());
        frame.extend([1, 2]);
        frame.extend(vec![7; *payload]);
        for word in [1, *at_us, frame.len() as u32, frame.len() as u32] {
            file.extend(word.to_le_bytes());
        }
        file.extend(frame);
    }
    file
}
