//! A link at work: a thread for each direction.

use crate::counts::WayCounts;
use crate::frames::{self, BATCH_FRAMES};
use crate::in_flight::InFlight;
use kernel::PacketSocket;
use netblt_studies::paths::{Dice, Fate, Link, LinkModel};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use std::io;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Instant as Clock;
use testbed::{TestbedError, TwoHosts};
use units::{Duration, Instant};

/// What a frame has before its packet; links count from the IP header on.
const ETHERNET_HEADER_BYTES: usize = 14;
/// How long to wait when nothing is on its way: so soon a link stops.
const IDLE: Duration = Duration::from_ms(50);

/// A link cannot run.
#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    /// Its namespaces cannot be made.
    #[error(transparent)]
    Testbed(#[from] TestbedError),
    /// The two hosts are joined by a cable, on which nobody can forward.
    #[error("the two hosts are joined directly; build them apart")]
    NotApart,
    /// Its threads cannot be started.
    #[error("start the link's threads: {0}")]
    Threads(io::Error),
}

/// A link between two hosts, running until it is stopped or dropped.
#[derive(Debug)]
pub struct RealTimeLink {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
    states: Vec<Arc<Mutex<State>>>,
}

/// What a direction's thread tells.
#[derive(Debug, Default)]
struct State {
    counts: WayCounts,
    failure: Option<Errno>,
}

impl RealTimeLink {
    /// Forwards between two hosts that were built apart: `models` from the left host to the right
    /// one, and back. Chance comes from `seed`; what becomes of frame n of a direction does not
    /// depend on the other one.
    pub fn start(
        hosts: &TwoHosts,
        models: [LinkModel; 2],
        seed: u64,
    ) -> Result<RealTimeLink, LinkError> {
        let sockets = hosts.open_middle()?.ok_or(LinkError::NotApart)?;
        let sockets = Arc::new(sockets);
        let stop = Arc::<AtomicBool>::default();
        let mut link = RealTimeLink { stop, threads: Vec::new(), states: Vec::new() };
        for (from, model) in models.into_iter().enumerate() {
            let state = Arc::<Mutex<State>>::default();
            let mut way = Way {
                sockets: sockets.clone(),
                from,
                clock: Clock::now(),
                link: Link::new(model),
                dice: RealTimeLink::dice(seed, from),
                in_flight: InFlight::default(),
                counts: WayCounts::default(),
                stop: link.stop.clone(),
                state: state.clone(),
            };
            let named = thread::Builder::new().name(format!("link from {from}"));
            let thread = named.spawn(move || way.run()).map_err(LinkError::Threads)?;
            link.threads.push(thread);
            link.states.push(state);
        }
        Ok(link)
    }

    /// What decides by chance over the frames from a host, 0 or 1.
    pub fn dice(seed: u64, from: usize) -> Dice {
        Dice::new(seed.wrapping_add(from as u64))
    }

    /// Counts so far, from the left host to the right one and back.
    pub fn counts(&self) -> Vec<WayCounts> {
        self.states.iter().map(|state| lock(state).counts).collect()
    }

    /// Why a direction does not forward any more, if so: its interface is gone.
    pub fn failure(&self) -> Option<io::Error> {
        self.states.iter().find_map(|state| lock(state).failure).map(io::Error::from)
    }

    /// Stops; what is on its way is lost. Gives the counts.
    pub fn stop(mut self) -> Vec<WayCounts> {
        self.join();
        self.counts()
    }

    fn join(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

impl Drop for RealTimeLink {
    fn drop(&mut self) {
        self.join();
    }
}

fn lock(state: &Mutex<State>) -> std::sync::MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One direction.
struct Way {
    sockets: Arc<[PacketSocket; 2]>,
    from: usize,
    clock: Clock,
    link: Link,
    dice: Dice,
    in_flight: InFlight,
    counts: WayCounts,
    stop: Arc<AtomicBool>,
    state: Arc<Mutex<State>>,
}

impl Way {
    fn run(&mut self) {
        // Frames are to leave when they are due, not when the kernel finds it convenient.
        kernel::thread::tighten_timer_slack();
        let mut batch: Vec<Vec<u8>> = Vec::new();
        batch.resize_with(BATCH_FRAMES, Vec::new);
        while !self.stop.load(Ordering::SeqCst) {
            if let Err(errno) = self.turn(&mut batch) {
                lock(&self.state).failure = Some(errno);
                return;
            }
            lock(&self.state).counts = self.counts;
        }
    }

    fn turn(&mut self, batch: &mut [Vec<u8>]) -> Result<(), Errno> {
        let received = self.take_in(batch)?;
        self.deliver()?;
        // More may wait: look again before sleeping.
        if received == batch.len() {
            return Ok(());
        }
        let missed = self.sockets[self.from].dropped().unwrap_or(0);
        self.counts.missed_frames += missed;
        let now = self.now();
        let wait = self.in_flight.next().map_or(IDLE, |next| next.since(now).min(IDLE));
        if wait > Duration::ZERO { self.wait(wait) } else { Ok(()) }
    }

    fn now(&self) -> Instant {
        Instant::ZERO + Duration::from_ns(self.clock.elapsed().as_nanos() as u64)
    }

    /// Frames that wait come to the queue.
    fn take_in(&mut self, batch: &mut [Vec<u8>]) -> Result<usize, Errno> {
        let received = frames::receive(&self.sockets[self.from], batch)?;
        let now = self.now();
        for place in &mut batch[..received] {
            self.counts.arrived_frames += 1;
            let bytes = place.len().saturating_sub(ETHERNET_HEADER_BYTES);
            match self.link.carry(now, bytes, &mut self.dice) {
                Fate::Dropped => self.counts.dropped_frames += 1,
                Fate::Carried { at: None, .. } => self.counts.lost_frames += 1,
                fate @ Fate::Carried { at: Some(at), late, marked, marked_l4s, .. } => {
                    // Headers are read only where the answer matters.
                    let marks = (marked || marked_l4s)
                        && fate.marks(frames::codepoint(place))
                        && frames::mark(place);
                    self.counts.marked_frames += u64::from(marks);
                    self.counts.overtaken_frames += u64::from(late);
                    let memory = self.in_flight.memory();
                    self.in_flight.push(at, std::mem::replace(place, memory), late);
                }
            }
        }
        Ok(received)
    }

    /// Frames that are due reach the other host.
    fn deliver(&mut self) -> Result<(), Errno> {
        loop {
            let now = self.now();
            let mut due = Vec::new();
            while due.len() < BATCH_FRAMES
                && let Some((at, frame)) = self.in_flight.pop(now)
            {
                self.counts.delivered(now.since(at));
                due.push(frame);
            }
            let refused = frames::send(&self.sockets[1 - self.from], &due)? as u64;
            self.counts.delivered_frames -= refused;
            self.counts.refused_frames += refused;
            let all = due.len() < BATCH_FRAMES;
            due.into_iter().for_each(|memory| self.in_flight.recycle(memory));
            if all {
                return Ok(());
            }
        }
    }

    /// For a frame, at most so long.
    fn wait(&self, at_most: Duration) -> Result<(), Errno> {
        let mut fds = [PollFd::new(self.sockets[self.from].as_fd(), PollFlags::POLLIN)];
        let timeout = TimeSpec::from_duration(std::time::Duration::from_nanos(at_most.as_ns()));
        match ppoll(&mut fds, Some(timeout), None) {
            Ok(_) | Err(Errno::EINTR) => Ok(()),
            Err(errno) => Err(errno),
        }
    }
}
