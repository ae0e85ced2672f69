//! What the frames were that arrived.

use super::TakenIn;
use crate::TrialResult;

impl TakenIn {
    /// All of them.
    pub fn total(&self) -> u64 {
        let TakenIn { in_time, late, duplicates, corrupted, misdirected, .. } = self;
        let TakenIn { beside, foreign, forged, leftovers, .. } = self;
        let ours = in_time + late + duplicates + corrupted + misdirected + beside;
        ours + foreign + forged + leftovers
    }

    pub(super) fn of(result: &TrialResult) -> Self {
        let mut all = TakenIn::default();
        for port in &result.received {
            for received in &port.streams {
                let account = &received.account;
                if received.expected {
                    all.in_time += account.unique;
                    all.late += account.late;
                    all.duplicates += account.duplicates;
                    all.corrupted += account.corrupted;
                } else if received.unchecked {
                    all.beside += account.arrivals();
                } else {
                    all.misdirected += account.arrivals();
                }
            }
            all.corrupted += port.corrupted;
            all.foreign += port.foreign;
            all.forged += port.forged;
            all.leftovers += port.leftovers.total();
        }
        all
    }
}
