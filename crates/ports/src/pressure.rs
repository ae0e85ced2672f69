//! What the kernel tells of who waited for a processor.

use kernel::thread::{self, PF_KTHREAD};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::sync::Mutex;
use trial::{Owner, Pressure, ProcessorUse, ThreadPressure};
use units::{Duration, Instant};

/// A thread of the device, known by its number.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct DeviceThread {
    /// Its thread id.
    pub id: u32,
    /// Its name.
    pub name: String,
}

/// Ticks a second in `/proc/stat` (USER_HZ, the same on all architectures that matter).
const USER_HZ: u64 = 100;

/// Time on a processor and time waiting for one, in nanoseconds, and how often it was put on one: the numbers of
/// a schedstat file.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
struct Schedstat {
    ran_ns: u64,
    waited_ns: u64,
    slices: u64,
}

impl Schedstat {
    fn parse(text: &str) -> Option<Self> {
        let mut numbers = text.split_whitespace().map(str::parse);
        let mut next = || numbers.next()?.ok();
        Some(Schedstat { ran_ns: next()?, waited_ns: next()?, slices: next()? })
    }

    fn read(path: &str) -> Option<Self> {
        Schedstat::parse(&fs::read_to_string(path).ok()?)
    }

    fn of(thread: &DeviceThread) -> Option<Self> {
        Schedstat::read(&format!("/proc/{}/schedstat", thread.id))
    }

    /// Time on a processor, time waiting for one, and slices, since `before`.
    fn since(self, before: Self) -> (Duration, Duration, u64) {
        let between = |before: u64, after: u64| Duration::from_ns(after.saturating_sub(before));
        let slices = self.slices.saturating_sub(before.slices);
        (between(before.ran_ns, self.ran_ns), between(before.waited_ns, self.waited_ns), slices)
    }

    fn pressure(
        self,
        before: Self,
        owner: Owner,
        (name, processor): (String, Option<u32>),
    ) -> ThreadPressure {
        let (ran, waited, slices) = self.since(before);
        ThreadPressure {
            owner,
            name,
            ran,
            waited,
            held_up: None,
            slices,
            processor,
            stopped: Duration::ZERO,
            is_program: owner == Owner::Tester,
        }
    }
}

/// What the tester's threads say of themselves when they end.
#[derive(Default, Debug)]
pub(crate) struct OwnThreads(Mutex<Vec<ThreadPressure>>);

impl OwnThreads {
    /// Runs `body` on the calling thread and keeps what it had of its processor meanwhile.
    pub fn watch<T>(&self, name: &str, body: impl FnOnce() -> T) -> T {
        const SELF: &str = "/proc/thread-self/schedstat";
        let before = Schedstat::read(SELF);
        let done = body();
        let after = Schedstat::read(SELF);
        if let (Some(before), Some(after)) = (before, after) {
            let place = (name.into(), processor_of("/proc/thread-self/stat"));
            let thread = after.pressure(before, Owner::Tester, place);
            self.0.lock().expect("no panic while held").push(thread);
        }
        done
    }

    /// All that have ended.
    pub fn into_threads(self) -> Vec<ThreadPressure> {
        self.0.into_inner().expect("no panic while held")
    }
}

/// How often the device's threads are looked at.
const LOOK: Duration = Duration::from_ms(10);

/// What looks at the device's threads during a trial show and no total does: waits that are long, not many, and for
/// how long a program was stopped (SIGSTOP, a debugger). A thread that is stopped is neither on a processor nor waiting.
#[derive(Debug)]
pub(crate) struct Looks {
    seen: BTreeMap<DeviceThread, Seen>,
    last: Instant,
    /// Whether waits count before they are over. While frames are sent they need not: they will be over. To tell one
    /// from sleep takes one file more of each thread that stands still, at every look.
    minds_waits: bool,
}

/// One thread.
#[derive(Debug)]
struct Seen {
    /// At the last look.
    schedstat: Schedstat,
    held_up: Duration,
    /// For how long it has been ready to run and has not: the kernel counts a wait once it is over.
    waits_for: Duration,
    /// Nobody can stop a thread of the kernel: `None`.
    stopped: Option<Duration>,
}

impl Looks {
    /// Begins to look at these threads.
    pub fn at(threads: &[DeviceThread], now: Instant) -> Self {
        let seen = threads.iter().filter_map(|thread| {
            let schedstat = Schedstat::of(thread)?;
            let program =
                thread::state_and_flags(thread.id).filter(|(_, flags)| flags & PF_KTHREAD == 0);
            let stopped = program.map(|_| Duration::ZERO);
            let (held_up, waits_for) = (Duration::ZERO, Duration::ZERO);
            Some((thread.clone(), Seen { schedstat, held_up, waits_for, stopped }))
        });
        Looks { seen: seen.collect(), last: now, minds_waits: false }
    }

    /// From now on waits that are not over count, too.
    pub fn mind_waits(&mut self) {
        self.minds_waits = true;
    }

    /// Looks at them, if it is time to.
    pub fn look(&mut self, now: Instant) {
        if now.since(self.last) >= LOOK {
            self.look_now(now);
        }
    }

    /// Looks at them once more: whoever stands still has done so since the last look.
    pub fn look_now(&mut self, now: Instant) {
        let span = now.since(self.last);
        self.last = now;
        for (thread, seen) in &mut self.seen {
            if let Some(schedstat) = Schedstat::of(thread) {
                let (ran, waited, slices) = schedstat.since(seen.schedstat);
                seen.held_up += trial::held_up_in(span, ran, waited, slices);
                let stays =
                    self.minds_waits && schedstat == seen.schedstat && is_in(thread, &['R']);
                seen.waits_for = if stays { seen.waits_for + span } else { Duration::ZERO };
                seen.schedstat = schedstat;
            }
            let stands = || is_in(thread, &['T', 't']);
            if let Some(stopped) = seen.stopped.as_mut().filter(|_| stands()) {
                *stopped += span;
            }
        }
    }

    /// Whether some thread has work left, and no processor to do it on.
    pub fn is_one_waiting(&self) -> bool {
        self.seen.values().any(|seen| seen.waits_for > Duration::ZERO)
    }
}

/// Threads of the kernel that may have a frame in hand: input queues (cpumap), threaded NAPI, deferred softirqs.
/// Whose they are, they do not say.
pub(crate) fn kernel_threads() -> Vec<DeviceThread> {
    const NAMES: [&str; 3] = ["cpumap/", "napi/", "ksoftirqd/"];
    let found = thread::of_kernel(|name| NAMES.iter().any(|begin| name.starts_with(begin)));
    found.into_iter().map(|(id, name)| DeviceThread { id, name }).collect()
}

/// Whether a thread is in one of these states.
fn is_in(thread: &DeviceThread, states: &[char]) -> bool {
    thread::state_and_flags(thread.id).is_some_and(|(state, _)| states.contains(&state))
}

/// What the machine and the device's threads have counted up to now.
#[derive(Debug)]
pub(crate) struct Reading {
    threads: BTreeMap<DeviceThread, Schedstat>,
    stolen: Duration,
    stalled: Option<Duration>,
    softnet: Softnet,
    busy: BTreeMap<u32, Duration>,
}

#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
struct Softnet {
    dropped: u64,
    squeezed: u64,
}

impl Reading {
    /// Reads it. What cannot be read is left out.
    pub fn take(threads: &[DeviceThread]) -> Self {
        let read = |thread: &DeviceThread| Some((thread.clone(), Schedstat::of(thread)?));
        let text = |path| fs::read_to_string(path).unwrap_or_default();
        let stat = text("/proc/stat");
        Reading {
            threads: threads.iter().filter_map(read).collect(),
            stolen: stolen(&stat),
            busy: busy(&stat),
            stalled: stalled(&text("/proc/pressure/cpu")),
            softnet: softnet(&text("/proc/net/softnet_stat")),
        }
    }

    /// What was counted since `before`, and seen meanwhile.
    pub fn since(&self, before: &Reading, looks: &Looks) -> Pressure {
        let threads = self.threads.iter().filter_map(|(thread, after)| {
            let before = before.threads.get(thread)?;
            let processor = processor_of(&format!("/proc/{}/stat", thread.id));
            let place = (thread.name.clone(), processor);
            let pressure = after.pressure(*before, Owner::Device, place);
            let seen = looks.seen.get(thread);
            Some(ThreadPressure {
                held_up: seen.map(|seen| seen.held_up + seen.waits_for),
                stopped: seen.and_then(|seen| seen.stopped).unwrap_or_default(),
                is_program: seen.is_some_and(|seen| seen.stopped.is_some()),
                ..pressure
            })
        });
        let threads: Vec<ThreadPressure> = threads.collect();
        let used: BTreeSet<u32> = threads.iter().filter_map(|thread| thread.processor).collect();
        let busy = |processor: &u32| {
            let (before, after) = (before.busy.get(processor)?, self.busy.get(processor)?);
            let busy = after.saturating_sub(*before);
            Some(ProcessorUse { processor: *processor, busy })
        };
        let stalled = self.stalled.zip(before.stalled);
        Pressure {
            processors: used.iter().filter_map(busy).collect(),
            untimed: None,
            threads,
            stolen: self.stolen.saturating_sub(before.stolen),
            stalled: stalled.map(|(after, before)| after.saturating_sub(before)),
            softirq_squeezed: self.softnet.squeezed.saturating_sub(before.softnet.squeezed),
            backlog_dropped: self.softnet.dropped.saturating_sub(before.softnet.dropped),
            links: vec![],
        }
    }
}

/// The eighth number of the first line of `/proc/stat`, proc(5).
fn stolen(stat: &str) -> Duration {
    let ticks = stat.lines().next().and_then(|line| line.split_whitespace().nth(8)?.parse().ok());
    let ticks: u64 = ticks.unwrap_or(0);
    Duration::from_ms(ticks * (1_000 / USER_HZ))
}

/// For how long each processor was neither idle nor taken by the hypervisor: the lines `cpuN`, of whose
/// numbers the fourth and fifth are idle and the eighth stolen (proc(5)); guests' time is in the first.
fn busy(stat: &str) -> BTreeMap<u32, Duration> {
    let line = |line: &str| {
        let mut words = line.strip_prefix("cpu")?.split_whitespace();
        let processor = words.next()?.parse().ok()?;
        let ticks: Vec<u64> = words.take(7).map_while(|word| word.parse().ok()).collect();
        let all: u64 = ticks.iter().sum();
        let idle = ticks.get(3)? + ticks.get(4)?;
        Some((processor, Duration::from_ms((all - idle) * (1_000 / USER_HZ))))
    };
    stat.lines().filter(|line| !line.starts_with("cpu ")).filter_map(line).collect()
}

/// The 39th field of a thread's stat (proc(5)), the name in brackets being the second.
fn processor_of(path: &str) -> Option<u32> {
    let text = fs::read_to_string(path).ok()?;
    let (_, after_name) = text.rsplit_once(')')?;
    after_name.split_whitespace().nth(36)?.parse().ok()
}

/// `some ... total=N`, in microseconds (Documentation/accounting/psi.rst).
fn stalled(pressure: &str) -> Option<Duration> {
    let line = pressure.lines().find(|line| line.starts_with("some "))?;
    let total = line.split_whitespace().find_map(|word| word.strip_prefix("total="))?;
    Some(Duration::from_us(total.parse().ok()?))
}

/// Hexadecimal columns, a line a processor: received, dropped, time squeezed
/// (net/core/net-procfs.c).
fn softnet(stat: &str) -> Softnet {
    let column = |line: &str, at: usize| -> u64 {
        let word = line.split_whitespace().nth(at);
        word.and_then(|word| u64::from_str_radix(word, 16).ok()).unwrap_or(0)
    };
    let sum = |at: usize| stat.lines().map(|line| column(line, at)).sum();
    Softnet { dropped: sum(1), squeezed: sum(2) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock;

    /// As Linux 6.1 writes it.
    #[test]
    fn the_kernels_files_are_read_by_column() {
        let expected = Schedstat { ran_ns: 211_305, waited_ns: 67_993, slices: 2 };
        assert_eq!(Schedstat::parse("211305 67993 2\n"), Some(expected));
        assert_eq!(Schedstat::parse("211305\n"), None);
        let stat = "cpu  10 20 30 40 50 60 70 80 90 100\ncpu0 1 2 3 4 5 6 7 8 9 10\n";
        assert_eq!(stolen(stat), Duration::from_ms(800));
        assert_eq!(stolen(""), Duration::ZERO);
        let busy = busy(&format!("{stat}intr 5\n"));
        assert_eq!(busy, BTreeMap::from([(0, Duration::from_ms(190))]), "1 + 2 + 3 + 6 + 7 ticks");
        let pressure = "some avg10=0.01 avg60=0.45 avg300=1.70 total=17461841\n\
                        full avg10=0.00 avg60=0.00 avg300=0.00 total=0\n";
        assert_eq!(stalled(pressure), Some(Duration::from_us(17_461_841)));
        assert_eq!(stalled(""), None);
        let both = "00000012 0000000a 00000003 00000000\n00001a3e 00000001 00000010 00000000\n";
        assert_eq!(softnet(both), Softnet { dropped: 11, squeezed: 19 });
    }

    /// Two threads that spin on one processor each wait for about half of the time.
    #[test]
    fn a_thread_that_shares_its_processor_waits() {
        let core = kernel::thread::allowed_cores()[0];
        let own = OwnThreads::default();
        let until = clock::now() + Duration::from_ms(200);
        let spin = || {
            kernel::thread::pin_this(core).expect("pinned");
            own.watch("spinner", || while clock::now() < until {});
        };
        std::thread::scope(|scope| {
            scope.spawn(spin);
            scope.spawn(spin);
        });
        let threads = own.into_threads();
        assert_eq!(threads.len(), 2);
        for thread in threads {
            assert_eq!(thread.processor, Some(core as u32));
            assert!(thread.waited > Duration::from_ms(40), "{thread:?}");
            assert!(thread.ran + thread.waited <= Duration::from_ms(400), "{thread:?}");
        }
    }
    /// Beside a thread that never sleeps a thread of the least weight waits for tens of milliseconds. The kernel
    /// counts them once it runs again; a look counts them meanwhile.
    #[test]
    fn a_wait_counts_before_it_is_over() {
        let core = kernel::thread::allowed_cores()[0];
        let until = clock::now() + Duration::from_ms(300);
        let (to, from) = std::sync::mpsc::channel();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                kernel::thread::pin_this(core).expect("pinned");
                while clock::now() < until {}
            });
            scope.spawn(move || {
                kernel::thread::pin_this(core).expect("pinned");
                // SAFETY: the calling thread makes itself of less weight.
                assert_eq!(unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, 19) }, 0);
                // SAFETY: as above; it has a number.
                to.send(unsafe { libc::gettid() }).expect("somebody listens");
                while clock::now() < until {}
            });
            let id = from.recv().expect("a number") as u32;
            let mut looks = Looks::at(&[DeviceThread { id, name: "light".into() }], clock::now());
            looks.mind_waits();
            let mut was_waiting = false;
            while clock::now() < until && !was_waiting {
                clock::sleep(LOOK);
                looks.look(clock::now());
                was_waiting = looks.is_one_waiting();
            }
            assert!(was_waiting, "{looks:?}");
        });
    }
}
