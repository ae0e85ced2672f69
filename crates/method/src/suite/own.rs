//! The tester's own limits: known from an earlier day, or measured just before they are needed.

use super::Run;
use crate::bench::Bench;
use crate::estimate::Foretold;
use crate::event::Event;
use crate::selftest::{SelfTest, self_test_size};
use crate::traffic::Traffic;
use crate::{Modifier, RunError, TestKind, estimate};
use traffic::size::SizePattern;
use trial::Tester;

/// What the tester knows of itself, and with what it learns more.
pub(super) struct Own<'t> {
    pub known: Option<SelfTest>,
    /// With its ports joined back to back; `None` where nothing is to be measured.
    pub looped: Option<&'t mut dyn Tester>,
}

impl Run<'_> {
    pub(super) fn only_self_test(&mut self, bench: &mut Bench<'_>) -> Result<SelfTest, RunError> {
        self.suite.config.check()?;
        self.items(self.suite.config.of_self_test(), 0)?;
        self.plan_self_test();
        self.start(bench)?;
        let self_test = self.measure_tester(bench, &self.suite.config.frame_sizes)?;
        bench.emit(Event::SelfTestFinished(Box::new(self_test.clone())))?;
        Ok(self_test)
    }

    /// The tester's own limits: known from an earlier day, or to be measured.
    pub(super) fn know_thyself<'t>(
        &mut self,
        bench: &mut Bench<'_>,
        looped: Option<&'t mut dyn Tester>,
    ) -> Result<Own<'t>, RunError> {
        if let Some(event) = self.known_of_tester(looped.is_some()) {
            bench.emit(event)?;
        }
        Ok(Own { known: self.suite.self_test.clone(), looped })
    }

    /// What is told of the tester before the run, where nothing will be measured.
    pub(super) fn known_of_tester(&self, can_measure: bool) -> Option<Event> {
        match &self.suite.self_test {
            Some(known) => Some(Event::SelfTestFinished(Box::new(known.clone()))),
            None if can_measure || !self.suite.has_self_test() => None,
            None => Some(Event::Warning(
                "no self-test: what the tester itself can offer and receive is not known, and a \
                 limit of its own could pass for the device's; run `netanvil selftest`"
                    .into(),
            )),
        }
    }

    /// Measures the tester with frames of this size just before the first test that needs it: the first
    /// result need not wait for the other sizes. Each time all that is known is told.
    pub(super) fn measure_tester_for(
        &mut self,
        bench: &mut Bench<'_>,
        own: &mut Own<'_>,
        traffic: &Traffic,
    ) -> Result<(), RunError> {
        let size = traffic.frame_size();
        let is_known = own.known.as_ref().is_some_and(|known| known.of_size(&size).is_some());
        let Some(looped) = own.looped.as_deref_mut().filter(|_| !is_known) else { return Ok(()) };
        let measured = bench
            .with_tester(looped, |bench| self.measure_tester(bench, &[traffic.size().clone()]))?;
        match &mut own.known {
            Some(known) => known.sizes.extend(measured.sizes),
            None => own.known = Some(measured),
        }
        let known = own.known.clone().expect("measured above");
        bench.emit(Event::SelfTestFinished(Box::new(known)))
    }

    pub(super) fn measure_tester(
        &mut self,
        bench: &mut Bench<'_>,
        of: &[SizePattern],
    ) -> Result<SelfTest, RunError> {
        // A trial that fell short has to say so, whatever tests of a device put up with.
        let mut config = self.suite.config.looped();
        config.trial = config.trial.strict();
        config.burst_frames = 1;
        config = config.in_round(config.of_self_test());
        let mut topology = self.suite.topology.looped();
        if config.is_of_many_ports() {
            topology.ports.truncate(topology.ports.len() / 2 * 2);
        }
        let mut sizes = vec![];
        for size in of {
            let traffic = Traffic::new(&config, &topology, size, Modifier::None)?;
            self.begin(bench, (TestKind::SelfTest, None), &traffic)?;
            sizes.push(self_test_size(bench, &config, &traffic)?);
        }
        let ports = bench.tester().describe().ports.iter();
        let ports: Vec<_> =
            ports.map(|port| format!("{} ({})", port.name, port.port_type)).collect();
        Ok(SelfTest { ports: ports.join(", "), sizes })
    }

    pub(super) fn plan_self_test(&mut self) {
        let sizes = &self.suite.config.frame_sizes;
        let share = Foretold::by(&self.suite.config, estimate::self_test);
        sizes.iter().for_each(|_| self.outlook.expect(TestKind::SelfTest, share));
    }
}
