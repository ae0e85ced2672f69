//! The name of a test, as `netanvil tests` lists it.

use super::SuiteName;
use crate::failure::{Failure, Outcome};
use method::registry::{self, TestMethod};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// A name that a test of some suite has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TestName(&'static str);

impl TestName {
    /// Of a test.
    pub fn of(test: &TestMethod) -> Self {
        TestName(test.id)
    }

    /// The test of this suite that is called so.
    pub fn test(self, suite: SuiteName) -> Outcome<&'static TestMethod> {
        suite.test(self.0).ok_or_else(|| {
            let others = registry::all().filter(|test| test.id == self.0);
            let others: Vec<String> = others
                .map(|test| format!("`netanvil run {} --test {}`", test.suite, self.0))
                .collect();
            Failure::new(format!("{suite} has no test `{}`: it is a test of another suite", self.0))
                .help(format!("write {}", others.join(" or ")))
                .help(format!("`netanvil tests {suite}` lists those of {suite}"))
        })
    }
}

impl Serialize for TestName {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.0)
    }
}

impl<'de> Deserialize<'de> for TestName {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let name = String::deserialize(from)?;
        let known = registry::ids().iter().find(|id| **id == name);
        known
            .map(|id| TestName(id))
            .ok_or_else(|| de::Error::unknown_variant(&name, registry::ids()))
    }
}
