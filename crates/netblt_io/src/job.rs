//! A transfer's client: a thread that reads or writes, and the buffers between it and the network.

use crate::agreement::Layout;
use crate::sink::Sink;
use crate::source::Source;
use netblt::Connection;
use std::sync::mpsc::{Receiver, Sender, SyncSender, TryRecvError, channel, sync_channel};
use std::thread;
use units::Instant;

/// Buffers that a reader has ready beyond those under way.
const READ_AHEAD: usize = 2;

/// What a thread came to: a digest if there is one, or why not.
type Finish = Result<Option<String>, String>;

/// The client of one connection.
pub enum Job {
    /// It sends.
    Sending(Sending),
    /// It receives.
    Receiving(Receiving),
}

/// Buffers on their way out.
pub struct Sending {
    layout: Layout,
    given: u64,
    filled: Receiver<Result<Vec<u8>, String>>,
    empty: Sender<Vec<u8>>,
    closed: bool,
}

/// Buffers on their way in.
pub struct Receiving {
    layout: Layout,
    supplied: u64,
    arrived: u64,
    arrived_bytes: u64,
    full: Sender<(u64, Vec<u8>)>,
    empty: Receiver<Vec<u8>>,
    finish: Receiver<Finish>,
    finished: Option<Finish>,
    /// Buffers that the thread has not stored yet.
    unstored: u64,
    invited: bool,
}

impl Job {
    /// A thread reads from `source`.
    pub fn sending(mut source: impl Source + 'static, layout: Layout) -> Job {
        let (to_fill, empty) = channel::<Vec<u8>>();
        let (filled_by, filled): (SyncSender<_>, _) = sync_channel(READ_AHEAD);
        thread::spawn(move || {
            for index in 0..layout.buffers() {
                let mut memory = empty.try_recv().unwrap_or_default();
                memory.resize(layout.len(index), 0);
                let result = source.fill(index, &mut memory).map_err(|error| error.to_string());
                let failed = result.is_err();
                if filled_by.send(result.map(|()| memory)).is_err() || failed {
                    return;
                }
            }
        });
        Job::Sending(Sending { layout, given: 0, filled, empty: to_fill, closed: false })
    }

    /// A thread writes to `sink`.
    pub fn receiving(mut sink: impl Sink + 'static, layout: Layout) -> Job {
        let (full, to_store) = channel::<(u64, Vec<u8>)>();
        let (emptied, empty) = channel();
        let (finish_by, finish) = channel();
        thread::spawn(move || {
            let mut stored = 0;
            for (index, memory) in to_store {
                if let Err(error) = sink.store(index, &memory) {
                    let _ = finish_by.send(Err(error.to_string()));
                    return;
                }
                let _ = emptied.send(memory);
                stored += 1;
                if stored == layout.buffers() {
                    let _ = finish_by.send(sink.finish().map_err(|error| error.to_string()));
                    return;
                }
            }
        });
        Job::Receiving(Receiving {
            layout,
            supplied: 0,
            arrived: 0,
            arrived_bytes: 0,
            full,
            empty,
            finish,
            finished: None,
            unstored: 0,
            invited: false,
        })
    }

    /// Moves buffers between thread and connection.
    pub fn pump(&mut self, now: Instant, connection: &mut Connection) {
        match self {
            Job::Sending(sending) => sending.pump(connection),
            Job::Receiving(receiving) => receiving.pump(now, connection),
        }
    }
    /// A buffer that was sent belongs to the client again.
    pub fn take_back(&mut self, memory: Vec<u8>) {
        if let Job::Sending(sending) = self {
            let _ = sending.empty.send(memory);
        }
    }
    /// A buffer has come.
    pub fn store(&mut self, index: u32, data: Vec<u8>) {
        if let Job::Receiving(receiving) = self {
            receiving.store(index, data);
        }
    }
    /// Whether the thread is at work and may have something soon.
    pub fn is_busy(&self, connection: &Connection) -> bool {
        match self {
            Job::Sending(sending) => !sending.closed && connection.buffers_wanted() > 0,
            Job::Receiving(receiving) => receiving.unstored > 0 || receiving.awaits_finish(),
        }
    }
    /// Bytes that were handed over so far, and how many there are in all.
    pub fn progress(&self) -> (u64, u64) {
        let (layout, bytes) = match self {
            Job::Sending(sending) => {
                (sending.layout, sending.given * u64::from(sending.layout.buffer_bytes))
            }
            Job::Receiving(receiving) => (receiving.layout, receiving.arrived_bytes),
        };
        (bytes.min(layout.content_bytes), layout.content_bytes)
    }
    /// The digest of what was received, once it is in its place.
    pub fn digest(&self) -> Option<String> {
        match self {
            Job::Receiving(Receiving { finished: Some(Ok(digest)), .. }) => digest.clone(),
            _ => None,
        }
    }
    /// Waits for what the thread came to: everything has arrived, and without an invitation to a
    /// closing buffer nobody else waits for it.
    pub fn conclude(&mut self) -> Result<(), String> {
        let Job::Receiving(receiving) = self else { return Ok(()) };
        if receiving.finished.is_none() {
            receiving.finished = receiving.finish.recv().ok();
        }
        match &receiving.finished {
            Some(Err(reason)) => Err(reason.clone()),
            Some(Ok(_)) => Ok(()),
            None => Err("the writing thread broke".to_owned()),
        }
    }
}

impl Sending {
    fn pump(&mut self, connection: &mut Connection) {
        while connection.buffers_wanted() > 0 && !self.closed {
            if self.given == self.layout.buffers() {
                self.closed = connection.send_buffer(Vec::new(), true).is_ok();
                return;
            }
            match self.filled.try_recv() {
                Ok(Ok(memory)) => {
                    self.given += 1;
                    let last = !self.layout.closing && self.given == self.layout.buffers();
                    self.closed = last;
                    if connection.send_buffer(memory, last).is_err() {
                        return connection.abort("a buffer of another size than agreed on");
                    }
                }
                Ok(Err(reason)) => return connection.abort(&format!("cannot read: {reason}")),
                Err(TryRecvError::Empty) => return,
                Err(TryRecvError::Disconnected) => return connection.abort("the reader broke"),
            }
        }
    }
}

impl Receiving {
    fn awaits_finish(&self) -> bool {
        self.arrived == self.layout.buffers() && self.finished.is_none()
    }

    fn store(&mut self, index: u32, memory: Vec<u8>) {
        // The closing buffer has nothing in it.
        if u64::from(index) < self.layout.buffers() {
            self.arrived += 1;
            self.arrived_bytes += memory.len() as u64;
            self.unstored += 1;
            let _ = self.full.send((index.into(), memory));
        }
    }

    fn pump(&mut self, now: Instant, connection: &mut Connection) {
        let mut emptied = Vec::new();
        for memory in self.empty.try_iter() {
            self.unstored -= 1;
            emptied.push(memory);
        }
        // What waits to be written counts as under way: a slow disk slows the sender.
        let most = connection.terms().map_or(0, |terms| terms.max_outstanding_buffers.into());
        while connection.buffers_needed() > 0
            && self.supplied < self.layout.buffers()
            && self.unstored < most
        {
            self.supplied += 1;
            connection.supply_buffer(emptied.pop().unwrap_or_default());
        }
        if self.finished.is_none() {
            self.finished = self.finish.try_recv().ok();
        }
        match &self.finished {
            Some(Ok(_)) if self.layout.closing && !self.invited => {
                self.invited = true;
                connection.supply_buffer(Vec::new());
            }
            Some(Err(reason)) if !self.invited => {
                self.invited = true;
                connection.quit(now, reason);
            }
            _ => {}
        }
    }
}
