//! The results of the tests of two ports, each its own type: what a saved run keeps of them.

use crate::harvard::HarvardResult;
use crate::harvard::y1989::Harvard1989Result;
use crate::rfc2544::{
    BackToBackResult, FrameLossResult, LatencyResult, RecoveryResult, ResetResult, ThroughputResult,
};
use crate::rfc8219::{IpdvResult, PdvResult};
use crate::{Conditions, Outcome, TestKind};
use serde::{Deserialize, Serialize};

/// The result of one test for one frame size.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TestResult {
    /// RFC 2544 section 26.1.
    Throughput(ThroughputResult),
    /// RFC 2544 section 26.2, RFC 8219 section 7.2.
    Latency(LatencyResult),
    /// RFC 8219 section 7.3.1.
    Pdv(PdvResult),
    /// RFC 8219 section 7.3.2.
    Ipdv(IpdvResult),
    /// RFC 2544 section 26.3.
    FrameLoss(FrameLossResult),
    /// RFC 9004.
    BackToBack(BackToBackResult),
    /// RFC 2544 section 26.5.
    Recovery(RecoveryResult),
    /// RFC 6201.
    Reset(ResetResult),
    /// One of the Harvard tests.
    Harvard(HarvardResult),
    /// One of the router tests of 1989.
    #[serde(rename = "harvard_1989")]
    Harvard1989(Box<Harvard1989Result>),
}

impl TestResult {
    /// Which test.
    pub fn kind(&self) -> TestKind {
        match self {
            TestResult::Throughput(_) => TestKind::Throughput,
            TestResult::Latency(_) => TestKind::Latency,
            TestResult::Pdv(_) => TestKind::Pdv,
            TestResult::Ipdv(_) => TestKind::Ipdv,
            TestResult::FrameLoss(_) => TestKind::FrameLoss,
            TestResult::BackToBack(_) => TestKind::BackToBack,
            TestResult::Recovery(_) => TestKind::Recovery,
            TestResult::Reset(_) => TestKind::Reset,
            TestResult::Harvard(result) => result.kind(),
            TestResult::Harvard1989(result) => TestKind::Harvard1989(result.test),
        }
    }
    /// Under which conditions.
    pub fn conditions(&self) -> &Conditions {
        match self {
            TestResult::Throughput(result) => &result.conditions,
            TestResult::Latency(result) => &result.conditions,
            TestResult::Pdv(result) => &result.conditions,
            TestResult::Ipdv(result) => &result.conditions,
            TestResult::FrameLoss(result) => &result.conditions,
            TestResult::BackToBack(result) => &result.conditions,
            TestResult::Recovery(result) => &result.conditions,
            TestResult::Reset(result) => &result.conditions,
            TestResult::Harvard(result) => result.conditions(),
            TestResult::Harvard1989(result) => &result.conditions,
        }
    }
    /// The same, to put into them what was judged at the end.
    pub(crate) fn conditions_mut(&mut self) -> &mut Conditions {
        match self {
            TestResult::Throughput(result) => &mut result.conditions,
            TestResult::Latency(result) => &mut result.conditions,
            TestResult::Pdv(result) => &mut result.conditions,
            TestResult::Ipdv(result) => &mut result.conditions,
            TestResult::FrameLoss(result) => &mut result.conditions,
            TestResult::BackToBack(result) => &mut result.conditions,
            TestResult::Recovery(result) => &mut result.conditions,
            TestResult::Reset(result) => &mut result.conditions,
            TestResult::Harvard(result) => result.conditions_mut(),
            TestResult::Harvard1989(result) => &mut result.conditions,
        }
    }
    /// Its figures, with what they hold for.
    pub fn outcome(&self) -> Outcome {
        match self {
            TestResult::Throughput(result) => result.outcome(),
            TestResult::Latency(result) => result.outcome(),
            TestResult::Pdv(result) => result.outcome(),
            TestResult::Ipdv(result) => result.outcome(),
            TestResult::FrameLoss(result) => result.outcome(),
            TestResult::BackToBack(result) => result.outcome(),
            TestResult::Recovery(result) => result.outcome(),
            TestResult::Reset(result) => result.outcome(),
            TestResult::Harvard(result) => result.outcome(),
            TestResult::Harvard1989(result) => result.outcome(),
        }
    }
    /// Whether the tester, not the device, kept the test from a result.
    pub fn is_invalid(&self) -> bool {
        !self.outcome().invalid.is_empty()
    }
}
