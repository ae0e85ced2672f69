//! What a receiver has said of entries and the outbox has not heard: it listens only while it fills buffers, and whether
//! it may is the receiver's word, too. So this is bounded.

use super::control::Message;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvError, TryRecvError};

/// Bytes that wait. All that there is to say of [`super::MAX_UNSETTLED`] entries is less.
const MAX_BYTES: usize = 64 << 20;

/// Who listens to the receiver.
#[derive(Debug)]
pub struct Sender {
    messages: mpsc::Sender<Message>,
    waiting_bytes: Arc<AtomicUsize>,
}

/// The outbox's end.
#[derive(Debug)]
pub struct Receiver {
    messages: mpsc::Receiver<Message>,
    waiting_bytes: Arc<AtomicUsize>,
}

/// Both ends.
pub fn channel() -> (Sender, Receiver) {
    let (sender, receiver) = mpsc::channel();
    let waiting_bytes = Arc::<AtomicUsize>::default();
    let sender = Sender { messages: sender, waiting_bytes: waiting_bytes.clone() };
    (sender, Receiver { messages: receiver, waiting_bytes })
}

/// About the memory that a message takes.
fn bytes(message: &Message) -> usize {
    let text: &str = match message {
        Message::Want(text) | Message::Same(text) | Message::Kept(text) => text,
        Message::Compare { digest: text, .. } | Message::Failed { reason: text, .. } => text,
        _ => "",
    };
    size_of::<Message>() + text.len()
}

impl Sender {
    /// An error says that more waits than there can be to say. That nobody listens any more is none.
    pub fn send(&self, message: Message) -> Result<(), String> {
        let more = bytes(&message);
        if self.waiting_bytes.fetch_add(more, Ordering::SeqCst) + more > MAX_BYTES {
            return Err("it says more than there is to say of entries".to_owned());
        }
        let _ = self.messages.send(message);
        Ok(())
    }
}

impl Receiver {
    /// What waits.
    pub fn try_recv(&self) -> Result<Message, TryRecvError> {
        self.messages.try_recv().inspect(|message| self.taken(message))
    }
    /// What waits, or comes.
    pub fn recv(&self) -> Result<Message, RecvError> {
        self.messages.recv().inspect(|message| self.taken(message))
    }
    fn taken(&self, message: &Message) {
        self.waiting_bytes.fetch_sub(bytes(message), Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_heard_makes_room() {
        let (sender, _receiver) = channel();
        let line = || Message::Want("0".repeat(1 << 20));
        let mut fits = 0;
        while sender.send(line()).is_ok() {
            fits += 1;
        }
        assert_eq!(fits, 63, "a message is more than its text");
        let (sender, receiver) = channel();
        for _ in 0..1000 {
            sender.send(line()).unwrap();
            receiver.try_recv().unwrap();
        }
    }
}
