//! What the live tests share: a veth pair of their own, streams, and a run over two ports.
#![allow(dead_code, clippy::disallowed_methods)]

use crate::bed::turn;
use ports::{Port, Transmission, TrialSignals, clock};
use std::process::Command;
use trial::*;
use units::{Duration, FrameRate, Instant, LineRate};
use wire::signature::{Form, Key};

/// Runs `test` in a network namespace of its own, with a veth pair `va` - `vb` in it, when it is
/// its turn. The namespace goes with the thread, whatever happens.
pub fn with_veth_pair(test: impl FnOnce() + Send + 'static) {
    let _turn = turn::wait();
    elsewhere(test);
}

/// The same within such a test: once more, in another namespace.
pub fn elsewhere(test: impl FnOnce() + Send + 'static) {
    let thread = std::thread::spawn(|| {
        // SAFETY: no pointers; only this thread changes its namespace.
        #[allow(unsafe_code)]
        let unshared = unsafe { libc::unshare(libc::CLONE_NEWNET) };
        assert_eq!(unshared, 0, "live tests need root: {}", std::io::Error::last_os_error());
        ip(
            "link add name va address 02:00:00:00:00:0a type veth peer name vb address 02:00:00:00:00:0b",
        );
        for port in ["va", "vb"] {
            std::fs::write(format!("/proc/sys/net/ipv6/conf/{port}/disable_ipv6"), "1").ok();
            ip(&format!("link set {port} up"));
        }
        test();
    });
    if let Err(panic) = thread.join() {
        std::panic::resume_unwind(panic);
    }
}

/// Runs `ip` with these arguments.
pub fn ip(arguments: &str) {
    let status = Command::new("ip").args(arguments.split(' ')).status().expect("iproute2");
    assert!(status.success(), "ip {arguments}");
}

/// Runs `nft` with these commands.
pub fn nft(commands: &str) {
    let status = Command::new("nft").arg(commands).status().expect("nftables");
    assert!(status.success(), "nft {commands}");
}

/// Makes an interface poll, as a device of the test bed does.
pub fn gro_on(interface: &str) {
    let status = Command::new("ethtool").args(["-K", interface, "gro", "on"]).status();
    assert!(status.expect("ethtool").success());
}

/// Gives an interface so many queues either way.
pub fn channels(interface: &str, queues: u32) {
    let queues = queues.to_string();
    let status =
        Command::new("ethtool").args(["-L", interface, "rx", &queues, "tx", &queues]).status();
    assert!(status.expect("ethtool").success());
}

/// Number of an interface in this thread's namespace.
pub fn ifindex(name: &str) -> u32 {
    let name = std::ffi::CString::new(name).unwrap();
    // SAFETY: a terminated string that lives across the call.
    #[allow(unsafe_code)]
    unsafe {
        libc::if_nametoindex(name.as_ptr())
    }
}

pub fn describe(id: u16, name: &str) -> PortDescription {
    PortDescription {
        id: PortId(id),
        name: name.into(),
        port_type: "xdp".into(),
        reason: "asked for".into(),
        capabilities: Default::default(),
        line_rate: LineRate::from_gbps(10),
        line_rate_is_physical: false,
        max_frame_size_bytes: 1518,
        mac: String::new(),
        driver: "veth".into(),
    }
}

/// A UDP frame of `len` bytes without FCS, with its checksums good, and room for `form`.
pub fn frame(len: usize, port: u16, form: Option<Form>) -> StreamFrame {
    let mut bytes = vec![0x5a; len];
    bytes[..14].copy_from_slice(&[2, 0, 0, 0, 0, 0xb, 2, 0, 0, 0, 0, 0xa, 8, 0]);
    let total = (len - 14) as u16;
    bytes[14..34]
        .copy_from_slice(&[0x45, 0, 0, 0, 0, 0, 0, 0, 64, 17, 0, 0, 198, 18, 0, 1, 198, 19, 0, 1]);
    bytes[16..18].copy_from_slice(&total.to_be_bytes());
    let sum = !ones_sum(&bytes[14..34], 0);
    bytes[24..26].copy_from_slice(&sum.to_be_bytes());
    bytes[34..36].copy_from_slice(&port.to_be_bytes());
    bytes[36..38].copy_from_slice(&7u16.to_be_bytes());
    bytes[38..40].copy_from_slice(&(total - 20).to_be_bytes());
    bytes[40..42].fill(0);
    if let Some(form) = form {
        let stamp = wire::signature::Stamp { stream: 0, sequence: 0, transmit_ticks: 0 };
        wire::signature::write(form, KEY, stamp, &mut bytes);
    }
    let pseudo = u32::from(ones_sum(&bytes[26..34], 0)) + 17 + u32::from(total - 20);
    let sum = !ones_sum(&bytes[34..], pseudo);
    bytes[40..42].copy_from_slice(&sum.to_be_bytes());
    StreamFrame { bytes, form }
}

/// RFC 1071, word by word.
fn ones_sum(bytes: &[u8], initial: u32) -> u16 {
    let words = bytes.chunks(2).map(|w| u32::from(w[0]) << 8 | u32::from(*w.get(1).unwrap_or(&0)));
    let mut sum = initial + words.sum::<u32>();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

/// Of a trial that has four before it.
pub const KEY: Key = Key::from_seed(0x2bad).later(4);

pub fn stream(id: u16, from: u16, to: u16, frames: Vec<StreamFrame>) -> Stream {
    Stream {
        id: StreamId(id),
        name: format!("stream {id}"),
        role: Role::Test,
        from: PortId(from),
        expect: Expectation::Ports(vec![PortId(to)]),
        frames,
        fingerprint: None,
        given_up: vec![],
        bad_fcs: false,
        grows_by_bytes: 0,
    }
}

pub fn load(port: u16, schedule: Schedule, order: &[u16]) -> PortLoad {
    PortLoad {
        port: PortId(port),
        schedule,
        order: order.iter().map(|id| StreamId(*id)).collect(),
        insertions: vec![],
    }
}

pub fn trial(streams: Vec<Stream>, loads: Vec<PortLoad>) -> Trial {
    Trial {
        label: "live test".into(),
        key: KEY,
        streams,
        loads,
        prelude: vec![],
        waits: Waits::fixed(Duration::from_ms(100), Duration::ZERO),
        tagging: None,
        count_flows: false,
        verify_payload: false,
        action: None,
        captures: vec![],
        limits: ValidityLimits::default(),
    }
}

/// Streams of several lengths and of these forms, unequal turns, both kinds of insertion (those of the last two
/// forms), and a schedule with a constant load, bursts, and an odd rate.
pub fn manifold([lengths_form, pair_form, third_form, fourth_form]: [Option<Form>; 4]) -> Trial {
    let lengths = [60, 128, 590].into_iter().enumerate();
    let periodic = lengths.map(|(at, len)| frame(len, 1_000 + at as u16, lengths_form));
    let streams = vec![
        stream(3, 0, 1, periodic.collect()),
        stream(9, 0, 1, vec![frame(60, 2_000, pair_form); 2]),
        stream(700, 0, 1, vec![frame(62, 3_000, third_form)]),
        stream(5, 0, 1, vec![frame(90, 4_000, fourth_form), frame(91, 4_001, fourth_form)]),
    ];
    let segments = vec![
        Segment::constant(FrameRate::from_fps(200_000), 2_000),
        Segment::bursty(FrameRate::from_fps(1_000_000), 16, Duration::from_ms(1), 640),
        Segment::constant(FrameRate::new(2_333_334, 7), 1_000),
    ];
    let insert = |stream, trigger| Insertion { stream: StreamId(stream), trigger };
    let load = PortLoad {
        insertions: vec![
            insert(700, Trigger::Frames { first: 5, every: 7 }),
            insert(
                5,
                Trigger::Interval {
                    first: Duration::from_ms(1),
                    every: Duration::from_ps(2_500_000_333),
                },
            ),
        ],
        ..load(0, Schedule { segments }, &[3, 3, 9])
    };
    trial(streams, vec![load])
}

pub fn constant(fps: u64, ms: u64) -> Schedule {
    Schedule::constant(FrameRate::from_fps(fps), Duration::from_ms(ms))
}

/// What came of a run: by transmitting port, and by port.
pub struct Outcome {
    pub sent: Vec<Result<Transmission, TesterError>>,
    pub received: Vec<PortReceived>,
    pub start: Instant,
    /// When the last transmitter had returned.
    pub transmitted_at: Instant,
}

impl Outcome {
    pub fn report(&self, index: usize) -> &TransmitReport {
        &self.sent[index].as_ref().expect("sent").report
    }
    pub fn sent_of(&self, id: StreamId) -> u64 {
        let reports = self.sent.iter().flatten().flat_map(|sent| &sent.report.sent_of_stream);
        reports.filter(|(stream, _)| *stream == id).map(|(_, sent)| sent).sum()
    }
}

/// So that a test's pace does not depend on what else the machine does.
fn make_real_time() {
    let parameters = libc::sched_param { sched_priority: 1 };
    // SAFETY: `parameters` lives across the call; 0 means the calling thread.
    #[allow(unsafe_code)]
    let result = unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &parameters) };
    assert_eq!(result, 0, "{}", std::io::Error::last_os_error());
}

/// Runs a trial over these ports; `during` may do something meanwhile.
pub fn run_with(
    trial: &Trial,
    ports: &mut [Box<dyn Port>],
    during: impl FnOnce(&TrialSignals, Instant),
) -> Outcome {
    let plans = trial.transmit_plans().unwrap();
    let plan_of = |index: usize| plans.iter().find(|plan| usize::from(plan.port.0) == index);
    let mut receive_plans: Vec<_> =
        (0..ports.len()).map(|port| trial.receive_plan(PortId(port as u16))).collect();
    for (index, port) in ports.iter_mut().enumerate() {
        let queues = port.halves().queues();
        let streams = receive_plans.iter_mut().flat_map(|plan| &mut plan.streams);
        for stream in streams {
            let by_queues = plan_of(index).and_then(|plan| plan.by_queues(stream.id, queues));
            stream.by_queues = stream.by_queues.or(by_queues);
        }
    }
    let receivers = |(index, port): (usize, &mut Box<dyn Port>)| {
        vec![PortId(index as u16); port.halves().receivers()]
    };
    let signals = TrialSignals::new(ports.iter_mut().enumerate().flat_map(receivers));
    let halves = ports.iter_mut().enumerate();
    let mut halves: Vec<_> =
        halves.map(|(index, port)| port.halves().used(plan_of(index))).collect();
    for (index, (queues, receivers)) in halves.iter_mut().enumerate() {
        receivers.iter_mut().for_each(|half| half.prepare(&receive_plans[index]).unwrap());
        queues.iter_mut().for_each(|(queue, plan)| queue.prepare(plan).unwrap());
    }
    let signals = &signals;
    std::thread::scope(|scope| {
        let mut receivers = vec![];
        let mut transmitters = vec![];
        let start = clock::now() + Duration::from_ms(20);
        signals.announce(start);
        for (index, (queues, halves)) in halves.into_iter().enumerate() {
            let plan = &receive_plans[index];
            for half in halves {
                receivers.push(scope.spawn(move || half.receive(plan, signals).unwrap()));
            }
            let several = queues.len() > 1;
            for (number, (queue, plan)) in queues.into_iter().enumerate() {
                let stop_at = start + trial.duration() + Duration::from_secs(2);
                transmitters.push(scope.spawn(move || {
                    // Real-time threads on all cores would keep the test from its own.
                    match several {
                        true => kernel::thread::pin_this(number % 2).unwrap(),
                        false => make_real_time(),
                    }
                    queue.transmit(plan, start, stop_at, signals)
                }));
            }
        }
        during(signals, start);
        let sent: Vec<_> = transmitters.into_iter().map(|t| t.join().unwrap()).collect();
        let (done, failed): (Vec<_>, Vec<_>) = sent.into_iter().partition(Result::is_ok);
        let done = Transmission::of_ports(done.into_iter().flatten().collect());
        let sent: Vec<_> = done.into_iter().map(Ok).chain(failed).collect();
        let transmitted_at = clock::now();
        let mut sent_of = std::collections::BTreeMap::new();
        for (id, frames) in sent.iter().flatten().flat_map(|sent| &sent.report.sent_of_stream) {
            *sent_of.entry(*id).or_insert(0) += frames;
        }
        signals.set_deadline(clock::now() + trial.waits.drain);
        clock::sleep(trial.waits.drain);
        signals.close(sent_of);
        // Of the queues of a port the last one has what all received.
        let mut received: Vec<PortReceived> = vec![];
        for account in receivers.into_iter().map(|r| r.join().unwrap()) {
            match received.last_mut().filter(|last| last.port == account.port) {
                Some(_) if account == PortReceived::nothing(account.port) => {}
                Some(last) => *last = account,
                None => received.push(account),
            }
        }
        Outcome { sent, received, start, transmitted_at }
    })
}

pub fn run(trial: &Trial, ports: &mut [Box<dyn Port>]) -> Outcome {
    run_with(trial, ports, |_, _| ())
}

/// Makes the UDP checksum of an IPv4 frame from [`frame`] good again.
pub fn mend_udp_checksum(bytes: &mut [u8]) {
    let length = u16::from_be_bytes([bytes[38], bytes[39]]);
    bytes[40..42].fill(0);
    let pseudo = u32::from(ones_sum(&bytes[26..34], 0)) + 17 + u32::from(length);
    let sum = !ones_sum(&bytes[34..34 + usize::from(length)], pseudo);
    bytes[40..42].copy_from_slice(&sum.to_be_bytes());
}

/// A packet socket to send single frames by.
pub struct RawSocket(std::os::fd::OwnedFd);

impl RawSocket {
    pub fn open(interface: &str) -> Self {
        use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
        let index = ifindex(interface) as i32;
        // SAFETY: the descriptor is new and ours; the address is plain data and outlives the call.
        #[allow(unsafe_code)]
        unsafe {
            let fd = libc::socket(libc::AF_PACKET, libc::SOCK_RAW, 0);
            assert!(fd >= 0, "{}", std::io::Error::last_os_error());
            let socket = OwnedFd::from_raw_fd(fd);
            let mut address: libc::sockaddr_ll = std::mem::zeroed();
            address.sll_family = libc::AF_PACKET as u16;
            address.sll_ifindex = index;
            let size = size_of::<libc::sockaddr_ll>() as u32;
            let bound = libc::bind(socket.as_raw_fd(), (&raw const address).cast(), size);
            assert_eq!(bound, 0, "{}", std::io::Error::last_os_error());
            RawSocket(socket)
        }
    }

    pub fn send(&self, frame: &[u8]) {
        use std::os::fd::AsRawFd;
        // SAFETY: `frame` is readable for its length.
        #[allow(unsafe_code)]
        let sent = unsafe { libc::send(self.0.as_raw_fd(), frame.as_ptr().cast(), frame.len(), 0) };
        assert_eq!(sent, frame.len() as isize, "{}", std::io::Error::last_os_error());
    }
}
