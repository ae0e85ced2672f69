//! Queues of known rate and length on the way out of a device port: qdiscs tbf and pfifo.

use crate::error::Result;
use crate::netlink::Rtnetlink;
use netlink_packet_core::{DefaultNla, Emitable, NLM_F_CREATE, NLM_F_REPLACE, Nla};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::tc::{TcAttribute, TcHandle, TcMessage, TcStats2};
use serde::{Deserialize, Serialize};

// linux/pkt_sched.h, linux/rtnetlink.h.
const TCA_OPTIONS: u16 = 2;
const TCA_TBF_PARMS: u16 = 1;
const TCA_TBF_RATE64: u16 = 4;
const TCA_TBF_BURST: u16 = 6;
const TCA_STATS_PKT64: u16 = 8;
const LINKLAYER_ETHERNET: u8 = 1;

/// A token bucket with a queue in front of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenBucket {
    /// Rate at which frames leave.
    pub rate_bps: u64,
    /// Bytes that may leave at once.
    pub burst_bytes: u32,
    /// Bytes that each frame counts more than it has.
    pub overhead_bytes: u16,
    /// Frames that find room before it.
    pub queue_frames: u32,
}

impl TokenBucket {
    /// TCA_OPTIONS of the tbf: struct tc_tbf_qopt, the rate in 64 bits, the burst in bytes (from
    /// which the kernel computes the bucket itself, instead of from a time in its ticks).
    fn options(self) -> Vec<u8> {
        let bytes_per_second = self.rate_bps / 8;
        let rate = u32::try_from(bytes_per_second).unwrap_or(u32::MAX);
        let mut parameters = Vec::with_capacity(36);
        // struct tc_ratespec: cell_log, linklayer, overhead, cell_align, mpu, rate. The link layer
        // is named so that the kernel needs no rate table.
        parameters.extend([0, LINKLAYER_ETHERNET]);
        parameters.extend(self.overhead_bytes.to_ne_bytes());
        parameters.extend([0; 4]);
        parameters.extend(rate.to_ne_bytes());
        // No peak rate; limit of the queue in bytes until the pfifo replaces it; bucket and MTU
        // in ticks are unused.
        parameters.extend([0; 12]);
        parameters.extend(1_000_000u32.to_ne_bytes());
        parameters.extend([0; 8]);
        emit(&[
            DefaultNla::new(TCA_TBF_PARMS, parameters),
            DefaultNla::new(TCA_TBF_RATE64, bytes_per_second.to_ne_bytes().to_vec()),
            DefaultNla::new(TCA_TBF_BURST, self.burst_bytes.to_ne_bytes().to_vec()),
        ])
    }
}

/// What a qdisc counted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueCounters {
    /// Interface it is on.
    pub interface: String,
    /// Kind: `tbf`, `pfifo`, ...
    pub kind: String,
    /// Frames that left.
    pub frames: u64,
    /// Their bytes, without FCS.
    pub bytes: u64,
    /// Frames dropped.
    pub dropped: u64,
    /// Frames waiting now.
    pub waiting: u64,
}

impl Rtnetlink {
    /// Puts a queue of so many frames on the way out of an interface.
    pub fn set_fifo(&mut self, index: u32, frames: u32) -> Result<()> {
        let limit = frames.to_ne_bytes().to_vec();
        let handle = TcHandle { major: 1, minor: 0 };
        let pfifo = qdisc(index, "pfifo", handle, TcHandle::ROOT, limit);
        self.replace_qdisc(pfifo, &format!("put a queue on interface {index}"))
    }

    /// Puts a token bucket with its queue on the way out of an interface.
    pub fn set_token_bucket(&mut self, index: u32, bucket: TokenBucket) -> Result<()> {
        let handle = TcHandle { major: 1, minor: 0 };
        let tbf = qdisc(index, "tbf", handle, TcHandle::ROOT, bucket.options());
        self.replace_qdisc(tbf, &format!("put a token bucket on interface {index}"))?;
        let (child, parent) = (TcHandle { major: 10, minor: 0 }, TcHandle { major: 1, minor: 1 });
        let limit = bucket.queue_frames.to_ne_bytes().to_vec();
        let pfifo = qdisc(index, "pfifo", child, parent, limit);
        self.replace_qdisc(pfifo, &format!("put a queue on interface {index}"))
    }

    fn replace_qdisc(&mut self, message: TcMessage, doing: &str) -> Result<()> {
        let message = RouteNetlinkMessage::NewQueueDiscipline(message);
        self.request(message, NLM_F_CREATE | NLM_F_REPLACE, doing)
    }

    /// Counters of every qdisc on an interface.
    pub fn queue_counters(&mut self, index: u32, interface: &str) -> Result<Vec<QueueCounters>> {
        let request = RouteNetlinkMessage::GetQueueDiscipline(TcMessage::with_index(index as i32));
        let answers = self.dump(request, &format!("read the queues of interface {interface}"))?;
        let of_interface = answers.into_iter().filter_map(|answer| match answer {
            RouteNetlinkMessage::NewQueueDiscipline(qdisc) => Some(qdisc),
            _ => None,
        });
        Ok(of_interface
            .filter(|qdisc| qdisc.header.index == index as i32)
            .map(|qdisc| counters_of(&qdisc, interface))
            .collect())
    }

    /// Counters of the outermost qdisc of every interface, with the interface's number.
    pub fn root_queues(&mut self) -> Result<Vec<(u32, QueueCounters)>> {
        let request = RouteNetlinkMessage::GetQueueDiscipline(TcMessage::with_index(0));
        let answers = self.dump(request, "read the queues of all interfaces")?;
        let root = |answer| match answer {
            RouteNetlinkMessage::NewQueueDiscipline(qdisc)
                if qdisc.header.parent == TcHandle::ROOT =>
            {
                Some((qdisc.header.index as u32, counters_of(&qdisc, "")))
            }
            _ => None,
        };
        Ok(answers.into_iter().filter_map(root).collect())
    }
}

fn counters_of(qdisc: &TcMessage, interface: &str) -> QueueCounters {
    let mut counters = QueueCounters { interface: interface.into(), ..QueueCounters::default() };
    for attribute in &qdisc.attributes {
        match attribute {
            TcAttribute::Kind(kind) => counters.kind.clone_from(kind),
            TcAttribute::Stats2(parts) => {
                for part in parts {
                    match part {
                        TcStats2::Basic(basic) => {
                            (counters.frames, counters.bytes) = (basic.packets.into(), basic.bytes);
                        }
                        // Where the 32-bit count above has wrapped, the kernel adds the full one.
                        TcStats2::Other(nla) if nla.kind() == TCA_STATS_PKT64 => {
                            counters.frames = u64_value(nla).unwrap_or(counters.frames);
                        }
                        TcStats2::Queue(queue) => {
                            (counters.dropped, counters.waiting) =
                                (queue.drops.into(), queue.qlen.into());
                        }
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
    counters
}

fn u64_value(nla: &DefaultNla) -> Option<u64> {
    let mut value = [0; 8];
    (nla.value_len() == 8).then(|| nla.emit_value(&mut value))?;
    Some(u64::from_ne_bytes(value))
}

fn qdisc(
    index: u32,
    kind: &str,
    handle: TcHandle,
    parent: TcHandle,
    options: Vec<u8>,
) -> TcMessage {
    let mut message = TcMessage::with_index(index as i32);
    message.header.handle = handle;
    message.header.parent = parent;
    message.attributes = vec![
        TcAttribute::Kind(kind.into()),
        TcAttribute::Other(DefaultNla::new(TCA_OPTIONS, options)),
    ];
    message
}

fn emit(attributes: &[DefaultNla]) -> Vec<u8> {
    let mut bytes = vec![0; attributes.buffer_len()];
    attributes.emit(&mut bytes);
    bytes
}
