//! Tunnels and a translator in the router's namespace, between what comes in natively at port 0 and what
//! goes out at port 1: kernel tunnels, made by `ip`, and TAYGA for SIIT.

use crate::addressing::{PortAddresses, tester_mac};
use crate::config::TestbedConfig;
use crate::device::Device;
use crate::error::{Result, TestbedError};
use crate::program::{Program, ProgramName, tell};
use crate::registry::files_of;
use kernel::{Namespace, Network, write_file};
use serde::{Deserialize, Serialize};
use std::net::{Ipv4Addr, Ipv6Addr};
use std::path::PathBuf;

const IP: ProgramName = ProgramName { program: "ip", package: "iproute2" };
const TAYGA: ProgramName = ProgramName { program: "tayga", package: "tayga" };
/// Name of the tunnel's interface in the device.
const INTERFACE: &str = "tunnel0";
/// How long a program may take to make it, in steps of 10 ms.
const APPEARS_WITHIN: u32 = 500;

/// What the router does between its two ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tunnel {
    /// GRE over IPv4.
    Gre,
    /// GRE over IPv6.
    Gre6,
    /// IPv6 within IPv4 (the kernel's `sit`).
    #[serde(rename = "6in4")]
    SixInFour,
    /// IPv4 within IPv6, by the kernel's segment routing with a single segment, which has no routing
    /// header (RFC 8986 section 5.2), and its End.DX4 on the way back.
    #[serde(rename = "4in6")]
    FourInSix,
    /// VXLAN over IPv4, routed into.
    Vxlan,
    /// IPv6 to IPv4 and back without state, by TAYGA in user space.
    Siit,
}

/// Who is where on the two sides of a tunnel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TunnelPlan {
    /// The host behind the second port, within the tunnel.
    pub far_ipv4: Ipv4Addr,
    /// The same in IPv6; of a translation the IPv4 host as IPv6 sees it.
    pub far_ipv6: Ipv6Addr,
    /// The host behind the first port as the other side sees it.
    pub near_ipv4: Ipv4Addr,
    /// The device's end of the tunnel.
    pub end_ipv4: Ipv4Addr,
    /// The same in IPv6.
    pub end_ipv6: Ipv6Addr,
    /// To which Ethernet address frames within a VXLAN go.
    pub inner_mac: [u8; 6],
    /// Network identifier of the VXLAN.
    pub network: u32,
}

/// Networks of the output side that no port, no route and no test has otherwise.
const FAR_IPV4: Network =
    Network { address: std::net::IpAddr::V4(Ipv4Addr::new(198, 19, 96, 0)), prefix_length: 24 };
const FAR_IPV6: Network = Network {
    address: std::net::IpAddr::V6(Ipv6Addr::new(0x2001, 2, 0, 0xb000, 0, 0, 0, 0)),
    prefix_length: 64,
};
/// IPv4 addresses as IPv6 sees them, in their last 32 bits (RFC 6052).
const TRANSLATED: Ipv6Addr = Ipv6Addr::new(0x2001, 2, 0, 0xb064, 0, 0, 0, 0);
/// The IPv6 host of the first port as IPv4 sees it, and the translator itself.
const MAPPED: Ipv4Addr = Ipv4Addr::new(198, 18, 97, 2);
const TRANSLATOR: Ipv4Addr = Ipv4Addr::new(198, 18, 97, 1);
const MAPPED_NETWORK: &str = "198.18.97.0/24";

impl Tunnel {
    /// Who is where.
    pub fn plan(self) -> TunnelPlan {
        let [near, far] = [0, 1].map(PortAddresses::of_port);
        let translated = TRANSLATED.to_bits() | u128::from(far.ipv4.host.to_bits());
        let is_siit = self == Tunnel::Siit;
        TunnelPlan {
            far_ipv4: if is_siit { far.ipv4.host } else { Ipv4Addr::new(198, 19, 96, 2) },
            far_ipv6: match is_siit {
                true => Ipv6Addr::from_bits(translated),
                false => Ipv6Addr::new(0x2001, 2, 0, 0xb000, 0, 0, 0, 2),
            },
            near_ipv4: if is_siit { MAPPED } else { near.ipv4.host },
            end_ipv4: far.ipv4.device,
            end_ipv6: match self {
                // A segment: an address that the device has a behaviour for, and no interface.
                Tunnel::FourInSix => Ipv6Addr::new(0x2001, 2, 0, 0x8000, 0, 0, 0, 0xd),
                _ => far.ipv6.device,
            },
            inner_mac: [0x02, b'N', b'A', 0, 0xfe, 1],
            network: 96,
        }
    }

    /// Refuses a device around which it cannot be built.
    pub(crate) fn check(self, config: &TestbedConfig) -> Result<()> {
        let refuse = |why: &str| Err(TestbedError::Configuration(format!("tunnel: {why}")));
        if config.device != crate::DeviceKind::LinuxRouter {
            return refuse("only linux-router has one");
        }
        if config.ports != 2 {
            return refuse("it is between two ports");
        }
        if config.destination_networks || config.routes_per_port > 0 {
            return refuse("its far side is one network: send to one destination");
        }
        Ok(())
    }

    /// What `ip` is told once the tunnel's interface, where it is somebody else's, is there.
    fn commands(self, mtu_bytes: u32) -> String {
        let [near, far] = [0, 1].map(PortAddresses::of_port);
        let TunnelPlan { end_ipv6, inner_mac, network, far_ipv4, far_ipv6, .. } = self.plan();
        let (end, host) = (far.ipv4.device, far.ipv4.host);
        let (end6, host6) = (far.ipv6.device, far.ipv6.host);
        let make = match self {
            Tunnel::Gre => {
                format!("link add {INTERFACE} type gre local {end} remote {host} ttl 64\n")
            }
            Tunnel::SixInFour => {
                format!("link add {INTERFACE} type sit local {end} remote {host} ttl 64\n")
            }
            Tunnel::Gre6 => format!(
                "link add {INTERFACE} type ip6gre local {end6} remote {host6} hoplimit 64 \
                 encaplimit none\n"
            ),
            Tunnel::Vxlan => format!(
                "link add {INTERFACE} address {} type vxlan id {network} local {end} remote {host} \
                 dstport 4789 dev dut1 nolearning noudpcsum\n",
                mac_text(inner_mac)
            ),
            Tunnel::Siit => String::new(),
            Tunnel::FourInSix => {
                return format!(
                    "route replace {FAR_IPV4} encap seg6 mode encap.red segs {host6} dev dut1\n\
                     route replace {end_ipv6}/128 encap seg6local action End.DX4 nh4 {} dev dut1\n",
                    near.ipv4.host
                );
            }
        };
        let up = format!(
            "link set {INTERFACE} addrgenmode none\nlink set {INTERFACE} mtu {mtu_bytes} up\n"
        );
        let routes = match self {
            Tunnel::Siit => format!(
                "route replace {TRANSLATED}/96 dev {INTERFACE}\n\
                 route replace {MAPPED_NETWORK} dev {INTERFACE}\n"
            ),
            Tunnel::SixInFour => format!("route replace {FAR_IPV6} dev {INTERFACE}\n"),
            _ => format!(
                "route replace {FAR_IPV4} dev {INTERFACE}\nroute replace {FAR_IPV6} dev {INTERFACE}\n"
            ),
        };
        let neighbours = match self {
            Tunnel::Vxlan => {
                let mac = mac_text(tester_mac(1));
                format!(
                    "neigh replace {far_ipv4} lladdr {mac} dev {INTERFACE} nud permanent\n\
                     neigh replace {far_ipv6} lladdr {mac} dev {INTERFACE} nud permanent\n"
                )
            }
            _ => String::new(),
        };
        [make, up, routes, neighbours].concat()
    }

    /// What a packet of a link's MTU leaves for one within the tunnel.
    pub(crate) fn mtu_bytes(self, link_bytes: u32) -> u32 {
        let headers = match self {
            Tunnel::Gre => 24,
            Tunnel::Gre6 => 44,
            Tunnel::SixInFour => 20,
            Tunnel::FourInSix => 40,
            Tunnel::Vxlan => 50,
            Tunnel::Siit => 0,
        };
        link_bytes.saturating_sub(headers)
    }

    /// What the kernel, or the host, lacks for it.
    fn remedy(self) -> &'static str {
        match self {
            Tunnel::Gre => "the kernel needs CONFIG_NET_IPGRE (`modprobe ip_gre`)",
            Tunnel::Gre6 => "the kernel needs CONFIG_IPV6_GRE (`modprobe ip6_gre`)",
            Tunnel::SixInFour => "the kernel needs CONFIG_IPV6_SIT (`modprobe sit`)",
            Tunnel::FourInSix => "the kernel needs CONFIG_IPV6_SEG6_LWTUNNEL",
            Tunnel::Vxlan => "the kernel needs CONFIG_VXLAN (`modprobe vxlan`)",
            Tunnel::Siit => "the kernel needs CONFIG_TUN (`modprobe tun`)",
        }
    }
}

/// A tunnel in place. A translator's program and its files go with it.
#[derive(Debug)]
pub(crate) struct Running {
    tunnel: Tunnel,
    translator: Option<(Program, PathBuf)>,
}

impl Running {
    /// Process id of the translator, where there is one.
    pub fn process(&self) -> Option<u32> {
        self.translator.as_ref().map(|(program, _)| program.id())
    }

    /// Puts it into a device whose ports are up.
    pub fn start(device: &Device, tunnel: Tunnel) -> Result<Self> {
        let mut running = Running { tunnel, translator: None };
        if tunnel == Tunnel::Siit {
            running.translator = Some(start_tayga(device)?);
            running.wait_for_interface(device)?;
        }
        running.say(device)?;
        Ok(running)
    }

    /// Says the routes again that go when a link goes down: those of a tunnel without an interface.
    pub fn restore(&self, device: &Device) -> Result<()> {
        match self.tunnel {
            Tunnel::FourInSix => self.say(device),
            _ => Ok(()),
        }
    }

    fn say(&self, device: &Device) -> Result<()> {
        let tunnel = self.tunnel;
        let commands = tunnel.commands(tunnel.mtu_bytes(device.config().mtu_bytes));
        make(device.namespace(), tunnel, &commands)
    }

    /// Takes it out of the device, whose ports may go down next.
    pub fn stop(self, device: &Device) -> Result<()> {
        let is_link = !matches!(self.tunnel, Tunnel::FourInSix | Tunnel::Siit);
        drop(self);
        match is_link {
            true => Ok(device.namespace().netlink()?.delete_link(INTERFACE)?),
            false => Ok(()),
        }
    }

    #[allow(clippy::disallowed_methods, reason = "a program starts in real time")]
    fn wait_for_interface(&mut self, device: &Device) -> Result<()> {
        for _ in 0..APPEARS_WITHIN {
            if device.namespace().netlink()?.link_index(INTERFACE).is_ok() {
                return Ok(());
            }
            if let Some((program, _)) = &mut self.translator {
                program.check()?;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        let message = format!("made no interface {INTERFACE}");
        Err(TestbedError::Program { program: TAYGA.program, message })
    }
}

/// Has `ip` make tunnels of a kind; an error names what the kernel lacks.
pub(crate) fn make(namespace: &Namespace, tunnel: Tunnel, commands: &str) -> Result<()> {
    let done = namespace.run(|| tell(IP, &["-batch", "-"], commands))?;
    done.map(drop).map_err(|error| match error {
        TestbedError::Program { program, message } => {
            TestbedError::Program { program, message: format!("{message}; {}", tunnel.remedy()) }
        }
        other => other,
    })
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some((_, file)) = &self.translator {
            let _ = std::fs::remove_file(file);
        }
    }
}

fn start_tayga(device: &Device) -> Result<(Program, PathBuf)> {
    let [.., file] = files_of(device.namespace());
    let host = PortAddresses::of_port(0).ipv6.host;
    let text = format!(
        "tun-device {INTERFACE}\nipv4-addr {TRANSLATOR}\nprefix {TRANSLATED}/96\nmap {MAPPED} {host}\n"
    );
    write_file(&file, &text)?;
    let path = file.display().to_string();
    let program = Program::start(device.namespace(), TAYGA, &["-c", &path, "--nodetach"], &[])?;
    Ok((program, file))
}

fn mac_text(mac: [u8; 6]) -> String {
    mac.map(|octet| format!("{octet:02x}")).join(":")
}
