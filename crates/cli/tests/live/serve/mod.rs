//! `netanvil serve` beside the ports of a tester.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "clients of a server, and waiting for it"
)]

mod clients;
mod live;
