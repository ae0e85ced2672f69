//! A model as a device's description.

use crate::figures::Of;
use crate::model::{Model, Product, What};
use std::fmt::Write as _;
use std::path::PathBuf;

impl Product {
    /// Where its description is kept.
    pub fn path(&self) -> PathBuf {
        let letter = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
        let file: String = self.name.chars().map(letter).collect();
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/devices/harvard-1990");
        PathBuf::from(folder).join(format!("{}.toml", file.trim_matches('-')))
    }

    pub fn describe(&self, model: &Model) -> String {
        let known = Of::PROTOCOLS.into_iter().filter(|p| model.has((*p, What::PerFrame)));
        let known: Vec<Of> = known.collect();
        let routed = known.iter().filter(|p| **p != Of::Bridged);
        let routed: Vec<String> = routed.map(|p| format!("\"{}\"", p.name())).collect();
        let routed = routed.join(", ");
        let bridges = known.contains(&Of::Bridged);
        let mut text = format!(
            "# {}, as the router tests of 1990 at Harvard found it\n\
             # (fitted by `make harvard-1990-scores`)\n\
             ports = 4\nline-rate = \"10M\"\nroute = [{routed}]\nbridge = {bridges}\n\n\
             [input]\nframes = 20\n\n",
            self.name
        );
        self.describe_output(model, &mut text);
        if !self.structure.bus.is_empty() {
            let _ = writeln!(text, "[bus]\nqueue = {{ frames = 20 }}\n\n[bus.protocols]");
            for protocol in self.structure.bus {
                let bus = [
                    ("per-frame", model.get(*protocol, What::Bus)),
                    ("per-byte", model.get(*protocol, What::BusByte)),
                    ("receive-per-byte", model.get(*protocol, What::BusReceiveByte)),
                ];
                let _ = writeln!(text, "{} = {}", protocol.name(), cost(&bus));
            }
            text.push('\n');
        }
        self.describe_processors(model, &known, &mut text);
        let [first, second] = self.sources.0;
        let gaps = (time(first), time(second));
        let _ = writeln!(text, "\n[tester]\nmin-gap = {}\nsecond-min-gap = {}", gaps.0, gaps.1);
        text
    }

    fn describe_output(&self, model: &Model, text: &mut String) {
        let is_carded = self.structure.card_processors;
        let servers = if is_carded { "local = true" } else { "servers = \"per-port\"" };
        let _ = writeln!(text, "[card]\nports = 2\n{servers}\nqueue = {{ frames = 20 }}");
        let output = [
            ("per-frame", model.get(Of::All, What::Output)),
            ("per-byte", model.get(Of::All, What::OutputByte)),
            ("per-buffer", model.get(Of::All, What::OutputBuffer)),
            ("buffer-bytes", model.get(Of::All, What::OutputBufferBytes)),
        ];
        let _ = writeln!(text, "output = {}\n", cost(&output));
    }

    fn describe_processors(&self, model: &Model, known: &[Of], text: &mut String) {
        let is_carded = self.structure.card_processors;
        if !is_carded {
            let servers = if self.structure.per_port { "per-port" } else { "shared" };
            let _ = writeln!(text, "[cpu]\nservers = \"{servers}\"\nqueue = {{ frames = 20 }}\n");
        }
        let _ = writeln!(text, "[{}.protocols]", if is_carded { "card" } else { "cpu" });
        for protocol in known {
            let of_protocol = |what| model.get(*protocol, what);
            let costs = [
                ("per-frame", of_protocol(What::PerFrame)),
                ("per-byte", of_protocol(What::PerByte)),
                ("first-bytes", of_protocol(What::FirstBytes)),
                ("per-buffer", of_protocol(What::PerBuffer)),
                ("buffer-bytes", of_protocol(What::BufferBytes)),
                ("receive", of_protocol(What::Receive)),
                ("receive-per-byte", model.get(Of::All, What::ReceiveByte)),
            ];
            let _ = writeln!(text, "{} = {}", protocol.name(), cost(&costs));
        }
        let filter = [
            ("per-frame", What::PerFrame),
            ("per-rule", What::PerRule),
            ("receive", What::Receive),
            ("output", What::Output),
        ];
        let filter = filter.map(|(key, what)| (key, model.get(Of::Filter, what)));
        if filter.iter().any(|(_, us)| *us > 0.0) {
            *text += "\n[filter]\n";
        }
        for (key, us) in filter.iter().filter(|(_, us)| *us > 0.0) {
            let _ = writeln!(text, "{key} = {}", time(*us));
        }
    }
}

/// Microseconds as a description has them.
fn time(us: f64) -> String {
    match us * 1e6 {
        ps if us < 1.0 => format!("\"{ps:.0}ps\""),
        _ => format!("\"{:.0}ns\"", us * 1e3),
    }
}

/// Those of these that are not zero.
fn cost(parts: &[(&str, f64)]) -> String {
    let given = parts.iter().filter(|(_, value)| *value > 0.0);
    let given = given.map(|(key, value)| match key.ends_with("-bytes") {
        true => format!("{key} = {value:.0}"),
        false => format!("{key} = {}", time(*value)),
    });
    format!("{{ {} }}", given.collect::<Vec<_>>().join(", "))
}
