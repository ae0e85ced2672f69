//! A transfer's client: a thread that reads or writes, and the buffers between it and the network.

use crate::agreement::Layout;
use crate::sink::Sink;
use crate::source::Source;
use netblt::Connection;
use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, TryRecvError, channel, sync_channel};
use std::sync::{Arc, OnceLock};
use std::thread;
use units::Instant;

/// What a reader has ready beyond the buffers that the other end has asked for; at least a buffer.
const READ_AHEAD_BYTES: usize = 1 << 20;

/// What a connection is given ahead of what leaves: more would have left the processor's cache before it is sent.
const SEND_AHEAD_BYTES: u64 = 1 << 20;
/// And at least so many packets, of which a station sends hundreds at once.
const SEND_AHEAD_PACKETS: u64 = 512;

/// Buffers written at once, and those that one look at the network brings on top.
const STORED_AT_ONCE: usize = 64;

/// What a thread has read, each with whether it is the last; several, since to wake up who waits for room costs as
/// much as to copy a buffer.
type Filled = Result<Vec<(Vec<u8>, bool)>, String>;

/// Buffers that came, with their places.
type Arrived = Vec<(u64, Vec<u8>)>;

/// What a thread came to: a digest if there is one, or why not.
type Finish = Result<Option<String>, String>;

/// What the thread does, until there is something to do: who only opens connections starts none.
type Begin = Option<Box<dyn FnOnce() + Send>>;

fn begin(begin: &mut Begin) {
    begin.take().map(thread::spawn);
}

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
    /// Payload that is safe at the other end.
    safe_bytes: u64,
    filled: Receiver<Filled>,
    /// What has come of the thread and was not given yet.
    ready: VecDeque<(Vec<u8>, bool)>,
    /// Of all that was read, at its end.
    digest: Arc<OnceLock<String>>,
    empty: Sender<Vec<u8>>,
    closed: bool,
    begin: Begin,
}

/// Buffers on their way in.
pub struct Receiving {
    layout: Layout,
    /// Buffers with content; where only L tells, as many as there may be until it has come.
    announced: Arc<AtomicU64>,
    supplied: u64,
    arrived: u64,
    /// Payload among what arrived.
    arrived_bytes: u64,
    /// None once nothing more comes.
    full: Option<Sender<Arrived>>,
    /// What came and was not passed on to the thread yet.
    gathered: Arrived,
    empty: Receiver<Vec<Vec<u8>>>,
    finish: Receiver<Finish>,
    finished: Option<Finish>,
    /// Buffers that the thread has not stored yet.
    unstored: u64,
    /// Memory that was stored and waits to be filled again.
    emptied: Vec<Vec<u8>>,
    /// The last buffer came before all that was announced.
    early: bool,
    invited: bool,
    begin: Begin,
}

impl Job {
    /// A thread reads from `source`.
    pub fn sending(mut source: impl Source + 'static, layout: Layout) -> Job {
        let (to_fill, empty) = channel::<Vec<u8>>();
        let at_once = buffers_in(source.bytes_at_once(), &layout);
        let most = (buffers_in(READ_AHEAD_BYTES, &layout) / at_once).max(1);
        let (filled_by, filled): (SyncSender<Filled>, _) = sync_channel(most);
        let digest = Arc::new(OnceLock::new());
        let computed = digest.clone();
        let read = move || {
            let mut some = Vec::new();
            for index in 0..layout.buffers() {
                let mut memory = empty.try_recv().unwrap_or_default();
                memory.resize(layout.len(index), 0);
                if let Err(error) = source.fill(index, &mut memory) {
                    let _ = filled_by.send(Ok(some));
                    let _ = filled_by.send(Err(error.to_string()));
                    return;
                }
                let last = source.has_ended() || index + 1 == layout.buffers();
                if let Some(digest) = source.digest().filter(|_| last) {
                    let _ = computed.set(digest);
                }
                some.push((memory, last));
                let enough = last || some.len() == at_once;
                if enough && filled_by.send(Ok(std::mem::take(&mut some))).is_err() || last {
                    return;
                }
            }
        };
        Job::Sending(Sending {
            layout,
            given: 0,
            safe_bytes: 0,
            filled,
            ready: VecDeque::new(),
            digest,
            empty: to_fill,
            closed: false,
            begin: Some(Box::new(read)),
        })
    }

    /// A thread writes to `sink`, which gets the buffers in their order. What has to wait for one before it
    /// counts as under way.
    pub fn receiving_in_order(sink: impl Sink + 'static, layout: Layout) -> Job {
        Job::receive(sink, layout, Some(Queue::default()))
    }
    /// A thread writes to `sink`.
    pub fn receiving(sink: impl Sink + 'static, layout: Layout) -> Job {
        Job::receive(sink, layout, None)
    }

    fn receive(mut sink: impl Sink + 'static, layout: Layout, mut queue: Option<Queue>) -> Job {
        let (full, to_store) = channel::<Arrived>();
        let (emptied, empty) = channel();
        let (finish_by, finish) = channel();
        let announced = Arc::new(AtomicU64::new(layout.buffers()));
        let expected = announced.clone();
        let write = move || {
            let mut stored = 0;
            while let Ok(mut some) = to_store.recv() {
                // What came meanwhile goes along: fewer calls, and mostly one run of bytes.
                while some.len() < STORED_AT_ONCE
                    && let Ok(more) = to_store.try_recv()
                {
                    some.extend(more);
                }
                if let Some(queue) = &mut queue {
                    some = queue.pass(some);
                }
                some.sort_unstable_by_key(|(index, _)| *index);
                if let Err(error) = sink.store_all(&some) {
                    let _ = finish_by.send(Err(error.to_string()));
                    return;
                }
                stored += some.len() as u64;
                let _ = emptied.send(some.into_iter().map(|(_, memory)| memory).collect());
                if stored == expected.load(Ordering::SeqCst) {
                    let _ = finish_by.send(sink.finish().map_err(|error| error.to_string()));
                    return;
                }
            }
        };
        Job::Receiving(Receiving {
            layout,
            announced,
            supplied: 0,
            arrived: 0,
            arrived_bytes: 0,
            full: Some(full),
            gathered: Vec::new(),
            empty,
            finish,
            finished: None,
            unstored: 0,
            emptied: Vec::new(),
            early: false,
            invited: false,
            begin: Some(Box::new(write)),
        })
    }

    /// Whether the client has something to do once all is here, of which no closing buffer tells.
    pub fn confirms_last(&self) -> bool {
        matches!(self, Job::Receiving(receiving) if !receiving.layout.closing)
    }
    /// Moves buffers between thread and connection.
    pub fn pump(&mut self, now: Instant, connection: &mut Connection) {
        match self {
            Job::Sending(sending) => sending.pump(connection),
            Job::Receiving(receiving) => receiving.pump(now, connection),
        }
    }
    /// A buffer that was sent belongs to the client again.
    pub fn take_back(&mut self, index: u32, memory: Vec<u8>) {
        if let Job::Sending(sending) = self {
            sending.safe_bytes += sending.layout.payload_in(index.into());
            let _ = sending.empty.send(memory);
        }
    }
    /// A buffer has come; whether it is the last.
    pub fn store(&mut self, index: u32, data: Vec<u8>, last: bool) {
        if let Job::Receiving(receiving) = self {
            receiving.store(index, data, last);
        }
    }
    /// Passes on to the thread what came: all of a look at the network at once, since to wake it up costs as much as to
    /// copy a buffer.
    pub fn pass_on(&mut self) {
        if let Job::Receiving(receiving) = self {
            receiving.pass_on();
        }
    }
    /// Whether the thread is at work and may have something soon.
    pub fn is_busy(&self, connection: &Connection) -> bool {
        match self {
            Job::Sending(sending) => {
                let asked = connection.buffers_permitted() > 0 || sending.is_at_its_end();
                let wanted = connection.buffers_wanted() > 0 && !sending.is_ahead(connection);
                !sending.closed && wanted && asked
            }
            Job::Receiving(receiving) => receiving.unstored > 0 || receiving.awaits_finish(),
        }
    }
    /// How the transfer is cut into buffers; where only L tells, as far as is known.
    pub fn layout(&self) -> Layout {
        match self {
            Job::Sending(sending) => sending.layout,
            Job::Receiving(Receiving { layout, arrived_bytes, .. }) if layout.is_until_last() => {
                let (payload_bytes, content_bytes) = (*arrived_bytes, *arrived_bytes);
                Layout { payload_bytes, content_bytes, ..*layout }
            }
            Job::Receiving(receiving) => receiving.layout,
        }
    }
    /// Bytes of payload that arrived, or are known to have arrived at the other end.
    pub fn done_bytes(&self) -> u64 {
        match self {
            Job::Sending(sending) => sending.safe_bytes,
            Job::Receiving(receiving) => receiving.arrived_bytes,
        }
    }
    /// Of these, what the thread has stored, where this end receives: at least so many.
    pub fn stored_bytes(&self) -> u64 {
        match self {
            Job::Sending(sending) => sending.safe_bytes,
            Job::Receiving(receiving) => {
                let unstored_bytes = receiving.unstored * u64::from(receiving.layout.buffer_bytes);
                receiving.arrived_bytes.saturating_sub(unstored_bytes)
            }
        }
    }
    /// The digest of a file, once it is in its place; at the end that sends, once all was read.
    pub fn digest(&self) -> Option<String> {
        match self {
            Job::Receiving(Receiving { finished: Some(Ok(digest)), .. }) => digest.clone(),
            Job::Receiving(_) => None,
            Job::Sending(sending) => sending.digest.get().cloned(),
        }
    }
    /// What the client came to, once its connection is complete; None while its thread is still at
    /// work. Nobody waits here: other connections live in the calling thread.
    pub fn conclude(&mut self) -> Option<Result<(), String>> {
        let Job::Receiving(receiving) = self else { return Some(Ok(())) };
        receiving.pass_on();
        let (arrived, announced) = (receiving.arrived, receiving.announced());
        if arrived < announced {
            // The thread would wait for the rest for ever.
            receiving.full = None;
            let reason = format!("ended early: {arrived} of {announced} buffers arrived");
            return Some(Err(reason));
        }
        if receiving.finished.is_none() {
            receiving.finished = match receiving.finish.try_recv() {
                Ok(finish) => Some(finish),
                Err(TryRecvError::Empty) => return None,
                Err(TryRecvError::Disconnected) => Some(Err("the writing thread broke".to_owned())),
            };
        }
        Some(receiving.finished.clone()?.map(drop))
    }
}

/// Buffers that wait for those before them.
#[derive(Default)]
struct Queue {
    next: u64,
    waiting: BTreeMap<u64, Vec<u8>>,
}

impl Queue {
    /// Takes some; gives those whose turn it is.
    fn pass(&mut self, some: Vec<(u64, Vec<u8>)>) -> Vec<(u64, Vec<u8>)> {
        self.waiting.extend(some);
        let mut ready = Vec::new();
        while let Some(memory) = self.waiting.remove(&self.next) {
            ready.push((self.next, memory));
            self.next += 1;
        }
        ready
    }
}

/// Buffers of so many bytes, at least one.
fn buffers_in(bytes: usize, layout: &Layout) -> usize {
    (bytes / (layout.buffer_bytes as usize).max(1)).max(1)
}

/// Whether so many buffers with packets to send are enough for now.
fn is_ahead(ready: usize, buffer_bytes: u32, packet_bytes: u16) -> bool {
    let enough_bytes = SEND_AHEAD_BYTES.max(SEND_AHEAD_PACKETS * u64::from(packet_bytes));
    ready as u64 * u64::from(buffer_bytes) >= enough_bytes
}

impl Sending {
    fn is_at_its_end(&self) -> bool {
        self.given == self.layout.buffers()
    }

    fn is_ahead(&self, connection: &Connection) -> bool {
        let ready = connection.buffers_ready();
        connection.terms().is_some_and(|terms| {
            is_ahead(ready, terms.buffer_size_bytes, terms.data_packet_size_bytes)
        })
    }

    fn pump(&mut self, connection: &mut Connection) {
        while connection.buffers_wanted() > 0 && !self.closed {
            if self.is_at_its_end() {
                self.closed = connection.send_buffer(Vec::new(), true).is_ok();
                return;
            }
            // Memory is for those who have room at the other end, not for all who ask.
            if connection.buffers_permitted() == 0 || self.is_ahead(connection) {
                return;
            }
            begin(&mut self.begin);
            let Some((memory, ends)) = self.ready.pop_front() else {
                match self.filled.try_recv() {
                    Ok(Ok(some)) => self.ready.extend(some),
                    Ok(Err(reason)) => return connection.abort(&format!("cannot read: {reason}")),
                    Err(TryRecvError::Empty) => return,
                    Err(TryRecvError::Disconnected) => return connection.abort("the reader broke"),
                }
                continue;
            };
            self.given += 1;
            let last = !self.layout.closing && ends;
            self.closed = last;
            if connection.send_buffer(memory, last).is_err() {
                return connection.abort("a buffer of another size than agreed on");
            }
        }
    }
}

impl Receiving {
    fn announced(&self) -> u64 {
        self.announced.load(Ordering::SeqCst)
    }
    fn awaits_finish(&self) -> bool {
        self.arrived == self.announced() && self.finished.is_none()
    }

    fn store(&mut self, index: u32, memory: Vec<u8>, last: bool) {
        if last && self.layout.is_until_last() {
            self.announced.store(u64::from(index) + 1, Ordering::SeqCst);
        }
        let end = self.announced() - u64::from(!self.layout.closing);
        self.early |= last && u64::from(index) < end;
        // The closing buffer has nothing in it.
        if u64::from(index) < self.announced() {
            self.arrived += 1;
            self.arrived_bytes += match self.layout.is_until_last() {
                true => memory.len() as u64,
                false => self.layout.payload_in(index.into()),
            };
            self.unstored += 1;
            begin(&mut self.begin);
            self.gathered.push((index.into(), memory));
        }
    }

    fn pass_on(&mut self) {
        if !self.gathered.is_empty() {
            let gathered = std::mem::take(&mut self.gathered);
            let _ = self.full.as_ref().map(|full| full.send(gathered));
        }
    }

    fn pump(&mut self, now: Instant, connection: &mut Connection) {
        for memories in self.empty.try_iter() {
            self.unstored -= memories.len() as u64;
            self.emptied.extend(memories);
        }
        // What waits to be written counts as under way: a slow disk slows the sender.
        let most = connection.terms().map_or(0, |terms| terms.max_outstanding_buffers.into());
        while connection.buffers_needed() > 0
            && self.supplied < self.announced()
            && self.unstored < most
        {
            self.supplied += 1;
            connection.supply_buffer(self.emptied.pop().unwrap_or_default());
        }
        if self.finished.is_none() {
            self.finished = self.finish.try_recv().ok();
        }
        match &self.finished {
            Some(Ok(_)) if !self.invited => {
                self.invited = true;
                match self.layout.closing {
                    true => connection.supply_buffer(Vec::new()),
                    false => connection.confirm_last_buffer(now),
                }
            }
            None if self.early && !self.invited => {
                self.invited = true;
                let all = self.announced();
                connection.quit(now, &format!("the last buffer came before {all} had"));
            }
            Some(Err(reason)) if !self.invited => {
                self.invited = true;
                connection.quit(now, reason);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_mebibyte_is_enough_to_send_from_or_two_turns_of_a_station() {
        // 93 x 11,200 = 1,041,600 bytes are less than 2^20; one buffer more is not.
        assert!(!is_ahead(93, 11_200, 1400) && is_ahead(94, 11_200, 1400));
        assert!(!is_ahead(0, u32::MAX, 1) && is_ahead(1, u32::MAX, u16::MAX));
        // 512 packets of 9,000 bytes are 4,608,000: 64 buffers of eight.
        assert!(!is_ahead(63, 72_000, 9000) && is_ahead(64, 72_000, 9000));
    }

    proptest! {
        #[test]
        fn a_queue_gives_everything_once_and_in_order(
            order in Just((0u64..40).collect::<Vec<_>>()).prop_shuffle(), step in 1usize..9
        ) {
            let mut queue = Queue::default();
            let some = order.chunks(step).map(|some| some.iter().map(|at| (*at, vec![*at as u8])));
            let passed: Vec<_> = some.flat_map(|some| queue.pass(some.collect())).collect();
            let expected: Vec<_> = (0..40).map(|at| (at, vec![at as u8])).collect();
            prop_assert_eq!(passed, expected);
        }
    }
}
