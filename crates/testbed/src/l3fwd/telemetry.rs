//! What any program of DPDK tells of its ports ("DPDK Telemetry User Guide"): requests of text and answers of JSON over a
//! socket of sequenced packets. The connection stays when the socket's file is gone.

use crate::polling::PortCounters;
use nix::sys::socket::sockopt::ReceiveTimeout;
use nix::sys::socket::{
    AddressFamily, MsgFlags, SockFlag, SockType, UnixAddr, connect, recv, send, setsockopt, socket,
};
use nix::sys::time::TimeVal;
use serde_json::Value;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;
use std::time::Duration;

/// The longest answer, unless the greeting says otherwise (`max_output_len`).
const ANSWER_MAX_BYTES: usize = 65_536;

#[derive(Debug)]
pub(super) struct Telemetry(OwnedFd);

impl Telemetry {
    /// `within`: how long an answer may take.
    pub fn connect(path: &Path, within: Duration) -> io::Result<Self> {
        let packets = SockType::SeqPacket;
        let socket = socket(AddressFamily::Unix, packets, SockFlag::SOCK_CLOEXEC, None)?;
        let within = TimeVal::new(within.as_secs() as i64, 0);
        setsockopt(&socket, ReceiveTimeout, &within)?;
        connect(socket.as_raw_fd(), &UnixAddr::new(path)?)?;
        let telemetry = Telemetry(socket);
        // The greeting: its release and its process.
        telemetry.receive()?;
        Ok(telemetry)
    }

    fn receive(&self) -> io::Result<Value> {
        let mut answer = vec![0; ANSWER_MAX_BYTES];
        match recv(self.0.as_raw_fd(), &mut answer, MsgFlags::empty())? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            length => Ok(serde_json::from_slice(&answer[..length])?),
        }
    }

    /// What it answers to a command on a port.
    fn ask(&self, command: &str, port: usize) -> io::Result<Value> {
        let request = format!("{command},{port}");
        send(self.0.as_raw_fd(), request.as_bytes(), MsgFlags::MSG_NOSIGNAL)?;
        Ok(self.receive()?[command].take())
    }

    /// Whether a port has been started.
    pub fn is_started(&self, port: usize) -> io::Result<bool> {
        Ok(self.ask("/ethdev/info", port)?["dev_started"] == 1)
    }

    /// What a port's driver has counted.
    pub fn counters(&self, port: usize) -> io::Result<PortCounters> {
        let stats = self.ask("/ethdev/stats", port)?;
        counters(&stats).ok_or_else(|| io::Error::other(format!("answers {stats}")))
    }
}

/// Counters of `rte_eth_stats`. What the driver took not on the way out nobody counts: l3fwd frees it.
fn counters(stats: &Value) -> Option<PortCounters> {
    let of = |name: &str| stats[name].as_u64();
    Some(PortCounters {
        rx_packets: of("ipackets")?,
        rx_dropped: of("imissed")? + of("rx_nombuf")?,
        tx_packets: of("opackets")?,
        tx_dropped: of("oerrors")?,
    })
}
