//! `netanvil serve`: the page in a browser, its streams, its defences, and what Prometheus makes of it.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "clients of a server, and waiting for it"
)]

mod browser;
pub mod client;
mod hostile;
mod own_page;
mod page;
mod prometheus;
mod records;
pub mod server;
mod tls;

use std::io::Write;

/// Whether a program is there. Where it is not, says so past the test harness's capture; in continuous
/// integration (`CI` is set) it must be.
fn has_program(name: &str, test: &str) -> bool {
    let found = std::env::var_os("PATH")
        .is_some_and(|path| std::env::split_paths(&path).any(|at| at.join(name).exists()));
    if !found {
        let _ = writeln!(
            std::io::stderr().lock(),
            "SKIPPED {test}: NO {name}. `make setup` installs it."
        );
        assert!(std::env::var_os("CI").is_none(), "{test} needs {name} in CI");
    }
    found
}

/// Whether live tests can run, likewise.
pub fn can_build_devices(test: &str) -> bool {
    let root = crate::common::is_root();
    if !root {
        let _ = writeln!(
            std::io::stderr().lock(),
            "SKIPPED {test}: NOT ROOT. It builds network namespaces."
        );
        assert!(std::env::var_os("CI").is_none(), "{test} must run as root in CI");
    }
    root
}
