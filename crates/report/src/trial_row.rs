//! One trial in numbers: what an appendix, a CSV file and a JSON file say of it alike.

use method::{TestKind, TrialRecord, Verdict};
use trial::{Balance, Fate, Owner, PortBalance, PortReceived, Role, StreamResult, TrialResult};
use units::{Duration, FrameRate};

/// Counts of a trial over all its ports and test streams.
#[derive(Clone, Debug, PartialEq)]
pub struct TrialRow {
    /// Which trial of the run, from 1.
    pub number: u64,
    /// Of which test.
    pub test: TestKind,
    /// As it was asked for.
    pub frame_size: String,
    /// What it was for, in words.
    pub label: String,
    /// 1 for the first attempt.
    pub attempt: u32,
    /// Intended length.
    pub duration: Duration,
    /// Intended load over all transmitting ports.
    pub intended: FrameRate,
    /// Offered load over all transmitting ports, as measured at departure.
    pub offered: FrameRate,
    /// Frames of the schedules that were not sent.
    pub unsent_frames: u64,
    /// Test frames that left.
    pub offered_frames: u64,
    /// Test frames that should have come out (more than left where streams are multicast).
    pub expected_frames: u64,
    /// Test frames that came out where and when they should.
    pub forwarded_frames: u64,
    /// Test frames that did not.
    pub lost_frames: u64,
    /// Second arrivals.
    pub duplicate_frames: u64,
    /// Out of order (RFC 4737).
    pub reordered_frames: u64,
    /// Arrived after the drain time; among the lost ones.
    pub late_frames: u64,
    /// The largest extent of it (RFC 4737 section 4.2.2).
    pub reorder_extent_frames: u64,
    /// Arrived longer or shorter than they were sent.
    pub wrong_length_frames: u64,
    /// Ours, but damaged.
    pub corrupted_frames: u64,
    /// Arrived on a port where they should not.
    pub misdirected_frames: u64,
    /// None of ours.
    pub foreign_frames: u64,
    /// With this run's signature, but not sent so.
    pub forged_frames: u64,
    /// Of earlier trials of the run.
    pub leftover_frames: u64,
    /// 99th percentile of departure minus due time, on the port where it is largest.
    pub lateness_p99: Option<Duration>,
    /// Its maximum over all ports.
    pub lateness_max: Option<Duration>,
    /// Frames that left later than the bound that counts as late.
    pub sent_late_frames: u64,
    /// Received frames that the tester itself lost.
    pub tester_drops: u64,
    /// How long a thread of a built device waited for a processor, at most.
    pub device_waited: Duration,
    /// How long a thread of the tester did.
    pub tester_waited: Duration,
    /// Time that the hypervisor took, over all processors.
    pub stolen: Duration,
    /// Carrier changes, at the end of a link where most were counted.
    pub carrier_changes: u64,
    /// Frames that had left a built device and had not arrived.
    pub on_the_way_frames: u64,
    /// Frames dropped by the device at a place that a counter names.
    pub named_drops: u64,
    /// Frames that waited within a device when counting ended: not lost.
    pub not_yet_out_frames: u64,
    /// Frames missing that no counter names.
    pub unknown_frames: u64,
    /// What it means to the test.
    pub verdict: Verdict,
    /// Where the tester did not keep up; never empty for an invalid trial. A self-test looks for
    /// such faults, and a reset may cause them: there they invalidate nothing.
    pub faults: Vec<String>,
    /// What the reader should know of it.
    pub notes: Vec<String>,
}

impl TrialRow {
    /// Of a saved trial.
    pub fn of(record: &TrialRecord) -> Self {
        let result = &record.result;
        let tests = || result.streams.iter().filter(|stream| stream.role == Role::Test);
        let sum = |count: fn(&StreamResult) -> u64| tests().map(count).sum::<u64>();
        let ports = |count: fn(&PortReceived) -> u64| result.received.iter().map(count).sum();
        let accounts = || result.expected_accounts().map(|received| &received.account);
        let reports = || result.sent.iter().map(|sent| &sent.report);
        let balance = Balance::of(result);
        TrialRow {
            number: record.number,
            test: record.test,
            frame_size: record.frame_size.clone(),
            label: result.label.clone(),
            attempt: record.attempt,
            duration: record.duration,
            intended: result.intended_rate(),
            offered: result.offered_rate(),
            unsent_frames: reports()
                .map(|report| report.intended_frames.saturating_sub(report.sent_frames))
                .sum(),
            offered_frames: result.offered_frames(),
            expected_frames: result.expected_frames(),
            forwarded_frames: result.forwarded_frames(),
            lost_frames: result.lost_frames(),
            duplicate_frames: sum(|stream| stream.duplicates),
            reordered_frames: sum(|stream| stream.reordered),
            reorder_extent_frames: accounts()
                .map(|account| account.reorder_extent_max_frames)
                .max()
                .unwrap_or(0),
            wrong_length_frames: accounts().map(|account| account.wrong_length).sum(),
            late_frames: sum(|stream| stream.late),
            corrupted_frames: sum(|stream| stream.corrupted) + ports(|port| port.corrupted),
            misdirected_frames: sum(|stream| stream.misdirected),
            foreign_frames: ports(|port| port.foreign),
            forged_frames: ports(|port| port.forged),
            leftover_frames: ports(|port| port.leftovers.total()),
            lateness_p99: reports().filter_map(|r| r.lateness.percentile(99.0)).max(),
            lateness_max: reports().filter_map(|report| report.lateness.max()).max(),
            sent_late_frames: reports().map(|report| report.late_frames).sum(),
            tester_drops: result.tester_drops(),
            device_waited: waited(result, Owner::Device),
            tester_waited: waited(result, Owner::Tester),
            stolen: result.pressure.stolen,
            carrier_changes: result.pressure.links.iter().map(|l| l.changes).max().unwrap_or(0),
            on_the_way_frames: result.balance.iter().map(PortBalance::on_the_way).sum(),
            named_drops: balance.frames(Fate::Dropped),
            not_yet_out_frames: balance.frames(Fate::NotYetOut),
            unknown_frames: balance.unknown(),
            verdict: record.verdict,
            faults: result.invalid_reasons().iter().map(ToString::to_string).collect(),
            notes: result.notes.clone(),
        }
    }

    /// (intended - offered) / intended load; `None` where nothing was intended. Below zero where
    /// the tester was too fast.
    pub fn shortfall(&self) -> Option<f64> {
        let intended = self.intended.fps();
        (intended > 0.0).then(|| (intended - self.offered.fps()) / intended)
    }

    /// Frame loss rate, 0 to 1: (input - output) / input (RFC 2544 section 26.3); `None` where
    /// no frame was to come out.
    pub fn loss_ratio(&self) -> Option<f64> {
        (self.expected_frames > 0).then(|| self.lost_frames as f64 / self.expected_frames as f64)
    }
}

fn waited(result: &TrialResult, owner: Owner) -> Duration {
    result.pressure.longest_wait(owner).map_or(Duration::ZERO, |thread| thread.waited)
}

/// The word for a verdict.
pub(crate) fn verdict_word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Passed => "passed",
        Verdict::Failed => "failed",
        Verdict::Measured => "measured",
        Verdict::Invalid => "INVALID",
    }
}
