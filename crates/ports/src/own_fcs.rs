//! Frames that leave with an FCS of ours, good or bad: SO_NOFCS, which few drivers have (e100, e1000, igb,
//! ixgbe, ...). Any type of port can have it beside its own way to send.

use crate::pump::FrameSink;
use crate::pumped::PumpedTransmit;
use crate::sys;
use kernel::socket;
use std::io;
use std::os::fd::OwnedFd;
use traffic::error_frame::fcs;

/// linux/if_packet.h.
const PACKET_QDISC_BYPASS: i32 = 20;
const FCS_BYTES: usize = 4;
/// Longer than any interface lets a frame be.
const IMPOSSIBLE_BYTES: usize = 70_000;

/// The half of a port that sends with an FCS of its own.
pub(crate) type OwnFcsTransmit = PumpedTransmit<OwnFcsSink>;

/// Opens it for frames of up to `longest_bytes` (without FCS); `None` where the driver makes every FCS
/// itself.
pub(crate) fn open(
    name: &str,
    ifindex: u32,
    longest_bytes: usize,
) -> io::Result<Option<OwnFcsTransmit>> {
    let socket = socket(ifindex)?;
    if !is_possible(&socket)? {
        return Ok(None);
    }
    let send = move |frame: &[u8]| sys::send(&socket, frame, libc::MSG_DONTWAIT);
    let sink = OwnFcsSink {
        send: Box::new(send),
        buffer: vec![0; longest_bytes + FCS_BYTES],
        ready: 0,
        bad: false,
    };
    Ok(Some(PumpedTransmit::new(name, sink, longest_bytes)))
}

/// A socket whose frames come with their FCS.
pub(crate) fn socket(ifindex: u32) -> io::Result<OwnedFd> {
    let socket = socket::open(libc::AF_PACKET, libc::SOCK_RAW, 0)?;
    let fd = sys::raw(&socket);
    sys::set_option(fd, libc::SOL_PACKET, PACKET_QDISC_BYPASS, 1i32)?;
    sys::set_option(fd, libc::SOL_SOCKET, libc::SO_NOFCS, 1i32)?;
    // Protocol 0: this socket receives nothing.
    socket::bind_packet(fd, ifindex, 0)?;
    Ok(socket)
}

/// Asks the kernel without sending: it looks at the driver before it looks at the length, and no frame is
/// so long.
fn is_possible(socket: &OwnedFd) -> io::Result<bool> {
    match sys::send(socket, &vec![0; IMPOSSIBLE_BYTES], libc::MSG_DONTWAIT) {
        Err(error) if error.raw_os_error() == Some(libc::EPROTONOSUPPORT) => Ok(false),
        Err(error) if error.raw_os_error() == Some(libc::EMSGSIZE) => Ok(true),
        Err(error) => Err(error),
        Ok(()) => Err(io::Error::other("a frame of 70000 bytes was taken")),
    }
}

/// Sends a frame with its FCS.
type Send = dyn FnMut(&[u8]) -> io::Result<()> + std::marker::Send;

/// Puts an FCS behind each frame and sends it by itself: such frames are few.
pub(crate) struct OwnFcsSink {
    send: Box<Send>,
    buffer: Vec<u8>,
    /// Bytes in the buffer that are still to be sent.
    ready: usize,
    bad: bool,
}

impl FrameSink for OwnFcsSink {
    fn slot(&mut self) -> Option<&mut [u8]> {
        let room = self.buffer.len() - FCS_BYTES;
        (self.ready == 0).then(|| &mut self.buffer[..room])
    }

    fn mark(&mut self, bad_fcs: bool) {
        self.bad = bad_fcs;
    }

    fn commit(&mut self, len_bytes: usize) {
        let good = fcs(&self.buffer[..len_bytes]);
        let sent = if self.bad { good.map(|byte| !byte) } else { good };
        self.ready = len_bytes + FCS_BYTES;
        self.buffer[len_bytes..self.ready].copy_from_slice(&sent);
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.ready == 0 {
            return Ok(());
        }
        match (self.send)(&self.buffer[..self.ready]) {
            Err(error) if matches!(error.raw_os_error(), Some(libc::ENOBUFS | libc::EAGAIN)) => {
                Ok(())
            }
            outcome => {
                self.ready = 0;
                outcome
            }
        }
    }

    fn pending(&mut self) -> usize {
        usize::from(self.ready > 0)
    }

    fn refused(&mut self) -> io::Result<u64> {
        Ok(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, Mutex};

    /// The bytes "123456789" have the CRC-32 cbf43926 (the check value of every catalogue of CRCs), which
    /// goes out with its lowest byte first.
    #[test]
    fn a_frame_leaves_once_with_the_fcs_it_was_marked_for() {
        let wire: Arc<Mutex<Vec<Vec<u8>>>> = Arc::default();
        let (sent, mut is_busy) = (wire.clone(), true);
        let send = move |frame: &[u8]| {
            if std::mem::take(&mut is_busy) {
                return Err(io::Error::from_raw_os_error(libc::ENOBUFS));
            }
            sent.lock().unwrap().push(frame.to_vec());
            Ok(())
        };
        let mut sink =
            OwnFcsSink { send: Box::new(send), buffer: vec![0; 20], ready: 0, bad: false };
        for bad in [false, true] {
            sink.slot().expect("room")[..9].copy_from_slice(b"123456789");
            sink.mark(bad);
            sink.commit(9);
            assert!(sink.slot().is_none() && sink.pending() == 1);
            sink.flush().unwrap();
            sink.flush().unwrap();
            assert_eq!(sink.pending(), 0);
        }
        let wire = wire.lock().unwrap();
        assert_eq!(wire.len(), 2);
        assert_eq!(wire[0], *b"123456789\x26\x39\xf4\xcb");
        assert_eq!(wire[1], *b"123456789\xd9\xc6\x0b\x34");
    }
}
