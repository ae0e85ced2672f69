//! The smoothed round trip and the retransmission timeout (RFC 6298).

/// RFC 6298 section 2.3: alpha and beta for one sample a round trip.
const ALPHA: f64 = 1.0 / 8.0;
const BETA: f64 = 1.0 / 4.0;
/// RFC 6298 section 2.3: K.
const VARIATIONS: f64 = 4.0;
/// RFC 6298 section 2.4. TCPs that wait for less repeat what is lost themselves; here the receiver asks for
/// that by its data timer, and a silence of the path is all that this timer is for.
const MIN_TIMEOUT_S: f64 = 1.0;
/// RFC 6298 section 2.1, before the first sample; and section 2.5.
const FIRST_TIMEOUT_S: f64 = 1.0;
const MAX_TIMEOUT_S: f64 = 60.0;

/// Estimates of the round trip.
#[derive(Clone, Debug, Default)]
pub struct RoundTrips {
    estimate: Option<Estimate>,
    shortest_s: Option<f64>,
    /// The estimate is that of the handshake, in which nothing was queued behind data.
    provisional: bool,
}

#[derive(Clone, Copy, Debug)]
struct Estimate {
    smoothed_s: f64,
    variation_s: f64,
}

impl RoundTrips {
    /// OPEN was answered after so long.
    pub fn from_handshake(round_trip_s: Option<f64>) -> RoundTrips {
        let mut trips = RoundTrips::default();
        if let Some(sample_s) = round_trip_s.filter(|sample_s| *sample_s > 0.0) {
            trips.estimate = Some(Estimate { smoothed_s: sample_s, variation_s: sample_s / 2.0 });
            trips.provisional = true;
        }
        trips
    }

    pub fn smoothed_s(&self) -> Option<f64> {
        self.estimate.map(|estimate| estimate.smoothed_s)
    }
    /// Shortest one measured with data.
    pub fn shortest_s(&self) -> Option<f64> {
        self.shortest_s
    }

    /// A round trip was measured, with so many samples to a round trip. Where there are few, each counts for
    /// more: all of a round trip's together count for what eight of RFC 6298's do, or the estimate would lag
    /// behind a queue by many round trips.
    pub fn observe(&mut self, sample_s: f64, samples: f64) {
        self.shortest_s = Some(self.shortest_s.map_or(sample_s, |old| old.min(sample_s)));
        let Some(old) = self.estimate.filter(|_| !self.provisional) else {
            self.estimate = Some(Estimate { smoothed_s: sample_s, variation_s: sample_s / 2.0 });
            self.provisional = false;
            return;
        };
        let part = (1.0 / samples.max(1.0)).clamp(ALPHA, 1.0);
        let error_s = (sample_s - old.smoothed_s).abs();
        self.estimate = Some(Estimate {
            smoothed_s: old.smoothed_s + part * (sample_s - old.smoothed_s),
            variation_s: old.variation_s
                + (part * BETA / ALPHA).min(1.0) * (error_s - old.variation_s),
        });
    }

    /// A round trip that is not exceeded but by chance: RFC 6298's timeout without its floor.
    pub fn bound_s(&self) -> Option<f64> {
        self.estimate.map(|estimate| estimate.smoothed_s + VARIATIONS * estimate.variation_s)
    }
    /// Silence after which nothing of what is under way is expected, after so many silences in a row.
    pub fn timeout_s(&self, silences: u32) -> f64 {
        let once_s = self.bound_s().map_or(FIRST_TIMEOUT_S, |bound_s| bound_s.max(MIN_TIMEOUT_S));
        (once_s * f64::from(1u32 << silences.min(6))).min(MAX_TIMEOUT_S)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn estimates_are_those_of_rfc_6298() {
        let mut trips = RoundTrips::default();
        assert_eq!(trips.timeout_s(0), 1.0);
        trips.observe(0.8, 8.0);
        // R and R/2 (section 2.2).
        assert_eq!((trips.smoothed_s(), trips.bound_s()), (Some(0.8), Some(0.8 + 4.0 * 0.4)));
        trips.observe(1.6, 8.0);
        // 7/8 and 1/8, 3/4 and 1/4 (section 2.3).
        let (smoothed_s, bound_s) = (trips.smoothed_s().unwrap(), trips.bound_s().unwrap());
        assert!((smoothed_s - 0.9).abs() < 1e-12 && (bound_s - (0.9 + 4.0 * 0.5)).abs() < 1e-12);
        assert!((trips.timeout_s(1) - 2.0 * bound_s).abs() < 1e-12);
        assert_eq!(trips.timeout_s(20), 60.0);
        assert_eq!(trips.shortest_s(), Some(0.8));
    }

    #[test]
    fn what_was_measured_with_data_replaces_what_the_handshake_took() {
        let mut trips = RoundTrips::from_handshake(Some(0.5));
        assert_eq!((trips.smoothed_s(), trips.shortest_s()), (Some(0.5), None));
        trips.observe(0.1, 8.0);
        assert_eq!((trips.smoothed_s(), trips.shortest_s()), (Some(0.1), Some(0.1)));
    }

    #[test]
    fn a_single_sample_in_a_round_trip_counts_whole() {
        let mut trips = RoundTrips::default();
        trips.observe(0.1, 1.0);
        trips.observe(0.2, 1.0);
        assert_eq!(trips.smoothed_s(), Some(0.2));
    }
}
