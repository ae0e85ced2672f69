//! What a run will do, in the order in which it does it, and what each test will take.

use super::Run;
use crate::config::Round;
use crate::estimate::Foretold;
use crate::harvard::y1989;
use crate::{TestKind, estimate};
use traffic::size::SizePattern;
use units::FrameRate;

/// Only the logarithm of the highest rate matters here.
const CEILING: FrameRate = FrameRate::from_fps(1_000_000);

impl Run<'_> {
    /// What every test will take.
    pub(super) fn plan(&mut self, self_test: bool, rounds: &[Round]) {
        let suite = self.suite;
        let config = &suite.config;
        let smallest = config.frame_sizes.iter().map(SizePattern::smallest).min();
        let tests = suite.tests();
        let mut seen: Vec<&SizePattern> = vec![];
        for (modifier, test) in
            rounds.iter().flat_map(|round| tests.iter().map(move |test| (round.modifier, *test)))
        {
            let Some(how) = suite.run_of(test) else { continue };
            let is_made = |size: &&SizePattern| {
                (!how.is_of_smallest() || Some(size.smallest()) == smallest)
                    && suite.is_made(test, size, modifier)
            };
            for size in config.frame_sizes.iter().filter(is_made) {
                // Each size just before the first test of it.
                let is_first = !seen.contains(&size);
                if is_first {
                    seen.push(size);
                    self.plan_reach(self_test);
                }
                let mut share = Foretold::by(config, |config| how.estimate(config, CEILING));
                if let TestKind::Harvard1989(own) = test {
                    let is_made = y1989::is_made(config, &suite.topology, own);
                    let reach = Foretold::by(config, y1989::foretold_of_reach);
                    let parts = [is_made.then_some(share), is_first.then_some(reach)];
                    share = parts.into_iter().flatten().sum();
                }
                (0..how.parts(config)).for_each(|_| self.outlook.expect(test, share));
            }
        }
    }

    /// The tester's own test with a frame size.
    fn plan_reach(&mut self, self_test: bool) {
        if self_test {
            let share = Foretold::by(&self.suite.config, estimate::self_test);
            self.outlook.expect(TestKind::SelfTest, share);
        }
    }
}
