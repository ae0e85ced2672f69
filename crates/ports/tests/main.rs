//! Real ports on links of the kernel, one module a file.

mod bed;
#[cfg(xdp_programs)]
mod common;

/// On real devices, in real time: one at a time, with nothing beside them (`make test-live`).
mod live {
    mod balance;
    mod captures;
    mod chatter;
    mod control;
    mod failures;
    mod held_up;
    mod mixes;
    mod overhead;
    mod rootless;
    mod same_frames;
    mod shield;
    mod xdp;
    mod xdp_agreement;
}
