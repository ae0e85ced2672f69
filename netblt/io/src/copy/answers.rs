//! What a receiver says of entries, gathered for some milliseconds: one line for many small files.

use super::control::{Message, Teller};
use crate::ranges::Ranges;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// How long to gather.
const PAUSE: Duration = Duration::from_millis(10);
/// Entries said at once, so that no line is too long.
const MOST: usize = 10_000;

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
pub struct Answers(Sender<Answer>);

impl Answers {
    /// By this channel. The thread ends when all clones are gone and all is said.
    pub fn new(teller: Teller) -> (Answers, JoinHandle<()>) {
        let (answers, said) = channel();
        (Answers(answers), thread::spawn(move || say(&said, &teller)))
    }
    /// Says something soon.
    pub fn say(&self, answer: Answer) {
        let _ = self.0.send(answer);
    }
    /// An entry is not and will not be in its place.
    pub fn failed(&self, entry: u32, reason: &str) {
        self.say(Answer::Other(Message::Failed { entry, reason: reason.to_owned() }));
    }
}

fn say(said: &Receiver<Answer>, teller: &Teller) {
    while let Ok(first) = said.recv() {
        thread::sleep(PAUSE);
        let mut ranges: [Ranges; 3] = Default::default();
        let mut others = Vec::new();
        for answer in std::iter::once(first).chain(said.try_iter()).take(MOST) {
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
    }
}
