//! What dpdk ports need: this build, DPDK's libraries, memory, and devices that the kernel does not have.

use super::Check;
use super::port::addresses_in_use;
use kernel::InterfaceFacts;
use ports::Location;
use ports::dpdk::pci::PciDevice;
use ports::dpdk::{available, facts, pci};
use testbed::DeviceKind;

/// All checks of this file.
pub fn examine() -> Vec<Check> {
    let mut checks = vec![libraries(), memory()];
    let forwarders = [
        (DeviceKind::Testpmd, "sudo apt-get install dpdk-dev"),
        (DeviceKind::OvsDpdk, "sudo apt-get install openvswitch-switch-dpdk"),
        (DeviceKind::L3fwd, "make l3fwd && sudo install target/l3fwd/dpdk-l3fwd /usr/local/bin"),
    ];
    checks.extend(forwarders.map(|(kind, mend)| forwarder(kind, mend)));
    checks.extend(pci::pci_devices().iter().map(network_device));
    checks
}

fn libraries() -> Check {
    const NAME: &str = "dpdk ports";
    let found = facts::runtime_libraries();
    match (available(), found.is_empty()) {
        (Err(why), _) => Check::warn(
            NAME,
            format!("not in this build: {why}"),
            "build on a machine with libdpdk-dev, pkg-config and gcc (glibc); other ports need none of it",
        ),
        (Ok(()), true) => Check::warn(
            NAME,
            "in this build, but no DPDK libraries are installed",
            "sudo apt-get install dpdk    (other ports need none of it)",
        ),
        (Ok(()), false) => {
            Check::ok(NAME, format!("in this build; DPDK libraries found: {}", found.join(", ")))
        }
    }
}

/// A device that polls, and what brings it.
fn forwarder(kind: DeviceKind, mend: &str) -> Check {
    let name = kind.name();
    match (testbed::polling_shortfall(kind), available()) {
        (None, Ok(())) => Check::ok(name, format!("installed: --device {name} is available")),
        (None, Err(_)) => Check::ok(
            name,
            format!("installed; --device {name} needs the dpdk ports that this build lacks"),
        ),
        (Some(why), _) => {
            Check::warn(name, format!("--device {name} is not available: {why}"), mend)
        }
    }
}

fn memory() -> Check {
    let (bytes, nodes) = (kernel::free_huge_bytes(), facts::numa_nodes());
    let pages = match bytes >> 20 {
        0 => "no free huge pages: virtual devices and vfio-pci work without".to_owned(),
        free if bytes < facts::HUGE_BYTES => format!(
            "{free} MB of huge pages are free, too few to be used: virtual devices and vfio-pci work without"
        ),
        free => format!("{free} MB of huge pages are free"),
    };
    let plural = if nodes == 1 { "" } else { "s" };
    Check::ok("dpdk memory", format!("{pages}; {nodes} NUMA node{plural}"))
}

/// A card of the kernel's is no problem: xdp, af_xdp and af_packet ports use it as it is.
fn network_device(device: &PciDevice) -> Check {
    let interface = device.interface.as_ref().map(|name| format!(", interface {name}"));
    let interface = interface.unwrap_or_default();
    let node = device.numa_node.map_or(String::new(), |node| format!(", NUMA node {node}"));
    let driver = device.driver.as_deref().unwrap_or("none");
    let verdict = match (device.is_free(), addresses_of(device)) {
        (true, _) => format!("--ports dpdk:{} can use it", device.address),
        (false, addresses) if addresses.is_empty() => {
            format!("for --ports dpdk:{}: {}", device.address, device.how_to_bind())
        }
        // To take it away might cut off whoever reads this.
        (false, addresses) => format!("this host uses it ({}): leave it", addresses.join(", ")),
    };
    Check::ok(
        "PCI network device",
        format!("{}: driver {driver}{interface}{node}; {verdict}", device.address),
    )
}

/// Addresses with which this host speaks on a card.
fn addresses_of(device: &PciDevice) -> Vec<String> {
    let facts = device.interface.as_ref().and_then(|name| InterfaceFacts::read(name).ok());
    facts.map_or(vec![], |facts| addresses_in_use(&facts))
}

/// A card that the kernel has.
fn in_the_way(device: &PciDevice) -> Check {
    let found = format!("{} has it", device.driver.as_deref().unwrap_or("no driver"));
    let bind = format!("sudo sh -c '{}'", device.how_to_bind());
    match addresses_of(device) {
        none if none.is_empty() => Check::fail("device", found, bind),
        addresses => Check::fail(
            "device",
            format!("{found}, and this host uses it ({})", addresses.join(", ")),
            format!("name another card; only if nothing needs this one: {bind}"),
        ),
    }
}

/// Checks of a port on a device of DPDK; none where the port is an interface.
pub fn examine_port(text: &str) -> Option<Vec<Check>> {
    let location: Location = text.parse().ok()?;
    if location.port_type.is_none_or(ports::PortType::has_interface) {
        return None;
    }
    let name = location.short_name().to_owned();
    let found = pci::pci_devices().into_iter().find(|device| device.address.ends_with(&name));
    let check = match (found, name.contains(':')) {
        (Some(device), _) if device.is_free() => network_device(&device),
        (Some(device), _) => in_the_way(&device),
        (None, true) => {
            Check::fail("device", "no such PCI device", "dpdk-devbind.py --status-dev net")
        }
        (None, false) => {
            Check::ok("device", "virtual: a run opens it and waits 10 s for its far end")
        }
    };
    let mut checks = vec![libraries(), check];
    checks.iter_mut().for_each(|check| check.subject.clone_from(&name));
    Some(checks)
}
