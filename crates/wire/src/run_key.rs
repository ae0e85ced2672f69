//! The keys of test signatures: one for each run, from which each trial has its own.

use crate::signature::Form;
use crate::siphash::State;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// 128 bits that all test frames of a run have in common, and those of no other run: random unless
/// somebody asks for the same frames again. Text: 32 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RunKey(u128);

impl RunKey {
    /// Of random bytes.
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        RunKey(u128::from_be_bytes(bytes))
    }

    /// Of a seed: the same key each time. Whoever knows the seed can forge the frames, and two
    /// testers with one seed take each other's frames for their own.
    pub const fn from_seed(seed: u64) -> Self {
        let state = State::new(seed, 0);
        RunKey(half_of(state, seed, 1) << 64 | half_of(state, seed, 2))
    }

    const fn state(self) -> State {
        State::new((self.0 >> 64) as u64, self.0 as u64)
    }
}

const fn half_of(state: State, seed: u64, which: u64) -> u128 {
    state.hash13(seed, which) as u128
}

/// Who can read it in a log could forge test frames.
impl fmt::Debug for RunKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RunKey(..)")
    }
}

impl From<RunKey> for String {
    fn from(key: RunKey) -> String {
        format!("{:032x}", key.0)
    }
}

impl TryFrom<String> for RunKey {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl FromStr for RunKey {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let is_hex = text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let key = if is_hex { u128::from_str_radix(text, 16).ok() } else { None };
        key.map(RunKey).ok_or_else(|| format!("`{text}`: a run key has 32 hexadecimal digits"))
    }
}

/// What the frames of one trial have in common: the run's key and the number of the trial.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Key {
    state: State,
    trial: u64,
    /// The constant sums of the forms, in their order; that of [`Form::Compact`] is the trial's own.
    sums: [u16; 3],
}

/// From one trial to the next the constant of [`Form::Compact`] moves by this, modulo 0xffff. Four
/// times in a row it stays 9,561 away from where it was: so a frame of one of the last four trials
/// names no stream with a number below that.
const COMPACT_STEP: u64 = 0x9e37;
/// No form's number: the message that gives the sums is never that of a frame.
const SUMS: u64 = 0xff << 48;

impl Key {
    /// The key of a trial, by its number in the run.
    pub const fn new(run: RunKey, trial: u64) -> Self {
        let state = run.state();
        let drawn = state.hash13(0, SUMS);
        let moved = trial % 0xffff * COMPACT_STEP % 0xffff;
        let compact = ((drawn >> 32 & 0xffff) + moved) % 0xffff;
        let sums = [(drawn & 0xffff) % 0xffff, (drawn >> 16 & 0xffff) % 0xffff, compact];
        Key { state, trial, sums: [sums[0] as u16, sums[1] as u16, sums[2] as u16] }
    }

    /// The key of the first trial of a run with this seed: for whoever makes trials by hand.
    pub const fn from_seed(seed: u64) -> Self {
        Key::new(RunKey::from_seed(seed), 0)
    }

    /// The key of the trial so many trials later.
    #[must_use]
    pub const fn later(self, trials: u64) -> Self {
        self.of_trial(self.trial.wrapping_add(trials))
    }

    /// The key of the trial so many trials ago; `None` before the first.
    pub const fn earlier(self, trials: u64) -> Option<Self> {
        match self.trial.checked_sub(trials) {
            Some(trial) => Some(self.of_trial(trial)),
            None => None,
        }
    }

    const fn of_trial(self, trial: u64) -> Self {
        let back = COMPACT_STEP * (self.trial % 0xffff) % 0xffff;
        let forth = COMPACT_STEP * (trial % 0xffff) % 0xffff;
        let compact = (self.sums[2] as u64 + 0xffff - back + forth) % 0xffff;
        Key { trial, sums: [self.sums[0], self.sums[1], compact as u16], ..self }
    }

    /// The number of the trial in its run.
    pub const fn trial(self) -> u64 {
        self.trial
    }

    /// The ones' complement sum (folded, 0xffff written as 0) of a valid signature of this form: the
    /// same for all trials of a run. For [`Form::Compact`] the trial's own, and that of stream 0.
    pub const fn expected_sum(self, form: Form) -> u16 {
        self.sums[form as usize]
    }

    /// The state of SipHash after its initialisation with the run's key, for who computes tags
    /// elsewhere.
    pub const fn hash_state(self) -> [u64; 4] {
        self.state.words()
    }

    /// The second block of what is hashed for a tag, without the frame's sequence number and with the
    /// length of 15 bytes that SipHash puts there.
    pub const fn tag_block(self, form: Form) -> u64 {
        15 << 56 | (form as u64 + 1) << 48 | (self.trial & 0xffff) << 32
    }

    /// A frame's tag, of which each form carries as many low bits as it has room for. `head` is stream
    /// and transmit time as the form has them.
    #[inline]
    pub(crate) const fn tag(self, form: Form, head: u64, sequence: u32) -> u64 {
        self.state.hash13(head, self.tag_block(form) | sequence as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_run_key_is_read_as_it_is_written_and_as_nothing_else() {
        let key = RunKey::from_bytes(*b"\x00\x01 some random s");
        let text = String::from(key);
        assert_eq!((text.len(), &text[..4], text.parse()), (32, "0001", Ok(key)));
        for wrong in ["", "5eed", &"g".repeat(32), &"+".repeat(32), &"0".repeat(33)] {
            assert!(wrong.parse::<RunKey>().is_err(), "{wrong}");
        }
        assert!(!format!("{key:?} {:?}", Key::new(key, 1)).contains("0001"), "a key is not shown");
    }

    #[test]
    fn seeds_give_keys_of_their_own() {
        let keys: std::collections::BTreeSet<String> =
            (0..1_000).map(|seed| RunKey::from_seed(seed).into()).collect();
        assert_eq!(keys.len(), 1_000);
    }

    proptest! {
        #[test]
        fn trials_of_a_run_share_all_but_compacts_sum(seed: u64, trial: u32, ago in 1u64..5) {
            let run = RunKey::from_seed(seed);
            let (now, then) = (Key::new(run, trial.into()), Key::new(run, u64::from(trial) + ago));
            prop_assert_eq!(now.later(ago), then);
            prop_assert_eq!(then.earlier(ago), Some(now));
            prop_assert_eq!(now.earlier(u64::from(trial) + 1), None);
            for form in [Form::Full, Form::Short] {
                prop_assert_eq!(now.expected_sum(form), then.expected_sum(form));
            }
            // What is then's stream 0 is none of now's lower streams, and the other way round.
            let [now, then] = [now, then].map(|key| u32::from(key.expected_sum(Form::Compact)));
            let away = (then + 0xffff - now) % 0xffff;
            prop_assert!((9_561..=0xffff - 9_561).contains(&away), "{away}");
        }
    }
}
