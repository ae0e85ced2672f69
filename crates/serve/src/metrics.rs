//! `/metrics`: what runs, as OpenMetrics. Counters grow over the whole record; gauges are of the last trial of a run,
//! or the last second of traffic.

use crate::feed::Feeds;
use crate::folder::Kind;
use crate::gauges::{Bounds, Gauges};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, MetricEncoder, NoLabelSet, text};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Registry;
use report::LATENCY_BOUNDS;
use std::fmt;

/// What the text is called.
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

type Labels = Vec<(String, String)>;

#[derive(Debug)]
struct Source {
    labels: Labels,
    runs: bool,
    gauges: Gauges,
}

#[derive(Debug)]
struct Sources(Vec<Source>);

/// All records that run, or ran a short time ago.
pub fn render(feeds: &Feeds) -> Result<String, fmt::Error> {
    let sources = feeds.kept().into_iter().map(|(feed, runs)| {
        let gauges = feed.gauges();
        let kind = if feed.kind() == Kind::Traffic { "traffic" } else { "run" };
        let label = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let labels =
            vec![label("run", &feed.id), label("kind", kind), label("device", &gauges.device)];
        Source { labels, runs, gauges }
    });
    encode(sources.collect())
}

fn encode(sources: Vec<Source>) -> Result<String, fmt::Error> {
    let mut registry = Registry::default();
    registry.register_collector(Box::new(Sources(sources)));
    let mut out = String::new();
    text::encode(&mut out, &registry)?;
    Ok(out)
}

/// A gauge: its name, what it says, and how it is read.
type Gauge = (&'static str, &'static str, fn(&Gauges) -> Option<f64>);

const GAUGES: [Gauge; 7] = [
    (
        "netanvil_sent_frames_per_second",
        "Frames that left, all ports, in the last trial or second",
        |g| g.sent_fps,
    ),
    (
        "netanvil_received_frames_per_second",
        "Test frames that came out where and when they should, in the last trial or second",
        |g| g.received_fps,
    ),
    (
        "netanvil_load_ratio",
        "Sent load as a share of the intended load, in the last trial or second",
        |g| g.load_share,
    ),
    ("netanvil_loss_ratio", "Frame loss ratio of the last trial or second", |g| g.loss_ratio),
    ("netanvil_lost_frames", "Test frames that are missing so far", |g| Some(g.lost as f64)),
    (
        "netanvil_tester_valid",
        "1 if the tester kept up in the last trial, or in all of the traffic; 0 if not; absent until known",
        |g| g.valid.map(f64::from),
    ),
    ("netanvil_remaining_seconds", "Estimated time until the run ends", |g| g.remaining_s),
];

impl Collector for Sources {
    fn encode(&self, mut encoder: DescriptorEncoder) -> fmt::Result {
        let mut family =
            |name, help, kind, each: &dyn Fn(&Source, &mut MetricEncoder) -> fmt::Result| {
                let mut metric = encoder.encode_descriptor(name, help, None, kind)?;
                self.0.iter().try_for_each(|source| each(source, &mut metric))
            };
        family(
            "netanvil_running",
            "1 while the run goes on",
            MetricType::Gauge,
            &|source, metric| {
                metric.encode_family(&source.labels)?.encode_gauge(&f64::from(source.runs))
            },
        )?;
        for (name, help, value) in GAUGES {
            family(name, help, MetricType::Gauge, &|source, metric| match value(&source.gauges) {
                Some(value) => metric.encode_family(&source.labels)?.encode_gauge(&value),
                None => Ok(()),
            })?;
        }
        for (name, help, value) in [
            ("netanvil_sent_frames", "Test frames that left", (|g| g.sent) as fn(&Gauges) -> u64),
            (
                "netanvil_received_frames",
                "Test frames that came out where and when they should",
                |g| g.received,
            ),
        ] {
            family(name, help, MetricType::Counter, &|source, metric| {
                let mut metric = metric.encode_family(&source.labels)?;
                metric.encode_counter::<NoLabelSet, u64, f64>(&value(&source.gauges), None)
            })?;
        }
        family("netanvil_trials", "Trials by test and verdict", MetricType::Counter, &trials)?;
        family(
            "netanvil_search_bound",
            "What the search knows: the highest value that passed (lower), the lowest that did not (upper)",
            MetricType::Gauge,
            &bounds,
        )?;
        family(
            "netanvil_latency_seconds",
            "Latency of frames",
            MetricType::Histogram,
            &|source, metric| {
                let all = &source.gauges.latencies;
                let edges =
                    LATENCY_BOUNDS.iter().map(|bound| bound.as_secs_f64()).chain([f64::INFINITY]);
                let buckets: Vec<(f64, u64)> = edges.zip(all.frames.iter().copied()).collect();
                let mut metric = metric.encode_family(&source.labels)?;
                metric.encode_histogram::<NoLabelSet>(all.sum_s, all.count, &buckets, None)
            },
        )
    }
}

fn with(labels: &Labels, more: &[(&str, &str)]) -> Labels {
    let more = more.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    labels.iter().cloned().chain(more).collect()
}

fn trials(source: &Source, metric: &mut MetricEncoder) -> fmt::Result {
    for ((test, verdict), count) in &source.gauges.trials {
        let labels = with(&source.labels, &[("test", test), ("verdict", verdict)]);
        metric.encode_family(&labels)?.encode_counter::<NoLabelSet, u64, f64>(count, None)?;
    }
    Ok(())
}

fn bounds(source: &Source, metric: &mut MetricEncoder) -> fmt::Result {
    let Some(Bounds { test, frame_size, lower, upper, unit }) = &source.gauges.bounds else {
        return Ok(());
    };
    for (bound, value) in [("lower", lower), ("upper", upper)] {
        let Some(value) = value else { continue };
        let more =
            [("test", &test[..]), ("frame_size", frame_size), ("unit", unit), ("bound", bound)];
        metric.encode_family(&with(&source.labels, &more))?.encode_gauge(value)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_is_openmetrics_with_escaped_labels_and_buckets_that_add_up() {
        let mut gauges = Gauges::default();
        (gauges.device, gauges.sent) = ("a \"b\"\\\n".into(), 7);
        gauges.latencies.frames[0] = 2;
        gauges.latencies.frames[3] = 3;
        (gauges.latencies.count, gauges.latencies.sum_s) = (5, 0.25);
        gauges.trials.insert(("throughput".into(), "passed"), 4);
        let labels = vec![("run".into(), "r".into()), ("device".into(), gauges.device.clone())];
        let text = encode(vec![Source { labels, runs: true, gauges }]).unwrap();
        let labels = r#"run="r",device="a \"b\"\\\n""#;
        for line in [
            format!("netanvil_running{{{labels}}} 1.0"),
            format!("netanvil_sent_frames_total{{{labels}}} 7"),
            format!("netanvil_trials_total{{{labels},test=\"throughput\",verdict=\"passed\"}} 4"),
            format!("netanvil_latency_seconds_count{{{labels}}} 5"),
            format!("netanvil_latency_seconds_sum{{{labels}}} 0.25"),
        ] {
            assert!(text.lines().any(|found| found == line), "{line} not in\n{text}");
        }
        // Buckets count all frames up to their bound: 2, then 5, and 5 in all.
        let buckets: Vec<u64> = text
            .lines()
            .filter(|line| line.starts_with("netanvil_latency_seconds_bucket"))
            .map(|line| line.rsplit(' ').next().unwrap().parse().unwrap())
            .collect();
        assert_eq!(buckets.len(), LATENCY_BOUNDS.len() + 1);
        assert_eq!((buckets[0], buckets[2], buckets[3], *buckets.last().unwrap()), (2, 2, 5, 5));
        assert!(text.contains("le=\"+Inf\"") && text.ends_with("# EOF\n"), "{text}");
        assert!(!text.contains("netanvil_tester_valid{"), "not known is not told");
    }
}
