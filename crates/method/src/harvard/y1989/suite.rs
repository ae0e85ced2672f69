//! The suite of 1989: size after size, then the tests that have frames of their own.

use super::Test1989;
use super::arp_cache::arp_cache;
use super::back_to_back::back_to_back;
use super::counters::counters;
use super::delay::delay;
use super::errors::errors;
use super::filters::{filter_list, filtering};
use super::idle::idle;
use super::management::management;
use super::mixes::{flooded_sizes, length_mix, mixed_protocols};
use super::rates::{flood, max_rate, overload, raw_rate};
use super::result::Harvard1989Result;
use super::routes::{many_routes, no_routes, routing_table};
use super::scene::result_of;
use super::storms::{nfs_bursts, storm};
use crate::bench::Bench;
use crate::clauses::annex;
use crate::event::Event;
use crate::harvard::Sources;
use crate::reach::reach;
use crate::subject::Subject;
use crate::traffic::Traffic;
use crate::{Modifier, RunError, SelfTest, SuiteConfig, TestKind, Topology};
use units::{FrameRate, FrameSize};
use wire::size::SizePattern;

/// The suite.
#[derive(Clone, Debug)]
pub struct Suite1989<'a> {
    /// What to do; its frame sizes, and `harvard_1989`.
    pub config: &'a SuiteConfig,
    /// Who has which address.
    pub topology: &'a Topology,
    /// What the tester can do by itself, where that is known.
    pub self_test: Option<&'a SelfTest>,
}

impl Suite1989<'_> {
    /// The frame sizes of 1989: "Sizes used are 64, 128, 256, 1024 and 1518 bytes, with the size
    /// including the 4 byte crc".
    pub fn frame_sizes() -> Vec<SizePattern> {
        [64, 128, 256, 1024, 1518].map(FrameSize::from_bytes).map(SizePattern::Fixed).to_vec()
    }

    /// Runs every test; those without a valid result are returned by name.
    pub fn run(&self, bench: &mut Bench<'_>) -> Result<Vec<String>, RunError> {
        let mut invalid = vec![];
        let sizes = self.config.frame_sizes.iter();
        let traffic = |size| Traffic::new(self.config, self.topology, size, Modifier::None);
        let mut all = sizes.map(traffic).collect::<Result<Vec<_>, _>>()?;
        all.sort_by_key(|traffic| traffic.size().smallest());
        let mut known: Option<FrameRate> = None;
        for (index, traffic) in all.iter().enumerate() {
            let rate = self.test_size(bench, traffic, &mut invalid)?;
            known = if index == 0 { rate } else { known };
        }
        if let Some(smallest) = all.first() {
            self.test_once(bench, smallest, known, &mut invalid)?;
        }
        Ok(invalid)
    }

    fn tests(&self, by_size: bool) -> Vec<Test1989> {
        let asked = |test: &Test1989| {
            let config = &self.config.harvard_1989;
            // Others are made of it.
            let is_needed =
                *test == Test1989::MaxRate && config.tests.iter().any(|test| test.needs_max_rate());
            config.tests.contains(test) || is_needed
        };
        let all = Test1989::ALL.into_iter();
        all.filter(|test| test.is_by_size() == by_size).filter(asked).collect()
    }

    /// The tests of a frame size; its max rate.
    fn test_size(
        &self,
        bench: &mut Bench<'_>,
        traffic: &Traffic,
        invalid: &mut Vec<String>,
    ) -> Result<Option<FrameRate>, RunError> {
        let tests = self.tests(true);
        let Some(first) = tests.first() else { return Ok(None) };
        let mut rate = None;
        self.with_subject(bench, traffic, *first, |bench, subject| {
            for test in &tests {
                rate = self.test(bench, subject, *test, rate, invalid)?.or(rate);
            }
            Ok(())
        })?;
        Ok(rate)
    }

    /// The tests that have frames of their own.
    fn test_once(
        &self,
        bench: &mut Bench<'_>,
        traffic: &Traffic,
        max_rate: Option<FrameRate>,
        invalid: &mut Vec<String>,
    ) -> Result<(), RunError> {
        let tests = self.tests(false);
        let Some(first) = tests.first() else { return Ok(()) };
        self.with_subject(bench, traffic, *first, |bench, subject| {
            let mut tests = tests.iter();
            tests.try_for_each(|test| self.test(bench, subject, *test, max_rate, invalid).map(drop))
        })
    }

    fn with_subject(
        &self,
        bench: &mut Bench<'_>,
        traffic: &Traffic,
        test: Test1989,
        work: impl FnOnce(&mut Bench<'_>, &Subject<'_>) -> Result<(), RunError>,
    ) -> Result<(), RunError> {
        let known = self.self_test.and_then(|known| known.of_size(&traffic.frame_size()));
        let description = bench.tester().describe().clone();
        let subject = Subject::new(self.config, traffic, &description, known);
        let subject = subject.map_err(RunError::Config)?;
        if known.is_some() {
            let reach = reach(bench, &subject, TestKind::Harvard1989(test))?;
            return work(bench, &subject.within(&reach));
        }
        // What a source with a long gap offers, to the frame.
        let sources = Sources::find(bench, &subject, TestKind::Harvard1989(test))?;
        let ceiling = sources.ceiling(&subject);
        work(bench, &subject.with_ceiling(ceiling))
    }

    /// Runs one test and tells of it; the max rate where it found one.
    fn test(
        &self,
        bench: &mut Bench<'_>,
        subject: &Subject<'_>,
        test: Test1989,
        known: Option<FrameRate>,
        invalid: &mut Vec<String>,
    ) -> Result<Option<FrameRate>, RunError> {
        bench.begin_share(bench.clock().test, bench.clock().later);
        bench.begin(TestKind::Harvard1989(test), subject.traffic)?;
        let (result, rate) = match (test, known) {
            (Test1989::MaxRate, _) => max_rate(bench, subject, test)?,
            (test, None) if test.needs_max_rate() => {
                let why = "not possible: the device has no rate without loss";
                (result_of(test, subject).not_possible(why), None)
            }
            (test, known) => {
                (run_one(bench, subject, test, known.unwrap_or(FrameRate::ZERO))?, None)
            }
        };
        if result.is_invalid() {
            invalid.push(format!("{test}, {}", subject.traffic.frame_size()));
        }
        let mut outcome = result.outcome();
        let config = self.config;
        let of_outcome = (config, &config.frame_sizes[..], config.traffic.destinations);
        annex(&mut outcome, of_outcome, self.topology);
        bench.emit(Event::TestFinished(Box::new(outcome)))?;
        Ok(rate)
    }
}

fn run_one(
    bench: &mut Bench<'_>,
    subject: &Subject<'_>,
    test: Test1989,
    max_rate: FrameRate,
) -> Result<Harvard1989Result, RunError> {
    if let Some(why) = no_routes(subject).filter(|_| test.needs_routes()) {
        return Ok(result_of(test, subject).not_possible(why));
    }
    match test {
        Test1989::IdleState => idle(bench, subject),
        Test1989::Delay => delay(bench, subject),
        Test1989::MaxRate => Ok(super::rates::max_rate(bench, subject, test)?.0),
        Test1989::RawRate => raw_rate(bench, subject, max_rate),
        Test1989::Overload25 => overload(bench, subject, max_rate),
        Test1989::Flood => flood(bench, subject, max_rate),
        Test1989::BackToBack => back_to_back(bench, subject),
        Test1989::LengthMix => length_mix(bench, subject),
        Test1989::MixedProtocols => mixed_protocols(bench, subject),
        Test1989::Counters => counters(bench, subject, max_rate),
        Test1989::Filtering => filtering(bench, subject),
        Test1989::ManyRoutes => many_routes(bench, subject),
        Test1989::RoutingTable => routing_table(bench, subject),
        Test1989::ArpCache => arp_cache(bench, subject),
        Test1989::FilterList => filter_list(bench, subject),
        Test1989::Management => management(bench, subject, max_rate),
        Test1989::ArpStorm | Test1989::BroadcastStorm | Test1989::RoutingUpdates => {
            storm(bench, subject, test, max_rate)
        }
        Test1989::NfsBursts => nfs_bursts(bench, subject),
        Test1989::FloodedSizes => flooded_sizes(bench, subject),
        Test1989::CrcErrors | Test1989::Giants | Test1989::Runts => errors(bench, subject, test),
    }
}
