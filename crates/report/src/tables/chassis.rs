//! Tests of many ports, in the layout of RFC 2889 section 5.x.5: x is the frame size.

use super::{Table, fps, multicast, tolly};
use crate::model::Report;
use crate::number::{grouped, grouped_f64, microseconds};
use method::Finding;
use method::chassis::{ChassisConditions, ChassisResult, LoadPoint, PortMatrix, Throughput};
use method::gigaswitch::{ArpServerResult, ExtrapolationResult, FanoutResult, published};
use method::rfc2889::{
    AddressResult, BroadcastLatencyResult, CongestionResult, CongestionVerdict, ErroredKind,
    ErroredOutcome, ErroredResult, ForwardPressureResult, GapOutcome, MeshResult,
};

/// A table and, where there is one, what came of each pair of ports.
pub type ChassisTable<'a> = (Table, Vec<(String, &'a PortMatrix)>);

/// The tables of all tests, each with the sizes of one test together.
pub(super) fn tables(report: &Report) -> Vec<ChassisTable<'_>> {
    let mut tables: Vec<ChassisTable> = vec![];
    for result in &report.chassis {
        let (heading, columns) = layout(result);
        let at =
            tables.iter().position(|(table, _)| table.heading == heading).unwrap_or_else(|| {
                tables.push((Table::new(heading, about(result), columns), vec![]));
                tables.len() - 1
            });
        let (table, matrices) = &mut tables[at];
        let size = result.conditions().frame_size.to_string();
        let invalid = result.invalid_reasons().iter().cloned();
        table.note(
            &size,
            result.conditions().deviations.iter().map(|d| format!("NOT CONFORMANT: {d}")),
        );
        table.note(&size, invalid.map(|why| format!("invalid: {why}")));
        if let Some(matrix) = matrix_of(result) {
            matrices.push((format!("{size} bytes, {}", matrix.about), matrix));
        }
        fill(table, result, &size);
    }
    tables.into_iter().map(|(table, matrices)| (table.with_notes_summed_up(), matrices)).collect()
}

fn matrix_of(result: &ChassisResult) -> Option<&PortMatrix> {
    match result {
        ChassisResult::Mesh(result) => result.matrix.as_ref(),
        ChassisResult::Congestion(result) => Some(&result.matrix),
        ChassisResult::Fanout(result) => result.matrix.as_ref(),
        _ => None,
    }
}

fn layout(result: &ChassisResult) -> (String, &'static [&'static str]) {
    let conditions = result.conditions();
    let test = conditions.test;
    let heading = format!("{} ({})", capitalised(&test.to_string()), test.section());
    let columns: &[&str] = match result {
        ChassisResult::Mesh(_) => &[
            "size",
            "throughput, % of medium",
            "frames/s a port",
            "Oload at MOL, frames/s",
            "FRMOL, frames/s",
            "loss at MOL, %",
            "worst port, %",
            "MFR, frames/s",
            "MFR at load, %",
            "flood count",
            "start skew, us",
        ],
        ChassisResult::Congestion(_) => &[
            "size",
            "frames of a source",
            "Oload, frames/s",
            "uncongested, frames/s",
            "loss there, %",
            "congested, frames/s",
            "loss there, %",
            "PAUSE frames",
            "<verdict",
        ],
        ChassisResult::ForwardPressure(_) => &[
            "size",
            "throughput, % of medium",
            "MFR, frames/s",
            "ILoad, %",
            "MOL, frames/s",
            "<gap of 88 bits",
        ],
        ChassisResult::Addresses(_) => &[
            "addresses",
            "learning frames/s",
            "offered by Tport",
            "to Lport",
            "flood Tport",
            "flood Lport",
            "flood Mport",
            "<learned",
        ],
        ChassisResult::Errored(_) => &[
            "size",
            "<condition",
            "load, %",
            "errored sent",
            "forwarded",
            "good sent",
            "received",
            "<result",
        ],
        ChassisResult::BroadcastLatency(_) => {
            &["size", "port", "frames", "min us", "mean us", "max us"]
        }
        ChassisResult::Fanout(_) => &[
            "ports",
            "receivers each",
            "frames/s a port",
            "frames/s in all",
            "published, a port",
            "sent by all",
            "received by all",
            "lost",
        ],
        ChassisResult::Extrapolation(_) => &["<", "frames/s from", "to", "published"],
        ChassisResult::ArpServer(_) => &["requests/s", "requests", "responses"],
        ChassisResult::Tolly(_) => tolly::columns(test),
        _ => multicast::columns(result).unwrap_or(&[]),
    };
    if let Some(found) = multicast::found_in_words(result) {
        return (format!("{heading}: {found}"), columns);
    }
    match result {
        ChassisResult::Addresses(result) => {
            (format!("{heading}: {}", found_in_words(result)), columns)
        }
        ChassisResult::ArpServer(result) => {
            (format!("{heading}: {}", arp_in_words(result)), columns)
        }
        _ => (heading, columns),
    }
}

fn about(result: &ChassisResult) -> Vec<String> {
    let conditions = result.conditions();
    let medium = match conditions.line_rate_is_physical {
        true => format!("Ethernet at {}", conditions.line_rate),
        false => format!("virtual Ethernet, nominally {}", conditions.line_rate),
    };
    let of_groups = multicast::about(result);
    if let Some((first, more)) = of_groups.split_first() {
        return [&[format!("{medium}; {first}")], more].concat();
    }
    let mut about = vec![format!("{medium}; {}", conditions.describe())];
    match result {
        ChassisResult::Mesh(result) => about.push(format!(
            "{}; Oload and forwarding rates are sums of all ports; MOL is the medium's maximum of each",
            result.pattern
        )),
        ChassisResult::Congestion(_) => about.push(
            "port 0 sends to ports 2 and 3 in turn, port 1 to port 3, both the same number of frames at \
             the medium's maximum; a device without flow control loses 33.3 % at port 3"
                .into(),
        ),
        ChassisResult::Addresses(result) => about.push(format!(
            "waited {} s before each trial for addresses to age out; Lport's addresses are taught, then \
             Tport sends a frame to each; the table holds Tport's own address besides",
            result.ageing.as_secs_f64()
        )),
        ChassisResult::Tolly(result) => {
            about = vec![medium];
            about.extend(tolly::about(result));
        }
        _ => {}
    }
    about
}

fn fill(table: &mut Table, result: &ChassisResult, size: &str) {
    match result {
        ChassisResult::Mesh(result) => mesh(table, result, size),
        ChassisResult::Congestion(result) => congestion(table, result, size),
        ChassisResult::ForwardPressure(result) => forward_pressure(table, result, size),
        ChassisResult::Addresses(result) => addresses(table, result),
        ChassisResult::Errored(result) => errored(table, result, size),
        ChassisResult::BroadcastLatency(result) => broadcast(table, result, size),
        ChassisResult::Fanout(result) => fanout(table, result),
        ChassisResult::Extrapolation(result) => extrapolation(table, result),
        ChassisResult::ArpServer(result) => arp_server(table, result),
        ChassisResult::Tolly(result) => tolly::fill(table, result, size),
        _ => multicast::fill(table, result, size),
    }
}

/// The load, as a bound where it is one.
pub(super) fn load_cell(throughput: &Throughput) -> String {
    let percent = throughput.load_percent.map(|percent| grouped_f64(percent, 2));
    match (&throughput.finding, percent) {
        (Finding::Invalid { .. }, _) => "invalid".into(),
        (Finding::AtLeast { .. }, Some(percent)) => format!(">= {percent}"),
        (Finding::Between { .. }, Some(percent)) => {
            let upper = throughput.upper_percent.map(|upper| grouped_f64(upper, 2));
            format!("{percent} .. {}", upper.unwrap_or_default())
        }
        (_, Some(percent)) => percent,
        (_, None) => "none".into(),
    }
}

pub(super) fn rate_cell(throughput: &Throughput) -> String {
    let bound = if matches!(throughput.finding, Finding::AtLeast { .. }) { ">= " } else { "" };
    throughput.rate.map_or_else(|| "-".into(), |rate| format!("{bound}{}", fps(rate)))
}

fn mesh(table: &mut Table, result: &MeshResult, size: &str) {
    let of = |point: Option<&LoadPoint>, print: &dyn Fn(&LoadPoint) -> String| {
        point.map_or_else(|| "-".into(), print)
    };
    let (frmol, mfr) = (result.frmol(), result.mfr());
    table.rows.push(vec![
        size.into(),
        load_cell(&result.throughput),
        rate_cell(&result.throughput),
        of(frmol, &|point| fps(point.offered)),
        of(frmol, &|point| fps(point.forwarding_rate)),
        of(frmol, &|point| grouped_f64(point.loss_percent, 3)),
        of(frmol, &|point| grouped_f64((1.0 - point.worst_port_ratio) * 100.0, 3)),
        of(mfr, &|point| fps(point.forwarding_rate)),
        of(mfr, &|point| grouped_f64(point.load_percent, 2)),
        of(frmol, &|point| grouped(point.flood_count)),
        of(frmol, &|point| microseconds(point.start_skew)),
    ]);
    for point in &result.points {
        let late = point.skew_percent() > 1.0;
        let skew = format!(
            "ports started {:.1} % of the trial apart: 1 % is allowed",
            point.skew_percent()
        );
        table.note(size, late.then_some(skew));
        let why = point.invalid.iter();
        table.note(size, why.map(|why| format!("{} % invalid: {why}", point.load_percent)));
    }
    let losses = result.points.iter().filter(|point| point.invalid.is_empty());
    let losses: Vec<String> = losses
        .map(|point| {
            format!("{} % at {} %", grouped_f64(point.loss_percent, 3), point.load_percent)
        })
        .collect();
    table.note(size, [format!("loss {}", losses.join(", "))]);
}

fn congestion(table: &mut Table, result: &CongestionResult, size: &str) {
    let words = result.verdicts.iter().map(|verdict| match verdict {
        CongestionVerdict::HeadOfLineBlocking => "head of line blocking",
        CongestionVerdict::NoHeadOfLineBlocking => "no head of line blocking",
        CongestionVerdict::Backpressure => "backpressure",
        CongestionVerdict::NoBackpressure => "no backpressure",
        CongestionVerdict::Throttled => "flow control throttles the uncongested port",
    });
    let verdict = words.collect::<Vec<_>>().join("; ");
    table.rows.push(vec![
        size.into(),
        grouped(result.frames),
        fps(result.offered),
        fps(result.uncongested_rate),
        grouped_f64(result.uncongested_loss_percent(), 3),
        fps(result.congested_rate),
        grouped_f64(result.congested_loss_percent(), 3),
        grouped(result.pauses.0),
        if verdict.is_empty() { "invalid".into() } else { verdict },
    ]);
    let caveat = "a device that cannot take 100 % of input on a port loses frames for the uncongested \
                  one as well";
    let blocked = result.verdicts.contains(&CongestionVerdict::HeadOfLineBlocking);
    table.note(size, blocked.then(|| caveat.to_string()));
    let flooded = (result.flood_count > 0).then(|| format!("flood count {}", result.flood_count));
    table.note(size, flooded);
}

fn forward_pressure(table: &mut Table, result: &ForwardPressureResult, size: &str) {
    let mfr = result.mfr();
    let gap = match &result.gap {
        GapOutcome::Detected { rate } => format!("Forward Pressure detected: {}", fps(*rate)),
        GapOutcome::NotDetected { rate } => format!("none: {}", fps(*rate)),
        GapOutcome::NotTested { why } => {
            table.note(size, [format!("gap of 88 bits not tested: {why}")]);
            "not tested".into()
        }
    };
    table.rows.push(vec![
        size.into(),
        load_cell(&result.throughput),
        mfr.map_or_else(|| "-".into(), |point| fps(point.forwarding_rate)),
        mfr.map_or_else(|| "-".into(), |point| grouped_f64(point.load_percent, 2)),
        fps(result.conditions.theoretical_max),
        gap,
    ]);
}

fn found_in_words(result: &AddressResult) -> String {
    let unit = match result.conditions.test {
        method::chassis::ChassisTest::AddressLearning => "addresses/s",
        _ => "addresses",
    };
    match (result.found, result.failed, result.at_least) {
        _ if !result.invalid.is_empty() => "no valid result".into(),
        (Some(found), _, true) => format!("at least {} {unit}", grouped(found)),
        (Some(found), Some(failed), _) => {
            format!("{} {unit}, {} failed", grouped(found), grouped(failed))
        }
        (Some(found), None, _) => format!("{} {unit}", grouped(found)),
        (None, ..) => "not even the lowest was learned".into(),
    }
}

fn addresses(table: &mut Table, result: &AddressResult) {
    for trial in &result.trials {
        table.rows.push(vec![
            grouped(trial.addresses),
            fps(trial.learning_rate),
            grouped(trial.offered),
            grouped(trial.received),
            grouped(trial.flood_test_port),
            grouped(trial.flood_learning_port),
            grouped(trial.flood_monitor_port),
            match trial.learned {
                Some(true) => "yes".into(),
                Some(false) => "no".into(),
                None => "invalid".into(),
            },
        ]);
    }
}

fn errored(table: &mut Table, result: &ErroredResult, size: &str) {
    for trial in &result.trials {
        let outcome = match &trial.outcome {
            ErroredOutcome::Passed => "pass",
            ErroredOutcome::Failed => "FAIL",
            ErroredOutcome::NotTested { why } => {
                table.note(size, [format!("{} not tested: {why}", trial.kind)]);
                "not tested"
            }
        };
        table.rows.push(vec![
            size.into(),
            trial.kind.to_string(),
            grouped_f64(trial.load_percent, 0),
            grouped(trial.errored.0),
            grouped(trial.errored.1),
            grouped(trial.good.0),
            grouped(trial.good.1),
            outcome.into(),
        ]);
    }
    let failed = result.verdict(ErroredKind::CrcError) == Some(&ErroredOutcome::Failed);
    let why = "a device that forwards before it has seen the FCS passes on frames with a bad one";
    table.note(size, failed.then(|| why.to_string()));
}

fn broadcast(table: &mut Table, result: &BroadcastLatencyResult, size: &str) {
    for port in &result.ports {
        let latency = |pick: fn(&method::Spread) -> f64| {
            let ns = port.latency_ns.as_ref().map(pick);
            ns.map_or_else(|| "-".into(), |ns| grouped_f64(ns / 1e3, 3))
        };
        table.rows.push(vec![
            size.into(),
            port.port.0.to_string(),
            format!("{} of {}", port.received, result.frames),
            latency(|spread| spread.min),
            latency(|spread| spread.mean),
            latency(|spread| spread.max),
        ]);
    }
}

fn fanout(table: &mut Table, result: &FanoutResult) {
    let point = result.point.as_ref();
    let count =
        |pick: fn(&LoadPoint) -> u64| point.map_or_else(|| "-".into(), |p| grouped(pick(p)));
    let total = result.total();
    table.rows.push(vec![
        result.conditions.ports.to_string(),
        result.receivers.to_string(),
        rate_cell(&result.throughput),
        total.map_or_else(|| "-".into(), fps),
        published_for(&result.conditions),
        count(|point| point.offered_frames),
        count(|point| point.received_frames),
        count(|point| point.offered_frames - point.received_frames),
    ]);
}

/// The document has figures for 4 and 8 ports only.
fn published_for(conditions: &ChassisConditions) -> String {
    match conditions.ports {
        4 | 8 => grouped_f64(published::PER_PORT_FPS, 0),
        _ => "-".into(),
    }
}

fn extrapolation(table: &mut Table, result: &ExtrapolationResult) {
    let rate = |fps: f64| grouped_f64(fps, 0);
    let mut row = |name: String, (from, to): (f64, f64), published: String| {
        table.rows.push(vec![name, rate(from), rate(to), published]);
    };
    for (ports, from, to) in &result.measured {
        row(format!("each of {ports} ports"), (*from, *to), rate(published::PER_PORT_FPS));
    }
    let all = result.ports;
    let printed =
        if all == published::ALL_PORTS { rate(published::ALL_PORTS_FPS) } else { "-".into() };
    row(format!("{all} ports, extrapolated"), result.extrapolated, printed);
    if let Some(measured) = result.all_ports {
        row(format!("{all} ports, measured"), measured, "-".into());
    }
    let size = result.conditions.frame_size.to_string();
    let (from, to) = result.scaling_factor;
    let mut notes = vec![format!(
        "scaling factor {from:.4} to {to:.4} (1: more ports cost a port nothing); the document saw none"
    )];
    notes.extend(
        result
            .as_published
            .map(|fps| format!("as the document does it, a port times {all}: {}", rate(fps))),
    );
    notes.push(match result.held {
        Some(true) => format!("the extrapolation HELD: {all} ports carried what it says"),
        Some(false) => format!("the extrapolation FAILED: {all} ports did not carry what it says"),
        None => format!("not checked: there are not {all} ports"),
    });
    table.note(&size, notes);
}

fn arp_in_words(result: &ArpServerResult) -> String {
    let published = grouped_f64(published::ARP_RESPONSES_FPS, 0);
    match result.rate_fps {
        _ if !result.invalid.is_empty() => "no valid result".into(),
        Some(rate) => format!("{} responses/s (published: about {published})", grouped(rate)),
        None => format!("requests were not answered (published: about {published})"),
    }
}

fn arp_server(table: &mut Table, result: &ArpServerResult) {
    for trial in &result.trials {
        let cells = [trial.rate_fps, trial.requests, trial.responses];
        table.rows.push(cells.map(grouped).to_vec());
    }
}

fn capitalised(words: &str) -> String {
    let mut chars = words.chars();
    let first = chars.next().map(|first| first.to_uppercase().to_string());
    first.unwrap_or_default() + chars.as_str()
}
