//! Ports given by the user: may they be loaded (RFC 6815)?

use crate::doctor::{addresses_in_use, effective_capabilities};
use crate::failure::{Failure, Outcome};
use crate::output;
use kernel::Privilege;
use std::io::IsTerminal;
use testbed::HardwarePorts;

/// Takes the interfaces, after asking where the host itself speaks on them. Without any no rights are needed here.
pub fn take(names: &[String], yes: bool) -> Outcome<HardwarePorts> {
    if !names.is_empty() {
        check_rights()?;
    }
    let ports = HardwarePorts::take(names)?;
    let spoken_on = ports.ports().iter().filter_map(|port| {
        let addresses = addresses_in_use(port);
        (!addresses.is_empty()).then(|| format!("{} ({})", port.name, addresses.join(", ")))
    });
    let spoken_on: Vec<String> = spoken_on.collect();
    if !spoken_on.is_empty() && !yes {
        confirm(&spoken_on.join(" and "))?;
    }
    Ok(ports)
}

/// Raw sockets on real interfaces: root, or the capabilities themselves.
fn check_rights() -> Outcome<()> {
    const NET_ADMIN_AND_RAW: u64 = 1 << 12 | 1 << 13;
    let held = effective_capabilities() & NET_ADMIN_AND_RAW == NET_ADMIN_AND_RAW;
    if held && Privilege::current() != Privilege::UserNamespace {
        return Ok(());
    }
    let program = std::env::current_exe().unwrap_or_else(|_| "netanvil".into());
    Err(Failure::new("an ordinary user cannot send raw frames on this host's interfaces")
        .help("run it with sudo")
        .help(format!(
            "or grant the program these capabilities once: sudo setcap \
             cap_net_raw,cap_net_admin,cap_bpf,cap_perfmon,cap_ipc_lock,cap_sys_nice+ep {}",
            program.display()
        ))
        .help("or test a built device: --device linux-router needs no privileges"))
}

fn confirm(ports: &str) -> Outcome<()> {
    let question = format!(
        "this host has addresses on {ports}: RFC 2544 tests load a network to its limit and must \
         not run on one that is in use (RFC 6815)"
    );
    if !std::io::stdin().is_terminal() {
        return Err(Failure::new(question)
            .help("remove the addresses (`sudo ip addr flush dev ...`) or add --yes"));
    }
    match output::ask(&question) {
        true => Ok(()),
        false => Err(Failure::new("not confirmed; no frame was sent")),
    }
}
