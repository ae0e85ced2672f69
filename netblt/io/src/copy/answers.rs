//! What a receiver says of entries, gathered for some milliseconds: one line for many small files.

use super::MAX_UNSETTLED;
use super::control::{Message, Teller};
use crate::ranges::Ranges;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// How long to gather.
const PAUSE: Duration = Duration::from_millis(10);
/// Entries said at once, so that no line is too long.
const MOST: usize = 10_000;
/// Answers that wait. A sender that hears them has at most three of an entry to hear: to send it, to send it again, and
/// what became of it.
const MAX_WAITING: usize = 4 * MAX_UNSETTLED;

/// What is said of an entry.
#[derive(Debug)]
pub enum Answer {
    /// Send it.
    Want(u32),
    /// It was there.
    Same(u32),
    /// It is in its place.
    Kept(u32),
    /// Anything else.
    Other(Message),
}

/// Says answers from a thread; cheap to clone.
#[derive(Clone)]
pub struct Answers {
    answers: Sender<Answer>,
    waiting: Arc<AtomicUsize>,
}

impl Answers {
    /// By this channel. The thread ends when all clones are gone and all is said.
    pub fn new(teller: Teller) -> (Answers, JoinHandle<()>) {
        let (answers, said) = channel();
        let waiting = Arc::<AtomicUsize>::default();
        let thread = {
            let waiting = waiting.clone();
            thread::spawn(move || say(&said, &waiting, &teller))
        };
        (Answers { answers, waiting }, thread)
    }
    /// Says something soon.
    pub fn say(&self, answer: Answer) {
        self.waiting.fetch_add(1, Ordering::SeqCst);
        let _ = self.answers.send(answer);
    }
    /// Whether more wait than a sender that hears them leaves.
    pub fn are_unheard(&self) -> bool {
        self.waiting.load(Ordering::SeqCst) > MAX_WAITING
    }
    /// An entry is not and will not be in its place.
    pub fn failed(&self, entry: u32, reason: &str) {
        self.say(Answer::Other(Message::Failed { entry, reason: reason.to_owned() }));
    }
}

fn say(said: &Receiver<Answer>, waiting: &AtomicUsize, teller: &Teller) {
    while let Ok(first) = said.recv() {
        thread::sleep(PAUSE);
        let mut ranges: [Ranges; 3] = Default::default();
        let mut others = Vec::new();
        let mut taken = 0;
        for answer in std::iter::once(first).chain(said.try_iter()).take(MOST) {
            taken += 1;
            let (kind, entry) = match answer {
                Answer::Want(entry) => (0, entry),
                Answer::Same(entry) => (1, entry),
                Answer::Kept(entry) => (2, entry),
                Answer::Other(message) => {
                    others.push(message);
                    continue;
                }
            };
            ranges[kind].insert(entry.into()..u64::from(entry) + 1);
        }
        let [want, same, kept] = ranges.map(|ranges| ranges.to_string());
        let lines = [Message::Want(want), Message::Same(same), Message::Kept(kept)];
        let said = |line: &Message| !matches!(line, Message::Want(text) | Message::Same(text) | Message::Kept(text) if text.is_empty());
        // Who cannot be told has gone: the connection will tell.
        for line in lines.iter().filter(|line| said(line)).chain(&others) {
            let _ = teller.tell(line);
        }
        waiting.fetch_sub(taken, Ordering::SeqCst);
    }
}
