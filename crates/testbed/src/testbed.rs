//! A test bed: the tester's namespace with its ports, and the device they are joined to.

use crate::addressing::{PortAddresses, device_mac, tester_mac};
use crate::config::{DeviceKind, TestbedConfig};
use crate::device::Device;
use crate::error::{Result, TestbedError};
use crate::hardware::SwitchedOff;
use crate::registry::{Registration, next_run_name};
use crate::sysctl;
use crate::test_port::TestPort;
use kernel::{Ethtool, InterfaceCounters, KernelError, Namespace, Privilege, REWRITING_FEATURES};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A built test bed. Dropping it removes it; [`Testbed::destroy`] also says what went wrong.
#[derive(Debug)]
pub struct Testbed {
    config: TestbedConfig,
    tester: Namespace,
    ports: Vec<TestPort>,
    device: Option<Arc<Device>>,
    /// Last, so that the record goes after what it records.
    _registration: Option<Registration>,
}

impl Testbed {
    /// Builds a test bed. On failure nothing of it remains.
    pub fn build(config: &TestbedConfig) -> Result<Self> {
        config.check()?;
        if config.device.polls() {
            let why = "a program without interfaces: start it with start_polling";
            return Err(TestbedError::Configuration(why.into()));
        }
        let namespaces = Namespaces::for_this_process()?;
        let tester = namespaces.create("tester")?;
        let mut testbed = Testbed {
            config: config.clone(),
            tester,
            ports: Vec::new(),
            device: None,
            _registration: None,
        };
        testbed.tester.run(sysctl::silence_tester)??;
        match config.device {
            DeviceKind::Loopback => testbed.join_back_to_back()?,
            _ => {
                let dut = namespaces.create("dut")?;
                let speaker = config.feed.map(|_| namespaces.create("speaker")).transpose();
                let speaker = speaker.inspect_err(|_| drop(dut.remove()))?;
                let device = Arc::new(Device::new(dut, speaker, config.clone()));
                testbed.device = Some(device.clone());
                device.prepare()?;
                testbed.join_to_device(&device)?;
                device.start()?;
            }
        }
        let mut netlink = testbed.tester.netlink()?;
        testbed.ports.iter().try_for_each(|port| netlink.wait_for_carrier(&port.interface))?;
        testbed._registration = namespaces.into_registration();
        Ok(testbed)
    }

    /// What was asked for.
    pub fn config(&self) -> &TestbedConfig {
        &self.config
    }

    /// The namespace the tester's ports are in: open their sockets inside it
    /// (`testbed.tester().run(|| ...)`).
    pub fn tester(&self) -> &Namespace {
        &self.tester
    }

    /// The tester's ports, by number.
    pub fn ports(&self) -> &[TestPort] {
        &self.ports
    }

    /// The device, to be read and acted upon from any thread; none in a loopback.
    pub fn device(&self) -> Option<Arc<Device>> {
        self.device.clone()
    }

    /// Reads the kernel's counters of the tester's ports, by interface name.
    pub fn tester_counters(&self) -> Result<BTreeMap<String, InterfaceCounters>> {
        let mut netlink = self.tester.netlink()?;
        let read = |port: &TestPort| {
            let counters = netlink.state(&port.interface)?.counters;
            Ok((port.interface.clone(), counters))
        };
        self.ports.iter().map(read).collect()
    }

    /// Destination Ethernet address of frames from one port to another: the router's port, or the
    /// far port itself where a bridge or nothing is between.
    pub fn next_hop_mac(&self, from: usize, to: usize) -> [u8; 6] {
        self.ports[from].device_mac.unwrap_or(self.ports[to].mac)
    }

    /// Removes everything, and says what could not be removed.
    pub fn destroy(mut self) -> Result<()> {
        self.tear_down()
    }

    /// Pairs of ports, one veth each.
    fn join_back_to_back(&mut self) -> Result<()> {
        for pair in (0..self.config.ports).step_by(2) {
            let (near, far) = (tester_interface(pair), tester_interface(pair + 1));
            let near = self.config.veth_end(&near, tester_mac(pair));
            let far = self.config.veth_end(&far, tester_mac(pair + 1));
            self.tester.netlink()?.add_veth(&near, &far, None)?;
        }
        (0..self.config.ports).try_for_each(|port| self.open_port(port, None))
    }

    /// A veth each, one end here and one in the device.
    fn join_to_device(&mut self, device: &Device) -> Result<()> {
        let device_namespace = device.namespace().open()?;
        for port in 0..self.config.ports {
            let (near, far) = (tester_interface(port), device.connector(port));
            let near = self.config.tester_end(&near, tester_mac(port));
            let far = self.config.veth_end(&far, device.connector_mac(port));
            self.tester.netlink()?.add_veth(&near, &far, Some(&device_namespace))?;
            device.add_input_queue(port)?;
        }
        let routed = !self.config.device.is_switch();
        (0..self.config.ports)
            .try_for_each(|port| self.open_port(port, routed.then(|| device_mac(port))))
    }

    /// Brings a tester port up with every offload off: what is sent and received is then what is on
    /// the wire, with full checksums and unmerged.
    fn open_port(&mut self, port: usize, device_mac: Option<[u8; 6]>) -> Result<()> {
        let interface = tester_interface(port);
        let mut netlink = self.tester.netlink()?;
        netlink.set_link_up(&interface, true)?;
        self.tester
            .run(|| Ethtool::open(&interface)?.set_features(&REWRITING_FEATURES, false))??;
        self.ports.push(TestPort {
            port,
            interface_index: netlink.link_index(&interface)?,
            mac: tester_mac(port),
            device_mac,
            addresses: PortAddresses::of_port(port),
            mtu_bytes: self.config.tester_end(&interface, tester_mac(port)).mtu_bytes,
            interface,
        });
        Ok(())
    }

    /// Deletes the links, then the names. Every step is tried; the first failure is returned.
    fn tear_down(&mut self) -> Result<()> {
        let mut outcome = Ok(());
        let mut attempt = |result: kernel::Result<()>| match result {
            // Somebody was faster: what is gone need not be removed.
            Err(KernelError::NamespaceGone { .. } | KernelError::NoSuchInterface { .. })
            | Ok(()) => {}
            Err(error) if outcome.is_ok() => outcome = Err(error),
            Err(_) => {}
        };
        for port in std::mem::take(&mut self.ports) {
            attempt(
                self.tester.netlink().and_then(|mut netlink| netlink.delete_link(&port.interface)),
            );
        }
        if let Some(device) = self.device.take() {
            device.stop_routing();
            drop(device.end_tunnel());
            device.end_multicast();
            device.end_switch();
            attempt(device.remove());
        }
        attempt(self.tester.remove());
        Ok(outcome?)
    }
}

impl Drop for Testbed {
    fn drop(&mut self) {
        let _ = self.tear_down();
    }
}

fn tester_interface(port: usize) -> String {
    format!("tester{port}")
}

/// Makes the namespaces of one run: named and on record where the process may, else anonymous.
pub(crate) struct Namespaces {
    registration: Option<Registration>,
}

impl Namespaces {
    pub fn for_this_process() -> Result<Self> {
        let registration = match Privilege::current() {
            Privilege::Root => Some(Registration::new(&SwitchedOff::new())?),
            Privilege::UserNamespace => None,
            Privilege::Ordinary => {
                let doing = "build a test bed as an ordinary user";
                return Err(KernelError::not_permitted(doing).into());
            }
        };
        Ok(Namespaces { registration })
    }

    pub fn create(&self, role: &str) -> kernel::Result<Namespace> {
        match &self.registration {
            Some(registration) => Namespace::create_named(&registration.namespace_name(role)),
            None => Namespace::create_anonymous(&format!("netanvil-{}-{role}", next_run_name())),
        }
    }

    /// The record, to be kept as long as what it records.
    pub fn into_registration(self) -> Option<Registration> {
        self.registration
    }
}
