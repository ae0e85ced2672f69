//! The campaign of RFC 1030, appendices II to IV: its rows, its networks, its hosts.

use super::host::{Adapter, Cost, HostModel};
use super::path::{Lan, Noise, Path, Wideband, WidebandModel};
use super::world::{Bed, Measured, Transfer, run};
use netblt::{Burst, DataTimer, Timing};
use units::Duration;

/// The tables as published, one row a run.
const ROWS: &str = include_str!("../../data/netblt-1987.csv");

/// The networks of the campaign.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Network {
    /// Proteon ring of 10 Mb/s with P1300 adapters (section 5, appendix II).
    ProteonRing,
    /// MIT's noisy Ethernet with 3C500 adapters (section 6, appendix III).
    Ethernet,
    /// The Wideband satellite network (section 7, appendices I and IV).
    Wideband,
}

/// A published run.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Row {
    /// Where.
    pub network: Network,
    /// With which parameters.
    pub transfer: Transfer,
    /// Data packets lost.
    pub packets_lost: u64,
    /// Data packets retransmitted.
    pub packets_retransmitted: u64,
    /// Data timeouts, where published.
    pub data_timeouts: Option<u64>,
    /// Steady-state throughput in Mb/s.
    pub steady_state_mbps: f64,
}

/// All published runs in their order.
pub fn rows() -> Vec<Row> {
    ROWS.lines().skip(1).map(|line| row(line).expect("a row of the published tables")).collect()
}

fn row(line: &str) -> Option<Row> {
    let mut fields = line.split(',');
    let network = match fields.next()? {
        "proteon-ring" => Network::ProteonRing,
        "ethernet" => Network::Ethernet,
        "wideband" => Network::Wideband,
        _ => return None,
    };
    let mut number = || fields.next()?.parse::<f64>().ok();
    let transfer = Transfer {
        burst: Burst { size_packets: number()? as u16, interval_ms: number()? as u16 },
        data_packet_size_bytes: number()? as u16,
        buffer_size_bytes: number()? as u32,
        transfer_size_bytes: number()? as u64 * 1000,
        outstanding_buffers: number()? as u16,
    };
    Some(Row {
        network,
        transfer,
        packets_lost: number()? as u64,
        packets_retransmitted: number()? as u64,
        data_timeouts: number().map(|timeouts| timeouts as u64),
        steady_state_mbps: number()?,
    })
}

/// Runs what a row describes.
pub fn reproduce(row: &Row, seed: u64) -> Option<Measured> {
    reproduce_with(&Constants::FITTED, row, seed)
}

/// The same with other constants.
pub fn reproduce_with(constants: &Constants, row: &Row, seed: u64) -> Option<Measured> {
    run(&constants.bed(row.network), &row.transfer, seed)
}

/// What the document does not say; all times in milliseconds but `*_us`. [`PARAMETERS`](super::PARAMETERS) has how each
/// was chosen.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Constants {
    /// Time to build and send a control packet.
    pub send_control_ms: f64,
    /// Time to act on a control packet.
    pub receive_control_ms: f64,
    /// Time to set up a buffer's packets.
    pub start_buffer_ms: f64,
    /// Time of the receiving client for a byte of a buffer that it takes over.
    pub take_byte_us: f64,
    /// By how much of its time a PC's piece of work is shorter or longer.
    pub jitter: f64,
    /// Lateness of a timer for each outstanding buffer.
    pub timer_latency_per_buffer_ms: f64,
    /// More to receive a data packet for each outstanding buffer but the first.
    pub receive_per_further_buffer_ms: f64,
    /// Time of a byte of a data packet on the Ethernet hosts.
    pub ethernet_byte_us: f64,
    /// Time to load or read out a byte of the 3C500's buffer.
    pub copy_byte_us: f64,
    /// Time until the 3C500 listens again after it was read out.
    pub reenable_ms: f64,
    /// The same after it has sent.
    pub reenable_after_sending_ms: f64,
    /// Time between broadcasts on the Ethernet.
    pub broadcast_interval_ms: f64,
    /// Bytes of a broadcast.
    pub broadcast_bytes: f64,
    /// Chance that the Ethernet damages a packet.
    pub damage: f64,
    /// The variance of the data timer: what is added to the time that the missing packets should take.
    pub data_timer_margin_ms: f64,
    /// Time of a SUN-3 for a packet, its bytes apart.
    pub sun_packet_ms: f64,
    /// Chance that the Wideband loses a packet.
    pub wideband_loss: f64,
    /// Chance of another reservation.
    pub another_reservation: f64,
    /// Chance of another reservation for a fragment.
    pub another_reservation_for_fragment: f64,
    /// Channel frames' worth of packets that the earth station can hold.
    pub queue_frames: f64,
}

impl Constants {
    /// The committed values.
    pub const FITTED: Constants = Constants {
        send_control_ms: 1.5,
        receive_control_ms: 1.7,
        start_buffer_ms: 3.0,
        take_byte_us: 0.45,
        jitter: 0.1,
        timer_latency_per_buffer_ms: 0.1906,
        receive_per_further_buffer_ms: 0.15,
        ethernet_byte_us: 2.618,
        copy_byte_us: 0.8889,
        reenable_ms: 2.1,
        reenable_after_sending_ms: 1.8,
        broadcast_interval_ms: 300.0,
        broadcast_bytes: 100.0,
        damage: 0.0001,
        data_timer_margin_ms: 20.0,
        sun_packet_ms: 1.0,
        wideband_loss: 0.03333,
        another_reservation: 0.001029,
        another_reservation_for_fragment: 0.3,
        queue_frames: 47.0,
    };
}

fn ms(ms: f64) -> Duration {
    Duration::from_secs_f64(ms / 1e3)
}
/// "The timer code on the IBM PC/AT is accurate to within 1 millisecond" (section 5).
const TIMER_ACCURACY: Duration = Duration::from_ms(1);
/// Bytes of NETBLT around the data.
const HEADER_BYTES: f64 = 24.0;

/// A cost that takes `whole_ms` for a packet of `data_bytes`.
fn cost(whole_ms: f64, data_bytes: f64, byte_us: f64) -> Cost {
    let fixed_ms = whole_ms - (data_bytes + HEADER_BYTES) * byte_us / 1e3;
    Cost { fixed: ms(fixed_ms), per_byte: ms(byte_us / 1e3) }
}

/// A cost of so many microseconds a byte.
fn per_byte(us: f64) -> Cost {
    Cost { fixed: Duration::ZERO, per_byte: ms(us / 1e3) }
}

impl Constants {
    /// An IBM PC/AT (section 4).
    fn pc_at(&self, send_data: Cost, receive_data: Cost, adapter: Adapter) -> HostModel {
        HostModel {
            send_data,
            receive_data,
            receive_data_per_further_buffer: ms(self.receive_per_further_buffer_ms),
            send_control: ms(self.send_control_ms),
            receive_control: ms(self.receive_control_ms),
            start_buffer: ms(self.start_buffer_ms),
            take_buffer: per_byte(self.take_byte_us),
            packs_control: true,
            jitter: self.jitter,
            timer_accuracy: TIMER_ACCURACY,
            timer_latency_per_buffer: ms(self.timer_latency_per_buffer_ms),
            adapter,
        }
    }

    /// "8 milliseconds per 2046 byte packet versus 6 milliseconds per 1500 byte packet" (sections
    /// 4 and 5), to send as to receive.
    fn on_the_ring(&self) -> HostModel {
        let byte_us = 2000.0 / (1990.0 - 1438.0);
        let send = cost(8.0, 1990.0, byte_us);
        self.pc_at(send, send, Adapter::FullDuplex)
    }

    /// 6.0 ms to send and 6.1 ms to receive a packet of 1,438 bytes (section 4).
    fn on_the_ethernet(&self) -> HostModel {
        let adapter = Adapter::OneBuffer {
            copy: per_byte(self.copy_byte_us),
            reenable: ms(self.reenable_ms),
            reenable_after_sending: ms(self.reenable_after_sending_ms),
        };
        let send = cost(6.0, 1438.0, self.ethernet_byte_us);
        let receive = cost(6.1, 1438.0, self.ethernet_byte_us);
        self.pc_at(send, receive, adapter)
    }

    /// A SUN-3, "able to handle the incoming packets quite well" (section 7).
    fn sun_3(&self) -> HostModel {
        let quick = Cost { fixed: ms(self.sun_packet_ms), per_byte: Duration::from_ns(500) };
        HostModel {
            send_data: quick,
            receive_data: quick,
            receive_data_per_further_buffer: Duration::ZERO,
            send_control: ms(self.sun_packet_ms),
            receive_control: ms(self.sun_packet_ms),
            start_buffer: Duration::ZERO,
            take_buffer: Cost { fixed: ms(self.sun_packet_ms), per_byte: Duration::ZERO },
            packs_control: true,
            jitter: 0.0,
            timer_accuracy: Duration::ZERO,
            timer_latency_per_buffer: Duration::ZERO,
            adapter: Adapter::FullDuplex,
        }
    }

    /// The network with its hosts.
    pub fn bed(&self, network: Network) -> Bed {
        let noise = Noise {
            broadcast_interval: ms(self.broadcast_interval_ms),
            broadcast_bytes: self.broadcast_bytes as usize,
            damage: self.damage,
        };
        let timing = Timing {
            pacing_slack: TIMER_ACCURACY,
            data_timer: DataTimer {
                stretch_percent: 100,
                spare_bursts: 0,
                margin: ms(self.data_timer_margin_ms),
            },
            ..Timing::default()
        };
        let (ring, ethernet) = (self.on_the_ring(), self.on_the_ethernet());
        let (path, hosts) = match network {
            Network::ProteonRing => (Path::Lan(Lan::new(None)), [ring, ring]),
            Network::Ethernet => (Path::Lan(Lan::new(Some(noise))), [ethernet, ethernet]),
            Network::Wideband => {
                let model = WidebandModel {
                    noise,
                    one_way: Duration::from_ms(900),
                    loss: self.wideband_loss,
                    another_reservation: self.another_reservation,
                    another_reservation_for_fragment: self.another_reservation_for_fragment,
                    queue_frames: self.queue_frames as u64,
                };
                (Path::Wideband(Wideband::new(model)), [ethernet, self.sun_3()])
            }
        };
        Bed { path, hosts, timing }
    }
}
