//! Ports over AF_XDP sockets: frames in user space, past the kernel's network stack, without
//! copying where the driver can.

mod assembler;
mod bpf;
mod live_frames;
mod port;
mod redirect;
mod ring;
mod socket;
mod umem;

pub(crate) use live_frames::longest_bytes as longest_live_frame_bytes;
pub use port::{AfXdp, AfXdpPort};

/// Whether this process may load BPF programs here; if not, why and what to do.
pub(crate) fn bpf_allowed() -> Result<(), String> {
    match bpf::SocketMap::new(1) {
        Ok(_) => Ok(()),
        Err(error) => Err(format!("BPF is not available here ({error}); run as root")),
    }
}
