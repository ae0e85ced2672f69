//! Routes that arrive as in life: a routing daemon in the router's namespace, BIRD, takes them in by RIP
//! and puts them into the kernel's table.
//!
//! It listens only and sends no updates of its own: every frame out of the device is then a forwarded one,
//! an answer, or the kernel's.

use crate::config::TestbedConfig;
use crate::device::Device;
use crate::error::{Result, TestbedError, read_file, write_file};
use crate::netlink::Netlink;
use crate::program::{Program, ProgramName, find_program};
use crate::registry::{REGISTRY_DIRECTORY, files_of_namespace};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::route::{RouteMessage, RouteProtocol};
use std::path::PathBuf;

const BIRD: ProgramName = ProgramName { program: "bird", package: "bird2" };
/// 224.0.0.9, to which RIPv2 updates go (RFC 2453 section 4.5), as /proc/net/igmp writes it.
const RIP_GROUP: &str = "090000E0";
/// How long the daemon may take to listen at every port, in steps of 10 ms.
const LISTENS_WITHIN: u32 = 1_000;

/// Why no routes can be taken in by RIP on this host; `None` where they can.
pub fn rip_shortfall() -> Option<String> {
    find_program(BIRD.program).is_none().then(|| {
        format!("no routing daemon takes in routes by RIP: `apt install {}`", BIRD.package)
    })
}

/// The daemon, running. Its files go with it.
#[derive(Debug)]
pub(crate) struct RipDaemon {
    program: Program,
    files: [PathBuf; 2],
}

impl RipDaemon {
    /// Starts it in a device whose ports are up, and waits until it listens at each of them.
    pub fn start(device: &Device) -> Result<Self> {
        let files = files_of(device);
        let [configuration, control] = &files;
        write_file(configuration, &text(device.config()))?;
        let paths = [configuration, control].map(|path| path.display().to_string());
        let arguments = ["-f", "-c", &paths[0], "-s", &paths[1]];
        let program = Program::start(device.namespace(), BIRD, &arguments, &[]);
        let mut daemon = RipDaemon { program: program?, files };
        daemon.wait_until_it_listens(device)?;
        Ok(daemon)
    }

    #[allow(clippy::disallowed_methods, reason = "a program starts in real time")]
    fn wait_until_it_listens(&mut self, device: &Device) -> Result<()> {
        for _ in 0..LISTENS_WITHIN {
            let groups = device.namespace().run(|| read_file("/proc/thread-self/net/igmp"))??;
            if groups.matches(RIP_GROUP).count() >= device.config().ports {
                return Ok(());
            }
            self.program.check()?;
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        let message = "it does not listen for RIP at every port".into();
        Err(TestbedError::Program { program: BIRD.program, message })
    }
}

impl Drop for RipDaemon {
    fn drop(&mut self) {
        self.files.iter().for_each(|file| {
            let _ = std::fs::remove_file(file);
        });
    }
}

/// Beside the record of the run, where `clean` finds them; an ordinary user's, where he may write.
fn files_of(device: &Device) -> [PathBuf; 2] {
    let folder = match device.namespace().is_named() {
        true => PathBuf::from(REGISTRY_DIRECTORY),
        false => std::env::temp_dir(),
    };
    files_of_namespace(&folder, device.namespace().name())
}

/// What the daemon is to do, in its own language.
fn text(config: &TestbedConfig) -> String {
    let ports: Vec<String> = (0..config.ports).map(|port| format!("\"dut{port}\"")).collect();
    format!(
        "router id 198.18.1.1;\n\
         protocol device {{ }}\n\
         protocol kernel {{ ipv4 {{ import none; export where source = RTS_RIP; }}; }}\n\
         protocol rip {{\n  ipv4 {{ import all; export none; }};\n  \
           interface {} {{ version 2; mode multicast; passive yes; }};\n}}\n",
        ports.join(", ")
    )
}

impl Netlink<RouteNetlinkMessage> {
    /// IPv4 routes that a routing daemon has put into the kernel's tables.
    pub fn learned_routes(&mut self) -> Result<u64> {
        let mut message = RouteMessage::default();
        message.header.address_family = netlink_packet_route::AddressFamily::Inet;
        let routes = self.dump(RouteNetlinkMessage::GetRoute(message), "list the routes")?;
        let is_learned = |answer: &RouteNetlinkMessage| {
            matches!(answer, RouteNetlinkMessage::NewRoute(route)
                if route.header.protocol == RouteProtocol::Bird)
        };
        Ok(routes.iter().filter(|answer| is_learned(answer)).count() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_daemon_listens_at_every_port_and_says_nothing() {
        let config = TestbedConfig { ports: 3, ..TestbedConfig::default() };
        let text = text(&config);
        assert!(text.contains(r#"interface "dut0", "dut1", "dut2" { version 2;"#), "{text}");
        assert!(text.contains("passive yes"), "{text}");
    }
}
