//! Real ports on links of the kernel, one module a file.

mod bed;
mod common;

/// On real devices, in real time: one at a time, with nothing beside them (`make test-live`).
mod live {
    mod balance;
    mod captures;
    mod chatter;
    mod control;
    #[cfg(dpdk_shim)]
    mod dpdk;
    #[cfg(dpdk_shim)]
    mod dpdk_control;
    #[cfg(dpdk_shim)]
    mod dpdk_refusals;
    mod failures;
    mod held_up;
    mod look_alikes;
    mod mixes;
    mod overhead;
    mod queues;
    mod rootless;
    mod same_frames;
    mod shield;
    mod stamps;
    mod xdp;
    mod xdp_agreement;
}
