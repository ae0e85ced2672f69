//! PCI network devices and what drives them, as sysfs has them: DPDK takes a device only from a driver that
//! hands it to programs, and a device in use by the kernel must not be touched.

use std::fs;
use std::path::{Path, PathBuf};
#[cfg(dpdk_shim)]
use trial::TesterError;

const VFIO: &str = "vfio-pci";
/// Drivers that hand a device to a program.
const FOR_PROGRAMS: [&str; 3] = [VFIO, "igb_uio", "uio_pci_generic"];
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
    fn is_by_physical_address(&self, vfio_is_without_iommu: bool) -> bool {
        let is_vfio = |driver| driver == VFIO && vfio_is_without_iommu;
        let driver = self.driver.as_deref();
        driver.is_some_and(|driver| BY_PHYSICAL_ADDRESS.contains(&driver) || is_vfio(driver))
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
    let without_iommu = vfio_is_without_iommu();
    pci_devices().iter().any(|device| device.is_by_physical_address(without_iommu))
}

#[cfg(dpdk_shim)]
fn vfio_is_without_iommu() -> bool {
    fs::read_to_string(WITHOUT_IOMMU).is_ok_and(|text| text.starts_with('Y'))
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
    let has = Has { huge_pages: has_huge_pages, iommu: !vfio_is_without_iommu() };
    check_in(Path::new("/sys/bus/pci/devices"), address, has)
}

/// What a host has, of which it depends by what addresses a device reaches memory.
#[cfg(dpdk_shim)]
#[derive(Clone, Copy)]
struct Has {
    huge_pages: bool,
    iommu: bool,
}

#[cfg(dpdk_shim)]
fn check_in(root: &Path, address: &str, has: Has) -> Result<(), TesterError> {
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
    if device.is_by_physical_address(!has.iommu) && !has.huge_pages {
        let or_bind = match has.iommu {
            true => format!(", or bind it to vfio-pci, which needs none: {}", device.how_to_bind()),
            false => String::new(),
        };
        return Err(TesterError::System {
            what: format!("open port {address}"),
            detail: format!(
                "its driver {} needs physical addresses, which DPDK knows of huge pages alone, and none are free: \
                 reserve some (sysctl vm.nr_hugepages=512){or_bind}",
                device.driver.as_deref().unwrap_or_default()
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

    const BOTH: Has = Has { huge_pages: true, iommu: true };
    const NO_PAGES: Has = Has { huge_pages: false, ..BOTH };

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
        let error = check_in(root.path(), "0000:3b:00.0", BOTH).unwrap_err().to_string();
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
        let error = check_in(root.path(), "0000:00:03.0", BOTH).unwrap_err().to_string();
        assert!(error.contains("ip link set eth0 down"), "{error}");
    }

    #[test]
    fn devices_for_programs_and_shared_ones_are_free() {
        let root = tempfile::tempdir().unwrap();
        add(root.path(), "0000:3b:00.0", "0x020000", Some("vfio-pci"), None);
        add(root.path(), "0000:3b:00.1", "0x020000", Some("mlx5_core"), Some("net/eth6"));
        add(root.path(), "0000:3b:00.2", "0x020000", None, None);
        assert!(check_in(root.path(), "0000:3b:00.0", BOTH).is_ok());
        assert!(check_in(root.path(), "0000:3b:00.1", BOTH).is_ok());
        let error = check_in(root.path(), "0000:3b:00.2", BOTH).unwrap_err().to_string();
        assert!(error.contains("bound to no driver"), "{error}");
    }

    /// DPDK's guide "Linux Drivers": uio has no IOMMU, and physical addresses are known of huge pages alone.
    #[test]
    fn a_device_of_uio_needs_huge_pages() {
        let root = tempfile::tempdir().unwrap();
        for (address, driver) in [("0000:3b:00.0", "uio_pci_generic"), ("0000:3b:00.1", "igb_uio")]
        {
            add(root.path(), address, "0x020000", Some(driver), None);
            assert!(check_in(root.path(), address, BOTH).is_ok());
            let error = check_in(root.path(), address, NO_PAGES).unwrap_err().to_string();
            for part in [driver, "vm.nr_hugepages=512", "--bind=vfio-pci"] {
                assert!(error.contains(part), "{error}");
            }
        }
        add(root.path(), "0000:3b:00.2", "0x020000", Some("vfio-pci"), None);
        assert!(check_in(root.path(), "0000:3b:00.2", NO_PAGES).is_ok());
        // Without an IOMMU nothing helps but huge pages.
        let neither = Has { iommu: false, ..NO_PAGES };
        let error = check_in(root.path(), "0000:3b:00.2", neither).unwrap_err().to_string();
        assert!(error.contains("vm.nr_hugepages=512") && !error.contains("--bind"), "{error}");
        assert!(check_in(root.path(), "0000:3b:00.2", Has { iommu: false, ..BOTH }).is_ok());
    }

    #[test]
    fn a_device_that_is_not_there_or_no_network_device_is_said_to_be() {
        let root = tempfile::tempdir().unwrap();
        let error = check_in(root.path(), "0000:77:00.0", BOTH).unwrap_err().to_string();
        assert!(error.contains("no PCI network device at all"), "{error}");
        add(root.path(), "0000:3b:00.0", "0x020000", Some("vfio-pci"), None);
        add(root.path(), "0000:00:1f.2", "0x010601", Some("ahci"), None);
        let error = check_in(root.path(), "0000:77:00.0", BOTH).unwrap_err().to_string();
        assert!(error.contains("no such PCI device") && error.contains("0000:3b:00.0"), "{error}");
        let error = check_in(root.path(), "0000:00:1f.2", BOTH).unwrap_err().to_string();
        assert!(error.contains("no network device"), "{error}");
    }
}
