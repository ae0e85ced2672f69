//! Routes that arrive as in life: a routing daemon in the router's namespace, BIRD, takes them in by RIP and
//! RIPng and puts them into the kernel's table.
//!
//! It listens only and sends no updates of its own: every frame out of the device is then a forwarded one,
//! an answer, or the kernel's.

use crate::config::TestbedConfig;
use crate::device::Device;
use crate::error::{Result, TestbedError};
use crate::program::{Program, ProgramName, find_program};
use crate::registry::files_of;
use kernel::{Namespace, Rtnetlink, read_file, write_file};
use netlink_packet_core::NlasIterator;
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::route::{RouteMessage, RouteProtocol};
use std::collections::BTreeMap;
use std::path::PathBuf;

const BIRD: ProgramName = ProgramName { program: "bird", package: "bird2" };
/// 224.0.0.9, to which RIPv2 updates go (RFC 2453 section 4.5), as /proc/net/igmp writes it.
const RIP_GROUP: &str = "090000E0";
/// ff02::9, to which RIPng updates go (RFC 2080 section 2.5.1), as /proc/net/igmp6 writes it.
const RIPNG_GROUP: &str = "ff020000000000000000000000000009";
/// How long the daemon may take to listen at every port, in steps of 10 ms.
const LISTENS_WITHIN: u32 = 1_000;

/// Why no routes can be taken in by RIP on this host; `None` where they can.
pub fn rip_shortfall() -> Option<String> {
    find_program(BIRD.program).is_none().then(|| {
        format!("no routing daemon takes in routes by RIP: `apt install {}`", BIRD.package)
    })
}

/// A BIRD, running in a namespace. Its files go with it.
#[derive(Debug)]
pub(crate) struct Bird {
    program: Program,
    files: [PathBuf; 2],
}

impl Bird {
    /// Starts one that does what this text says, in its own language.
    pub fn start(namespace: &Namespace, text: &str) -> Result<Self> {
        let [configuration, control, _] = files_of(namespace);
        let files = [configuration, control];
        let [configuration, control] = &files;
        write_file(configuration, text)?;
        let paths = [configuration, control].map(|path| path.display().to_string());
        let arguments = ["-f", "-c", &paths[0], "-s", &paths[1]];
        match Program::start(namespace, BIRD, &arguments, &[]) {
            Ok(program) => Ok(Bird { program, files }),
            Err(error) => {
                remove(&files);
                Err(error)
            }
        }
    }

    /// An error with what it said if it has ended.
    pub fn check(&mut self) -> Result<()> {
        self.program.check()
    }

    /// Its memory in bytes.
    pub fn resident_bytes(&self) -> Option<u64> {
        self.program.resident_bytes()
    }
}

impl Drop for Bird {
    fn drop(&mut self) {
        remove(&self.files);
    }
}

fn remove(files: &[PathBuf]) {
    files.iter().for_each(|file| {
        let _ = std::fs::remove_file(file);
    });
}

/// The daemon that hears RIP at every port, running.
#[derive(Debug)]
pub(crate) struct RipDaemon(Bird);

impl RipDaemon {
    /// Starts it in a device whose ports are up, and waits until it listens at each of them.
    pub fn start(device: &Device) -> Result<Self> {
        let mut daemon = RipDaemon(Bird::start(device.namespace(), &text(device.config()))?);
        daemon.wait_until_it_listens(device)?;
        Ok(daemon)
    }

    #[allow(clippy::disallowed_methods, reason = "a program starts in real time")]
    fn wait_until_it_listens(&mut self, device: &Device) -> Result<()> {
        for _ in 0..LISTENS_WITHIN {
            let heard_at = |file: &str, group: &str| -> Result<usize> {
                let groups = device.namespace().run(|| read_file(file))??;
                Ok(groups.matches(group).count())
            };
            let ports = device.config().ports;
            let hears = heard_at("/proc/thread-self/net/igmp", RIP_GROUP)? >= ports;
            let hears_ipv6 = !kernel::has_ipv6()
                || heard_at("/proc/thread-self/net/igmp6", RIPNG_GROUP)? >= ports;
            if hears && hears_ipv6 {
                return Ok(());
            }
            self.0.check()?;
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        let message = "it does not listen for RIP at every port".into();
        Err(TestbedError::Program { program: BIRD.program, message })
    }
}

/// What the daemon is to do, in its own language.
fn text(config: &TestbedConfig) -> String {
    let ports: Vec<String> = (0..config.ports).map(|port| format!("\"dut{port}\"")).collect();
    let ports = ports.join(", ");
    let ipv6 = match kernel::has_ipv6() {
        true => format!(
            "protocol kernel {{ ipv6 {{ import none; export where source = RTS_RIP; }}; }}\n\
             protocol rip ng {{\n  ipv6 {{ import all; export none; }};\n  \
               interface {ports} {{ passive yes; }};\n}}\n"
        ),
        false => String::new(),
    };
    format!(
        "router id 198.18.1.1;\n\
         protocol device {{ }}\n\
         protocol kernel {{ ipv4 {{ import none; export where source = RTS_RIP; }}; }}\n\
         protocol rip {{\n  ipv4 {{ import all; export none; }};\n  \
           interface {ports} {{ version 2; mode multicast; passive yes; }};\n}}\n{ipv6}"
    )
}

/// IPv4 routes that a routing daemon has put into the kernel's tables, by the interface through which
/// they leave.
pub(crate) fn learned_routes(netlink: &mut Rtnetlink) -> Result<BTreeMap<u32, u64>> {
    let mut message = RouteMessage::default();
    message.header.address_family = netlink_packet_route::AddressFamily::Inet;
    let mut routes = BTreeMap::new();
    let request = RouteNetlinkMessage::GetRoute(message);
    netlink.dump_each(request, "count the routes", |route| {
        if let Some(interface) = learned_through(route) {
            *routes.entry(interface).or_insert(0) += 1;
        }
    })?;
    Ok(routes)
}

/// The output interface of a route of BIRD's, of its bytes (struct rtmsg and attributes): a million routes
/// are counted faster than they are understood.
fn learned_through(route: &[u8]) -> Option<u32> {
    const BEFORE_ATTRIBUTES: usize = 12;
    const PROTOCOL: usize = 5;
    const RTA_OIF: u16 = 4;
    if *route.get(PROTOCOL)? != u8::from(RouteProtocol::Bird) {
        return None;
    }
    let attributes = NlasIterator::new(route.get(BEFORE_ATTRIBUTES..)?);
    let interface = attributes.flatten().find(|attribute| attribute.kind() == RTA_OIF)?;
    Some(u32::from_ne_bytes(interface.value().try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As Linux 6.18 sends 100.64.0.1 via 198.18.1.10 dev 3 proto bird metric 32.
    #[test]
    #[cfg(target_endian = "little")]
    fn the_interface_of_a_learned_route_is_found() {
        let mut route = vec![2, 32, 0, 0, 254, 12, 0, 1, 0, 0, 0, 0];
        let attributes: [(u16, [u8; 4]); 5] = [
            (15, [254, 0, 0, 0]),
            (1, [100, 64, 0, 1]),
            (6, [32, 0, 0, 0]),
            (5, [198, 18, 1, 10]),
            (4, [3, 0, 0, 0]),
        ];
        for (kind, value) in attributes {
            route.extend([8, 0, kind as u8, 0]);
            route.extend(value);
        }
        assert_eq!(learned_through(&route), Some(3));
        let kernels = [&[2, 24, 0, 0, 254, 2], &route[6..]].concat();
        assert_eq!(learned_through(&kernels), None);
        (0..route.len()).for_each(|length| {
            let _ = learned_through(&route[..length]);
        });
        assert_eq!(learned_through(&route[..route.len() - 8]), None);
    }

    #[test]
    fn the_daemon_listens_at_every_port_and_says_nothing() {
        let config = TestbedConfig { ports: 3, ..TestbedConfig::default() };
        let text = text(&config);
        assert!(text.contains(r#"interface "dut0", "dut1", "dut2" { version 2;"#), "{text}");
        assert!(text.contains("passive yes"), "{text}");
    }
}
