//! Which numbers a model has, and where its fit begins: by rule, from the figures that it is fitted
//! to. Nothing was read off the tables by eye.
//!
//! The time between two frames at the max rate, by frame size, is a line for each stage. The
//! processor's is the regression over the sizes up to 256 bytes, the output's over those from 512.
//! Flood below max gives the cost of reception, the difference that filters make theirs.

use crate::figures::{BYTE_US, Cell, Of};
use crate::model::{Model, Product, What};

/// The sizes at which the processor limits, as far as one rule for all products can tell.
const SMALL: u32 = 256;
/// Costs begin no lower than this, in microseconds.
const LEAST_US: f64 = 1.0;
/// And those of a byte.
const LEAST_BYTE_US: f64 = 0.02;
/// A frame of a device that was never slow.
const UNKNOWN_US: f64 = 30.0;
/// Where lengths begin, in bytes: each beginning of the fit has one of them.
const LENGTHS: [f64; 6] = [96.0, 160.0, 250.0, 400.0, 800.0, 1_200.0];

/// The figures of a fit, as times between frames.
struct Times<'a> {
    product: &'a Product,
    cells: Vec<&'a Cell>,
}

impl Times<'_> {
    /// Size and time of the informative figures of this kind.
    fn points(&self, of: impl Fn(&Cell) -> bool) -> Vec<(f64, f64)> {
        let cells = self.cells.iter().filter(|cell| cell.fps > 0.0 && of(cell));
        cells.map(|cell| (f64::from(cell.size), 1e6 / cell.fps)).collect()
    }

    /// Both streams of two are work of one processor.
    fn of_both(&self, of: impl Fn(&Cell) -> bool) -> Vec<(f64, f64)> {
        let points = self.points(|cell| cell.dual.is_some() && of(cell));
        points.into_iter().map(|(size, us)| (size, us / 2.0)).collect()
    }

    /// What reception costs at each size: of `max` and `fld` of a line, with P the time at max and x
    /// the offered rate, (1e6 - P fld) / (x - fld).
    fn receptions(&self, of: impl Fn(&Cell) -> bool) -> Vec<(f64, f64)> {
        let alike = |a: &Cell, b: &Cell| {
            (a.protocol, a.is_within, a.size, a.rules) == (b.protocol, b.is_within, b.size, b.rules)
        };
        let mut found = vec![];
        for max in self.cells.iter().filter(|cell| !cell.is_flood && cell.fps > 0.0 && of(cell)) {
            let flood = self.cells.iter().find(|cell| cell.is_flood && alike(cell, max));
            let offered = self.product.offered_fps(max);
            if let Some(flood) = flood.filter(|flood| flood.fps < offered) {
                let us = (1e6 - 1e6 / max.fps * flood.fps) / (offered - flood.fps);
                found.push((f64::from(max.size), us.max(0.0)));
            }
        }
        found
    }

    /// How much longer a frame takes with so many filters, at each size.
    fn of_filters(&self, rules: f64, sizes: impl Fn(u32) -> bool) -> Vec<f64> {
        let time = |cell: &Cell, rules| {
            let alike = |other: &&&Cell| {
                (other.is_within, other.size, other.is_flood, other.rules, other.dual)
                    == (cell.is_within, cell.size, cell.is_flood, rules, None)
                    && other.protocol == cell.protocol
            };
            self.cells.iter().find(alike).map(|cell| 1e6 / cell.fps.max(1.0))
        };
        let max = self.cells.iter().filter(|cell| !cell.is_flood && cell.rules == rules);
        let max = max.filter(|cell| sizes(cell.size));
        max.filter_map(|cell| Some(time(cell, rules)? - time(cell, 0.0)?)).collect()
    }
}

/// Least squares; beginning and slope are positive. `None` without points.
fn line(points: &[(f64, f64)]) -> Option<(f64, f64)> {
    let count = points.len() as f64;
    let mean = |of: &dyn Fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / count;
    let (x, y) = (mean(&|p| p.0), mean(&|p| p.1));
    let spread = mean(&|p| (p.0 - x).powi(2));
    let slope = if spread > 0.0 { mean(&|p| (p.0 - x) * (p.1 - y)) / spread } else { 0.0 };
    let slope = slope.max(LEAST_BYTE_US);
    (!points.is_empty()).then(|| ((y - slope * x).max(LEAST_US), slope))
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

impl Product {
    /// The numbers of the model, as these figures tell of them, and where to begin with them; the
    /// beginnings, counted by `seed`, differ in the lengths and spread about the rule's numbers.
    pub fn start(&self, cells: &[Cell], weights: &[f64], seed: usize) -> Model {
        let used = cells.iter().zip(weights).filter(|(_, weight)| **weight > 0.0);
        let used: Vec<&Cell> = used.map(|(cell, _)| cell).collect();
        let slow = used.iter().copied().filter(|cell| cell.kept_up_fps().is_none()).collect();
        let times = Times { product: self, cells: slow };
        let mut model = Model::new();
        for protocol in Of::PROTOCOLS {
            if used.iter().any(|cell| cell.protocol == protocol) {
                self.start_protocol(&mut model, &times, protocol);
            }
        }
        // What was never slow tells only that the device is faster than the source: as fast as in the other
        // protocols.
        let of_frame = |protocol: &Of| model.get(*protocol, What::PerFrame);
        let known: Vec<f64> = Of::PROTOCOLS.iter().map(of_frame).filter(|us| *us > 0.0).collect();
        let unknown = if known.is_empty() {
            UNKNOWN_US
        } else {
            known.iter().sum::<f64>() / known.len() as f64
        };
        for protocol in Of::PROTOCOLS {
            if model.has((protocol, What::PerFrame)) && model.get(protocol, What::PerFrame) == 0.0 {
                model.put((protocol, What::PerFrame), unknown);
            }
        }
        self.start_output(&mut model, &times);
        self.start_filter(&mut model, &times);
        model.set((Of::All, What::Error), 0.02);
        for (number, (of, what)) in model.keys.clone().into_iter().enumerate() {
            // Spread the beginnings, the same ones each time.
            let spread = ((seed * 7 + number * 13 + seed * number * 5) % 17) as f64 / 8.0 - 1.0;
            let value = match what {
                what if what.is_bytes() => LENGTHS[(seed + number * (seed / 6)) % LENGTHS.len()],
                _ if seed < LENGTHS.len() => model.get(of, what),
                _ => model.get(of, what) * 2.0_f64.powf(spread),
            };
            model.put((of, what), value);
        }
        model
    }

    fn start_protocol(&self, model: &mut Model, times: &Times<'_>, protocol: Of) {
        let has = &self.structure;
        let own = |cell: &Cell| cell.protocol == protocol && cell.rules == 0.0;
        let max = |cell: &Cell| own(cell) && cell.dual.is_none() && !cell.is_flood;
        let small = times.points(|cell| max(cell) && cell.size <= SMALL);
        let flood = |cell: &Cell| own(cell) && cell.dual.is_none() && cell.size <= SMALL;
        let shared = times.of_both(|cell| own(cell) && cell.size <= SMALL);
        let known = line(&small).or_else(|| line(&times.points(flood))).or_else(|| line(&shared));
        let (per_frame, per_byte) = known.unwrap_or((0.0, LEAST_BYTE_US));
        let mut set = |what, us: f64| model.set((protocol, what), us);
        set(What::PerFrame, per_frame);
        let slow = times.cells.iter().filter(|cell| cell.protocol == protocol);
        let mut slow = slow.filter(|cell| cell.fps < 0.98 * cell.source_fps);
        if slow.any(|cell| cell.size >= 128 && (cell.size >= 256 || cell.dual.is_some())) {
            set(What::PerByte, per_byte);
        }
        if has.receive.contains(&protocol) {
            let us = times.receptions(|cell| max(cell) && cell.size <= SMALL);
            let us = median(us.into_iter().map(|(_, us)| us).collect());
            set(What::Receive, us.unwrap_or(0.1 * per_frame).max(LEAST_US));
        }
        if has.first_bytes && protocol == Of::Ipv4 {
            set(What::FirstBytes, LENGTHS[0]);
        }
        if has.decnet_buffers && protocol == Of::Decnet {
            set(What::PerBuffer, 0.2 * per_frame);
            set(What::BufferBytes, LENGTHS[0]);
        }
        if has.bus.contains(&protocol) {
            let both = times.of_both(own);
            let large = times.points(|cell| max(cell) && cell.size > SMALL);
            let shared = if both.is_empty() { large } else { both };
            let (bus, bus_byte) = line(&shared).unwrap_or((per_frame, per_byte));
            set(What::Bus, bus);
            set(What::BusByte, bus_byte);
            if has.bus_receive {
                let us = times.receptions(|cell| max(cell) && cell.size > SMALL);
                let us = median(us.into_iter().map(|(size, us)| us / size).collect());
                set(What::BusReceiveByte, us.unwrap_or(LEAST_BYTE_US).max(LEAST_BYTE_US));
            }
        }
    }

    fn start_output(&self, model: &mut Model, times: &Times<'_>) {
        let has = &self.structure;
        let max = |cell: &Cell| cell.dual.is_none() && cell.rules == 0.0 && !cell.is_flood;
        if has.card_processors {
            // Within a card one processor takes a frame in and sends it out.
            let of = |is_within| {
                let points = times.points(|cell| max(cell) && cell.is_within == is_within);
                median(points.into_iter().map(|(_, us)| us).collect())
            };
            let us = of(true).zip(of(false)).map(|(within, between)| within - between);
            model.set((Of::All, What::Output), us.unwrap_or(LEAST_US).max(LEAST_US));
            return;
        }
        if has.receive_byte {
            let us = times.receptions(max);
            let us = median(us.into_iter().map(|(size, us)| us / size).collect());
            let us = us.unwrap_or(LEAST_BYTE_US).max(LEAST_BYTE_US);
            model.set((Of::All, What::ReceiveByte), us);
        }
        let large = times.points(|cell| cell.size > SMALL && cell.dual.is_none());
        if large.is_empty() {
            return;
        }
        let unfiltered = times.points(|cell| cell.size > SMALL && max(cell));
        let (output, output_byte) = line(&unfiltered).unwrap_or((LEAST_US, BYTE_US));
        model.set((Of::All, What::Output), output);
        model.set((Of::All, What::OutputByte), output_byte);
        if has.output_buffers {
            model.set((Of::All, What::OutputBuffer), 0.5 * output);
            model.set((Of::All, What::OutputBufferBytes), LENGTHS[0]);
        }
    }

    fn start_filter(&self, model: &mut Model, times: &Times<'_>) {
        let has = &self.structure;
        if !times.cells.iter().any(|cell| cell.rules > 0.0 && cell.fps < 0.98 * cell.source_fps) {
            return;
        }
        let of = |rules| median(times.of_filters(rules, |size| size <= SMALL));
        let (one, ten) = (of(1.0).unwrap_or(LEAST_US), of(10.0).unwrap_or(LEAST_US));
        let per_rule = ((ten - one) / 9.0).max(0.1);
        let mut set = |what, us: f64| model.set((Of::Filter, what), us.max(0.1));
        set(What::PerFrame, (one - per_rule).max(LEAST_US));
        set(What::PerRule, per_rule);
        if has.filter_output {
            let us = median(times.of_filters(1.0, |size| size > SMALL));
            set(What::Output, us.unwrap_or(LEAST_US).max(LEAST_US));
        }
        if has.filter_receive {
            let of = |with: bool| {
                let kind = |cell: &Cell| {
                    (cell.rules > 0.0) == with && cell.protocol == Of::Ipv4 && cell.dual.is_none()
                };
                let us = times.receptions(|cell| kind(cell) && cell.size <= SMALL);
                median(us.into_iter().map(|(_, us)| us).collect())
            };
            let us = of(true).zip(of(false)).map(|(with, without)| with - without);
            set(What::Receive, us.unwrap_or(LEAST_US).max(LEAST_US));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 3 + 2 x; of one point a line that rises by the least.
    #[test]
    fn a_line_goes_through_its_points() {
        let (begins, slope) = line(&[(1.0, 5.0), (2.0, 7.0), (4.0, 11.0)]).expect("a line");
        assert!((begins - 3.0).abs() < 1e-9 && (slope - 2.0).abs() < 1e-9, "{begins} {slope}");
        assert_eq!(line(&[]), None);
        assert_eq!(line(&[(64.0, 100.0)]), Some((100.0 - 64.0 * LEAST_BYTE_US, LEAST_BYTE_US)));
    }
}
