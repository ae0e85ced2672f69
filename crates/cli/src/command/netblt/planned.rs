//! `netanvil netblt planned-1987`: what RFC 1030's authors planned to run over the Wideband, run.

use super::args::Planned;
use crate::failure::{Exit, Failure, Outcome};
use crate::output;
use netblt_studies::rfc1030::{PlannedRun, Purpose, Together, plans};
use serde::Serialize;
use std::fmt::Write;

/// A planned run and what came of it.
#[derive(Clone, Debug, Serialize)]
struct Row {
    purpose: &'static str,
    processes: u16,
    burst_size_packets: u16,
    burst_interval_ms: u16,
    outstanding_buffers: u16,
    /// Of all processes.
    transfer_kbytes: u64,
    offered_mbps: f64,
    /// Sum of all processes.
    steady_state_mbps: f64,
    slowest_mbps: f64,
    fastest_mbps: f64,
    real_mbps: f64,
    packets_lost: u64,
    packets_retransmitted: u64,
    data_timeouts: u64,
    longest_wait_ms: f64,
    overflowed: u64,
}

pub fn run(arguments: &Planned) -> Outcome {
    let rows = plans()
        .iter()
        .enumerate()
        .map(|(index, plan)| {
            let seed = arguments.seed.wrapping_mul(1000) + index as u64;
            let together = plan
                .run(seed)
                .ok_or_else(|| Failure::new(format!("plan {} never ended", index + 1)))?;
            Ok(row(plan, &together))
        })
        .collect::<Outcome<Vec<Row>>>()?;
    match arguments.json {
        true => output::print_json(&rows)?,
        false => output::print(&table(&rows))?,
    }
    Ok(Exit::Done)
}

fn row(plan: &PlannedRun, together: &Together) -> Row {
    let steady = || together.each.iter().map(|each| each.steady_state_mbps);
    let queue = together.queue.unwrap_or_default();
    Row {
        purpose: match plan.purpose {
            Purpose::LongTransfers => "long transfers",
            Purpose::InStep => "in parallel, bursts in step",
            Purpose::Staggered => "in parallel, bursts staggered",
            Purpose::HigherRates => "higher rates",
        },
        processes: plan.processes,
        burst_size_packets: plan.transfer.burst.size_packets,
        burst_interval_ms: plan.transfer.burst.interval_ms,
        outstanding_buffers: plan.transfer.outstanding_buffers,
        transfer_kbytes: plan.transfer.transfer_size_bytes * u64::from(plan.processes) / 1000,
        offered_mbps: plan.offered_mbps(),
        steady_state_mbps: steady().sum(),
        slowest_mbps: steady().fold(f64::INFINITY, f64::min),
        fastest_mbps: steady().fold(0.0, f64::max),
        real_mbps: together.real_mbps,
        packets_lost: together.each.iter().map(|each| each.packets_lost).sum(),
        packets_retransmitted: together.each.iter().map(|each| each.packets_retransmitted).sum(),
        data_timeouts: together.each.iter().map(|each| each.data_timeouts).sum(),
        longest_wait_ms: queue.longest_wait.as_secs_f64() * 1e3,
        overflowed: queue.overflowed,
    }
}

const HEAD: &str = "\
Planned for the Wideband in 1987 (RFC 1030 section 8), packets of 1,432 bytes, 10 in a buffer. SPEED
is the steady state of all processes, LEAST and MOST of one; WAIT is the longest before the channel,
FULL what the earth station had no room for.

                               N  BS/BI   XFSZ  NBUFS  OFFER  SPEED  LEAST   MOST   REAL \
 #LOSS  #RXM DTMOS   WAIT   FULL
";

fn table(rows: &[Row]) -> String {
    let mut text = HEAD.to_owned();
    let mut purpose = "";
    for row in rows {
        let shown = if row.purpose == purpose { "" } else { row.purpose };
        purpose = row.purpose;
        let burst = format!("{}/{}", row.burst_size_packets, row.burst_interval_ms);
        let _ = writeln!(
            text,
            "{shown:29} {:2}  {burst:5}  {:5}  {:5}  {:5.3}  {:5.3}  {:5.3}  {:5.3}  {:5.3}  {:5} \
             {:5} {:5} {:4.0} ms {:6}",
            row.processes,
            row.transfer_kbytes,
            row.outstanding_buffers,
            row.offered_mbps,
            row.steady_state_mbps,
            row.slowest_mbps,
            row.fastest_mbps,
            row.real_mbps,
            row.packets_lost,
            row.packets_retransmitted,
            row.data_timeouts,
            row.longest_wait_ms,
            row.overflowed,
        );
    }
    text
}
