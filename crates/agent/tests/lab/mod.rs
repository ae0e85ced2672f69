//! A router between two interfaces, an agent for each of them, and a path to the agents that delays what passes.

use agent::host_time::{self, HostTime};
use agent::{Agent, Certificates, Session, Validity, borrow, make_certificates};
use ports::{LiveOptions, LiveTester, PortRequest, PortType, open_port};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use testbed::{DeviceKind, Testbed, TestbedConfig};
use trial::{PortId, Schedule, Stream, StreamId, TesterError, Trial, Waits};
use units::{FrameRate, FrameSize, LineRate};
use wire::ethernet::MacAddr;
use wire::signature::Key;

const LISTEN: &str = "NETANVIL_TEST_AGENT_LISTEN";
const PORT: &str = "NETANVIL_TEST_AGENT_PORT";
const FOLDER: &str = "NETANVIL_TEST_AGENT_FOLDER";
const CLAIM: &str = "NETANVIL_TEST_AGENT_CLAIM";

/// What a host says of its time of day, whoever keeps this one's.
#[derive(Clone, Copy)]
pub struct Claim {
    /// The error that it claims at most, in microseconds.
    pub error_us: u64,
    /// What its time of day is really wrong by, in nanoseconds.
    pub wrong_ns: i64,
}

impl Claim {
    /// The time of day of such a host.
    pub fn time(self) -> HostTime {
        let Claim { error_us, wrong_ns } = self;
        let claim = move || {
            let asked_ns = ports::clock::own_ns();
            Some(host_time::Claim { error_ns: error_us * 1_000, growth_ppb: 15_000, asked_ns })
        };
        HostTime::pretended(Box::new(claim), wrong_ns)
    }

    /// Of an agent that was started with one.
    fn of_environment() -> Option<Self> {
        let text = std::env::var(CLAIM).ok()?;
        let (error, wrong) = text.split_once(' ').expect("two numbers");
        let error_us = error.parse().expect("a number");
        Some(Claim { error_us, wrong_ns: wrong.parse().expect("a number") })
    }
}

/// Runs an agent, in a process that was started as one.
pub fn serve_if_asked() {
    let read = |name| std::env::var(name).ok();
    let (Some(listen), Some(port), Some(folder)) = (read(LISTEN), read(PORT), read(FOLDER)) else {
        return;
    };
    let certificates = Certificates::of_agent(folder.as_ref()).expect("certificates");
    let listen = listen.parse().expect("an address");
    let agent = Agent::listen(listen, certificates, "test".into(), vec![port]).expect("an agent");
    let agent = match Claim::of_environment() {
        Some(claim) => agent.with_time(claim.time()),
        None => agent,
    };
    println!("\nlistens on {}", agent.address().expect("an address"));
    agent.run(std::mem::forget).expect("served");
}

/// Router, interfaces and certificates.
pub struct Lab {
    /// The router.
    pub testbed: Testbed,
    /// Certificates.
    pub folder: tempfile::TempDir,
    _turn: std::fs::File,
}

impl Lab {
    /// Waits until no other live test runs.
    pub fn new() -> Self {
        let turn = turn();
        let config = TestbedConfig::of(DeviceKind::LinuxRouter);
        let testbed = Testbed::build(&config).expect("a test bed; these tests run as root");
        let up = || Command::new("ip").args(["link", "set", "lo", "up"]).status().expect("ip");
        assert!(testbed.tester().run(up).expect("the namespace").success());
        let folder = tempfile::tempdir().expect("a folder");
        make_certificates(folder.path(), Validity::of_days(2)).expect("certificates");
        Lab { testbed, folder, _turn: turn }
    }

    /// Of a port.
    pub fn interface(&self, port: usize) -> String {
        self.testbed.ports()[port].interface.clone()
    }

    /// An agent that lends one port, whose clock is so many hours ahead.
    pub fn agent(&self, port: usize, hours_ahead: u64) -> AgentProcess {
        self.agent_of(self.folder.path(), port, hours_ahead)
    }

    /// The same with certificates of another folder.
    pub fn agent_of(&self, folder: &Path, port: usize, hours_ahead: u64) -> AgentProcess {
        self.start_agent(folder, port, hours_ahead, None)
    }

    /// An agent that says so much of its time of day.
    pub fn agent_claiming(&self, port: usize, hours_ahead: u64, claim: Claim) -> AgentProcess {
        self.start_agent(self.folder.path(), port, hours_ahead, Some(claim))
    }

    fn start_agent(
        &self,
        folder: &Path,
        port: usize,
        hours_ahead: u64,
        claim: Option<Claim>,
    ) -> AgentProcess {
        let claim = claim.map(|claim| format!("{} {}", claim.error_us, claim.wrong_ns));
        let start = || {
            Command::new("unshare")
                .envs(claim.iter().map(|claim| (CLAIM, claim)))
                .args(["--time", "--fork", "--kill-child=KILL", "--monotonic"])
                .arg((hours_ahead * 3_600).to_string())
                .arg(std::env::current_exe().expect("this program"))
                .args(["--exact", "as_agent", "--nocapture"])
                .env(LISTEN, "127.0.0.1:0")
                .env(PORT, self.interface(port))
                .env(FOLDER, folder)
                .stdout(Stdio::piped())
                .spawn()
                .expect("unshare")
        };
        let mut process = self.testbed.tester().run(start).expect("the namespace");
        let lines = BufReader::new(process.stdout.take().expect("its output"));
        let address = lines.lines().find_map(|line| {
            line.expect("a line").strip_prefix("listens on ").map(|at| at.parse().expect("address"))
        });
        AgentProcess { process, address: address.expect("it listens"), hours_ahead }
    }

    /// A session with whoever listens there, begun in the tester's namespace.
    pub fn session(&self, at: SocketAddr) -> Result<Arc<Session>, TesterError> {
        self.session_of(self.folder.path(), at)
    }

    /// The same with certificates of another folder.
    pub fn session_of(&self, folder: &Path, at: SocketAddr) -> Result<Arc<Session>, TesterError> {
        let certificates = Certificates::of_controller(folder).expect("certificates");
        let begin = || Session::begin(&at.to_string(), &certificates);
        self.testbed.tester().run(begin).expect("the namespace")
    }

    /// A session of a tester whose host says so much of its time of day.
    pub fn session_claiming(&self, at: SocketAddr, claim: Claim) -> Arc<Session> {
        let certificates = Certificates::of_controller(self.folder.path()).expect("certificates");
        let begin = || Session::begin_with(&at.to_string(), &certificates, claim.time());
        self.testbed.tester().run(begin).expect("the namespace").expect("a session")
    }

    /// What opens a port.
    pub fn request(&self, port: usize, port_type: PortType) -> PortRequest {
        PortRequest {
            id: PortId(port as u16),
            interface: self.interface(port),
            nominal_rate: LineRate::from_gbps(10),
            largest_frame: FrameSize::from_bytes(1518),
            port_type,
            queues: 1,
        }
    }

    /// A tester on both ports, each of an agent.
    pub fn tester(&self, sessions: &[Arc<Session>; 2], port_type: PortType) -> LiveTester {
        let borrowed = |port: usize| borrow(&sessions[port], &self.request(port, port_type));
        let ports = [0, 1].map(|port| borrowed(port).expect("a port"));
        LiveTester::new(ports.into(), LiveOptions::default()).expect("a tester")
    }

    /// Whether the interface is free, waiting for that.
    pub fn is_free_within(&self, port: usize, within: Duration) -> bool {
        let request = self.request(port, PortType::AF_PACKET);
        let until = Instant::now() + within;
        loop {
            let opened = self.testbed.tester().run(|| open_port(&request).map(drop));
            match opened.expect("the namespace") {
                Ok(()) => return true,
                Err(_) if Instant::now() < until => std::thread::sleep(Duration::from_millis(50)),
                Err(error) => {
                    eprintln!("{error}");
                    return false;
                }
            }
        }
    }

    /// Frames of 128 bytes from each port to the other.
    pub fn trial(&self, number: u64, rate: u64, length: units::Duration) -> Trial {
        self.sending(&[(0, 1), (1, 0)], number, rate, length)
    }

    /// From the first to the second: transmitters of two agents would have one processor of this host.
    pub fn one_way(&self, number: u64, rate: u64, length: units::Duration) -> Trial {
        self.sending(&[(0, 1)], number, rate, length)
    }

    fn sending(
        &self,
        ways: &[(usize, usize)],
        number: u64,
        rate: u64,
        length: units::Duration,
    ) -> Trial {
        let key = Key::new(wire::signature::RunKey::from_seed(7), number);
        let mut trial = Trial::new("between agents", key);
        for (id, (from, to)) in ways.iter().copied().enumerate() {
            let host = |port: usize| self.testbed.ports()[port].addresses.ipv4.host;
            let source = (MacAddr(self.testbed.ports()[from].mac), host(from));
            let hop = (MacAddr(self.testbed.next_hop_mac(from, to)), host(to));
            let frames = traffic::template::FrameTemplate::udp_ipv4(source, hop);
            let ends = (PortId(from as u16), PortId(to as u16));
            let size = FrameSize::from_bytes(128);
            let stream = Stream::new(StreamId(id as u16 + 1), ends, &frames, size, key);
            let schedule = Schedule::constant(FrameRate::from_fps(rate), length);
            trial = trial.sending(stream.expect("a stream"), schedule);
        }
        let waits = Waits { settle: units::Duration::ZERO, ..trial.waits };
        Trial { waits, ..trial }
    }
}

/// One test of real devices at a time on this machine, whichever crate's.
fn turn() -> std::fs::File {
    let path = std::env::temp_dir().join("netanvil-live-tests.lock");
    let file = std::fs::File::options().create(true).append(true).open(path).expect("a lock file");
    rustix::fs::flock(&file, rustix::fs::FlockOperation::LockExclusive).expect("lock");
    assert!(file.as_raw_fd() >= 0);
    file
}

/// An agent that runs.
pub struct AgentProcess {
    process: Child,
    /// Where to connect to.
    pub address: SocketAddr,
    /// By so much its clock is ahead.
    pub hours_ahead: u64,
}

impl AgentProcess {
    /// At once, as if its host lost its power.
    pub fn kill(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Drop for AgentProcess {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A path to an agent: each piece of data is delayed, each way by its own time and more, and may be cut.
pub struct SlowPath {
    /// Where to connect to.
    pub address: SocketAddr,
    is_cut: Arc<AtomicBool>,
}

impl SlowPath {
    /// To the agent and back so long, and up to `jitter` longer.
    pub fn to(
        lab: &Lab,
        agent: SocketAddr,
        (there, back): (Duration, Duration),
        jitter: Duration,
    ) -> Self {
        let is_cut = Arc::new(AtomicBool::new(false));
        let (of_thread, (bound, at)) = (is_cut.clone(), channel());
        let accept = move || {
            let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
            bound.send(listener.local_addr().expect("an address")).expect("heard");
            // For as long as the test runs.
            while let Ok((near, _)) = listener.accept() {
                let Ok(far) = TcpStream::connect(agent) else { continue };
                let both = |stream: &TcpStream| stream.try_clone().expect("a stream");
                delay(both(&near), both(&far), there, jitter, of_thread.clone());
                delay(far, near, back, jitter, of_thread.clone());
            }
        };
        let start = || std::thread::spawn(accept);
        lab.testbed.tester().run(start).expect("the namespace");
        SlowPath { address: at.recv().expect("bound"), is_cut }
    }

    /// From now on nothing passes, and nobody is told.
    pub fn cut(&self) {
        self.is_cut.store(true, Ordering::Relaxed);
    }
}

fn delay(
    mut from: TcpStream,
    to: TcpStream,
    delay: Duration,
    jitter: Duration,
    is_cut: Arc<AtomicBool>,
) {
    let (sender, receiver) = channel::<(Instant, Vec<u8>)>();
    from.set_nodelay(true).expect("an option");
    to.set_nodelay(true).expect("an option");
    let to = Arc::new(Mutex::new(to));
    std::thread::spawn(move || {
        let mut buffer = vec![0; 65_536];
        let mut seed: u32 = 12_345;
        while let Ok(count @ 1..) = from.read(&mut buffer) {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let more = jitter.mul_f64(f64::from(seed >> 8) / f64::from(1 << 24));
            if sender.send((Instant::now() + delay + more, buffer[..count].to_vec())).is_err() {
                return;
            }
        }
    });
    std::thread::spawn(move || {
        let mut to = to.lock().expect("no panic");
        for (due, bytes) in receiver {
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
            if is_cut.load(Ordering::Relaxed) {
                // It stays open, and silent.
                std::thread::sleep(Duration::from_secs(60));
                return;
            }
            if to.write_all(&bytes).is_err() {
                return;
            }
        }
        let _ = to.shutdown(std::net::Shutdown::Both);
    });
}
