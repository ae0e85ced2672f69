//! `netanvil netblt` beside a second implementation, in Python, that was written from RFC 998 alone
//! (`tests/interop`). A few seconds; with NETANVIL_INTEROP=full all sizes, stalls of 12 s, numbers that wrap.
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "waits for processes")]

use std::path::Path;
use std::process::Command;

#[test]
fn a_second_implementation_of_rfc_998_agrees() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/interop/interop.py");
    let full = std::env::var("NETANVIL_INTEROP").is_ok_and(|form| form == "full");
    let mut command = Command::new("python3");
    command.arg(script).arg(env!("CARGO_BIN_EXE_netanvil"));
    let output = command.args(full.then_some("--full")).output().expect("python3 is installed");
    let said = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    println!("{said}{errors}");
    let failed: String = said.lines().filter(|line| line.starts_with("FAILED")).collect();
    assert!(output.status.success(), "{failed}{errors}");
    assert!(said.lines().filter(|line| line.starts_with("ok ")).count() >= 20, "few cases: {said}");
}
