//! The `xdp` port: frames never leave the kernel.
//!
//! A BPF program builds, paces, stamps and sends the frames (live frames of `BPF_PROG_TEST_RUN`),
//! and another one accounts for what arrives, in the driver's receive path. User space lays out a
//! trial in memory shared with the programs, starts it, and reads the accounts afterwards.

#[cfg(xdp_programs)]
mod accounts;
#[cfg(xdp_programs)]
mod capture;
#[cfg(xdp_programs)]
mod groups;
#[cfg(xdp_programs)]
mod interrupt;
#[cfg(xdp_programs)]
mod layout;
#[cfg(xdp_programs)]
mod prepared;
#[cfg(xdp_programs)]
mod program;
#[cfg(xdp_programs)]
#[cfg(xdp_programs)]
mod receive;
#[cfg(xdp_programs)]
mod seen;
#[cfg(xdp_programs)]
mod shared;
#[cfg(xdp_programs)]
mod transmit;

mod kind;
#[cfg(xdp_programs)]
mod port;
pub use kind::Xdp;
#[cfg(xdp_programs)]
pub use port::XdpPort;

/// Whether this build has the `xdp` port; if not, why and what to do.
pub fn available() -> Result<(), &'static str> {
    match option_env!("NETANVIL_NO_XDP") {
        Some(reason) => Err(reason),
        None => Ok(()),
    }
}
