//! What RFC 1030 tells beside its tables: the speed of a host by itself (section 4), and what the first
//! tests over the Wideband came upon (section 7).

use super::campaign::{Constants, Network};
use super::host::{Adapter, Cost, HostModel};
use super::path::{Lan, Path};
use super::world::{Bed, Measured, Transfer, run, run_ends, run_together};
use netblt::Burst;
use units::Duration;

/// The speed of a host that does one thing only.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Alone {
    /// Bytes of data in a packet.
    pub data_bytes: u16,
    /// From one packet that leaves to the next.
    pub send: Duration,
    /// From one packet that is in its buffer to the next.
    pub receive: Duration,
    /// From the end of a packet on the wire to its data in its buffer, where the host was idle.
    pub receive_idle: Duration,
}

impl Alone {
    /// Megabits a second at so much time for a packet.
    pub fn mbps(&self, each: Duration) -> f64 {
        f64::from(self.data_bytes) * 8.0 / each.as_secs_f64() / 1e6
    }
}

/// Packets of a buffer: so many that its control messages do not count.
const MANY_PACKETS: u32 = 1000;
/// A sender that a receiver never waits for, and one that it always waits for, in percent of its own time.
const QUICKER_PERCENT: u64 = 95;
const SLOWER_PERCENT: u64 = 200;

/// "The performance achieved if the sending NETBLT did nothing but transmit data packets, and the
/// receiving NETBLT did nothing but receive data packets" (section 4): one buffer of many packets in
/// one burst, to a receiver that takes no time; from a sender that is a little quicker; and from one
/// that is half as quick. All with one outstanding buffer, on a quiet LAN. None where a packet was lost.
pub fn alone(constants: &Constants, network: Network) -> Option<Alone> {
    let data_bytes = if network == Network::ProteonRing { 1990 } else { 1438 };
    let bed = constants.bed(network);
    let host = bed.hosts[0];
    let quick = Cost { fixed: Duration::ZERO, per_byte: Duration::ZERO };
    let idle = HostModel { receive_data: quick, adapter: Adapter::FullDuplex, ..host };
    let sender_of = |percent: u64| {
        let share = |time: Duration| Duration::from_ps(time.as_ps() / 100 * percent);
        let Cost { fixed, per_byte } = host.send_data;
        HostModel { send_data: Cost { fixed: share(fixed), per_byte: share(per_byte) }, ..host }
    };
    let transfer = Transfer {
        // The packets may leave back to back, and their timer runs for longer than they take.
        burst: Burst { size_packets: MANY_PACKETS as u16, interval_ms: 20 * MANY_PACKETS as u16 },
        data_packet_size_bytes: data_bytes,
        buffer_size_bytes: MANY_PACKETS * u32::from(data_bytes),
        transfer_size_bytes: u64::from(MANY_PACKETS) * u64::from(data_bytes),
        outstanding_buffers: 1,
    };
    let quiet = |hosts| Bed { path: Path::Lan(Lan::new(None)), hosts, ..bed.clone() };
    let sends = run_ends(&quiet([host, idle]), &transfer)?.sent;
    let takes = run_ends(&quiet([sender_of(QUICKER_PERCENT), host]), &transfer)?.taken;
    let waits = run_ends(&quiet([sender_of(SLOWER_PERCENT), host]), &transfer)?;
    let whole = [sends, takes, waits.taken].iter().all(|span| span.count() == MANY_PACKETS.into());
    whole.then_some(Alone {
        data_bytes,
        send: sends.each()?,
        receive: takes.each()?,
        receive_idle: waits.mean_wait,
    })
}

/// The Wideband of the first tests, with a PC at either end and control messages packed or not (section 7).
pub fn first_phase(constants: &Constants, packs_control: bool) -> Bed {
    let bed = constants.bed(Network::Wideband);
    let pc = HostModel { packs_control, ..bed.hosts[0] };
    Bed { hosts: [pc, pc], ..bed }
}

/// The transfers of appendix IV with packets that cross the network whole.
fn over_the_wideband(interval_ms: u16) -> Transfer {
    Transfer {
        burst: Burst { size_packets: 5, interval_ms },
        data_packet_size_bytes: 1432,
        buffer_size_bytes: 14_320,
        transfer_size_bytes: 716_000,
        outstanding_buffers: 22,
    }
}

/// Shares of the data packets that came to the receiver and that it dropped.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Dropped {
    /// By a PC/AT with its 3C500: "15 - 20%" (section 7).
    pub pc: f64,
    /// By a SUN-3: "only 0.5%".
    pub sun: f64,
}

/// The first receiver and the one that replaced it, with bursts of 5 packets in 90 ms. None if a transfer does not
/// end.
pub fn dropped(constants: &Constants, seed: u64) -> Option<Dropped> {
    let transfer = over_the_wideband(90);
    let share = |bed: &Bed| {
        let Measured { data_unheard, data_packets_sent, .. } = run(bed, &transfer, seed)?;
        Some(data_unheard as f64 / data_packets_sent as f64)
    };
    Some(Dropped {
        pc: share(&first_phase(constants, true))?,
        sun: share(&constants.bed(Network::Wideband))?,
    })
}

/// Control packets for each buffer, and how many of them the sender dropped.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Control {
    /// That left the receiver.
    pub packets_per_buffer: f64,
    /// That the sender's adapter was deaf to.
    pub dropped_per_buffer: f64,
}

/// Control packets before messages were packed, and after: between two PCs over the Wideband. None if a transfer
/// does not end.
pub fn control(constants: &Constants, seed: u64) -> Option<[Control; 2]> {
    let transfer = over_the_wideband(90);
    let of = |packs_control| {
        let measured = run(&first_phase(constants, packs_control), &transfer, seed)?;
        Some(per_buffer(&measured, &transfer))
    };
    Some([of(false)?, of(true)?])
}

/// The same in lock-step on the quiet ring, where nothing is sent again: "one per buffer transmission".
pub fn control_in_lock_step(constants: &Constants) -> Option<[Control; 2]> {
    let bed = constants.bed(Network::ProteonRing);
    let transfer = Transfer { outstanding_buffers: 1, ..over_the_wideband(40) };
    let of = |packs_control| {
        let pc = HostModel { packs_control, ..bed.hosts[0] };
        let measured = run(&Bed { hosts: [pc, pc], ..bed.clone() }, &transfer, 0)?;
        Some(per_buffer(&measured, &transfer))
    };
    Some([of(false)?, of(true)?])
}

fn per_buffer(measured: &Measured, transfer: &Transfer) -> Control {
    let buffers = transfer.transfer_size_bytes as f64 / f64::from(transfer.buffer_size_bytes);
    Control {
        packets_per_buffer: measured.control_packets as f64 / buffers,
        dropped_per_buffer: measured.control_unheard as f64 / buffers,
    }
}

/// Packets after which ISI's gateway "would lock up fairly quickly (in 40-60 seconds) at packet rates of
/// approximately 90 per second" (section 7): the fewest.
pub const LOCK_UP_PACKETS: u64 = 40 * 90;

/// A transfer of so many bytes, with bursts of 5 packets in 55 ms: packets a second through the gateway, and
/// packets in all. None if it does not end.
pub fn through_the_gateway(constants: &Constants, seed: u64, bytes: u64) -> Option<(f64, u64)> {
    let transfer = Transfer { transfer_size_bytes: bytes, ..over_the_wideband(55) };
    let measured = run(&constants.bed(Network::Wideband), &transfer, seed)?;
    let packet_bits = f64::from(transfer.data_packet_size_bytes) * 8.0;
    let per_second = measured.steady_state_mbps * 1e6 / packet_bits;
    Some((per_second, measured.data_packets_sent))
}

/// Two buffers outstanding on the Ethernet, with an interval of 30 ms and with one of 45 ms (section 6).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct LongerInterval {
    /// Mean packets lost in a transfer of 1,000.
    pub lost: [f64; 2],
    /// Mean steady-state throughput in Mb/s.
    pub mbps: [f64; 2],
}

impl LongerInterval {
    /// What is lost at 45 ms, of what is lost at 30 ms: "a third" there.
    pub fn lost_ratio(&self) -> f64 {
        self.lost[1] / self.lost[0]
    }
    /// Throughput at 45 ms over that at 30 ms: "994 kilobits per second" and "1.12 megabits" there, 1.13.
    pub fn gain(&self) -> f64 {
        self.mbps[1] / self.mbps[0]
    }
}

/// Means over some seeds. None if a transfer does not end.
pub fn longer_interval(
    constants: &Constants,
    seeds: std::ops::Range<u64>,
) -> Option<LongerInterval> {
    let bed = constants.bed(Network::Ethernet);
    let mean = |interval_ms| {
        let runs = seeds.clone().map(|seed| run(&bed, &on_the_ethernet(interval_ms), seed));
        let runs = runs.collect::<Option<Vec<Measured>>>()?;
        let of =
            |what: fn(&Measured) -> f64| runs.iter().map(what).sum::<f64>() / runs.len() as f64;
        Some([of(|run| run.packets_lost as f64), of(|run| run.steady_state_mbps)])
    };
    let [[lost_30, mbps_30], [lost_45, mbps_45]] = [mean(30)?, mean(45)?];
    Some(LongerInterval { lost: [lost_30, lost_45], mbps: [mbps_30, mbps_45] })
}

/// The transfer of section 6 with two outstanding buffers.
fn on_the_ethernet(interval_ms: u16) -> Transfer {
    Transfer {
        burst: Burst { size_packets: 5, interval_ms },
        data_packet_size_bytes: 1438,
        buffer_size_bytes: 14_380,
        transfer_size_bytes: 1_438_000,
        outstanding_buffers: 2,
    }
}

/// On "a special Ethernet LAN with the only two hosts attached being the two NETBLT machines, no packets were
/// dropped once the burst interval rose above 40 milliseconds" (section 6): packets dropped at an interval, two
/// buffers outstanding. None if the transfer does not end.
pub fn dropped_on_a_quiet_ethernet(constants: &Constants, interval_ms: u16) -> Option<u64> {
    let bed = constants.bed(Network::Ethernet);
    let bed = Bed { path: Path::Lan(Lan::new(None)), ..bed };
    Some(run(&bed, &on_the_ethernet(interval_ms), 0)?.packets_lost)
}

/// Fragments that the earth station had no room for at "5 1432-byte packets every 50 milliseconds" (section 7: the
/// network "ground to a halt") or at another interval. None if the transfer does not end.
pub fn overflowed(constants: &Constants, interval_ms: u16, seed: u64) -> Option<u64> {
    let transfer = Transfer {
        transfer_size_bytes: 10_000_000,
        outstanding_buffers: 60,
        ..over_the_wideband(interval_ms)
    };
    let bed = constants.bed(Network::Wideband);
    let together = run_together(&bed, &[(transfer, Duration::ZERO)], seed)?;
    Some(together.queue?.overflowed)
}
