//! PCI network devices and what drives them, as sysfs has them: DPDK takes a device only from a driver that
//! hands it to programs, and a device in use by the kernel must not be touched.

use std::fs;
use std::path::{Path, PathBuf};
#[cfg(dpdk_shim)]
use trial::TesterError;

/// Drivers that hand a device to a program.
const FOR_PROGRAMS: [&str; 3] = ["vfio-pci", "igb_uio", "uio_pci_generic"];
/// Kernel drivers beside which DPDK works: its own driver needs them (DPDK's guides to mlx4, mlx5 and mana).
const SHARED: [&str; 3] = ["mlx4_core", "mlx5_core", "mana"];
/// Those of them that give a device the addresses of memory as the bus has them (DPDK's guide "Linux Drivers").
#[cfg(dpdk_shim)]
const BY_PHYSICAL_ADDRESS: [&str; 2] = ["igb_uio", "uio_pci_generic"];
/// Whether vfio gives devices to programs where no IOMMU stands between them and memory.
#[cfg(dpdk_shim)]
const WITHOUT_IOMMU: &str = "/sys/module/vfio/parameters/enable_unsafe_noiommu_mode";
/// Base class of network controllers (PCI Code and ID Assignment).
const NETWORK: &str = "0x02";

/// A PCI network device of this machine.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PciDevice {
    /// Domain, bus, device and function: `0000:3b:00.0`.
    pub address: String,
    /// Driver that it is bound to; none where it is bound to none.
    pub driver: Option<String>,
    /// The kernel's interface on it, where there is one.
    pub interface: Option<String>,
    /// NUMA node; none where the machine has one only.
    pub numa_node: Option<u32>,
}

impl PciDevice {
    /// Whether DPDK can take it as it is bound now.
    pub fn is_free(&self) -> bool {
        let among =
            |names: &[&str]| self.driver.as_deref().is_some_and(|driver| names.contains(&driver));
        among(&FOR_PROGRAMS) || among(&SHARED)
    }

    /// Whether its driver hands it over without an IOMMU, so that it works with physical addresses alone.
    #[cfg(dpdk_shim)]
    fn is_by_physical_address(&self) -> bool {
        self.driver.as_deref().is_some_and(|driver| BY_PHYSICAL_ADDRESS.contains(&driver))
    }

    /// The command that makes DPDK able to take it.
    pub fn how_to_bind(&self) -> String {
        let address = &self.address;
        match &self.interface {
            Some(interface) => format!(
                "ip link set {interface} down && modprobe vfio-pci && dpdk-devbind.py --bind=vfio-pci {address}"
            ),
            None => format!("modprobe vfio-pci && dpdk-devbind.py --bind=vfio-pci {address}"),
        }
    }
}

/// Whether a network device of this machine is bound so that only physical addresses reach it. DPDK would see that for
/// itself if it looked at all devices at its start, but it is told to open none that is not asked for.
#[cfg(dpdk_shim)]
pub(super) fn any_by_physical_address() -> bool {
    let without_iommu = fs::read_to_string(WITHOUT_IOMMU).is_ok_and(|text| text.starts_with('Y'));
    let needs = |device: &PciDevice| {
        let is_vfio = device.driver.as_deref() == Some("vfio-pci");
        device.is_by_physical_address() || (is_vfio && without_iommu)
    };
    pci_devices().iter().any(needs)
}

/// All PCI network devices of this machine, by address.
pub fn pci_devices() -> Vec<PciDevice> {
    devices_in(Path::new("/sys/bus/pci/devices"))
}

fn devices_in(root: &Path) -> Vec<PciDevice> {
    let entries = fs::read_dir(root).into_iter().flatten().flatten();
    let mut devices: Vec<PciDevice> = entries.filter_map(|entry| read(&entry.path())).collect();
    devices.sort_by(|a, b| a.address.cmp(&b.address));
    devices
}

fn read(folder: &Path) -> Option<PciDevice> {
    let text = |name: &str| fs::read_to_string(folder.join(name)).ok();
    if !text("class")?.starts_with(NETWORK) {
        return None;
    }
    let last = |path: PathBuf| Some(path.file_name()?.to_string_lossy().into_owned());
    let driver = fs::read_link(folder.join("driver")).ok().and_then(last);
    // The interfaces of a virtio device are one folder further down.
    let mut folders = vec![folder.join("net")];
    let below = fs::read_dir(folder).into_iter().flatten().flatten();
    folders.extend(below.map(|entry| entry.path().join("net")));
    let mut interfaces =
        folders.iter().filter_map(|net| fs::read_dir(net).ok()).flatten().flatten();
    Some(PciDevice {
        address: last(folder.into())?,
        driver,
        interface: interfaces.next().and_then(|entry| last(entry.path())),
        numa_node: text("numa_node").and_then(|node| node.trim().parse().ok()),
    })
}

/// Refuses a device that is not there, that another driver has, or that needs huge pages where DPDK has none.
#[cfg(dpdk_shim)]
pub(super) fn check(address: &str, has_huge_pages: bool) -> Result<(), TesterError> {
    check_in(Path::new("/sys/bus/pci/devices"), address, has_huge_pages)
}

#[cfg(dpdk_shim)]
fn check_in(root: &Path, address: &str, has_huge_pages: bool) -> Result<(), TesterError> {
    if !root.join(address).exists() {
        let there: Vec<String> = devices_in(root).into_iter().map(|found| found.address).collect();
        let detail = match there.is_empty() {
            true => "there is no such PCI device, and no PCI network device at all".into(),
            false => format!(
                "there is no such PCI device; the network devices are {} (dpdk-devbind.py --status-dev net)",
                there.join(", ")
            ),
        };
        return Err(TesterError::System { what: format!("open port {address}"), detail });
    }
    let Some(device) = read(&root.join(address)) else {
        return Err(TesterError::Unsupported {
            port: address.into(),
            what: "a PCI device that is no network device".into(),
            remedy: "name one that dpdk-devbind.py --status-dev net lists".into(),
        });
    };
    if device.is_by_physical_address() && !has_huge_pages {
        return Err(TesterError::System {
            what: format!("open port {address}"),
            detail: format!(
                "its driver {} needs physical addresses, which DPDK knows of huge pages alone, and none are free: \
                 reserve some (sysctl vm.nr_hugepages=512), or bind it to vfio-pci, which needs none: {}",
                device.driver.as_deref().unwrap_or_default(),
                device.how_to_bind()
            ),
        });
    }
    if device.is_free() {
        return Ok(());
    }
    let driver = match &device.driver {
        Some(driver) => format!("the kernel's driver {driver} has it"),
        None => "it is bound to no driver".into(),
    };
    Err(TesterError::System {
        what: format!("open port {address}"),
        detail: format!(
            "{driver}; if this host does not need it, give it to DPDK with: {}",
            device.how_to_bind()
        ),
    })
}

#[cfg(all(test, dpdk_shim))]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    /// A device as sysfs shows it.
    fn add(root: &Path, address: &str, class: &str, driver: Option<&str>, net: Option<&str>) {
        let folder = root.join(address);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("class"), class).unwrap();
        fs::write(folder.join("numa_node"), "-1\n").unwrap();
        if let Some(driver) = driver {
            symlink(format!("../../../bus/pci/drivers/{driver}"), folder.join("driver")).unwrap();
        }
        if let Some(net) = net {
            fs::create_dir_all(folder.join(net)).unwrap();
        }
    }

    #[test]
    fn a_device_of_the_kernels_is_refused_with_the_command_that_frees_it() {
        let root = tempfile::tempdir().unwrap();
        add(root.path(), "0000:3b:00.0", "0x020000\n", Some("ixgbe"), Some("net/eth5"));
        let error = check_in(root.path(), "0000:3b:00.0", true).unwrap_err().to_string();
        for part in
            ["ixgbe", "ip link set eth5 down", "dpdk-devbind.py --bind=vfio-pci 0000:3b:00.0"]
        {
            assert!(error.contains(part), "{error}");
        }
        add(
            root.path(),
            "0000:00:03.0",
            "0x020000\n",
            Some("virtio-pci"),
            Some("virtio2/net/eth0"),
        );
        let error = check_in(root.path(), "0000:00:03.0", true).unwrap_err().to_string();
        assert!(error.contains("ip link set eth0 down"), "{error}");
    }

    #[test]
    fn devices_for_programs_and_shared_ones_are_free() {
        let root = tempfile::tempdir().unwrap();
        add(root.path(), "0000:3b:00.0", "0x020000", Some("vfio-pci"), None);
        add(root.path(), "0000:3b:00.1", "0x020000", Some("mlx5_core"), Some("net/eth6"));
        add(root.path(), "0000:3b:00.2", "0x020000", None, None);
        assert!(check_in(root.path(), "0000:3b:00.0", true).is_ok());
        assert!(check_in(root.path(), "0000:3b:00.1", true).is_ok());
        let error = check_in(root.path(), "0000:3b:00.2", true).unwrap_err().to_string();
        assert!(error.contains("bound to no driver"), "{error}");
    }

    /// DPDK's guide "Linux Drivers": uio has no IOMMU, and physical addresses are known of huge pages alone.
    #[test]
    fn a_device_of_uio_needs_huge_pages() {
        let root = tempfile::tempdir().unwrap();
        for (address, driver) in [("0000:3b:00.0", "uio_pci_generic"), ("0000:3b:00.1", "igb_uio")]
        {
            add(root.path(), address, "0x020000", Some(driver), None);
            assert!(check_in(root.path(), address, true).is_ok());
            let error = check_in(root.path(), address, false).unwrap_err().to_string();
            for part in [driver, "vm.nr_hugepages=512", "--bind=vfio-pci"] {
                assert!(error.contains(part), "{error}");
            }
        }
        add(root.path(), "0000:3b:00.2", "0x020000", Some("vfio-pci"), None);
        assert!(check_in(root.path(), "0000:3b:00.2", false).is_ok());
    }

    #[test]
    fn a_device_that_is_not_there_or_no_network_device_is_said_to_be() {
        let root = tempfile::tempdir().unwrap();
        let error = check_in(root.path(), "0000:77:00.0", true).unwrap_err().to_string();
        assert!(error.contains("no PCI network device at all"), "{error}");
        add(root.path(), "0000:3b:00.0", "0x020000", Some("vfio-pci"), None);
        add(root.path(), "0000:00:1f.2", "0x010601", Some("ahci"), None);
        let error = check_in(root.path(), "0000:77:00.0", true).unwrap_err().to_string();
        assert!(error.contains("no such PCI device") && error.contains("0000:3b:00.0"), "{error}");
        let error = check_in(root.path(), "0000:00:1f.2", true).unwrap_err().to_string();
        assert!(error.contains("no network device"), "{error}");
    }
}
