//! The `dpdk` port: any driver of DPDK, for virtual switches that speak memif or vhost-user, and for network
//! cards that were taken from the kernel.
//!
//! DPDK is behind a shim in C (`dpdk/shim.c`), whose shared object is part of this program's own bytes. It is
//! loaded when the first such port is opened, and DPDK's libraries with it: a program that opens none needs none.
//!
//! ```text
//! Sink, Source (a trial's threads)  ---\
//! DeviceControl (the control side)  ----+--- Device --- Shim --- DPDK
//! DeviceLink (counters, link)       ---/
//! ```
//!
//! A device has one receive queue. While a trial runs it is the trial's, which passes control frames on;
//! between trials the control side looks at it (`TrialTime`).

#[cfg(dpdk_shim)]
mod arguments;
#[cfg(dpdk_shim)]
mod awaited;
#[cfg(dpdk_shim)]
mod control;
#[cfg(dpdk_shim)]
mod device;
#[cfg(dpdk_shim)]
mod device_link;
#[cfg(dpdk_shim)]
mod eal;
pub mod facts;
#[cfg(dpdk_shim)]
mod far_program;
#[cfg(dpdk_shim)]
mod flow;
mod kind;
#[cfg(dpdk_shim)]
mod missing;
pub mod pci;
#[cfg(dpdk_shim)]
mod port;
#[cfg(dpdk_shim)]
mod refusal;
#[cfg(dpdk_shim)]
mod shim;
#[cfg(dpdk_shim)]
mod trial_time;

pub use kind::Dpdk;

/// Whether this build has the `dpdk` port; if not, why and what to do.
pub fn available() -> Result<(), &'static str> {
    match option_env!("NETANVIL_NO_DPDK") {
        Some(reason) => Err(reason),
        None => Ok(()),
    }
}

/// What DPDK has said since it was asked last, in one line.
#[cfg(dpdk_shim)]
fn said(shim: &shim::Shim) -> String {
    let mut text = [0; 4_096];
    // SAFETY: as many writable bytes as it is told.
    let bytes = unsafe { (shim.said)(text.as_mut_ptr(), text.len() as u32) };
    let text = String::from_utf8_lossy(&text[..bytes as usize]).into_owned();
    // Each device of memif says this where one process has all of DPDK for itself.
    let noise = ["Failed to register mp action callback", "attach device on primary process"];
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let telling = lines.filter(|line| !noise.iter().any(|noise| line.contains(noise)));
    telling.collect::<Vec<_>>().join("; ")
}
