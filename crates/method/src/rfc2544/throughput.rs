//! Throughput: the fastest rate at which no frame is lost (RFC 2544 section 26.1).

use crate::{Conditions, RateFound};
use serde::{Deserialize, Serialize};

/// The result for one frame size.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ThroughputResult {
    /// Under which conditions.
    pub conditions: Conditions,
    /// Throughput: no loss at all.
    pub throughput: RateFound,
    /// Rates found with some loss allowed, lowest tolerance first. **Not RFC 2544 throughput**:
    /// a table must label them with their tolerance.
    pub with_tolerance: Vec<RateFound>,
    /// What a reader should know, such as loss that does not depend on the load.
    pub notes: Vec<String>,
}
