//! Streams that are to enter the device at once must begin at once: a trial in which one of them began late
//! is about each alone.

use trial::{
    DeviceSetup, InvalidReason, Observer, Role, Tester, TesterDescription, TesterError, Trial,
    TrialResult, Validity,
};
use units::Duration;

/// How far apart the first frames may be, as a share of the trial (RFC 2889 appendix B.2 allows as much
/// between ports of a mesh).
const MOST_SKEW: f64 = 0.01;

/// Judges trials of several streams by that, too.
pub(super) struct Together<'a> {
    /// Runs them.
    pub tester: &'a mut dyn Tester,
}

impl Tester for Together<'_> {
    fn describe(&self) -> &TesterDescription {
        self.tester.describe()
    }
    fn run(&mut self, trial: &Trial) -> Result<TrialResult, TesterError> {
        let mut result = self.tester.run(trial)?;
        result.validity = judged(result.validity.clone(), apart(trial, &result));
        Ok(result)
    }
    fn run_observed(
        &mut self,
        trial: &Trial,
        observer: &mut dyn Observer,
    ) -> Result<TrialResult, TesterError> {
        let mut result = self.tester.run_observed(trial, observer)?;
        result.validity = judged(result.validity.clone(), apart(trial, &result));
        Ok(result)
    }
    fn pause(&mut self, span: Duration) -> Result<(), TesterError> {
        self.tester.pause(span)
    }
    fn configure(&mut self, setup: &DeviceSetup) -> Result<(), TesterError> {
        self.tester.configure(setup)
    }
}

/// What is wrong where the test streams did not begin together. A trial from the record has been told so
/// already.
fn judged(validity: Validity, apart: Option<InvalidReason>) -> Validity {
    match (validity, apart) {
        (Validity::Valid, Some(reason)) => Validity::Invalid(vec![reason]),
        (Validity::Invalid(mut reasons), Some(reason)) if !reasons.contains(&reason) => {
            reasons.push(reason);
            Validity::Invalid(reasons)
        }
        (validity, _) => validity,
    }
}

fn apart(trial: &Trial, result: &TrialResult) -> Option<InvalidReason> {
    let is_test = |id| trial.streams.iter().any(|s| s.id == id && s.role == Role::Test);
    let loads = trial.loads.iter().filter(|load| load.order.iter().any(|id| is_test(*id)));
    let ports: Vec<_> = loads.map(|load| load.port).collect();
    let sent = result.sent.iter().filter(|sent| ports.contains(&sent.report.port));
    let begins: Vec<_> = sent.filter_map(|sent| sent.report.first_departure).collect();
    let skew = begins.iter().max()?.since(*begins.iter().min()?);
    let is_too_much = skew.as_secs_f64() > MOST_SKEW * trial.duration().as_secs_f64();
    is_too_much.then_some(InvalidReason::StartSkew { skew })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_told_once() {
        let late = || InvalidReason::Other { what: "late".into() };
        let other = || InvalidReason::Other { what: "other".into() };
        assert_eq!(judged(Validity::Valid, None), Validity::Valid);
        assert_eq!(judged(Validity::Valid, Some(late())), Validity::Invalid(vec![late()]));
        let both = Validity::Invalid(vec![other(), late()]);
        assert_eq!(judged(Validity::Invalid(vec![other()]), Some(late())), both);
        assert_eq!(judged(both.clone(), Some(late())), both);
    }
}
