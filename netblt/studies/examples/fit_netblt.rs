//! Fits the constants that RFC 1030 does not give to its tables: coordinate descent from the
//! committed ones. Prints what it finds; takes some minutes.
//!
//! cargo run --release -p netanvil-netblt-studies --example fit_netblt

use netblt_studies::rfc1030::{Constants, Row, reproduce_with, rows};

/// A constant: its name, where it stands, and the least and most that makes sense.
type Knob = (&'static str, fn(&mut Constants) -> &mut f64, f64, f64);

const KNOBS: [Knob; 18] = [
    ("send_control_ms", |c| &mut c.send_control_ms, 0.5, 6.0),
    ("receive_control_ms", |c| &mut c.receive_control_ms, 0.5, 6.0),
    ("start_buffer_ms", |c| &mut c.start_buffer_ms, 0.0, 6.0),
    ("turn_buffer_ms", |c| &mut c.turn_buffer_ms, 0.0, 12.0),
    ("timer_latency_ms", |c| &mut c.timer_latency_ms, 0.0, 3.0),
    ("timer_latency_per_buffer_ms", |c| &mut c.timer_latency_per_buffer_ms, 0.0, 0.5),
    ("ring_receive_excess", |c| &mut c.ring_receive_excess, 1.0, 1.2),
    ("ethernet_byte_us", |c| &mut c.ethernet_byte_us, 1.0, 4.0),
    ("copy_byte_us", |c| &mut c.copy_byte_us, 0.2, 2.0),
    ("reenable_ms", |c| &mut c.reenable_ms, 0.1, 4.0),
    ("reenable_after_sending_ms", |c| &mut c.reenable_after_sending_ms, 0.1, 8.0),
    ("broadcast_interval_ms", |c| &mut c.broadcast_interval_ms, 50.0, 3000.0),
    ("damage", |c| &mut c.damage, 0.0, 0.02),
    ("data_timer_stretch", |c| &mut c.data_timer_stretch, 0.8, 2.0),
    ("data_timer_margin_ms", |c| &mut c.data_timer_margin_ms, 0.0, 60.0),
    ("wideband_loss", |c| &mut c.wideband_loss, 0.005, 0.06),
    ("another_reservation", |c| &mut c.another_reservation, 0.0, 0.02),
    ("another_reservation_for_fragment", |c| &mut c.another_reservation_for_fragment, 0.0, 0.3),
];

/// Runs of each row, to average chance out.
const RUNS: u64 = 3;

/// How far a row is off: the speed first; the losses in their order of magnitude.
fn error(constants: &Constants, index: usize, row: &Row) -> f64 {
    let one = |run: u64| {
        let Some(ours) = reproduce_with(constants, row, run * 1000 + index as u64) else {
            return 3.0;
        };
        let speed = (ours.steady_state_mbps / row.steady_state_mbps).ln().abs().min(0.5);
        let magnitude = |a: u64, b: u64| ((a as f64 + 5.0) / (b as f64 + 5.0)).ln().abs();
        let lost = magnitude(ours.packets_lost, row.packets_lost);
        let again = magnitude(ours.packets_retransmitted, row.packets_retransmitted);
        speed + 0.03 * (lost + again)
    };
    (0..RUNS).map(one).sum::<f64>() / RUNS as f64
}

fn total(constants: &Constants, rows: &[Row]) -> f64 {
    rows.iter().enumerate().map(|(index, row)| error(constants, index, row)).sum()
}

fn main() {
    let rows = rows();
    let mut best = Constants::FITTED;
    let mut least = total(&best, &rows);
    let mut step = 0.5;
    while step > 0.02 {
        let before = least;
        for (name, knob, low, high) in KNOBS {
            for factor in [1.0 + step, 1.0 / (1.0 + step)] {
                let mut tried = best;
                let value = knob(&mut tried);
                *value = (value.max(1e-4) * factor).clamp(low, high);
                let sum = total(&tried, &rows);
                if sum < least {
                    (best, least) = (tried, sum);
                    println!("{least:.3} {name} {:.4}", knob(&mut best));
                }
            }
        }
        if before - least < 0.05 {
            step /= 2.0;
        }
    }
    println!("{best:#?}");
}
