//! A method's test, run on a test bed as the product runs it.

use crate::Bed;
use method::{
    Bench, Event, Modifier, Profile, RunError, Subject, SuiteConfig, Traffic, TrialRecord,
};
use traffic::size::SizePattern;
use trial::Tester;
use units::FrameSize;

/// Short trials of 64-byte frames. A trial in which the tester was held up is repeated up to ten
/// times; a load that lost a few frames is tried three times in all before it counts as failed
/// (ETSI GS NFV-TST 009), for a device thread may be held up, too.
pub fn short_trials() -> SuiteConfig {
    let mut config = SuiteConfig::of(Profile::Quick);
    config.frame_sizes = vec![SizePattern::Fixed(FrameSize::MIN_ETHERNET)];
    config.trial.duration_s = 0.5;
    config.trial.learning_wait_s = 0.05;
    config.trial.drain_s = 0.15;
    config.trial.settle_s = 0.02;
    config.trial.invalid_retries = 10;
    config.search.trial_duration_s = 0.5;
    config.search.resolution_percent = 6.0;
    config.search.max_trials_per_load = 3;
    config.search.no_verification_above_lost_frames = Some(60);
    config.throughput.loss_tolerances_percent = vec![];
    config
}

/// Runs `work` for the first frame size of `config`; gives every trial, too.
pub fn measure<R>(
    bed: &Bed,
    config: &SuiteConfig,
    tester: &mut dyn Tester,
    work: impl FnOnce(&mut Bench<'_>, &Subject<'_>) -> Result<R, RunError>,
) -> (R, Vec<TrialRecord>) {
    config.check().expect("a configuration that can be run");
    let (size, topology) = (&config.frame_sizes[0], bed.topology());
    let traffic = Traffic::new(config, &topology, size, Modifier::None).expect("traffic");
    let description = tester.describe().clone();
    let subject = Subject::new(config, &traffic, &description, None).expect("a subject");
    let mut events: Vec<Event> = vec![];
    let mut bench = Bench::new(tester, &mut events, config.trial.invalid_retries, config.run_key());
    let result = work(&mut bench, &subject).expect("a result");
    let trials = events.into_iter().filter_map(|event| match event {
        Event::TrialFinished(record) => Some(*record),
        _ => None,
    });
    (result, trials.collect())
}
