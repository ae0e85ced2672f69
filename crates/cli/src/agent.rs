//! The device's counters by SNMP, from a real agent in the device's namespace, and by netlink.
//!
//! Net-SNMP's agent keeps what it read of the interfaces for 15 seconds, unless it is told by its own
//! table of caches (NET-SNMP-AGENT-MIB, nsCacheTable) to look again for every question.

use crate::snmp_client::{ASK_AGAIN_AFTER, Client, IF_ENTRY, IF_X_ENTRY, count};
use std::net::{Ipv4Addr, SocketAddrV4, UdpSocket};
use std::path::PathBuf;
use std::time::Duration;
use testbed::{Device, Program, ProgramName, Routing};
use trial::{Counted, DeviceCount, PortId};
use wire::snmp::{self, Kind, Oid, Value};

const COMMUNITY: &str = "public";
const SNMPD: ProgramName = ProgramName { program: "snmpd", package: "snmpd" };
/// Within the device's namespace, where nobody else listens.
const AGENT: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::LOCALHOST, snmp::PORT);
/// How long an agent may take to answer its first question.
const STARTS_WITHIN: Duration = Duration::from_secs(5);
/// IP-MIB (RFC 4293).
const IP_FORW_DATAGRAMS: [u32; 9] = [1, 3, 6, 1, 2, 1, 4, 6, 0];

/// nsCacheTimeout, to be followed by the table or group that is cached: the interfaces' and IP's.
const CACHE_TIMEOUT: [u32; 12] = [1, 3, 6, 1, 4, 1, 8072, 1, 5, 3, 1, 2];
const IF_TABLE: [u32; 8] = [1, 3, 6, 1, 2, 1, 2, 2];
const IP_GROUP: [u32; 7] = [1, 3, 6, 1, 2, 1, 4];

/// A counter as a sum of columns of a table.
struct Column {
    name: &'static str,
    entry: &'static [u32],
    columns: &'static [u32],
    counted: Counted,
}

/// Of each interface. Unicast, multicast and broadcast packets together are all of them.
const COLUMNS: [Column; 8] = [
    Column {
        name: "ifHCIn{Ucast,Multicast,Broadcast}Pkts",
        entry: &IF_X_ENTRY,
        columns: &[7, 8, 9],
        counted: Counted::FramesIn,
    },
    Column {
        name: "ifHCOut{Ucast,Multicast,Broadcast}Pkts",
        entry: &IF_X_ENTRY,
        columns: &[11, 12, 13],
        counted: Counted::FramesOut,
    },
    Column { name: "ifHCInOctets", entry: &IF_X_ENTRY, columns: &[6], counted: Counted::OctetsIn },
    Column {
        name: "ifHCOutOctets",
        entry: &IF_X_ENTRY,
        columns: &[10],
        counted: Counted::OctetsOut,
    },
    Column { name: "ifInDiscards", entry: &IF_ENTRY, columns: &[13], counted: Counted::DiscardsIn },
    Column { name: "ifInErrors", entry: &IF_ENTRY, columns: &[14], counted: Counted::ErrorsIn },
    Column {
        name: "ifOutDiscards",
        entry: &IF_ENTRY,
        columns: &[19],
        counted: Counted::DiscardsOut,
    },
    Column { name: "ifOutErrors", entry: &IF_ENTRY, columns: &[20], counted: Counted::Other },
];

/// The device's counters as netlink and /proc tell them.
pub fn by_netlink(device: &Device) -> Result<Vec<DeviceCount>, String> {
    let reading = device.counters().map_err(|error| error.to_string())?;
    let mut counts = vec![];
    for port in 0..device.config().ports {
        let Some(of_port) = reading.interfaces.get(&device.interface(port)) else { continue };
        for (name, counted, count) in [
            ("rx_packets", Counted::FramesIn, of_port.rx_frames),
            ("tx_packets", Counted::FramesOut, of_port.tx_frames),
            ("rx_bytes", Counted::OctetsIn, of_port.rx_bytes),
            ("tx_bytes", Counted::OctetsOut, of_port.tx_bytes),
            ("rx_dropped", Counted::DiscardsIn, of_port.rx_dropped),
            ("rx_errors", Counted::ErrorsIn, of_port.rx_errors),
            ("tx_dropped", Counted::DiscardsOut, of_port.tx_dropped),
        ] {
            let port = Some(PortId(port as u16));
            counts.push(DeviceCount {
                source: "netlink".into(),
                port,
                name: name.into(),
                counted,
                count,
            });
        }
    }
    if device.config().routing == Routing::Rip {
        counts.push(DeviceCount {
            source: "netlink".into(),
            port: None,
            name: "routes by the routing daemon".into(),
            counted: Counted::Routes,
            count: device.learned_routes().map_err(|error| error.to_string())?,
        });
    }
    Ok(counts)
}

/// A real SNMP agent in the device's namespace; it is gone when this is dropped.
pub struct Agent {
    program: Option<Program>,
    /// What it remembers from run to run, which is nobody's business.
    state: PathBuf,
    client: Client,
    /// Numbers of the interfaces of the ports.
    indices: Vec<u32>,
    /// Whether it has counters of routing to tell.
    routes: bool,
}

impl Drop for Agent {
    fn drop(&mut self) {
        // It writes as it ends.
        self.program = None;
        let _ = std::fs::remove_dir_all(&self.state);
    }
}

impl Agent {
    /// Starts it, and has it read the kernel's counters anew for every question.
    pub fn start(device: &Device) -> Result<Agent, String> {
        let said = |error: &dyn std::fmt::Display| error.to_string();
        device.loopback_up().map_err(|error| said(&error))?;
        let state = testbed::program_folder(device.namespace(), "snmp");
        let address = format!("udp:{AGENT}");
        // In the foreground, without configuration files, silent, for this namespace only.
        let arguments = ["-f", "-C", "-Lo", "-I", "-smux", "--rwcommunity=public", &address];
        // It needs no texts of MIBs.
        let environment = [("SNMP_PERSISTENT_DIR", state.to_str().unwrap_or("/tmp")), ("MIBS", "")];
        let program = Program::start(device.namespace(), SNMPD, &arguments, &environment);
        let socket = device.namespace().run(ask_from).map_err(|error| said(&error))?;
        let index = |port| device.interface_index(port).map_err(|error| said(&error));
        let agent = Agent {
            program: Some(program.map_err(|error| said(&error))?),
            state,
            client: Client {
                socket: socket.map_err(|error| format!("cannot ask snmpd: {error}"))?,
                agent: "snmpd".into(),
                community: COMMUNITY.into(),
                patience: STARTS_WITHIN,
            },
            indices: (0..device.config().ports).map(index).collect::<Result<_, _>>()?,
            routes: device.config().device == testbed::DeviceKind::LinuxRouter,
        };
        for table in [&IF_TABLE[..], &IP_GROUP] {
            let oid = Oid([&CACHE_TIMEOUT[..], table].concat());
            agent.client.ask(Kind::SetRequest, vec![(oid, Value::Integer(0))])?;
        }
        Ok(agent)
    }

    /// The device's counters as they stand now.
    pub fn counts(&self) -> Result<Vec<DeviceCount>, String> {
        // It works out unicast packets in from a first and a second look at an interface.
        self.of_ports()?;
        let mut counts = self.of_ports()?;
        if self.routes {
            counts.push(DeviceCount {
                source: "SNMP".into(),
                port: None,
                name: "ipForwDatagrams.0".into(),
                counted: Counted::Forwarded,
                count: self.get(vec![Oid(IP_FORW_DATAGRAMS.to_vec())])?.into_iter().sum(),
            });
        }
        Ok(counts)
    }

    fn of_ports(&self) -> Result<Vec<DeviceCount>, String> {
        let mut counts = vec![];
        for (port, index) in self.indices.iter().enumerate() {
            let name =
                |column: &Column, number: u32| Oid([column.entry, &[number, *index]].concat());
            let oids =
                COLUMNS.iter().flat_map(|column| column.columns.iter().map(|n| name(column, *n)));
            let mut values = self.get(oids.collect())?.into_iter();
            for column in &COLUMNS {
                counts.push(DeviceCount {
                    source: "SNMP".into(),
                    port: Some(PortId(port as u16)),
                    name: format!("{}.{index}", column.name),
                    counted: column.counted,
                    count: values.by_ref().take(column.columns.len()).sum(),
                });
            }
        }
        Ok(counts)
    }

    /// The values of these variables; 0 for one that the agent does not have.
    fn get(&self, oids: Vec<Oid>) -> Result<Vec<u64>, String> {
        let values = self.client.get(oids)?;
        Ok(values.iter().map(|value| count(value).unwrap_or(0)).collect())
    }
}

/// A socket in the calling thread's namespace that asks the agent.
fn ask_from() -> std::io::Result<UdpSocket> {
    let socket = UdpSocket::bind(SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0))?;
    socket.connect(AGENT)?;
    socket.set_read_timeout(Some(ASK_AGAIN_AFTER))?;
    Ok(socket)
}
