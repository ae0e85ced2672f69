//! One tester a port: a second one would count the first one's frames and disturb its pace.
//!
//! The lock is a listening socket with an abstract name. Abstract names belong to a network
//! namespace, as interfaces do, and vanish with the process however it ends.

use crate::sys;
use std::io;
use std::os::fd::AsRawFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use trial::TesterError;

/// Holds a port for this process until it is dropped.
#[derive(Debug)]
pub struct PortLock {
    _listener: UnixListener,
}

impl PortLock {
    /// Takes the lock of the interface with this number, in the namespace of the calling thread.
    pub fn take(interface: &str, ifindex: u32) -> Result<Self, TesterError> {
        let failed = |error: io::Error| sys::port_error(interface, "lock the port", &error);
        let name = format!("netanvil-port-{ifindex}");
        let address = SocketAddr::from_abstract_name(name).map_err(failed)?;
        match UnixListener::bind_addr(&address) {
            Ok(listener) => Ok(PortLock { _listener: listener }),
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => Err(TesterError::System {
                what: format!("open port {interface}"),
                detail: format!(
                    "it is in use by another netanvil, {}; wait until it ends, or end it",
                    holder(&address)
                ),
            }),
            Err(error) => Err(failed(error)),
        }
    }
}

/// Who listens at the address, in words.
fn holder(address: &SocketAddr) -> String {
    let nobody = libc::ucred { pid: 0, uid: 0, gid: 0 };
    let peer = UnixStream::connect_addr(address).and_then(|stream| {
        sys::get_option(stream.as_raw_fd(), libc::SOL_SOCKET, libc::SO_PEERCRED, nobody)
    });
    match peer {
        Ok(peer) if peer.pid > 0 => format!("process {}", peer.pid),
        _ => "a process that cannot be seen from here".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_has_one_tester_and_the_error_names_it() {
        // No interface has this number, so no real port is disturbed.
        let index = u32::MAX - std::process::id();
        let first = PortLock::take("eth9", index).unwrap();
        let error = PortLock::take("eth9", index).unwrap_err().to_string();
        assert!(error.contains("eth9") && error.contains("in use"), "{error}");
        assert!(error.contains(&format!("process {}", std::process::id())), "{error}");
        drop(first);
        PortLock::take("eth9", index).unwrap();
    }
}
