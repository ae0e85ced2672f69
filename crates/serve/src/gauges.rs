//! A record as the numbers of a moment, for `/metrics`.

use method::{Event, TrialRecord, Verdict};
use report::{LATENCY_BOUNDS, TrialRow, latency_buckets};
use serde_json::Value;
use std::collections::BTreeMap;

/// What is known of a search.
#[derive(Clone, PartialEq, Debug)]
pub struct Bounds {
    /// Which test.
    pub test: String,
    /// As it was asked for.
    pub frame_size: String,
    /// The highest that passed.
    pub lower: Option<f64>,
    /// The lowest that did not.
    pub upper: Option<f64>,
    /// Of both.
    pub unit: String,
}

/// Latencies of all frames so far, by the bounds of [`LATENCY_BOUNDS`].
#[derive(Clone, PartialEq, Debug)]
pub struct Latencies {
    /// Frames above the bound before, up to this one; the last are above all.
    pub frames: Vec<u64>,
    /// Of all frames.
    pub sum_s: f64,
    /// Frames with a latency.
    pub count: u64,
}

impl Default for Latencies {
    fn default() -> Self {
        Latencies { frames: vec![0; LATENCY_BOUNDS.len() + 1], sum_s: 0.0, count: 0 }
    }
}

impl Latencies {
    fn add(&mut self, buckets: impl Iterator<Item = u64>, mean_s: f64) {
        let before = self.frames.iter().sum::<u64>();
        self.frames.iter_mut().zip(buckets).for_each(|(all, more)| *all += more);
        let more = self.frames.iter().sum::<u64>() - before;
        self.count += more;
        self.sum_s += mean_s * more as f64;
    }
}

/// A record so far. What is not known yet is not told.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Gauges {
    /// What was tested, in the user's words.
    pub device: String,
    /// Frames that left.
    pub sent: u64,
    /// Different frames that came out where and when they should.
    pub received: u64,
    /// Frames that did not; of traffic those found missing so far, some of which may still come.
    pub lost: i64,
    /// Frames a second that left, over all ports: of the last trial, or the last second.
    pub sent_fps: Option<f64>,
    /// Frames a second that came out, likewise.
    pub received_fps: Option<f64>,
    /// What left, as a share of the load asked for, likewise.
    pub load_share: Option<f64>,
    /// Loss ratio of the last trial or second.
    pub loss_ratio: Option<f64>,
    /// Latencies so far.
    pub latencies: Latencies,
    /// Trials by test and verdict.
    pub trials: BTreeMap<(String, &'static str), u64>,
    /// Whether the tester kept up: in the last trial, or in all of the traffic once that has ended.
    pub valid: Option<bool>,
    /// Of the search under way.
    pub bounds: Option<Bounds>,
    /// Estimate of what is left.
    pub remaining_s: Option<f64>,
    /// Load over all sending ports that traffic is asked for.
    asked_fps: f64,
    sending_ports: f64,
    /// Whether the record has its end.
    pub ended: bool,
}

impl Gauges {
    /// Takes in an event of a run.
    pub fn take_event(&mut self, event: &Event) {
        match event {
            Event::RunStarted(run) => {
                self.ended = false;
                self.device.clone_from(&run.device);
                self.remaining_s = Some(run.estimate.as_secs_f64());
            }
            Event::TestStarted(test) => {
                self.remaining_s = Some(test.remaining.as_secs_f64());
                self.bounds = None;
            }
            Event::TrialStarted(trial) => {
                self.remaining_s = Some(trial.remaining.as_secs_f64());
                self.bounds = trial.bounds.as_ref().map(|bounds| Bounds {
                    test: trial.test.to_string(),
                    frame_size: trial.frame_size.clone(),
                    lower: bounds.lower,
                    upper: bounds.upper,
                    unit: bounds.unit.clone(),
                });
            }
            Event::TrialFinished(record) => self.take_trial(record),
            Event::RunFinished(_) => {
                self.ended = true;
                self.remaining_s = None;
                self.bounds = None;
            }
            Event::TestFinished(_)
            | Event::TestRepeated(_)
            | Event::ConsistencyChecked(_)
            | Event::SelfTestFinished(_)
            | Event::Warning(_)
            | Event::Note(_) => {}
        }
    }

    fn take_trial(&mut self, record: &TrialRecord) {
        let row = TrialRow::of(record);
        self.sent += row.offered_frames;
        self.received += row.forwarded_frames;
        self.lost += row.lost_frames as i64;
        self.sent_fps = Some(row.offered.fps());
        self.received_fps = Some(record.result.forwarding_rate().fps());
        self.load_share = row.shortfall().map(|shortfall| 1.0 - shortfall);
        self.loss_ratio = row.loss_ratio();
        self.valid = Some(record.verdict != Verdict::Invalid);
        if let Some(latency) = record.result.own_latency().filter(|latency| latency.count() > 0) {
            let mean_s = latency.mean().map_or(0.0, |mean| mean.as_secs_f64());
            self.latencies.add(latency_buckets(&latency).into_iter(), mean_s);
        }
        *self.trials.entry((record.test.to_string(), word(record.verdict))).or_default() += 1;
    }

    /// Takes in a line of traffic.
    pub fn take_traffic(&mut self, line: &Value) {
        let number = |name: &str| line[name].as_f64();
        match line["event"].as_str().unwrap_or_default() {
            "start" => {
                self.device = line["device"].as_str().unwrap_or_default().into();
                self.sending_ports = number("sending_ports").unwrap_or(1.0);
                self.asked_fps = number("rate_per_port_fps").unwrap_or(0.0) * self.sending_ports;
            }
            "load" => {
                self.asked_fps = number("rate_per_port_fps").unwrap_or(0.0) * self.sending_ports
            }
            "paused" => {
                (self.sent_fps, self.received_fps) = (Some(0.0), Some(0.0));
                (self.load_share, self.loss_ratio) = (None, None);
            }
            "second" => self.take_second(line),
            "summary" => {
                self.ended = true;
                self.valid = line["tester_kept_up"].as_bool();
                self.lost = line["lost_frames"].as_i64().unwrap_or(self.lost);
            }
            _ => {}
        }
    }

    fn take_second(&mut self, line: &Value) {
        let count = |name: &str| line[name].as_u64().unwrap_or(0);
        let (sent, received) = (count("sent_frames"), count("received_frames"));
        let lost = line["lost_frames"].as_i64().unwrap_or(0);
        self.sent += sent;
        self.received += received;
        self.lost += lost;
        if let Some(length_s) = line["length_s"].as_f64().filter(|length| *length > 0.0) {
            let sent_fps = sent as f64 / length_s;
            self.sent_fps = Some(sent_fps);
            self.received_fps = Some(received as f64 / length_s);
            self.load_share = (self.asked_fps > 0.0).then(|| sent_fps / self.asked_fps);
        }
        self.loss_ratio = (sent > 0).then(|| lost as f64 / sent as f64);
        let latency = &line["latency"];
        if let (Some(buckets), Some(mean_ns)) =
            (latency["buckets"].as_array(), latency["mean_ns"].as_f64())
        {
            let frames = buckets.iter().map(|frames| frames.as_u64().unwrap_or(0));
            self.latencies.add(frames, mean_ns / 1e9);
        }
    }
}

fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Passed => "passed",
        Verdict::Failed => "failed",
        Verdict::Measured => "measured",
        Verdict::Invalid => "invalid",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn traffic_adds_up_and_a_late_frame_takes_its_loss_back() {
        let mut gauges = Gauges::default();
        gauges.take_traffic(&json!({ "event": "start", "device": "d", "sending_ports": 2, "rate_per_port_fps": 100.0 }));
        let mut buckets = vec![0; LATENCY_BOUNDS.len() + 1];
        (buckets[0], buckets[1]) = (3, 5);
        let second = |sent: u64, lost: i64| {
            json!({ "event": "second", "length_s": 2.0, "sent_frames": sent, "received_frames": 8,
                    "lost_frames": lost, "latency": { "buckets": buckets, "mean_ns": 1000.0 } })
        };
        gauges.take_traffic(&second(300, 30));
        gauges.take_traffic(&second(400, -10));
        assert_eq!((gauges.sent, gauges.received, gauges.lost), (700, 16, 20));
        // 400 frames in 2 s of 100 a second on each of 2 ports.
        assert_eq!((gauges.sent_fps, gauges.load_share), (Some(200.0), Some(1.0)));
        assert_eq!(gauges.loss_ratio, Some(-0.025));
        assert_eq!(
            (gauges.latencies.frames[0], gauges.latencies.frames[1], gauges.latencies.count),
            (6, 10, 16)
        );
        assert!((gauges.latencies.sum_s - 16e-6).abs() < 1e-12);
        assert_eq!(gauges.valid, None, "not known before the end");
        gauges.take_traffic(
            &json!({ "event": "summary", "tester_kept_up": false, "lost_frames": 21 }),
        );
        assert_eq!((gauges.valid, gauges.lost, gauges.ended), (Some(false), 21, true));
    }
}
