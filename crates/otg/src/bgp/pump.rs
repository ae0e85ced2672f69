//! Joins a namespace with a port: BGP of one Ethernet of a device, and what finds its neighbours, go from one to the
//! other, and nothing else.

use super::plan::EthernetPlan;
use kernel::{FrameSocket, Has, Tap, wait_readable};
use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use wire::ethernet::{self, EtherType};
use wire::ipv4::{self, Protocol};
use wire::vlan;
use wire::{arp, icmpv6, ipv6, tcp};

/// TCP port of BGP (RFC 4271 section 8.2.1).
const BGP: u16 = 179;
/// Types of ICMPv6 (RFC 4861 section 4).
const SOLICITATION: u8 = 135;
const ADVERTISEMENT: u8 = 136;
/// A tag more than any device has, to tell frames with too many.
const TAGS_LOOKED_AT: usize = 3;
/// How soon the thread notices that it should end.
const LOOK_MS: i32 = 50;
/// An interface that is down is looked at again after this time.
const AFTER_ERROR: std::time::Duration = std::time::Duration::from_millis(50);
/// Frames taken from one side before the other has its turn.
const TURN_FRAMES: usize = 64;
/// The longest frame that the kernel hands over: segments that it has not cut yet.
const LONGEST: usize = 70_000;

/// What a frame without tags is, of all that goes through.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Question,
    Answer,
    Bgp,
}

/// A thread between a port and a TAP. Ends when dropped.
pub struct Pump {
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Pump {
    /// Between the interface `index` of the calling thread's namespace and a TAP of the device.
    ///
    /// # Errors
    /// Where the interface gives no socket.
    pub fn start(index: u32, tap: Tap, ethernet: EthernetPlan) -> io::Result<Pump> {
        let socket = FrameSocket::open(index, &wanted(ethernet.tags.len()))?;
        let over = Arc::new(AtomicBool::new(false));
        let ends = over.clone();
        let body = move || carry(&socket, &tap, &ethernet, &ends);
        let thread = std::thread::Builder::new().name("bgp".into()).spawn(body)?;
        Ok(Pump { over, thread: Some(thread) })
    }
}

impl Drop for Pump {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn carry(socket: &FrameSocket, tap: &Tap, ethernet: &EthernetPlan, over: &AtomicBool) {
    let mut buffer = vec![0; LONGEST];
    while !over.load(Ordering::Relaxed) {
        let waited = wait_readable(&[socket.as_fd(), tap.as_fd()], LOOK_MS);
        let turn = waited
            .and_then(|()| inward(socket, tap, ethernet, &mut buffer))
            .and_then(|()| outward(socket, tap, ethernet, &mut buffer));
        if turn.is_err() {
            std::thread::sleep(AFTER_ERROR);
        }
    }
}

/// From the port to the device. A frame that is not taken comes again: TCP and ARP see to that.
fn inward(
    socket: &FrameSocket,
    tap: &Tap,
    ethernet: &EthernetPlan,
    buffer: &mut [u8],
) -> io::Result<()> {
    for _ in 0..TURN_FRAMES {
        let Some((mut offload, frame)) = socket.receive(buffer)? else { break };
        if let Some(plain) = for_device(frame, ethernet) {
            offload.moved((frame.len() - plain.len()) as i32);
            drop(tap.send(&offload, &plain));
        }
    }
    Ok(())
}

/// From the device to the port.
fn outward(
    socket: &FrameSocket,
    tap: &Tap,
    ethernet: &EthernetPlan,
    buffer: &mut [u8],
) -> io::Result<()> {
    for _ in 0..TURN_FRAMES {
        let Some((mut offload, frame)) = tap.receive(buffer)? else { break };
        if kind_of(frame).is_some() {
            let tagged = vlan::push(frame.to_vec(), &ethernet.tags);
            offload.moved(frame.len() as i32 - tagged.len() as i32);
            drop(socket.send(&offload, &tagged));
        }
    }
    Ok(())
}

/// A frame of the port without its tags, where it is for the device's daemon. Questions for its addresses are
/// answered by the port, as those for every device.
fn for_device(frame: &[u8], ethernet: &EthernetPlan) -> Option<Vec<u8>> {
    let (tags, plain) = vlan::untag(frame, TAGS_LOOKED_AT)?;
    if !vlan::are_same_vlan(&tags, &ethernet.tags) {
        return None;
    }
    let is_own = ethernet::View::peek(&plain)?.dst() == ethernet.mac;
    let goes = matches!(kind_of(&plain)?, Kind::Answer | Kind::Bgp);
    (is_own && goes).then_some(plain)
}

fn kind_of(plain: &[u8]) -> Option<Kind> {
    let header = ethernet::View::peek(plain)?;
    let packet = header.payload();
    match header.ether_type() {
        EtherType::ARP => match arp::Repr::parse(packet).ok()?.0.operation {
            arp::Operation::Request => Some(Kind::Question),
            arp::Operation::Reply => Some(Kind::Answer),
        },
        EtherType::IPV4 => {
            let header = ipv4::View::peek(packet)?;
            let segment = packet.get(header.header_len()..)?;
            (header.protocol() == Protocol::TCP && !header.is_fragment() && is_bgp(segment))
                .then_some(Kind::Bgp)
        }
        EtherType::IPV6 => {
            let (header, rest) = (ipv6::View::peek(packet)?, packet.get(ipv6::HEADER_LEN..)?);
            match header.next_header() {
                Protocol::TCP => is_bgp(rest).then_some(Kind::Bgp),
                Protocol::ICMPV6 => match icmpv6::View::peek(rest)?.kind() {
                    SOLICITATION => Some(Kind::Question),
                    ADVERTISEMENT => Some(Kind::Answer),
                    _ => None,
                },
                _ => None,
            }
        }
        _ => None,
    }
}

fn is_bgp(segment: &[u8]) -> bool {
    let ports = tcp::View::peek(segment).map(|view| (view.src_port(), view.dst_port()));
    ports.is_some_and(|(from, to)| from == BGP || to == BGP)
}

/// What the socket is to hear: the kernel has taken off the outermost tag by then. [`for_device`] has the last word.
fn wanted(tags: usize) -> Vec<Vec<Has>> {
    let shift = (tags.saturating_sub(1) * vlan::HEADER_LEN) as u32;
    let kind = |of: EtherType| Has::Half(12 + shift, of.0);
    let mut all = vec![vec![kind(EtherType::ARP)]];
    for port in [34, 36] {
        let bgp = Has::Half(port + shift, BGP);
        all.push(vec![kind(EtherType::IPV4), Has::Byte(23 + shift, Protocol::TCP.0), bgp]);
        let bgp = Has::Half(port + 20 + shift, BGP);
        all.push(vec![kind(EtherType::IPV6), Has::Byte(20 + shift, Protocol::TCP.0), bgp]);
    }
    let discovery = Has::Byte(20 + shift, Protocol::ICMPV6.0);
    let answer = Has::Byte(54 + shift, ADVERTISEMENT);
    all.push(vec![kind(EtherType::IPV6), discovery, answer]);
    all
}
