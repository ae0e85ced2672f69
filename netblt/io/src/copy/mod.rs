//! Copies: many files as one stream, between two ends that talk over a channel beside it.
//!
//! * [`format`](mod@format): the stream, byte by byte. * [`control`]: the channel. * [`names`]: what names may be.
//! * [`walk`]: what a sender finds. * [`outbox`], [`inbox`]: the two ends of the stream.
//!
//! What arrives of a file is written under a hidden name beside its place; a later copy of the same version
//! goes on where it ends. When all of it is there, its digest is compared with the sender's, it is
//! synced, and only then it gets its name. What comes of standard input has no name at all until then, where the file
//! system can.

mod answers;
pub mod backlog;
pub mod beneath;
mod claims;
pub mod control;
pub mod format;
pub mod inbox;
pub mod names;
pub mod outbox;
mod parts;
pub mod patterns;
mod shelf;
pub mod tally;
pub mod walk;

use crate::agreement::{Answer, Layout, Offer};
use crate::job::Job;
use crate::station::{Host, Opener};
use control::{Message, hear};
use inbox::Inbox;
use netblt::{Connection, Mode};
use outbox::Outbox;
use std::io::BufRead;
use std::net::SocketAddr;
use std::sync::mpsc::{Receiver, channel};
use std::thread;

/// Entries that are announced and not settled. Beyond them a sender's search waits, and a receiver takes no more: names
/// are kept in memory so long.
const MAX_UNSETTLED: usize = 50_000;

/// One end of the stream.
pub enum End {
    /// It sends.
    Sender(Box<Outbox>),
    /// It receives.
    Receiver(Box<Inbox>),
}

impl End {
    /// The mode in which this end opens the connection.
    pub fn mode(&self) -> Mode {
        match self {
            End::Sender(_) => Mode::Write,
            End::Receiver(_) => Mode::Read,
        }
    }
    /// Makes it the client of a connection.
    pub fn opener(self) -> Opener {
        Box::new(move |connection: &Connection| {
            let bytes = connection.terms().map(|terms| terms.buffer_size_bytes);
            let layout = Layout::stream(bytes.ok_or("not open")?);
            let least = format::MIN_BUFFER_BYTES;
            if (layout.buffer_bytes as usize) < least {
                return Err(format!("buffers of less than {least} bytes hold no long name"));
            }
            Ok(match self {
                End::Sender(outbox) => Job::sending(*outbox, layout),
                End::Receiver(inbox) => Job::receiving_in_order(*inbox, layout),
            })
        })
    }
}

/// Takes the one connection that was agreed on, and no other.
pub struct Expecting(Option<End>);

impl Expecting {
    /// This end waits for the other to open the connection.
    pub fn new(end: End) -> Expecting {
        Expecting(Some(end))
    }
    /// Whether it has not come.
    pub fn waits(&self) -> bool {
        self.0.is_some()
    }
}

impl Host for Expecting {
    fn decide(
        &mut self,
        _peer: SocketAddr,
        mode: Mode,
        offer: Offer,
    ) -> Result<(Answer, Opener), String> {
        // The other end's mode is the opposite of ours.
        let fits = |end: &mut End| offer == Offer::Copy && end.mode() != mode;
        let end = self.0.take_if(fits).ok_or("not what was agreed on")?;
        Ok((Answer::Copy, end.opener()))
    }
}

/// What came by the control channel and is not for the sender alone.
#[derive(Debug)]
pub enum Heard {
    /// A message.
    Message(Message),
    /// The channel ended, for this reason if it is one.
    Ended(Option<String>),
}

/// Listens in a thread. What a receiver says of entries goes to `outbox`.
pub fn listen(
    mut input: impl BufRead + Send + 'static,
    outbox: Option<backlog::Sender>,
) -> Receiver<Heard> {
    let (heard_by, heard) = channel();
    thread::spawn(move || {
        loop {
            let heard = match hear(&mut input) {
                Ok(Some(message)) if is_of_entries(&message) => {
                    // Who does not send hears nothing of that kind that matters.
                    match outbox.as_ref().map_or(Ok(()), |outbox| outbox.send(message)) {
                        Ok(()) => continue,
                        Err(reason) => Heard::Ended(Some(reason)),
                    }
                }
                Ok(Some(message)) => Heard::Message(message),
                Ok(None) => Heard::Ended(None),
                Err(error) => Heard::Ended(Some(error.to_string())),
            };
            let ended = matches!(heard, Heard::Ended(_));
            if heard_by.send(heard).is_err() || ended {
                return;
            }
        }
    });
    heard
}

fn is_of_entries(message: &Message) -> bool {
    use Message::{Compare, Failed, Kept, Resume, Same, Want};
    matches!(message, Want(_) | Resume { .. } | Compare { .. } | Same(_) | Kept(_) | Failed { .. })
}
