//! `netanvil devices`: lists the devices that netanvil can build or simulate.

use crate::failure::{Exit, Failure, Outcome};
use crate::output;
use serde_json::{Value, json};

/// A kind of `--device`.
struct Built {
    name: &'static str,
    about: &'static str,
    options: &'static str,
}

const BUILT: [Built; 8] = [
    Built {
        name: "linux-router",
        about: "the kernel's IPv4 and IPv6 forwarding, networks 198.18.0.0/15 and 2001:2::/48",
        options: "                 --filter none|1|10|25  --permit last|middle  --destinations one|random|both
                 --neighbours static|dynamic  --routing static|rip  --routes-per-port COUNT
                 --feed bgp|ospf|rip  --feed-within TIME
                 --tunnel gre|gre6|6in4|4in6|vxlan|siit
",
    },
    Built {
        name: "linux-bridge",
        about: "the kernel's learning bridge",
        options: "                 --snooping (IGMP and MLD)  --group-table COUNT
                 --group-membership TIME
",
    },
    Built {
        name: "ovs-userspace",
        about: "Open vSwitch's user-space datapath (apt-get install openvswitch-switch)",
        options: "                 all switches: --address-table COUNT  --address-ageing TIME\n",
    },
    Built {
        name: "linux-mcast",
        about: "the kernel's multicast forwarding, driven by FRR's pimd (apt-get install frr)",
        options: "                 --filter none|1|10|25  --permit last|middle\n",
    },
    Built {
        name: "ovs-dpdk",
        about: "Open vSwitch with DPDK over vhost-user, without huge pages if need be (apt-get install openvswitch-switch-dpdk)",
        options: "                 --device-cpu CPU  --input-queue FRAMES\n",
    },
    Built {
        name: "testpmd",
        about: "DPDK's testpmd over memif, without huge pages if need be (apt-get install dpdk-dev)",
        options: "                 --forward-mode io|mac|macswap|5tswap  --device-cpu CPU
                 --input-queue FRAMES
",
    },
    Built {
        name: "l3fwd",
        about: "DPDK's example l3fwd, a router by longest prefix, over memif (make l3fwd)",
        options: "                 --destinations one|random|both  --device-cpu CPU  --input-queue FRAMES\n",
    },
    Built {
        name: "loopback",
        about: "no device: the tester's ports back to back",
        options: "",
    },
];

const BUILT_HEAD: &str =
    "Built on this host, connected to the tester by virtual links (--device):\n";

const BUILT_OPTIONS: &str = "
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

pub fn run(name: Option<&str>, json: bool) -> Outcome {
    if let Some(name) = name {
        return print_file(name);
    }
    if json {
        output::print_json(&as_json())?;
        return Ok(Exit::Done);
    }
    let built: String = BUILT
        .iter()
        .map(|device| format!("  {:13}  {}\n{}", device.name, device.about, device.options))
        .collect();
    let simulated: String = sim::BUILT_IN
        .iter()
        .map(|device| format!("  {:17}  {}\n", device.name, device.what()))
        .collect();
    output::print(&format!(
        "{BUILT_HEAD}{built}{BUILT_OPTIONS}\n{SIMULATED}{simulated}{SIMULATED_FILE}"
    ))?;
    Ok(Exit::Done)
}

/// Names and what they are, for programs.
fn as_json() -> Value {
    let one = |name: &str, about: &str| json!({ "name": name, "about": about });
    json!({
        "built": BUILT.iter().map(|device| one(device.name, device.about)).collect::<Vec<_>>(),
        "simulated":
            sim::BUILT_IN.iter().map(|device| one(device.name, device.what())).collect::<Vec<_>>(),
    })
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;
    use testbed::DeviceKind;

    #[test]
    fn each_device_that_is_listed_can_be_asked_for() {
        let all = as_json();
        for device in all["built"].as_array().unwrap() {
            DeviceKind::deserialize(&device["name"]).expect("a name of --device");
        }
        for device in all["simulated"].as_array().unwrap() {
            crate::simulated::read(device["name"].as_str().unwrap()).expect("a name of --sim");
            assert_ne!(device["about"], "");
        }
    }
}
