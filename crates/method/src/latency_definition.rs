//! In which form a latency is stated, and what it is in the others. The words of RFC 2544, 8219, 2889 and
//! 3918 alike.

use serde::{Deserialize, Serialize};
use std::fmt::Write;
use trial::{BitTimes, LatencyForm};
use units::Duration;

/// In which form a latency is stated. Stamps are FILO; the definition converts them.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct LatencyDefinition {
    /// Such as "LIFO".
    pub name: String,
    /// From which moment to which, in words, with what the other forms have besides.
    pub meaning: String,
    /// The form of the headline; runs saved before there was one state what was stamped.
    #[serde(default = "as_stamped")]
    pub form: LatencyForm,
    /// Time of the frame's bits on the sending line; `None` on a virtual link, where frames take no
    /// time and all forms agree, and for mixed sizes, where they differ from frame to frame.
    pub serialization_in: Option<Duration>,
    /// The same on the receiving line.
    pub serialization_out: Option<Duration>,
}

const fn as_stamped() -> LatencyForm {
    LatencyForm::Filo
}

impl LatencyDefinition {
    /// Of frames of one size on physical lines: RFC 1242's latency of a store-and-forward device, which
    /// cut-through devices are, too (section 3.8).
    pub fn of_lines(bits: BitTimes) -> Self {
        let form = LatencyForm::Lifo;
        let mut meaning = format!("{}; ", form.meaning());
        for other in LatencyForm::ALL.into_iter().filter(|other| *other != form) {
            let more = bits.taken_off_ps(form) - bits.taken_off_ps(other);
            let more = Duration::from_ps(more.unsigned_abs());
            let _ = write!(meaning, "{other}, {}, is {more} more; ", other.meaning());
        }
        meaning
            .push_str("the tester's own time, from stamp to line and line to arrival, is in each");
        LatencyDefinition {
            name: form.to_string(),
            meaning,
            form,
            serialization_in: Some(bits.sending),
            serialization_out: Some(bits.receiving),
        }
    }

    /// On virtual links, where frames take no time.
    pub fn of_virtual_links() -> Self {
        let form = LatencyForm::Lifo;
        let meaning = format!(
            "{}; on a virtual link frames take no time, and LIFO, FIFO, LILO and FILO agree",
            form.meaning()
        );
        let (name, none) = (form.to_string(), None);
        LatencyDefinition { name, meaning, form, serialization_in: none, serialization_out: none }
    }

    /// Of frames of several sizes on physical lines.
    pub fn of_mixed_sizes() -> Self {
        let form = LatencyForm::Filo;
        let meaning = format!(
            "{}; with mixed sizes LIFO, FIFO and LILO differ from it by another time for each frame",
            form.meaning()
        );
        let (name, none) = (form.to_string(), None);
        LatencyDefinition { name, meaning, form, serialization_in: none, serialization_out: none }
    }

    /// "latency is LIFO: ...".
    pub fn in_words(&self) -> String {
        format!("latency is {}: {}", self.name, self.meaning)
    }

    /// What the frame's bits take on both lines; nothing where they take no time or differ.
    pub fn bits(&self) -> BitTimes {
        BitTimes {
            sending: self.serialization_in.unwrap_or(Duration::ZERO),
            receiving: self.serialization_out.unwrap_or(Duration::ZERO),
        }
    }

    /// The other forms, where frames take time on a line.
    pub fn other_forms(&self) -> impl Iterator<Item = LatencyForm> + use<> {
        let (form, differ) = (self.form, self.bits() != BitTimes::default());
        LatencyForm::ALL.into_iter().filter(move |other| differ && *other != form)
    }

    /// A stamped latency in the headline's form, in picoseconds.
    pub fn ps(&self, stamped: Duration) -> i64 {
        self.bits().in_form_ps(self.form, stamped)
    }

    /// The same in nanoseconds.
    pub fn ns(&self, stamped: Duration) -> f64 {
        self.ns_in(self.form, stamped)
    }

    /// A stamped latency in another form, in nanoseconds.
    pub fn ns_in(&self, form: LatencyForm, stamped: Duration) -> f64 {
        self.bits().in_form_ps(form, stamped) as f64 / 1e3
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_saved_without_a_form_state_what_was_stamped() {
        let saved = r#"{"name":"transmit stamp to arrival","meaning":"","serialization_in":512000,
                        "serialization_out":512000}"#;
        let old: LatencyDefinition = serde_json::from_str(saved).unwrap();
        assert_eq!((old.form, old.ns(Duration::from_us(3))), (LatencyForm::Filo, 3_000.0));
    }

    #[test]
    fn the_words_name_every_form() {
        let line = Duration::from_ns(512);
        let definition = LatencyDefinition::of_lines(BitTimes { sending: line, receiving: line });
        assert_eq!(definition.ns(Duration::from_ns(3_024)), 2_000.0);
        for form in definition.other_forms() {
            assert!(definition.meaning.contains(&form.to_string()), "{}", definition.meaning);
        }
        assert_eq!(LatencyDefinition::of_virtual_links().other_forms().count(), 0);
    }
}
