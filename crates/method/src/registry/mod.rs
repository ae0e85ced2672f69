//! Every test that can be run: what it is called, where it is defined, which options alter its trials, what
//! it takes, and how it is run. An entry is the only place where a test is wired; [`crate::Suite::more`] takes
//! entries of others.
//!
//! Options have the names of a configuration file: `vlan`, `search.policy`, `chassis.errored` (every
//! key of that section). What a test does not list here it does not use, and the command line refuses
//! it. Options of the device, of the tester's ports and of the output are not listed: they are the
//! run's, whichever the tests.

mod harvard;
mod many_ports;
mod options;
mod rfc2544;
mod run;

pub use run::{Known, ManyTest, PairTest, Run, RunMany, RunPair};

use crate::{TestKind, gigaswitch, tolly};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::LazyLock;

/// A suite of tests, as the command line names it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub enum SuiteName {
    /// RFC 2544 and what later RFCs made of it.
    #[default]
    #[serde(rename = "rfc2544")]
    Rfc2544,
    /// The router tests of 1990 (Harvard University).
    #[serde(rename = "harvard-1990")]
    Harvard1990,
    /// The router tests of 1989 (Harvard University).
    #[serde(rename = "harvard-1989")]
    Harvard1989,
    /// LAN switches with many ports.
    #[serde(rename = "rfc2889")]
    Rfc2889,
    /// IP multicast.
    #[serde(rename = "rfc3918")]
    Rfc3918,
    /// The tests of DEC's GIGAswitch/FDDI.
    #[serde(rename = "gigaswitch")]
    Gigaswitch,
    /// The Tolly Group's tests of the Torrent IP9000.
    #[serde(rename = "tolly")]
    Tolly,
}

/// A test that can be run.
#[derive(Clone, Copy, Debug)]
pub struct TestMethod {
    /// Name on the command line, unique within its suite.
    pub id: &'static str,
    /// To which suite it belongs.
    pub suite: SuiteName,
    /// What events call it.
    pub kind: TestKind,
    /// Where it is defined: `RFC 2544`.
    pub document: &'static str,
    /// In which part of that document: `section 26.1`; empty where the document has no parts.
    pub section: &'static str,
    /// Tests of the same suite that are run before it whether asked for or not; their options alter
    /// its run.
    pub needs: &'static [&'static str],
    /// Groups of options that alter its trials.
    pub options: &'static [&'static [&'static str]],
    /// How it is run.
    pub run: Run,
}

impl SuiteName {
    /// All of them, as `netanvil tests` lists them.
    pub const ALL: [SuiteName; 7] = [
        SuiteName::Rfc2544,
        SuiteName::Rfc2889,
        SuiteName::Rfc3918,
        SuiteName::Harvard1989,
        SuiteName::Harvard1990,
        SuiteName::Gigaswitch,
        SuiteName::Tolly,
    ];

    /// Its tests, in the order of its document.
    pub fn tests(self) -> &'static [TestMethod] {
        match self {
            SuiteName::Rfc2544 => &rfc2544::TESTS,
            SuiteName::Harvard1990 => &harvard::TESTS_1990,
            SuiteName::Harvard1989 => &harvard::TESTS_1989,
            SuiteName::Rfc2889 => &many_ports::RFC2889,
            SuiteName::Rfc3918 => &many_ports::RFC3918,
            SuiteName::Gigaswitch => &many_ports::GIGASWITCH,
            SuiteName::Tolly => &many_ports::TOLLY,
        }
    }

    /// Its test of this name.
    pub fn test(self, id: &str) -> Option<&'static TestMethod> {
        self.tests().iter().find(|test| test.id == id)
    }

    /// The section of a configuration file in which it names its tests; `None` where `test` does.
    pub const fn section_of_tests(self) -> Option<&'static str> {
        match self {
            SuiteName::Harvard1989 => Some("harvard_1989"),
            _ => None,
        }
    }

    /// Why its document leaves no room for an option that tests of other suites have; `None` where they
    /// merely have no use for it.
    pub fn why_without(self, option: &str) -> Option<&'static str> {
        use SuiteName::*;
        match (self, option) {
            (Rfc2889 | Gigaswitch, "destinations") => Some(
                "each port sends to the addresses of the others in the order of the test's pattern (RFC 2889 \
                 section 5); chassis.addresses_per_port gives a port more of them",
            ),
            (Rfc3918, "destinations") => Some(
                "frames go to groups that hosts joined, and unicast frames to each port in turn (RFC 3918 \
                 section 4.1); chassis.multicast.groups sets how many groups",
            ),
            (Rfc3918, "vlan") => Some("frames within a tunnel have no VLAN tags"),
            (Rfc2889 | Rfc3918 | Gigaswitch, "routing-updates" | "ipv6-prefixes") => Some(
                "the device is next to every network of these tests: there is no route to learn",
            ),
            (Rfc2889 | Rfc3918 | Gigaswitch | Tolly, "bidirectional" | "pattern") => {
                Some("each test's document says which ports send to which")
            }
            _ => None,
        }
    }

    /// The test bed that its document draws: a heading, and what that has.
    pub(crate) fn original_bed(self) -> Option<[&'static str; 2]> {
        match self {
            SuiteName::Gigaswitch => Some(gigaswitch::published::TEST_BED),
            SuiteName::Tolly => Some(tolly::TEST_BED),
            _ => None,
        }
    }

    /// Whether its tests are those of many ports.
    pub fn is_of_many_ports(self) -> bool {
        self.tests().iter().any(|test| matches!(test.run, Run::Many(_)))
    }
}

impl fmt::Display for SuiteName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            SuiteName::Rfc2544 => "rfc2544",
            SuiteName::Harvard1990 => "harvard-1990",
            SuiteName::Harvard1989 => "harvard-1989",
            SuiteName::Rfc2889 => "rfc2889",
            SuiteName::Rfc3918 => "rfc3918",
            SuiteName::Gigaswitch => "gigaswitch",
            SuiteName::Tolly => "tolly",
        })
    }
}

impl TestMethod {
    /// Its title in reports.
    pub fn title(&self) -> String {
        self.kind.to_string()
    }

    /// Document and section in words.
    pub fn source(&self) -> String {
        [self.document, self.section].join(" ").trim_end().into()
    }

    /// Every option that alters its trials; the name of a section stands for all its keys.
    pub fn options(&self) -> impl Iterator<Item = &'static str> {
        self.options.iter().copied().flatten().copied()
    }

    /// Whether its own search is made by the policy that the run names.
    pub(crate) fn searches_by_policy(&self) -> bool {
        self.options().any(|option| matches!(option, "search" | "search.policy"))
    }

    /// Whether an option alters a run of this test: its own trials, or those of a test that is run
    /// before it.
    pub fn supports(&self, option: &str) -> bool {
        let covers = |listed: &str| {
            option.strip_prefix(listed).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        let inherits = !options::OF_ONE_TEST.contains(&option);
        let before = self.needs.iter().filter(|_| inherits).filter_map(|id| self.suite.test(id));
        self.options().any(covers) || before.into_iter().any(|test| test.supports(option))
    }
}

/// Every test of every suite.
pub fn all() -> impl Iterator<Item = &'static TestMethod> {
    SuiteName::ALL.into_iter().flat_map(SuiteName::tests)
}

/// The test that events call so. The fan-out of the GIGAswitch tests is part of another test there,
/// and a test of its own besides.
pub fn of_kind(kind: TestKind) -> Option<&'static TestMethod> {
    all().find(|test| test.kind == kind)
}

/// The names of all tests, each once.
pub fn ids() -> &'static [&'static str] {
    static IDS: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
        let mut ids: Vec<&str> = vec![];
        all().for_each(|test| {
            if !ids.contains(&test.id) {
                ids.push(test.id);
            }
        });
        ids
    });
    &IDS
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chassis::ChassisTest;
    use crate::harvard::Suite1990;
    use crate::harvard::y1989::Test1989;

    fn kinds(suite: SuiteName) -> Vec<TestKind> {
        let mut kinds: Vec<_> = suite.tests().iter().map(|test| test.kind).collect();
        kinds.sort();
        kinds
    }

    #[test]
    fn every_test_of_every_suite_is_registered_once() {
        let chassis = |tests: &[ChassisTest]| {
            let mut kinds: Vec<_> = tests.iter().copied().map(TestKind::Chassis).collect();
            kinds.sort();
            kinds
        };
        assert_eq!(kinds(SuiteName::Rfc2889), chassis(&ChassisTest::RFC2889));
        assert_eq!(kinds(SuiteName::Rfc3918), chassis(&ChassisTest::RFC3918));
        assert_eq!(kinds(SuiteName::Tolly), chassis(&ChassisTest::TOLLY));
        let gigaswitch = [&ChassisTest::GIGASWITCH[..], &[ChassisTest::Fanout]].concat();
        assert_eq!(kinds(SuiteName::Gigaswitch), chassis(&gigaswitch));
        let of_1989: Vec<_> = Test1989::ALL.into_iter().map(TestKind::Harvard1989).collect();
        assert_eq!(kinds(SuiteName::Harvard1989), of_1989);
        assert_eq!(kinds(SuiteName::Harvard1990), Suite1990::TESTS);
        assert_eq!(kinds(SuiteName::Rfc2544).len(), 8);
        for test in all() {
            assert_eq!(test.suite.test(test.id).map(|same| same.kind), Some(test.kind));
            assert!(test.needs.iter().all(|id| test.suite.test(id).is_some()), "{}", test.id);
        }
    }

    #[test]
    fn tests_of_many_ports_are_where_their_results_say() {
        for test in all() {
            if let TestKind::Chassis(chassis) = test.kind {
                assert_eq!(test.source(), chassis.section(), "{}", test.id);
            }
        }
    }

    /// A reason for an option that every test of the suite has would be wrong.
    #[test]
    fn what_has_a_reason_to_be_refused_is_refused_by_some_test() {
        let mut reasons = 0;
        for suite in SuiteName::ALL {
            let all = all().flat_map(TestMethod::options);
            for option in all.filter(|option| suite.why_without(option).is_some()) {
                assert!(
                    suite.tests().iter().any(|test| !test.supports(option)),
                    "{suite} {option}"
                );
                reasons += 1;
            }
        }
        assert!(reasons > 10, "{reasons}");
    }

    #[test]
    fn a_section_stands_for_its_keys_and_for_no_other_section() {
        let latency = SuiteName::Rfc2544.test("latency").unwrap();
        assert!(latency.supports("latency.repetitions") && latency.supports("vlan"));
        assert!(latency.supports("throughput.final_trials"), "of the test before it");
        assert!(!latency.supports("pdv.repetitions") && !latency.supports("latency_x"));
    }
}
