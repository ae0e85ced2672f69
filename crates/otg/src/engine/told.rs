//! What clients are told: metrics, states, captures, the version.

use super::active::{ActiveConfiguration, lock};
use super::board::{Board, Counts, FlowState, Transmit};
use super::{Engine, routing, typed};
use crate::error::Refused;
use crate::flow::{FlowPlan, Leg};
use crate::model::*;
use ports::clock;
use serde_json::Value;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};
use trial::{BitTimes, LatencyForm, PortId};
use units::{Duration, FrameSize, Instant};

/// Preamble, start of frame and gap.
const OVERHEAD_BYTES: f64 = 20.0;

impl Engine {
    /// Counts of ports or flows.
    ///
    /// # Errors
    /// Where the request names what there is not, or sending has broken off.
    pub fn metrics(&self, request: Value) -> Result<MetricsResponse, Refused> {
        let (request, _) = typed::<MetricsRequest>("MetricsRequest", request)?;
        let active = self.active()?;
        match request.choice {
            MetricsRequestChoice::Port => {
                let request = request.port.unwrap_or_default();
                Ok(MetricsResponse {
                    choice: Some(MetricsResponseChoice::PortMetrics),
                    port_metrics: Some(port_metrics(&active, &request)?),
                    ..MetricsResponse::default()
                })
            }
            MetricsRequestChoice::Flow => {
                let request = request.flow.unwrap_or_default();
                Ok(MetricsResponse {
                    choice: Some(MetricsResponseChoice::FlowMetrics),
                    flow_metrics: Some(flow_metrics(&active, &request)?),
                    ..MetricsResponse::default()
                })
            }
            MetricsRequestChoice::Bgpv4 => {
                let request = request.bgpv4.unwrap_or_default();
                Ok(MetricsResponse {
                    choice: Some(MetricsResponseChoice::Bgpv4Metrics),
                    bgpv4_metrics: Some(routing::bgpv4_metrics(&active, &request)?),
                    ..MetricsResponse::default()
                })
            }
            MetricsRequestChoice::Bgpv6 => {
                let request = request.bgpv6.unwrap_or_default();
                Ok(MetricsResponse {
                    choice: Some(MetricsResponseChoice::Bgpv6Metrics),
                    bgpv6_metrics: Some(routing::bgpv6_metrics(&active, &request)?),
                    ..MetricsResponse::default()
                })
            }
            _ => Err(Refused::request(vec![
                "choice: choose `port`, `flow`, `bgpv4` or `bgpv6`".into(),
            ])),
        }
    }

    /// Neighbours of devices, and routes that they have learned.
    ///
    /// # Errors
    /// Where the request names what there is not.
    pub fn states(&self, request: Value) -> Result<StatesResponse, Refused> {
        let (request, _) = typed::<StatesRequest>("StatesRequest", request)?;
        let active = self.active()?;
        if request.choice == StatesRequestChoice::BgpPrefixes {
            let request = request.bgp_prefixes.unwrap_or_default();
            return Ok(StatesResponse {
                choice: Some(StatesResponseChoice::BgpPrefixes),
                bgp_prefixes: Some(routing::bgp_prefixes(&active, &request)?),
                ..StatesResponse::default()
            });
        }
        let is_v4 = request.choice == StatesRequestChoice::Ipv4Neighbors;
        let names = match is_v4 {
            true => request.ipv4_neighbors.map(|request| request.ethernet_names),
            false => request.ipv6_neighbors.map(|request| request.ethernet_names),
        };
        let names = names.unwrap_or_default();
        let known =
            |name: &String| active.addresses.iter().any(|address| address.ethernet == *name);
        if let Some((at, name)) = names.iter().enumerate().find(|(_, name)| !known(name)) {
            let kind = if is_v4 { "ipv4_neighbors" } else { "ipv6_neighbors" };
            let what = format!("{kind}.ethernet_names[{at}]: there is no Ethernet `{name}`");
            return Err(Refused::request(vec![what]));
        }
        let wanted = active.addresses.iter().filter(|address| {
            address.ip.is_ipv4() == is_v4 && (names.is_empty() || names.contains(&address.ethernet))
        });
        let (mut ipv4, mut ipv6) = (vec![], vec![]);
        for address in wanted {
            let learnt = || active.gateway_mac(address.port, &address.tags, address.gateway);
            let mac = address.gateway_mac.or_else(learnt).map(|mac| mac.to_string());
            let (ethernet_name, ip) = (address.ethernet.clone(), address.gateway.to_string());
            match is_v4 {
                true => ipv4.push(Neighborsv4State {
                    ethernet_name,
                    ipv4_address: ip,
                    link_layer_address: mac,
                }),
                false => ipv6.push(Neighborsv6State {
                    ethernet_name,
                    ipv6_address: ip,
                    link_layer_address: mac,
                }),
            }
        }
        Ok(match is_v4 {
            true => StatesResponse {
                choice: Some(StatesResponseChoice::Ipv4Neighbors),
                ipv4_neighbors: Some(ipv4),
                ..StatesResponse::default()
            },
            false => StatesResponse {
                choice: Some(StatesResponseChoice::Ipv6Neighbors),
                ipv6_neighbors: Some(ipv6),
                ..StatesResponse::default()
            },
        })
    }

    /// What was captured on a port, as a file; of a capture that still runs, what there is so far.
    ///
    /// # Errors
    /// Where the port has no capture.
    pub fn capture(&self, request: Value) -> Result<Vec<u8>, Refused> {
        let _turn = lock(&self.inner.turn);
        let (request, _) = typed::<CaptureRequest>("CaptureRequest", request)?;
        let active = self.active()?;
        let wrong = |what: &str| {
            Refused::request(vec![format!("port_name: {what} `{}`", request.port_name)])
        };
        let port = active.ports.iter().position(|port| port.name == request.port_name);
        let port = PortId(port.ok_or_else(|| wrong("there is no port"))? as u16);
        // Frames are the capture's when their trial has ended: the one that runs ends, and the flows go on in another.
        let is_on = lock(&active.captures).is_on(port) == Some(true);
        if is_on {
            active.renew();
        }
        let captured = lock(&active.captures).of(port);
        let captured = captured.ok_or_else(|| wrong("the configuration has no capture of port"))?;
        captured.bytes().map_err(Refused::failed)
    }

    /// Which specification this is a server of.
    pub fn version(&self) -> Version {
        Version {
            // What clients compare their own with: a range, so that a newer client is no stranger.
            api_spec_version: Some("^1.0.0".into()),
            sdk_version: Some("^1.0.0".into()),
            app_version: Some(env!("CARGO_PKG_VERSION").into()),
        }
    }
}

fn port_metrics(
    active: &Arc<ActiveConfiguration>,
    request: &PortMetricsRequest,
) -> Result<Vec<PortMetric>, Refused> {
    for (at, name) in request.port_names.iter().enumerate() {
        if !active.ports.iter().any(|port| port.name == *name) {
            let what = format!("port.port_names[{at}]: there is no port `{name}`");
            return Err(Refused::request(vec![what]));
        }
    }
    let wanted = |name: &String| request.port_names.is_empty() || request.port_names.contains(name);
    let all = active.ports.iter().enumerate().filter(|(_, port)| wanted(&port.name));
    all.map(|(at, _)| port_metric(active, at, &request.column_names)).collect()
}

fn port_metric(
    active: &Arc<ActiveConfiguration>,
    at: usize,
    columns: &[PortMetricsRequestColumnNames],
) -> Result<PortMetric, Refused> {
    use PortMetricsRequestColumnNames as Column;
    let port = &active.ports[at];
    let state = active.state(at).map_err(Refused::failed)?;
    let since = state.counters.since(&port.before);
    let id = PortId(at as u16);
    let board = lock(&active.board);
    let legs = || {
        let flows = board.flows.iter().zip(&board.plans);
        flows.flat_map(|(flow, plan)| flow.legs.iter().zip(&plan.legs).map(move |leg| (flow, leg)))
    };
    let sends = legs().any(|(flow, (_, leg))| flow.transmit == Transmit::Started && leg.from == id);
    let mean = |leg: &Leg| {
        leg.frames.bytes_of(leg.frames.sizes().len() as u64) as f64
            / leg.frames.sizes().len() as f64
    };
    let out = || legs().filter(|(_, (_, plan))| plan.from == id).map(|(_, leg)| leg);
    let into = || legs().filter(|(_, (_, plan))| plan.to.contains(&id)).map(|(_, leg)| leg);
    // The sum of nothing would be -0.
    let sum = |values: &mut dyn Iterator<Item = f64>| values.fold(0.0, |sum, value| sum + value);
    let is_on = lock(&active.captures).is_on(id) == Some(true);
    let has = |column: Column| columns.is_empty() || columns.contains(&column);
    let with = |column: Column, value: u64| has(column).then_some(value);
    let rate = |column: Column, value: f64| has(column).then_some(value);
    Ok(PortMetric {
        name: Some(port.name.clone()),
        location: has(Column::Location).then(|| port.location.clone()),
        link: has(Column::Link).then_some(if state.up && state.carrier {
            PortMetricLink::Up
        } else {
            PortMetricLink::Down
        }),
        capture: has(Column::Capture).then_some(if is_on {
            PortMetricCapture::Started
        } else {
            PortMetricCapture::Stopped
        }),
        transmit: has(Column::Transmit).then_some(if sends {
            PortMetricTransmit::Started
        } else {
            PortMetricTransmit::Stopped
        }),
        frames_tx: with(Column::FramesTx, since.tx_frames),
        frames_rx: with(Column::FramesRx, since.rx_frames),
        bytes_tx: with(
            Column::BytesTx,
            out().map(|(leg, plan)| plan.frames.bytes_of(leg.total().sent)).sum(),
        ),
        bytes_rx: with(Column::BytesRx, into().map(|(leg, _)| leg.total().received_bytes).sum()),
        frames_tx_rate: rate(Column::FramesTxRate, sum(&mut out().map(|(leg, _)| leg.rates.0))),
        frames_rx_rate: rate(Column::FramesRxRate, sum(&mut into().map(|(leg, _)| leg.rates.1))),
        bytes_tx_rate: rate(
            Column::BytesTxRate,
            sum(&mut out().map(|(leg, plan)| leg.rates.0 * mean(plan))),
        ),
        bytes_rx_rate: rate(
            Column::BytesRxRate,
            sum(&mut into().map(|(leg, plan)| leg.rates.1 * mean(plan))),
        ),
        last_change: None,
        speed: with(Column::Speed, port.line.bps() / 1_000_000),
    })
}

fn flow_metrics(
    active: &Arc<ActiveConfiguration>,
    request: &FlowMetricsRequest,
) -> Result<Vec<FlowMetric>, Refused> {
    let board = lock(&active.board);
    if let Some(why) = &board.broken {
        return Err(Refused::failed(format!("traffic broke off: {why}")));
    }
    for (at, name) in request.flow_names.iter().enumerate() {
        let what = match board.plans.iter().find(|plan| plan.name == *name) {
            None => "there is no flow",
            Some(plan) if !plan.is_counted => "metrics.enable is false for flow",
            Some(_) => continue,
        };
        let what = format!("flow.flow_names[{at}]: {what} `{name}`");
        return Err(Refused::request(vec![what]));
    }
    let wanted = |plan: &FlowPlan| {
        plan.is_counted
            && (request.flow_names.is_empty() || request.flow_names.contains(&plan.name))
    };
    let all = board.plans.iter().zip(&board.flows).filter(|(plan, _)| wanted(plan));
    Ok(all
        .map(|(plan, flow)| flow_metric(active, (&board, plan, flow), &request.metric_names))
        .collect())
}

fn flow_metric(
    active: &ActiveConfiguration,
    (board, plan, flow): (&Board, &FlowPlan, &FlowState),
    names: &[FlowMetricsRequestMetricNames],
) -> FlowMetric {
    use FlowMetricsRequestMetricNames as Name;
    let has = |name: Name| names.is_empty() || names.contains(&name);
    let with = |name: Name, value: f64| has(name).then_some(value);
    let totals: Vec<Counts> = flow.legs.iter().map(|leg| leg.total()).collect();
    let sum = |of: fn(&Counts) -> u64| totals.iter().map(of).sum::<u64>();
    let (sent, received, lost) = (sum(|c| c.sent), sum(|c| c.received), sum(|c| c.lost));
    let sent_bytes =
        totals.iter().zip(&plan.legs).map(|(counts, leg)| leg.frames.bytes_of(counts.sent)).sum();
    let (tx_fps, tx_bps) = rate(plan, flow, |rates| rates.0);
    let (rx_fps, rx_bps) = rate(plan, flow, |rates| rates.1);
    let (tx_l1, rx_l1) =
        (tx_bps + tx_fps * OVERHEAD_BYTES * 8.0, rx_bps + rx_fps * OVERHEAD_BYTES * 8.0);
    let is_sent = flow.transmit == Transmit::Started && board.running;
    FlowMetric {
        name: Some(plan.name.clone()),
        port_tx: one_name(active, plan.legs.iter().map(|leg| leg.from)),
        port_rx: one_name(active, plan.legs.iter().flat_map(|leg| leg.to.iter().copied())),
        transmit: has(Name::Transmit).then_some(match flow.transmit {
            Transmit::Started if is_sent => FlowMetricTransmit::Started,
            Transmit::Paused => FlowMetricTransmit::Paused,
            _ => FlowMetricTransmit::Stopped,
        }),
        frames_tx: has(Name::FramesTx).then_some(sent),
        frames_rx: has(Name::FramesRx).then_some(received),
        bytes_tx: has(Name::BytesTx).then_some(sent_bytes),
        bytes_rx: has(Name::BytesRx).then(|| sum(|counts| counts.received_bytes)),
        frames_tx_rate: with(Name::FramesTxRate, tx_fps),
        frames_rx_rate: with(Name::FramesRxRate, rx_fps),
        loss: plan
            .tells
            .loss
            .then(|| if sent == 0 { 0.0 } else { lost as f64 * 100.0 / sent as f64 }),
        timestamps: plan.tells.timestamps.then(|| timestamps(&totals)),
        latency: plan.tells.latency.map(|form| latency(active, plan, (&totals, form))),
        tx_l1_rate_bps: with(Name::TxL1RateBps, tx_l1),
        rx_l1_rate_bps: with(Name::RxL1RateBps, rx_l1),
        tx_rate_bytes: with(Name::TxRateBytes, tx_bps / 8.0),
        rx_rate_bytes: with(Name::RxRateBytes, rx_bps / 8.0),
        tx_rate_bps: with(Name::TxRateBps, tx_bps),
        rx_rate_bps: with(Name::RxRateBps, rx_bps),
        tx_rate_kbps: with(Name::TxRateKbps, tx_bps / 1e3),
        rx_rate_kbps: with(Name::RxRateKbps, rx_bps / 1e3),
        tx_rate_mbps: with(Name::TxRateMbps, tx_bps / 1e6),
        rx_rate_mbps: with(Name::RxRateMbps, rx_bps / 1e6),
    }
}

/// Frames and bits a second, of whichever of the two rates.
fn rate(plan: &FlowPlan, flow: &FlowState, of: fn((f64, f64)) -> f64) -> (f64, f64) {
    let legs = flow.legs.iter().zip(&plan.legs).map(|(state, leg)| {
        let period = leg.frames.sizes().len() as u64;
        let bits = leg.frames.bytes_of(period) as f64 * 8.0 / period as f64;
        (of(state.rates), of(state.rates) * bits)
    });
    legs.fold((0.0, 0.0), |sum, leg| (sum.0 + leg.0, sum.1 + leg.1))
}

fn one_name(active: &ActiveConfiguration, ports: impl Iterator<Item = PortId>) -> Option<String> {
    let mut ports: Vec<PortId> = ports.collect();
    ports.sort();
    ports.dedup();
    match &ports[..] {
        [one] => Some(active.ports[usize::from(one.0)].name.clone()),
        _ => None,
    }
}

fn timestamps(totals: &[Counts]) -> MetricTimestamp {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos() as f64;
    let since = |at: Instant| now - clock::now().since(at).as_ns_f64();
    let first = totals.iter().filter_map(|counts| counts.first_at).min();
    let last = totals.iter().filter_map(|counts| counts.last_at).max();
    MetricTimestamp { first_timestamp_ns: first.map(since), last_timestamp_ns: last.map(since) }
}

/// Latency in the form asked for: the stamps say from the first bit sent to the last received, which is more by
/// the time of a frame's bits where lines are physical.
fn latency(
    active: &ActiveConfiguration,
    plan: &FlowPlan,
    (totals, form): (&[Counts], LatencyForm),
) -> MetricLatency {
    let (mut least, mut greatest, mut sum, mut frames) =
        (f64::INFINITY, f64::NEG_INFINITY, 0.0, 0.0);
    for (counts, leg) in totals.iter().zip(&plan.legs) {
        let Some(histogram) = counts.latency.as_ref().filter(|all| all.count() > 0) else {
            continue;
        };
        let bits = bit_times(active, leg);
        let ns =
            |span: Option<Duration>| bits.in_form_ps(form, span.unwrap_or_default()) as f64 / 1e3;
        least = least.min(ns(histogram.min()));
        greatest = greatest.max(ns(histogram.max()));
        sum += ns(histogram.mean()) * histogram.count() as f64;
        frames += histogram.count() as f64;
    }
    let known = |value: f64| Some(value).filter(|_| frames > 0.0);
    MetricLatency {
        minimum_ns: known(least),
        maximum_ns: known(greatest),
        average_ns: known(sum / frames),
    }
}

/// What a leg's frames take on its lines; nothing on virtual links. A flow of several sizes tells no latency on
/// physical ones.
fn bit_times(active: &ActiveConfiguration, leg: &Leg) -> BitTimes {
    let size = FrameSize::from_bytes(leg.frames.sizes()[0]);
    let time = |port: Option<&PortId>| {
        let port = port.map(|port| &active.ports[usize::from(port.0)]);
        let physical = port.filter(|port| port.is_physical);
        physical.map_or(Duration::ZERO, |port| size.serialization_time(port.line))
    };
    BitTimes { sending: time(Some(&leg.from)), receiving: time(leg.to.first()) }
}
