//! The GIGAswitch tests as tables, with what the document printed beside.

use super::{ArpServerResult, ExtrapolationResult, FanoutResult, published};
use crate::chassis::LoadPoint;
use crate::outcome::number::{grouped, grouped_f64};
use crate::outcome::{Cell, Layout, Role, Series};

const FANOUT: [&str; 8] = [
    "full-duplex ports",
    "receivers of each port",
    "here: frames/s of each port",
    "published: frames/s of each port",
    "here: frames/s of all ports",
    "here: frames lost",
    "here: frames sent by all",
    "here: frames received by all",
];

/// What stands above tables of these tests.
fn about(measured: &str) -> String {
    format!("published: {}; here: this run, {measured}", published::DOCUMENT)
}

/// A rate of the document, or that it has none.
fn printed(fps: Option<f64>) -> Cell {
    fps.map_or_else(|| "not published".into(), |fps| Cell::number(fps, 0))
}

impl FanoutResult {
    pub(super) fn layout(&self) -> Layout {
        let count = |pick: fn(&LoadPoint) -> u64| {
            Cell::optional(self.point.as_ref(), |point| Cell::Count(pick(point)))
        };
        let mut layout = self.conditions.layout(&FANOUT).row([
            self.conditions.ports.to_string().into(),
            self.receivers.to_string().into(),
            self.throughput.rate_cell(),
            printed(published::per_port_fps(self.conditions.ports, self.conditions.frame_size)),
            Cell::optional(self.total(), Cell::Fps),
            count(|point| point.offered_frames - point.received_frames),
            count(|point| point.offered_frames),
            count(|point| point.received_frames),
        ]);
        layout.about.insert(0, about("the highest rate without loss, all ports sending at once"));
        layout
    }
}

const EXTRAPOLATION: [&str; 5] = [
    "<frames a second without loss",
    "here: at least",
    "here: at most",
    "published",
    "<where the document has it",
];

impl ExtrapolationResult {
    pub(super) fn layout(&self) -> Layout {
        let rate = |fps: f64| Cell::number(fps, 0);
        let (all, size) = (self.ports, self.conditions.frame_size);
        let mut layout = self.conditions.layout(&EXTRAPOLATION);
        layout.about.insert(0, about("the bounds of each rate"));
        let row = |name: String, (from, to): (f64, f64), fps: Option<f64>, place: &str| {
            let place = fps.map_or("-", |_| place);
            let name = format!("{size} bytes, {name}");
            [name.into(), rate(from), rate(to), printed(fps), place.into()]
        };
        for (ports, from, to) in &self.measured {
            let name = format!("each of {ports} ports, measured");
            let fps = published::per_port_fps(*ports, size);
            layout = layout.row(row(name, (*from, *to), fps, "c. Scalability"));
        }
        let name = format!("all {all} ports, extrapolated from the rows above");
        let fps = self.is_of_document().then_some(published::ALL_PORTS_FPS);
        layout = layout.row(row(name, self.extrapolated, fps, "c. Scalability, extrapolated"));
        if let Some(measured) = self.all_ports {
            layout = layout.row(row(format!("all {all} ports, measured"), measured, None, ""));
        }
        layout.noted(self.notes()).with_curves(self.curves())
    }

    /// Whether it is of the ports and the frame size to which the document extrapolates.
    fn is_of_document(&self) -> bool {
        let here = (self.ports, self.conditions.frame_size);
        here == (published::ALL_PORTS, published::FRAME_SIZE_BYTES)
    }

    /// The sum of all ports over their number: the scaling that the document tested for, and its extrapolation.
    fn curves(&self) -> Vec<Series> {
        let all = self.ports as f64;
        let few = self.measured.iter();
        let bounds = few.map(|(ports, from, to)| (total(*ports, *from), total(*ports, *to)));
        let of_all = self.all_ports.map(|(from, to)| ((all, from), (all, to)));
        let (lower, upper): (Vec<_>, Vec<_>) = bounds.chain(of_all).unzip();
        let (from, to) = self.extrapolated;
        let mut curves = if self.is_of_document() { self.published_curves() } else { vec![] };
        if lower != upper {
            curves.push(self.scaling("measured here, at most", Role::Other, upper));
        }
        let extrapolated = vec![(all, from), (all, to)];
        curves.extend([
            self.scaling("measured here, at least", Role::Device, lower),
            self.scaling("extrapolated here from fewer ports", Role::Bound, extrapolated),
        ]);
        curves
    }

    /// What the document measured and extrapolated, and the line without a scaling factor.
    fn published_curves(&self) -> Vec<Series> {
        let per_port = published::PER_PORT_FPS;
        let no_factor =
            format!("published: {} of each port, no scaling factor", grouped_f64(per_port, 0));
        let line = [0, published::ALL_PORTS].map(|ports| total(ports, per_port));
        let mut points = published::MEASURED_PORTS.map(|ports| total(ports, per_port)).to_vec();
        points.push((published::ALL_PORTS as f64, published::ALL_PORTS_FPS));
        let rings = "published: 4 and 8 ports measured, 34 extrapolated";
        vec![
            self.scaling(&no_factor, Role::Medium, line.into()),
            self.scaling(rings, Role::Published, points),
        ]
    }

    fn scaling(&self, name: &str, role: Role, points: Vec<(f64, f64)>) -> Series {
        let size = self.conditions.frame_size;
        Series {
            chart: format!(
                "Scaling: throughput of all ports by number of full-duplex ports, {size} bytes"
            ),
            x: ("Full-duplex ports in use".into(), "ports".into()),
            y: ("Frames a second, all ports together".into(), "frames/s".into()),
            name: name.into(),
            role,
            points,
        }
    }

    fn notes(&self) -> Vec<String> {
        let ((from, to), all) = (self.scaling_factor, self.ports);
        let mut notes = vec![format!(
            "scaling factor {from:.4} to {to:.4} (1: more ports cost a port nothing); the document saw none"
        )];
        notes.extend(self.as_published.map(|fps| {
            format!("as the document does it, a port times {all}: {}", grouped_f64(fps, 0))
        }));
        notes.push(match self.held {
            Some(true) => format!("the extrapolation HELD: {all} ports carried what it says"),
            Some(false) => {
                format!("the extrapolation FAILED: {all} ports did not carry what it says")
            }
            None => format!("not checked: there are not {all} ports"),
        });
        notes
    }
}

/// So many ports, and what all of them carry where each carries that.
fn total(ports: usize, fps: f64) -> (f64, f64) {
    (ports as f64, ports as f64 * fps)
}

impl ArpServerResult {
    pub(super) fn layout(&self) -> Layout {
        let columns = ["ARP requests/s offered", "requests of the trial", "responses received"];
        let mut layout = self.conditions.layout(&columns);
        let printed = grouped_f64(published::ARP_RESPONSES_FPS, 0);
        let said = format!("the document (ARP Tests) has about {printed} responses/s sustained");
        layout.about.insert(0, said);
        layout.heading = format!("{}: {}", layout.heading, self.found_in_words());
        self.trials.iter().fold(layout, |layout, trial| {
            layout.row([trial.rate_fps, trial.requests, trial.responses].map(Cell::Count))
        })
    }

    fn found_in_words(&self) -> String {
        let published = grouped_f64(published::ARP_RESPONSES_FPS, 0);
        match self.rate_fps {
            _ if !self.invalid.is_empty() => "no valid result".into(),
            Some(rate) => format!("{} responses/s (published: about {published})", grouped(rate)),
            None => format!("requests were not answered (published: about {published})"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chassis::{ChassisConditions, ChassisTest};

    fn result(all_ports: Option<(f64, f64)>) -> ExtrapolationResult {
        ExtrapolationResult {
            conditions: ChassisConditions::sample(ChassisTest::Extrapolation, (64, 34)),
            measured: vec![(4, 1_000.0, 1_000.0), (8, 900.0, 950.0)],
            scaling_factor: (0.9, 0.95),
            ports: 34,
            as_published: None,
            extrapolated: (26_000.0, 30_000.0),
            all_ports,
            held: None,
        }
    }

    /// "118,800 packets per second, per port" with 4 and with 8 ports, and "an aggregate rate of 4,039,200" of 34.
    #[test]
    fn the_scaling_line_has_what_was_published_and_what_was_measured() {
        let curves = result(Some((20_000.0, 21_000.0))).layout().series;
        let points = |name: &str| {
            let of = curves.iter().find(|curve| curve.name.starts_with(name));
            of.unwrap_or_else(|| panic!("{name}: {curves:?}")).points.clone()
        };
        let printed = [(4.0, 475_200.0), (8.0, 950_400.0), (34.0, 4_039_200.0)];
        assert_eq!(points("published: 4 and 8 ports"), printed);
        assert_eq!(points("published: 118,800"), [(0.0, 0.0), (34.0, 4_039_200.0)]);
        // 4 x 1,000, 8 x 900, and all ports as they were counted together.
        let lower = [(4.0, 4_000.0), (8.0, 7_200.0), (34.0, 20_000.0)];
        assert_eq!(points("measured here, at least"), lower);
        assert_eq!(points("measured here, at most")[1..], [(8.0, 7_600.0), (34.0, 21_000.0)]);
        assert_eq!(points("extrapolated"), [(34.0, 26_000.0), (34.0, 30_000.0)]);
    }

    /// Without so many ports nothing is drawn for them but the extrapolation; every row names its place.
    #[test]
    fn what_was_not_measured_is_not_drawn() {
        let layout = result(None).layout();
        let lower = layout.series.iter().find(|curve| curve.role == Role::Device).expect("a curve");
        assert_eq!(lower.points.len(), 2);
        let cells = |row: usize| -> Vec<String> {
            layout.rows[row].iter().map(ToString::to_string).collect()
        };
        let first =
            ["64 bytes, each of 4 ports, measured", "1,000", "1,000", "118,800", "c. Scalability"];
        assert_eq!(cells(0), first);
        assert_eq!(cells(2)[3..], ["4,039,200", "c. Scalability, extrapolated"]);
        let ours = layout.columns.iter().filter(|title| title.starts_with("here: "));
        assert_eq!((ours.count(), layout.columns.contains(&"published".to_owned())), (2, true));
    }

    /// The document has frames of 64 octets only.
    #[test]
    fn nothing_is_published_of_other_frames() {
        let mut other = result(None);
        other.conditions.frame_size = 128;
        let layout = other.layout();
        assert!(layout.rows.iter().all(|row| row[3].to_string() == "not published"));
        assert!(layout.series.iter().all(|curve| !curve.name.contains("published")));
    }
}
