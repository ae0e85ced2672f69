//! `netanvil devices`: lists the devices that netanvil can build or simulate.

use crate::failure::{Exit, Failure, Outcome};
use crate::output;

const BUILT: &str = "\
Built in network namespaces, connected to the tester by virtual links (--device):
  linux-router   the kernel's IPv4 and IPv6 forwarding, networks 198.18.0.0/15 and 2001:2::/48
                 --filter none|1|10|25  --permit last|middle  --destinations one|random|both
                 --neighbours static|dynamic  --routing static|rip  --routes-per-port COUNT
                 --feed bgp|ospf|rip  --feed-within TIME
                 --tunnel gre|gre6|6in4|4in6|vxlan|siit
  linux-bridge   the kernel's learning bridge
                 --snooping (IGMP and MLD)  --group-table COUNT
                 --group-membership TIME
  ovs-userspace  Open vSwitch's user-space datapath (apt-get install openvswitch-switch)
                 both switches: --address-table COUNT  --address-ageing TIME
  linux-mcast    the kernel's multicast forwarding, driven by FRR's pimd (apt-get install frr)
                 --filter none|1|10|25  --permit last|middle
  loopback       no device: the tester's ports back to back

  Options of router and bridge:
                 --device-threads threaded|inline  --device-cpu CPU
                 --mtu BYTES  --input-queue FRAMES  --tx-queue FRAMES
  Limits with a known right answer:
                 --tbf-rate RATE [--tbf-queue FRAMES --tbf-burst BYTES --tbf-port PORT]
                 --frame-limit FPS [--frame-limit-burst FRAMES]
                 --drop-every N

Hardware (--ports IF,IF, or more with --pattern and for tests of many ports):
  router         --address ADDR/LEN,ADDR/LEN  --gateway ADDR,ADDR
  bridge, switch without --address and --gateway
";

const SIMULATED: &str = "Simulated, in virtual time (--sim NAME):\n";

const SIMULATED_FILE: &str = "\
  FILE.toml      your own device: docs/devices.md explains every key; `netanvil devices NAME`
                 prints the file of a built-in device as a template
";

pub fn run(name: Option<&str>) -> Outcome {
    if let Some(name) = name {
        return print_file(name);
    }
    let simulated: String = sim::BUILT_IN
        .iter()
        .map(|device| format!("  {:17}  {}\n", device.name, device.what()))
        .collect();
    output::print(&format!("{BUILT}\n{SIMULATED}{simulated}{SIMULATED_FILE}"))?;
    Ok(Exit::Done)
}

/// Prints the description of a built-in device, as a template.
fn print_file(name: &str) -> Outcome {
    let Some(device) = sim::BUILT_IN.iter().find(|device| device.name == name) else {
        return Err(Failure::new(format!("no built-in simulated device `{name}`"))
            .help("`netanvil devices` lists them"));
    };
    output::print(device.toml)?;
    Ok(Exit::Done)
}
