//! Tests that are registered from outside: what events call them.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Mutex, PoisonError};

/// The title of a test that this crate does not know.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct OwnTest(&'static str);

impl OwnTest {
    /// With this title.
    pub const fn new(title: &'static str) -> Self {
        OwnTest(title)
    }

    /// Whoever reads events need not know the tests that wrote them: a title is kept for good, once.
    fn read(title: String) -> Self {
        static TITLES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
        let mut titles = TITLES.lock().unwrap_or_else(PoisonError::into_inner);
        let known = titles.get(&*title).copied();
        OwnTest(known.unwrap_or_else(|| {
            let title: &'static str = title.leak();
            titles.insert(title);
            title
        }))
    }
}

impl fmt::Display for OwnTest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.0)
    }
}

impl Serialize for OwnTest {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.0)
    }
}

impl<'a> Deserialize<'a> for OwnTest {
    fn deserialize<D: Deserializer<'a>>(from: D) -> Result<Self, D::Error> {
        String::deserialize(from).map(OwnTest::read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TestKind;

    #[test]
    fn a_title_comes_back_as_the_same_test() {
        let test = TestKind::Own(OwnTest::new("longest burst"));
        let saved = serde_json::to_string(&test).unwrap();
        assert_eq!(saved, "{\"own\":\"longest burst\"}");
        let read = || serde_json::from_str::<TestKind>(&saved).unwrap();
        assert_eq!((read(), read()), (test, test));
        assert_eq!(test.to_string(), "longest burst");
        let other = TestKind::Own(OwnTest::new("shortest burst"));
        assert_ne!(read(), other);
    }
}
