//! One run of the real program with the kernel's witnesses beside it, and a fault.

use super::chance::Chance;
use super::injure::{self, FREE_END, Injury, Scene, Times};
use super::verdicts::Witness;
use super::witness::{Counters, Tap, Way, named_drops};
use crate::common::{Scratch, sh};
use method::{Event, TrialRecord};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// A run does not take longer to begin.
const BEGINS_WITHIN: Duration = Duration::from_secs(60);
/// Frames that the device still keeps when the tester has been stopped are out after so long.
const SETTLES: Duration = Duration::from_millis(600);
/// A rate that any machine keeps up with where the line's is 2 Mb/s: 2,976 frames/s of 64 bytes.
const COMMON: &str = "--skip-selftest --profile quick --duration 200ms --test loss";
/// Sizes in bytes, one after the other, up to what taps keep whole: more trials than anybody asks for.
const SIZES: std::ops::Range<u32> = 64..224;

/// What to run, and what is done to it.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Device and options.
    pub arguments: String,
    pub injury: Injury,
    /// A second tester on the same bridge.
    pub second: bool,
    /// Frames that the taps need not see, as tcpdump writes it.
    pub but: &'static str,
    /// The run ends after so many trials, or after so long.
    pub trials: usize,
    pub longest: Duration,
}

impl Plan {
    /// Kind of the tester's ports: the word behind the option.
    pub fn port_type(&self) -> &str {
        let mut words = self.arguments.split_whitespace().skip_while(|word| *word != "--port-type");
        words.nth(1).unwrap_or("auto")
    }
}

/// What a tester said and what the kernel saw.
pub struct Told {
    pub records: Vec<TrialRecord>,
    pub witness: Witness,
    /// Where the taps saw all: that taps and counters differ.
    pub miscounted: Vec<String>,
    /// Frames that stayed in the device, and those that it counts as dropped.
    pub stayed: (u64, u64),
}

/// What came of a run.
pub struct Outcome {
    /// One for each tester.
    pub told: Vec<Told>,
    pub times: Times,
}

pub fn run(plan: &Plan, chance: &mut Chance) -> Outcome {
    let scratch = Scratch::new();
    let arguments = format!("run {} {COMMON} --sizes {} --out a", plan.arguments, sizes());
    let mut tester = Tester::begin(scratch.command(&arguments), scratch.path().join("a"));
    tester.hold();
    let device = tester.device();
    let scene = Scene { tester: tester.id(), device: device.clone() };
    let mut second = (plan.second).then(|| second_tester(&scratch, &device));
    if matches!(plan.injury, Injury::Chatter(_)) {
        add_beside(&device, 0);
    }
    let mut watched = vec![Watched::begin(&scratch, plan, &device, ["dut0", "dut1"])];
    if second.is_some() {
        watched.push(Watched::begin(&scratch, plan, &device, ["bridged0", "bridged1"]));
    }
    let stop = AtomicBool::new(false);
    let times = std::thread::scope(|scope| {
        let injection = scope.spawn(|| injure::inject(plan.injury, &scene, chance, &stop));
        second.as_mut().inspect(|second| second.go());
        tester.go();
        tester.await_trials(plan.trials, plan.longest);
        stop.store(true, Ordering::Relaxed);
        injection.join().expect("the fault is injected")
    });
    tester.hold();
    second.as_mut().inspect(|second| second.hold());
    std::thread::sleep(SETTLES);
    let mut records = vec![tester.records()];
    records.extend(second.as_ref().map(Tester::records));
    let told = watched.into_iter().zip(records).map(|(watched, records)| watched.end(records));
    let told = told.collect();
    if let Some(second) = second {
        second.end();
    }
    tester.end();
    Outcome { told, times }
}

fn sizes() -> String {
    SIZES.map(|bytes| bytes.to_string()).collect::<Vec<_>>().join(",")
}

/// Ports beside the tester's on the device's bridge: `bridgedN` in it, `besideN` free.
fn add_beside(device: &str, number: usize) {
    let (free, bridged) = (format!("beside{number}"), format!("bridged{number}"));
    assert!(number > 0 || free == FREE_END);
    sh(&format!(
        "ip -n {device} link add {bridged} type veth peer name {free} && \
         ip -n {device} link set {bridged} master bridge0 up && ip -n {device} link set {free} up"
    ));
}

/// A second tester between two more ports of a bridge that knows no addresses, so that all of them get all
/// frames.
fn second_tester(scratch: &Scratch, device: &str) -> Tester {
    (0..2).for_each(|number| add_beside(device, number));
    for port in ["dut0", "dut1", "bridged0", "bridged1"] {
        sh(&format!("bridge -n {device} link set dev {port} learning off flood on"));
    }
    sh(&format!("ip -n {device} link set bridge0 type bridge fdb_flush"));
    let arguments = format!(
        "run --ports beside0,beside1 --address 198.18.1.2/24,198.19.1.2/24 --yes --line-rate 2M \
         {COMMON} --sizes {} --out b",
        sizes()
    );
    let program = scratch.command(&arguments);
    let mut command = Command::new("setsid");
    command.args(["ip", "netns", "exec", device]).arg(program.get_program());
    command.args(program.get_args()).current_dir(scratch.path());
    command.envs(program.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let second = Tester::begin(command, scratch.path().join("b"));
    second.hold();
    second
}

/// A tester's two ports, watched from the device's side.
struct Watched {
    device: String,
    interfaces: [&'static str; 2],
    taps: (Tap, Tap),
    /// Read before the taps began, and after.
    before: [[Counters; 2]; 2],
    drops_before: u64,
    is_whole: bool,
}

impl Watched {
    fn begin(scratch: &Scratch, plan: &Plan, device: &str, interfaces: [&'static str; 2]) -> Self {
        let [first, last] = interfaces;
        let counters = || interfaces.map(|interface| Counters::read(device, interface));
        let before = counters();
        let entered = Tap::start(device, first, Way::In, plan.but, scratch.path());
        let left = Tap::start(device, last, Way::Out, plan.but, scratch.path());
        Watched {
            device: device.into(),
            interfaces,
            taps: (entered, left),
            before: [before, counters()],
            drops_before: named_drops(device, last),
            // A packet socket hears nothing of an interface that is down.
            is_whole: plan.but.is_empty() && plan.injury != Injury::LinkDown,
        }
    }

    fn end(self, records: Vec<TrialRecord>) -> Told {
        let Watched { device, interfaces, taps, before, drops_before, is_whole } = self;
        let drops = named_drops(&device, interfaces[1]) - drops_before;
        let counters = || interfaces.map(|interface| Counters::read(&device, interface));
        let after = counters();
        let (entered, left) = (taps.0.finish(), taps.1.finish());
        let later = counters();
        let mut miscounted = vec![];
        let mut compare = |interface, tapped: u64, count: fn(&Counters) -> u64, at: usize| {
            // The device says something by itself now and then, also while taps begin and end.
            let least = count(&after[at]) - count(&before[1][at]);
            let most = count(&later[at]) - count(&before[0][at]);
            if tapped > most || is_whole && tapped < least {
                let counted = format!("{least} to {most}");
                miscounted.push(format!("{interface} counts {counted} frames, its tap {tapped}"));
            }
        };
        compare(interfaces[0], entered.all, |counters| counters.rx, 0);
        compare(interfaces[1], left.all, |counters| counters.tx, 1);
        let witness = Witness::new(&entered, &left);
        let stayed = (witness.stayed(), drops);
        Told { records, witness, miscounted, stayed }
    }
}

/// A running tester. It is killed with this value.
struct Tester {
    child: Child,
    folder: PathBuf,
}

impl Tester {
    /// Returns when its run has begun.
    fn begin(mut command: Command, folder: PathBuf) -> Self {
        let output = folder.with_extension("output");
        let output = || std::fs::File::options().create(true).append(true).open(&output);
        command.stdin(Stdio::null()).stdout(output().expect("a file"));
        let child = command.stderr(output().expect("a file")).spawn().expect("the program starts");
        let mut tester = Tester { child, folder };
        let give_up = Instant::now() + BEGINS_WITHIN;
        while !tester.log().contains("\"run_started\"") {
            assert!(tester.is_running(), "the run did not begin: {}", tester.said());
            assert!(Instant::now() < give_up, "the run does not begin: {}", tester.said());
            std::thread::sleep(Duration::from_millis(1));
        }
        tester
    }

    fn id(&self) -> u32 {
        self.child.id()
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.folder.join("events.jsonl")).unwrap_or_default()
    }

    fn said(&self) -> String {
        std::fs::read_to_string(self.folder.with_extension("output")).unwrap_or_default()
    }

    fn is_running(&mut self) -> bool {
        self.child.try_wait().expect("a child").is_none()
    }

    fn signal(&self, signal: Signal) {
        let _ = kill(Pid::from_raw(self.id() as i32), signal);
    }

    /// Stops all of its threads, and returns when they stand.
    fn hold(&self) {
        self.signal(Signal::SIGSTOP);
        let stands = |task: &Path| {
            let stat = std::fs::read_to_string(task.join("stat")).unwrap_or_default();
            stat.rsplit(") ")
                .next()
                .is_some_and(|rest| rest.starts_with(['T', 'Z']) || rest.is_empty())
        };
        let tasks = PathBuf::from(format!("/proc/{}/task", self.id()));
        for _ in 0..1_000 {
            let mut tasks = std::fs::read_dir(&tasks).into_iter().flatten().flatten();
            if tasks.all(|task| stands(&task.path())) {
                return;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        panic!("the tester does not stand still");
    }

    fn go(&self) {
        self.signal(Signal::SIGCONT);
    }

    /// Namespace of the device it has built.
    fn device(&self) -> String {
        let names = std::fs::read_dir("/run/netns").into_iter().flatten().flatten();
        let names = names.map(|entry| entry.file_name().to_string_lossy().into_owned());
        let own = format!("netanvil-{}.", self.id());
        let mut names = names.filter(|name| name.starts_with(&own) && name.ends_with("-dut"));
        names.next().expect("a device")
    }

    fn await_trials(&mut self, trials: usize, longest: Duration) {
        let give_up = Instant::now() + longest;
        while Instant::now() < give_up && self.is_running() {
            if self.log().matches("{\"trial_finished\"").count() >= trials {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        assert!(self.is_running(), "the run ended before its time: {}", self.said());
    }

    fn records(&self) -> Vec<TrialRecord> {
        let log = self.log();
        let whole = log.split_inclusive('\n').filter(|line| line.ends_with('\n'));
        let events = whole.map(|line| serde_json::from_str(line).expect("an event"));
        let trial = |event| match event {
            Event::TrialFinished(record) => Some(*record),
            _ => None,
        };
        events.filter_map(trial).collect()
    }

    /// Ends it as Ctrl-C does, which removes what it has built.
    fn end(mut self) {
        self.signal(Signal::SIGINT);
        self.go();
        let give_up = Instant::now() + BEGINS_WITHIN;
        while self.is_running() {
            assert!(Instant::now() < give_up, "the run does not end: {}", self.said());
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Tester {
    fn drop(&mut self) {
        if self.is_running() {
            let _ = self.child.kill();
            let _ = self.child.wait();
            let _ = Command::new(env!("CARGO_BIN_EXE_netanvil")).arg("clean").output();
        }
    }
}
