//! The device's counters by SNMP, from a real agent in the device's namespace, and by netlink.
//!
//! Net-SNMP's agent keeps what it read of the interfaces for 15 seconds. So that a reading is of
//! now, each has an agent of its own, which is there for a quarter of a second.

use std::net::{Ipv4Addr, SocketAddrV4, UdpSocket};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use testbed::Device;
use trial::{Counted, DeviceCount, PortId};
use wire::snmp::{self, Kind, Oid, Repr, Value};

const COMMUNITY: &str = "public";
const PATH: &str = "/usr/sbin:/sbin:/usr/bin:/bin:/usr/local/sbin:/usr/local/bin";
/// Within the device's namespace, where nobody else listens.
const AGENT: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::LOCALHOST, snmp::PORT);
/// How long an agent may take to answer its first question.
const STARTS_WITHIN: Duration = Duration::from_secs(5);
const ASK_AGAIN_AFTER: Duration = Duration::from_millis(50);
/// Tag of a Counter64 (RFC 2578 section 7.1.10).
const COUNTER64: u8 = 0x46;

/// IF-MIB (RFC 2863).
const IF_ENTRY: [u32; 9] = [1, 3, 6, 1, 2, 1, 2, 2, 1];
const IF_X_ENTRY: [u32; 10] = [1, 3, 6, 1, 2, 1, 31, 1, 1, 1];
/// IP-MIB (RFC 4293).
const IP_FORW_DATAGRAMS: [u32; 9] = [1, 3, 6, 1, 2, 1, 4, 6, 0];

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
    Ok(counts)
}

/// The same as an SNMP agent tells them.
pub fn by_snmp(device: &Device) -> Result<Vec<DeviceCount>, String> {
    let ports = device.config().ports;
    let index = |port| device.interface_index(port).map_err(|error| error.to_string());
    let indices = (0..ports).map(index).collect::<Result<Vec<u32>, _>>()?;
    device.loopback_up().map_err(|error| error.to_string())?;
    let routes = device.config().device == testbed::DeviceKind::LinuxRouter;
    let asked = device.namespace().run(|| ask(&indices, routes));
    asked.map_err(|error| error.to_string())?
}

/// Asks an agent in the calling thread's namespace.
fn ask(indices: &[u32], routes: bool) -> Result<Vec<DeviceCount>, String> {
    let agent = Agent::start()?;
    let mut counts = vec![];
    for (port, index) in indices.iter().enumerate() {
        let name = |column: &Column, number: u32| Oid([column.entry, &[number, *index]].concat());
        let oids =
            COLUMNS.iter().flat_map(|column| column.columns.iter().map(|n| name(column, *n)));
        let values = agent.get(oids.collect())?;
        let mut values = values.into_iter();
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
    if routes {
        counts.push(DeviceCount {
            source: "SNMP".into(),
            port: None,
            name: "ipForwDatagrams.0".into(),
            counted: Counted::Forwarded,
            count: agent.get(vec![Oid(IP_FORW_DATAGRAMS.to_vec())])?.into_iter().sum(),
        });
    }
    Ok(counts)
}

/// A running agent; it is gone when this is dropped.
struct Agent {
    process: Child,
    socket: UdpSocket,
}

impl Agent {
    fn start() -> Result<Agent, String> {
        let state = std::env::temp_dir().join(format!("netanvil-snmp-{}", std::process::id()));
        let process = Command::new("snmpd")
            // In the foreground, without configuration files, silent, for this namespace only.
            .args(["-f", "-C", "-Lo", "-I", "-smux", "--rocommunity=public"])
            .arg(format!("udp:{AGENT}"))
            .env("PATH", PATH)
            .env("SNMP_PERSISTENT_DIR", &state)
            // It needs no texts of MIBs.
            .env("MIBS", "")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| format!("cannot start snmpd: {error}; `apt install snmpd`"))?;
        let socket = UdpSocket::bind(SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0));
        let socket = socket.and_then(|socket| {
            socket.connect(AGENT)?;
            socket.set_read_timeout(Some(ASK_AGAIN_AFTER))?;
            Ok(socket)
        });
        let socket = socket.map_err(|error| format!("cannot ask snmpd: {error}"))?;
        Ok(Agent { process, socket })
    }

    /// The values of these variables; 0 for one that the agent does not have.
    fn get(&self, oids: Vec<Oid>) -> Result<Vec<u64>, String> {
        let request = Repr {
            community: COMMUNITY.into(),
            kind: Kind::GetRequest,
            request_id: oids.len() as i32,
            error_status: 0,
            error_index: 0,
            bindings: oids.into_iter().map(|oid| (oid, Value::Null)).collect(),
        };
        let give_up = Instant::now() + STARTS_WITHIN;
        let mut buffer = [0; 4_096];
        while Instant::now() < give_up {
            // Refused while the agent is not up yet.
            if self.socket.send(&request.emit()).is_err() {
                std::thread::sleep(ASK_AGAIN_AFTER);
                continue;
            }
            let Ok(len) = self.socket.recv(&mut buffer) else {
                std::thread::sleep(ASK_AGAIN_AFTER / 5);
                continue;
            };
            let Ok((answer, _)) = Repr::parse(&buffer[..len]) else { continue };
            let is_it = answer.kind == Kind::Response
                && answer.bindings.len() == request.bindings.len()
                && answer.bindings.iter().zip(&request.bindings).all(|(a, b)| a.0 == b.0);
            if is_it {
                return Ok(answer.bindings.iter().map(|(_, value)| count(value)).collect());
            }
        }
        Err("snmpd does not answer".into())
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        let state = std::env::temp_dir().join(format!("netanvil-snmp-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(state);
    }
}

fn count(value: &Value) -> u64 {
    match value {
        Value::Counter32(count) => (*count).into(),
        Value::Integer(count) => u64::try_from(*count).unwrap_or(0),
        Value::Other(COUNTER64, bytes) => {
            bytes.iter().fold(0, |count, byte| count << 8 | u64::from(*byte))
        }
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_of_64_bits_are_read_whole() {
        let value =
            Value::Other(COUNTER64, vec![0, 0x12, 0x34, 0x56, 0x78, 0x9a, 0xbc, 0xde, 0xf0]);
        assert_eq!(count(&value), 0x1234_5678_9abc_def0);
        assert_eq!(count(&Value::Counter32(7)), 7);
        assert_eq!(count(&Value::NoSuchInstance), 0);
    }
}
