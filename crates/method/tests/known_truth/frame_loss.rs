//! Frame loss rate: the curve of a known server, and the rule that ends it.

use super::bed::*;
use method::rfc2544::{FrameLossResult, MaximumOf, frame_loss};
use sim::{
    ClosedForm, EveryNth, Fate, Impaired, Law, Offered, Patch, QueueLimit, Response, SimTester,
    StoreAndForward, laws,
};
use trial::{Tester, TesterDescription, TesterError, Trial, TrialResult};
use units::{Duration, LineRate};

fn closed_form(law: impl Law) -> FrameLossResult {
    run(&config(), &mut ClosedForm::new(&[VIRTUAL; 2], law), frame_loss).0
}

/// Two successive lossless trials end it: a lossless device needs 100 % and 90 % only.
#[test]
fn a_lossless_device_needs_two_trials() {
    let result = closed_form(laws::never_lossy());
    let loads: Vec<f64> = result.points.iter().map(|point| point.percent_of_maximum).collect();
    assert_eq!(loads, [100.0, 90.0]);
    assert!(result.ended_with_two_lossless);
    assert_eq!(result.maximum_of, MaximumOf::Medium);
}

/// A server of 60 % of the line: loss is 1 - 0.6/load above, nothing below; ends at 50 %.
#[test]
fn the_curve_is_the_servers() {
    let line = LineRate::from_mbps(10).max_frame_rate(units::FrameSize::MIN_ETHERNET);
    let ports = [sim::SimPort::physical(LineRate::from_mbps(10)); 2];
    let device = StoreAndForward::with_capacity(line.scaled(0.6), QueueLimit::Frames(8));
    let mut tester = SimTester::new(&ports, device);
    let (result, _) = run(&config(), &mut tester, frame_loss);
    assert_eq!(result.points.len(), 6, "100 to 50 %");
    for point in &result.points {
        let truth = (1.0 - 60.0 / point.percent_of_theoretical).max(0.0) * 100.0;
        let buffer = 9.0 / point.expected_frames as f64 * 100.0;
        assert!(point.invalid.is_empty());
        assert!(
            (point.loss_percent - truth).abs() <= buffer + 0.02,
            "at {} %: {} instead of {truth}",
            point.percent_of_theoretical,
            point.loss_percent
        );
    }
}

/// No rate can be measured of a single frame: it was once stated as a loss at 0 % of the medium.
#[test]
fn a_trial_of_a_single_frame_stands_at_the_load_that_was_asked_for() {
    let mut config = config();
    // A frame of 64 bytes takes 67.2 us.
    config.trial.duration_s = 60e-6;
    let ports = [sim::SimPort::physical(LineRate::from_mbps(10)); 2];
    let (result, _) = run(&config, &mut SimTester::new(&ports, Patch::default()), frame_loss);
    let points: Vec<(u64, f64)> = result
        .points
        .iter()
        .map(|point| (point.expected_frames, point.percent_of_theoretical.round()))
        .collect();
    assert_eq!(points, [(1, 100.0), (1, 90.0)], "{:?}", result.points);
}

/// An even share of 1 in 1,000, exact to the frame at every load; no two lossless trials.
#[test]
fn one_in_a_thousand_is_exact_at_every_load() {
    let mut config = config();
    config.frame_loss.step_percent = 20.0;
    let device = Impaired::new(Patch::default(), EveryNth::new(1_000, Fate::Drop));
    let ports = [sim::SimPort::nominal(LineRate::from_mbps(10)); 2];
    let (result, _) = run(&config, &mut SimTester::new(&ports, device), frame_loss);
    assert_eq!(result.points.len(), 5);
    let mut counted = 0;
    for point in &result.points {
        let lost = point.expected_frames - point.received_frames;
        let expected = (counted + point.expected_frames) / 1_000 - counted / 1_000;
        counted += point.expected_frames;
        assert_eq!(lost, expected, "at {} %", point.percent_of_maximum);
    }
    assert!(!result.ended_with_two_lossless);
    assert!(result.notes.iter().any(|note| note.contains("no two successive")));
}

/// What the tester itself loses is no point of the device's curve, and no lossless trial either.
#[test]
fn invalid_points_are_no_part_of_the_curve() {
    let loses_itself_above = |max_fps: f64| {
        let mut device = laws::never_lossy();
        move |offered: Offered| {
            let dropped_by_tester = u64::from(offered.rate.fps() > max_fps);
            Response { dropped_by_tester, ..device.respond(offered) }
        }
    };
    let result = closed_form(loses_itself_above(100_000.0));
    let invalid: Vec<f64> = result
        .points
        .iter()
        .filter(|point| !point.invalid.is_empty())
        .map(|point| point.percent_of_maximum)
        .collect();
    assert_eq!(invalid, [100.0, 90.0, 80.0, 70.0], "the line's maximum is 148,810");
    assert_eq!(result.points.len(), 6, "then two lossless ones");
    assert!(result.notes.iter().any(|note| note.contains("4 loads could not")));
}

/// 100 % is what can be offered: a tester that is slower before this device takes less for it.
#[test]
fn a_tester_that_falls_short_lowers_the_maximum() {
    let result = closed_form(laws::slow_tester(100_000.0, laws::never_lossy()));
    assert_eq!(result.maximum_of, MaximumOf::Tester, "the line's maximum is 148,810");
    assert!((90_000.0..100_000.0).contains(&result.maximum.fps()), "{}", result.maximum);
    let percents: Vec<f64> = result.points.iter().map(|point| point.percent_of_maximum).collect();
    assert_eq!(percents, [100.0, 90.0], "two lossless ones are enough");
    assert!(result.points.iter().all(|point| point.invalid.is_empty()));
}

/// A tester whose sources other programs hold up: of each load that is asked for they offer this share.
struct HeldUp<F> {
    tester: SimTester<Impaired<Patch, EveryNth>>,
    share: F,
}

impl<F: Fn(f64) -> f64> HeldUp<F> {
    /// Before a device that drops one frame in a thousand, at any load.
    fn new(share: F) -> Self {
        let device = Impaired::new(Patch::default(), EveryNth::new(1_000, Fate::Drop));
        HeldUp { tester: SimTester::new(&[VIRTUAL; 2], device), share }
    }
}

impl<F: Fn(f64) -> f64 + Send> Tester for HeldUp<F> {
    fn describe(&self) -> &TesterDescription {
        self.tester.describe()
    }
    fn run(&mut self, trial: &Trial) -> Result<TrialResult, TesterError> {
        let asked = trial.loads[0].schedule.mean_rate().fps();
        let mut result = run_held_up(&mut self.tester, trial, &[(self.share)(asked)])?;
        for sent in &mut result.sent {
            // Seldom, and for long each time: held up, not too slow from frame to frame.
            sent.report.slips.times = 20;
            sent.report.slips.total = Duration::from_ms(20);
        }
        Ok(result)
    }
    fn pause(&mut self, span: Duration) -> Result<(), TesterError> {
        self.tester.pause(span)
    }
}

/// Beside busy programs every trial falls short by some hundredths, whatever is asked for: the loss is known all the
/// same, and the load that was offered stands beside it.
#[test]
fn a_tester_that_is_held_up_in_every_trial_states_each_loss_at_what_it_offered() {
    let (result, _) = run(&config(), &mut HeldUp::new(|_| 0.96), frame_loss);
    let loads: Vec<f64> = result.points.iter().map(|point| point.percent_of_maximum).collect();
    assert_eq!(loads, [100.0, 90.0, 80.0, 70.0, 60.0, 50.0, 40.0, 30.0, 20.0, 10.0]);
    for point in &result.points {
        assert!(point.invalid.is_empty(), "at {} %: {:?}", point.percent_of_maximum, point.invalid);
        assert!((point.loss_percent - 0.1).abs() < 0.01, "{} %", point.loss_percent);
        let offered = point.percent_of_maximum * 0.96;
        assert!((point.percent_of_theoretical / offered - 1.0).abs() < 1e-3, "{point:?}");
    }
    let note = "10 loads were offered short of what was intended, by up to 4.0 %: each loss is that of a load \
                between the one offered and the one intended";
    assert!(result.notes.iter().any(|known| known == note), "{:?}", result.notes);
    let departures = departures(&config(), &result.outcome());
    assert!(departures.iter().any(|words| words.contains("4 % below")), "{departures:?}");
}

/// A tester that other programs leave 60 % of what it reached before: what it can offer is 100 %.
#[test]
fn a_tester_that_is_held_up_for_long_lowers_the_maximum() {
    let at_most = 80_000.0;
    let (result, _) =
        run(&config(), &mut HeldUp::new(|asked| (at_most / asked).min(1.0)), frame_loss);
    assert_eq!(result.maximum_of, MaximumOf::Tester, "the line's maximum is 148,810");
    assert!((70_000.0..=at_most).contains(&result.maximum.fps()), "{}", result.maximum);
    assert_eq!(result.points.len(), 10);
    assert!(result.points.iter().all(|point| point.invalid.is_empty()), "{:?}", result.points);
}

/// Loads that the tester could not offer stand in the table as such, the others with their loss; the test is no failure.
#[test]
fn loads_that_could_not_be_offered_are_said_to_be() {
    // From the second load on, at any above 60 % of the line.
    let begun = std::sync::atomic::AtomicU32::new(0);
    let share = |asked: f64| match begun.fetch_add(1, std::sync::atomic::Ordering::Relaxed) {
        0 => 1.0,
        _ if asked > 0.61 * 148_810.0 => 0.7,
        _ => 1.0,
    };
    let (result, _) = run(&config(), &mut HeldUp::new(share), frame_loss);
    let not_offered = result.points.iter().filter(|point| point.not_offered);
    let not_offered: Vec<f64> = not_offered.map(|point| point.percent_of_maximum).collect();
    assert_eq!(not_offered, [90.0, 80.0, 70.0]);
    let outcome = result.outcome();
    assert!(outcome.invalid.is_empty(), "{:?}", outcome.invalid);
    let cells: Vec<String> = outcome.layouts[0].rows.iter().map(|row| row[1].to_string()).collect();
    assert_eq!(cells[1..5], ["0.10", "not offered", "not offered", "not offered"]);
    let note = "the tester could not offer 90 %, 80 %, 70 %; at 90 %: ";
    let notes = &outcome.layouts[0].notes;
    assert!(notes.iter().any(|known| known.starts_with(note)), "{notes:?}");
}

/// Hop-by-hop options are observed at 50, 10 and 1 % of what can be offered, too (RFC 5180 section 5.3). 98 bytes, with
/// the options, are 8 * 118 bits on the medium: 105,932 a second at 100 Mb/s. Of a tester that reaches 30,000 no half
/// of that can be had, and 0.97 of what it reached is 100 % then, as in RFC 2544's own curve.
#[test]
fn hop_by_hop_options_are_observed_at_what_the_tester_reaches() {
    let mut config = config();
    config.frame_sizes = vec![size(98)];
    config.traffic.protocol = method::Protocol::UdpIpv6;
    config.traffic.extension_headers = vec![method::ExtensionHeader::HopByHop];
    let observed = |reached_fps: f64| {
        let ports = [sim::SimPort::nominal(LineRate::from_mbps(100)); 2];
        let law = laws::slow_tester(reached_fps, laws::never_lossy());
        run(&config, &mut ClosedForm::new(&ports, law), frame_loss).0
    };
    let result = observed(30_000.0);
    let loads = result.points.iter().map(|point| point.percent_of_maximum);
    assert_eq!(loads.collect::<Vec<_>>(), [50.0, 10.0, 1.0]);
    let invalid: Vec<_> = result.points.iter().flat_map(|point| &point.invalid).collect();
    assert!(invalid.is_empty(), "{invalid:?}");
    assert_eq!(result.maximum_of, MaximumOf::Tester);
    assert!((result.maximum.fps() / 29_100.0 - 1.0).abs() < 1e-3, "{}", result.maximum);
    assert!((result.points[0].intended.fps() / 14_550.0 - 1.0).abs() < 1e-3);
    // What is within reach stays as it was.
    assert_eq!(observed(60_000.0).maximum_of, MaximumOf::Medium);
}
