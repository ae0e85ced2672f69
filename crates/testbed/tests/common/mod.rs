//! What the live tests share: the check for root, raw frames, and waiting.

#![allow(dead_code, reason = "each test file uses its part")]
#![allow(unsafe_code, reason = "AF_PACKET sockets")]
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "live tests wait for a real kernel"
)]

use kernel::Privilege;
use std::io;
use std::mem;
use std::net::Ipv4Addr;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::time::{Duration, Instant};
use testbed::{TestPort, Testbed};

/// Whether the live tests can run. Where they cannot, says so past the test harness's capture.
pub fn can_build(test: &str) -> bool {
    if Privilege::current() == Privilege::Root {
        return true;
    }
    use std::io::Write;
    let _ = writeln!(
        io::stderr().lock(),
        "SKIPPED {test}: NOT ROOT. This test builds network namespaces; run it with `sudo -E cargo test`."
    );
    assert!(std::env::var_os("CI").is_none(), "{test} must run as root in CI, and does not");
    false
}

/// A raw socket on one tester port.
pub struct RawPort(OwnedFd);

impl RawPort {
    pub fn open(testbed: &Testbed, port: usize) -> Self {
        let index = testbed.ports()[port].interface_index;
        testbed.tester().run(|| Self::bind(index)).expect("enter").expect("open a packet socket")
    }

    fn bind(interface_index: u32) -> io::Result<Self> {
        let protocol = (libc::ETH_P_ALL as u16).to_be();
        // SAFETY: plain system call; the descriptor is owned at once.
        let fd = unsafe { libc::socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_NONBLOCK, 0) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: `fd` is a new descriptor nobody else has.
        let socket = unsafe { OwnedFd::from_raw_fd(fd) };
        // SAFETY: sockaddr_ll is plain data for which all zeroes is a value.
        let mut address: libc::sockaddr_ll = unsafe { mem::zeroed() };
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = protocol;
        address.sll_ifindex = interface_index as i32;
        let length = mem::size_of_val(&address) as u32;
        // SAFETY: `address` is a live sockaddr_ll of the length given.
        let bound = unsafe { libc::bind(fd, (&raw const address).cast(), length) };
        if bound < 0 { Err(io::Error::last_os_error()) } else { Ok(RawPort(socket)) }
    }

    /// Lets the socket hold so many bytes of frames that it never waits for the device to take them.
    pub fn send_without_back_pressure(&self) {
        let bytes: libc::c_int = 1 << 30;
        let (fd, length) = (self.0.as_raw_fd(), mem::size_of_val(&bytes) as u32);
        let value = (&raw const bytes).cast();
        // SAFETY: `value` points to a live int of the length given.
        let set =
            unsafe { libc::setsockopt(fd, libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, value, length) };
        assert_eq!(set, 0, "SO_SNDBUFFORCE: {}", io::Error::last_os_error());
    }

    pub fn send(&self, frame: &[u8]) -> io::Result<()> {
        // SAFETY: the buffer is live for the length given.
        let sent = unsafe { libc::send(self.0.as_raw_fd(), frame.as_ptr().cast(), frame.len(), 0) };
        if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    /// The next incoming frame that the filter likes, within `wait`.
    pub fn receive(&self, wait: Duration, like: impl Fn(&[u8]) -> bool) -> Option<Vec<u8>> {
        let end = Instant::now() + wait;
        let mut buffer = vec![0u8; 65_536];
        while Instant::now() < end {
            // SAFETY: the buffer is live and writable for the length given.
            let got = unsafe {
                libc::recv(self.0.as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len(), 0)
            };
            match usize::try_from(got) {
                Ok(length) if like(&buffer[..length]) => return Some(buffer[..length].to_vec()),
                Ok(_) => {}
                Err(_) => std::thread::sleep(Duration::from_micros(200)),
            }
        }
        None
    }
}

/// A UDP/IPv4 frame from port to port (without FCS), `payload_bytes` long after the UDP header.
pub fn udp4(testbed: &Testbed, from: usize, to: usize, payload_bytes: usize) -> Vec<u8> {
    let host = testbed.ports()[to].addresses.ipv4.host;
    udp4_to(testbed, from, to, host, payload_bytes)
}

/// As [`udp4`], to a host behind the far port.
pub fn udp4_to(
    testbed: &Testbed,
    from: usize,
    to: usize,
    host: Ipv4Addr,
    payload_bytes: usize,
) -> Vec<u8> {
    let (source, target) = (&testbed.ports()[from], &testbed.ports()[to]);
    let mut frame = ethernet(testbed, source, target, 0x0800);
    let length = (28 + payload_bytes) as u16;
    let mut header = vec![0x45, 0, (length >> 8) as u8, length as u8, 0, 0, 0, 0, 10, 17, 0, 0];
    header.extend(source.addresses.ipv4.host.octets());
    header.extend(host.octets());
    let sum: u32 = header.chunks(2).map(|w| u32::from(w[0]) << 8 | u32::from(w[1])).sum();
    let checksum = !((sum & 0xffff) + (sum >> 16)) as u16;
    header[10..12].copy_from_slice(&checksum.to_be_bytes());
    frame.extend(header);
    frame.extend(udp(payload_bytes));
    frame
}

/// A UDP/IPv6 frame from port to port; its UDP checksum is not computed: routers do not look.
pub fn udp6(testbed: &Testbed, from: usize, to: usize, payload_bytes: usize) -> Vec<u8> {
    let (source, target) = (&testbed.ports()[from], &testbed.ports()[to]);
    let mut frame = ethernet(testbed, source, target, 0x86dd);
    let length = (8 + payload_bytes) as u16;
    frame.extend([0x60, 0, 0, 0, (length >> 8) as u8, length as u8, 17, 10]);
    frame.extend(source.addresses.ipv6.host.octets());
    frame.extend(target.addresses.ipv6.host.octets());
    frame.extend(udp(payload_bytes));
    frame
}

fn ethernet(testbed: &Testbed, source: &TestPort, target: &TestPort, ether_type: u16) -> Vec<u8> {
    let mut frame = testbed.next_hop_mac(source.port, target.port).to_vec();
    frame.extend(source.mac);
    frame.extend(ether_type.to_be_bytes());
    frame
}

fn udp(payload_bytes: usize) -> Vec<u8> {
    let length = (8 + payload_bytes) as u16;
    let mut datagram = vec![0xc0, 0x20, 0, 7, (length >> 8) as u8, length as u8, 0, 0];
    datagram.extend((0..payload_bytes).map(|i| i as u8));
    datagram
}

/// Lets real time pass.
pub fn wait(time: Duration) {
    std::thread::sleep(time);
}

/// Starts to measure real time; the closure returns the seconds since.
pub fn stopwatch() -> impl Fn() -> f64 {
    let began = Instant::now();
    move || began.elapsed().as_secs_f64()
}

/// Polls until the condition holds.
pub fn wait_until(what: &str, condition: impl Fn() -> bool) {
    let end = Instant::now() + Duration::from_secs(5);
    while !condition() {
        assert!(Instant::now() < end, "waited 5 s in vain for: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}
