//! What the device did to frames besides carrying or losing them: said beside every result, since rates and losses do
//! not show it.

use trial::{Role, StreamResult, Trial, TrialResult};

/// What trials of the test under way that decide something showed.
#[derive(Clone, Copy, Default)]
pub(crate) struct Besides {
    sent: u64,
    wrong_length: u64,
    damaged: u64,
    duplicates: u64,
    reordered: u64,
    /// A share of the frames sent that is worth a word: that of the notes of a trial.
    worth_a_word: f64,
}

impl Besides {
    /// Adds a trial that decides something.
    pub(crate) fn add(&mut self, trial: &Trial, result: &TrialResult) {
        self.worth_a_word = trial.limits.unwanted;
        let of_streams = |count: fn(&StreamResult) -> u64| -> u64 {
            result.streams.iter().filter(|stream| stream.role == Role::Test).map(count).sum()
        };
        let accounts = || result.expected_accounts().map(|received| &received.account);
        self.sent += of_streams(|stream| stream.sent);
        self.wrong_length += accounts().map(|account| account.wrong_length).sum::<u64>();
        self.reordered += accounts().map(|account| account.reordered).sum::<u64>();
        self.duplicates += of_streams(|stream| stream.duplicates);
        self.damaged += damaged(result);
    }

    /// A sentence for each, with its count; none of a device that only carries and loses frames.
    pub(crate) fn in_words(&self) -> Option<String> {
        let counts = [
            (
                self.wrong_length,
                "came out longer or shorter than they were sent (fragments, tags, padding), and count as carried",
            ),
            (
                self.damaged,
                "arrived without a test frame's signature at their end or with a bad checksum, and count for nothing: \
                 damaged, padded or cut by the device, fragments, or another tester's with the same addresses",
            ),
            (self.duplicates, "arrived more than once"),
            (self.reordered, "arrived behind frames that were sent later"),
        ];
        let least = self.sent as f64 * self.worth_a_word;
        let told = counts.into_iter().filter(|(frames, _)| *frames as f64 > least);
        let told: Vec<String> = told.map(|(frames, what)| format!("{frames} {what}")).collect();
        (!told.is_empty()).then(|| format!("of {} frames sent: {}", self.sent, told.join("; ")))
    }
}

/// Frames with a test frame's addresses that are none as they arrived.
pub(crate) fn damaged(result: &TrialResult) -> u64 {
    let test = result.streams.iter().filter(|stream| stream.role == Role::Test);
    let of_ports = result.received.iter().map(|port| port.corrupted);
    test.map(|stream| stream.corrupted).chain(of_ports).sum()
}
