//! The far side as an SNMP agent tells of it.

use super::told::{LOST_IN, LOST_OUT, Own, RECEIVED, Reading, SENT, Told, Unread, Worth, worth};
use crate::control::gone;
use crate::failure::{Failure, Outcome};
use crate::snmp_client::{ASK_AGAIN_AFTER, Client, IF_ENTRY, IF_X_ENTRY, count};
use kernel::InterfaceState;
use ports::{DeviceCounts, DeviceLink, PlaceCount};
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use testbed::FarSide;
use trial::TesterError;
use wire::snmp::{self, Oid, Value};

/// For how long an agent may leave a question open.
const PATIENCE: Duration = Duration::from_secs(2);
/// How often counters are read that may be old.
const LOOK_AGAIN_AFTER: Duration = Duration::from_millis(100);
/// Names of interfaces that an error lists.
const LISTED: usize = 20;

const SYS_UP_TIME: [u32; 9] = [1, 3, 6, 1, 2, 1, 1, 3, 0];
const IF_DESCR: u32 = 2;
const IF_NAME: u32 = 1;

/// A row of ifTable or ifXTable.
type Entry = &'static [u32];

/// 64 bits: unicast, multicast and broadcast packets.
const RECEIVED_64: [(Entry, u32); 3] = [(&IF_X_ENTRY, 7), (&IF_X_ENTRY, 8), (&IF_X_ENTRY, 9)];
const SENT_64: [(Entry, u32); 3] = [(&IF_X_ENTRY, 11), (&IF_X_ENTRY, 12), (&IF_X_ENTRY, 13)];
/// 32 bits: unicast packets, and all others.
const RECEIVED_32: [(Entry, u32); 2] = [(&IF_ENTRY, 11), (&IF_ENTRY, 12)];
const SENT_32: [(Entry, u32); 2] = [(&IF_ENTRY, 17), (&IF_ENTRY, 18)];
/// Discards and errors.
const ON_THE_WAY_IN: [(Entry, u32); 2] = [(&IF_ENTRY, 13), (&IF_ENTRY, 14)];
const ON_THE_WAY_OUT: [(Entry, u32); 2] = [(&IF_ENTRY, 19), (&IF_ENTRY, 20)];

/// An agent and the interfaces of it that are of interest.
pub struct BySnmp {
    client: Client,
    interfaces: Vec<(u32, String)>,
    /// The tester's own interfaces.
    near: FarSide,
    lag: Duration,
    stop: Arc<AtomicBool>,
    base: Option<Base>,
}

/// The last reading that was up to date.
struct Base {
    reading: Reading,
    own: Vec<Own>,
    /// All that was counted up to it.
    totals: Vec<[u64; 4]>,
}

impl BySnmp {
    /// Asks the agent for its interfaces, and refuses what it does not have.
    pub fn open(
        (host, community): (&str, &str),
        interfaces: &[String],
        near: FarSide,
        lag: Duration,
        stop: &Arc<AtomicBool>,
    ) -> Outcome<Self> {
        let client = Client {
            socket: connect(host)?,
            agent: format!("the SNMP agent at {host}"),
            community: community.into(),
            patience: PATIENCE,
        };
        let known = names(&client).map_err(|why| {
            Failure::new(why)
                .help("check that the agent listens at this address (--far-snmp HOST[:PORT])")
                .help("check the community (--far-community): an agent does not answer a wrong one")
        })?;
        let found: Outcome<_> = interfaces.iter().map(|name| find(&known, name)).collect();
        let found =
            BySnmp { client, interfaces: found?, near, lag, stop: stop.clone(), base: None };
        // Counters that it has none of are refused now and not in the middle of a run.
        found.reading().map_err(Failure::new)?;
        Ok(found)
    }

    /// The interfaces and the agent.
    pub fn in_words(&self) -> String {
        let named = self.interfaces.iter().map(|(index, name)| format!("{name} (ifIndex {index})"));
        let named: Vec<String> = named.collect();
        format!(
            "{}, by {} (counters at most {} s old)",
            named.join(", "),
            self.client.agent,
            self.lag.as_secs_f64()
        )
    }

    /// The counters, once they are up to date; without them where they cannot be had.
    pub fn counts(&mut self) -> Result<DeviceCounts, TesterError> {
        let give_up = Instant::now() + self.lag;
        loop {
            if self.stop.load(Ordering::Relaxed) {
                return Err(TesterError::Interrupted);
            }
            // In this order: what the agent tells is never older than the tester's own.
            let late = Instant::now() >= give_up;
            let own: Vec<Own> = self.near.links().map_err(gone)?.iter().map(own).collect();
            let reading = match self.reading() {
                Ok(reading) => reading,
                Err(why) => return Ok(self.not_read(&why)),
            };
            let worth = match &self.base {
                Some(base) => worth((&base.reading, &base.own), (&reading, &own), late),
                None if late => Worth::Fresh(vec![[0; 4]; reading.ports.len()]),
                None => Worth::Old,
            };
            match worth {
                Worth::Fresh(counted) => return Ok(self.take((reading, own), counted)),
                Worth::Old => std::thread::sleep(LOOK_AGAIN_AFTER),
                Worth::None(why) => return Ok(self.not_read(&self.by_name(&why))),
            }
        }
    }

    /// A reading that is up to date is the base of the next.
    fn take(
        &mut self,
        (reading, own): (Reading, Vec<Own>),
        counted: Vec<[u64; 4]>,
    ) -> DeviceCounts {
        let mut totals = counted;
        for (total, before) in totals.iter_mut().zip(self.base.iter().flat_map(|base| &base.totals))
        {
            total.iter_mut().zip(before).for_each(|(total, before)| *total += before);
        }
        let link = |frames: &[u64; 4]| DeviceLink {
            rx_frames: frames[RECEIVED],
            rx_dropped: frames[LOST_IN],
            tx_frames: frames[SENT],
            tx_dropped: 0,
            carrier_changes: 0,
            carrier: true,
        };
        let place = |((_, name), frames): (&(u32, String), &[u64; 4])| PlaceCount {
            name: format!("ifOutDiscards and ifOutErrors of {name}"),
            dropped: frames[LOST_OUT],
            waiting: 0,
            of_machine: false,
        };
        let counts = DeviceCounts {
            links: totals.iter().map(link).collect(),
            places: self.interfaces.iter().zip(&totals).map(place).collect(),
            notes: vec![],
        };
        self.base = Some(Base { reading, own, totals });
        counts
    }

    /// Nothing is known, and the next reading begins anew.
    fn not_read(&mut self, why: &str) -> DeviceCounts {
        self.base = None;
        let notes = vec![format!("the device's counters were not read: {why}")];
        DeviceCounts { notes, ..DeviceCounts::default() }
    }

    fn by_name(&self, why: &Unread) -> String {
        format!("{} says {why}", self.client.agent)
    }

    fn reading(&self) -> Result<Reading, String> {
        let up_time = self.client.get(vec![Oid(SYS_UP_TIME.to_vec())])?;
        let Some(Value::TimeTicks(up_time_ticks)) = up_time.first() else {
            return Err(format!("{} has no sysUpTime", self.client.agent));
        };
        let ports = self.interfaces.iter().map(|(index, _)| self.of_interface(*index));
        Ok(Reading { up_time_ticks: *up_time_ticks, ports: ports.collect::<Result<_, _>>()? })
    }

    /// With 64 bits where it counts unicast packets so, both ways.
    fn of_interface(&self, index: u32) -> Result<[Vec<Told>; 4], String> {
        let groups: [&[(Entry, u32)]; 6] =
            [&RECEIVED_64, &SENT_64, &RECEIVED_32, &SENT_32, &ON_THE_WAY_IN, &ON_THE_WAY_OUT];
        let oid = |(entry, column): &(Entry, u32)| Oid([entry, &[*column, index][..]].concat());
        let oids = groups.iter().flat_map(|group| group.iter().map(oid)).collect();
        let mut values = self.client.get(oids)?.into_iter();
        let told = groups.map(|group| -> Vec<Option<Told>> {
            values.by_ref().take(group.len()).map(|value| told(&value)).collect()
        });
        let [received_64, sent_64, received_32, sent_32, lost_in, lost_out] = told;
        let wide = received_64[0].is_some() && sent_64[0].is_some();
        let (received, sent) = if wide { (received_64, sent_64) } else { (received_32, sent_32) };
        if received[0].is_none() || sent[0].is_none() {
            return Err(format!("{} counts no packets of ifIndex {index}", self.client.agent));
        }
        Ok([received, sent, lost_in, lost_out].map(|group| group.into_iter().flatten().collect()))
    }
}

fn told(value: &Value) -> Option<Told> {
    Some(Told { count: count(value)?, wraps: matches!(value, Value::Counter32(_)) })
}

fn own(link: &InterfaceState) -> Own {
    let counters = link.counters;
    Own {
        sent: counters.tx_frames,
        received: counters.rx_frames,
        dropped: counters.rx_dropped + counters.rx_errors,
    }
}

/// A socket to the agent; a port other than SNMP's is written after its name or address.
fn connect(host: &str) -> Outcome<UdpSocket> {
    let unknown = |error: std::io::Error| {
        Failure::new(format!("--far-snmp {host}: {error}")).help("write HOST or HOST:PORT")
    };
    let addresses: Vec<SocketAddr> = match (host.parse::<IpAddr>(), host.contains(':')) {
        (Ok(address), _) => vec![SocketAddr::new(address, snmp::PORT)],
        (_, true) => host.to_socket_addrs().map_err(unknown)?.collect(),
        (_, false) => (host, snmp::PORT).to_socket_addrs().map_err(unknown)?.collect(),
    };
    let is_ipv6 = addresses.first().is_some_and(SocketAddr::is_ipv6);
    let socket = UdpSocket::bind(if is_ipv6 { "[::]:0" } else { "0.0.0.0:0" }).map_err(unknown)?;
    socket.connect(&addresses[..]).map_err(unknown)?;
    socket.set_read_timeout(Some(ASK_AGAIN_AFTER)).map_err(unknown)?;
    Ok(socket)
}

/// What the agent calls its interfaces (ifDescr, ifName), by number.
fn names(client: &Client) -> Result<BTreeMap<u32, Vec<String>>, String> {
    let mut names: BTreeMap<u32, Vec<String>> = BTreeMap::new();
    for column in [[&IF_ENTRY[..], &[IF_DESCR]].concat(), [&IF_X_ENTRY[..], &[IF_NAME]].concat()] {
        for (row, value) in client.column(&column)? {
            let (&[index], Value::Other(_, text)) = (&row[..], &value) else { continue };
            let name = String::from_utf8_lossy(text).into_owned();
            let known = names.entry(index).or_default();
            if !known.contains(&name) {
                known.push(name);
            }
        }
    }
    match names.is_empty() {
        true => Err(format!("{} lists no interfaces", client.agent)),
        false => Ok(names),
    }
}

/// The interface of this number or name.
fn find(known: &BTreeMap<u32, Vec<String>>, wanted: &str) -> Outcome<(u32, String)> {
    let is_it = |(index, names): &(&u32, &Vec<String>)| {
        index.to_string() == wanted || names.iter().any(|name| name == wanted)
    };
    let all: Vec<_> = known.iter().filter(is_it).collect();
    let listed: Vec<String> = known
        .iter()
        .take(LISTED)
        .map(|(index, names)| format!("{index} ({})", names.join(", ")))
        .collect();
    match all[..] {
        [(index, names)] => Ok((*index, names.first().cloned().unwrap_or_default())),
        [] => Err(Failure::new(format!("the agent has no interface {wanted}"))
            .help(format!("it has {}", listed.join("; ")))),
        _ => Err(Failure::new(format!("the agent has several interfaces {wanted}"))
            .help(format!("name them by number: {}", listed.join("; ")))),
    }
}
