//! A processor: it works on one frame after the other, in the order in which they came.

use super::buffer::{Buffer, Room};
use std::collections::VecDeque;
use units::{Duration, Instant};

/// Times at which a processor does something else (housekeeping, routing updates).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Stall {
    /// From the start of one to the start of the next; the first starts so long after time zero.
    pub every: Duration,
    /// How long it lasts; shorter than `every`.
    pub lasts: Duration,
}

/// A time in which others take the processor, so that work takes longer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Slow {
    pub from: Instant,
    pub until: Instant,
    /// So many times as long takes what is begun meanwhile.
    pub times: u64,
}

/// Work for a server.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Work {
    /// To be done on the frame.
    pub service: Duration,
    /// To be done at once as it comes, before everything else, whether the frame is then dropped
    /// or not: the interrupt of a frame received. Where frames come fast enough, nothing else is
    /// done any more (receive livelock; Mogul and Ramakrishnan 1997).
    pub receive: Duration,
    /// Size of the frame, FCS included.
    pub size_bytes: u64,
    /// In which of its queues it waits.
    pub queue: usize,
}

/// So many receptions wait at most; what comes on top is lost for nothing, so that a processor that was
/// flooded is itself again soon afterwards.
const RECEPTIONS_MAX: u64 = 64;

/// One processor with its queues. They share its time first come, first served; each has room of
/// its own.
#[derive(Clone, Debug)]
pub(crate) struct Server<J> {
    stall: Option<Stall>,
    slow: Vec<Slow>,
    buffers: Vec<Buffer>,
    waiting: VecDeque<(Work, J)>,
    in_service: Option<(Instant, J)>,
    /// Until when it has to do with frames just received.
    receiving_until: Instant,
    /// For how long it has worked, and taken on work, since the beginning.
    work: Duration,
}

impl<J> Server<J> {
    /// A server with one queue for each of these rooms.
    pub(crate) fn new(rooms: &[Room], stall: Option<Stall>) -> Self {
        Server {
            stall,
            slow: vec![],
            buffers: rooms.iter().copied().map(Buffer::new).collect(),
            waiting: VecDeque::new(),
            in_service: None,
            receiving_until: Instant::ZERO,
            work: Duration::ZERO,
        }
    }

    /// The same with times in which it is slow.
    pub(crate) fn slow_at(self, slow: Vec<Slow>) -> Self {
        Server { slow, ..self }
    }

    /// Takes on work, or gives it back where its queue is full. Work that ended by `now` is to be
    /// taken off before.
    #[inline]
    pub(crate) fn offer(&mut self, now: Instant, work: Work, job: J) -> Result<(), J> {
        if work.receive > Duration::ZERO {
            self.interrupt(now, work.receive);
        }
        if self.in_service.is_none() {
            let from = now.max(self.receiving_until);
            self.work += work.service;
            self.in_service = Some((self.worked(from, work.service), job));
            return Ok(());
        }
        if !self.buffers[work.queue].take(work.size_bytes) {
            return Err(job);
        }
        self.waiting.push_back((work, job));
        Ok(())
    }

    /// A frame comes in and takes its time, whatever becomes of it; unless so many are being received
    /// that nobody notices it any more.
    pub(crate) fn interrupt(&mut self, now: Instant, work: Duration) {
        let receiving_until = self.receiving_until.max(now);
        if receiving_until.since(now) > work * RECEPTIONS_MAX {
            return;
        }
        self.work += work;
        self.receiving_until = self.worked(receiving_until, work);
        if let Some((done, _)) = &self.in_service {
            let done = self.worked(*done, work);
            if let Some(service) = &mut self.in_service {
                service.0 = done;
            }
        }
    }

    /// When the frame in service is done.
    #[inline]
    pub(crate) fn next_done(&self) -> Option<Instant> {
        self.in_service.as_ref().map(|(done, _)| *done)
    }

    /// The frame that is done by `now`, and when it was; the next one is begun then.
    #[inline]
    pub(crate) fn finish(&mut self, now: Instant) -> Option<(Instant, J)> {
        self.next_done().filter(|done| *done <= now)?;
        let (done, job) = self.in_service.take()?;
        if let Some((work, next)) = self.waiting.pop_front() {
            self.buffers[work.queue].give(work.size_bytes);
            self.work += work.service;
            self.in_service = Some((self.worked(done, work.service), next));
        }
        Some((done, job))
    }

    /// Whether work of this size would be taken on.
    #[inline]
    pub(crate) fn has_room(&self, queue: usize, size_bytes: u64) -> bool {
        self.in_service.is_none() || self.buffers[queue].fits(size_bytes)
    }

    /// Frames that wait in a queue.
    pub(crate) fn waiting_frames(&self, queue: usize) -> u64 {
        self.buffers[queue].frames()
    }

    /// Frames that it keeps: those in its queues, and the one that it works on.
    pub(crate) fn all_kept(&self) -> u64 {
        self.waiting.len() as u64 + u64::from(self.in_service.is_some())
    }

    /// For how long it has worked since the beginning, the frame that it works on included.
    pub(crate) fn work(&self) -> Duration {
        self.work
    }

    /// Forgets all work, as on a crash.
    pub(crate) fn clear(&mut self) {
        self.waiting.clear();
        self.in_service = None;
        self.buffers.iter_mut().for_each(Buffer::clear);
    }

    /// When work begun at `from` is done, stalls in between included.
    #[inline]
    fn worked(&self, from: Instant, work: Duration) -> Instant {
        let slow = self.slow.iter().find(|slow| slow.from <= from && from < slow.until);
        let work = slow.map_or(work, |slow| work * slow.times);
        match self.stall {
            None => from + work,
            Some(stall) => stall.worked(from, work),
        }
    }
}

impl Stall {
    /// When work begun at `from` is done: it goes on outside the stalls only.
    fn worked(self, from: Instant, work: Duration) -> Instant {
        let (every, lasts) = (u128::from(self.every.as_ps()), u128::from(self.lasts.as_ps()));
        let from = u128::from(from.as_ps());
        let (period, into) = (from / every, from % every);
        // The first stall starts at `every`, not at zero.
        let begins = if period > 0 { into.max(lasts) } else { into };
        let until_stall = every - begins;
        let work = u128::from(work.as_ps());
        let at = if work <= until_stall {
            period * every + begins + work
        } else {
            let left = work - until_stall;
            let (whole, rest) = ((left - 1) / (every - lasts), (left - 1) % (every - lasts) + 1);
            (period + 1 + whole) * every + lasts + rest
        };
        Instant::from_ps(u64::try_from(at).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn work(service_us: u64, receive_us: u64) -> Work {
        Work {
            service: Duration::from_us(service_us),
            receive: Duration::from_us(receive_us),
            size_bytes: 64,
            queue: 0,
        }
    }

    fn at_us(us: u64) -> Instant {
        Instant::ZERO + Duration::from_us(us)
    }

    /// Offers a frame each interval for a second; how many are done by then.
    fn done_in_a_second(server: &mut Server<()>, interval_us: u64, work: Work) -> u64 {
        let mut done = 0;
        for frame in 0..1_000_000 / interval_us {
            let now = at_us(frame * interval_us);
            while server.finish(now).is_some() {
                done += 1;
            }
            let _dropped = server.offer(now, work, ());
        }
        done
    }

    #[test]
    fn work_is_done_in_order_and_a_full_queue_refuses() {
        let mut server = Server::new(&[Room::frames(1)], None);
        assert!(server.offer(at_us(0), work(10, 0), 'a').is_ok());
        assert!(server.offer(at_us(1), work(10, 0), 'b').is_ok());
        assert_eq!(server.offer(at_us(2), work(10, 0), 'c'), Err('c'));
        assert_eq!(server.finish(at_us(9)), None);
        assert_eq!(server.finish(at_us(30)), Some((at_us(10), 'a')));
        assert_eq!(server.finish(at_us(30)), Some((at_us(20), 'b')));
        assert_eq!(server.next_done(), None);
    }

    /// Receiving takes 300 us and forwarding 700: 1,000 a second are its limit. At 2,000 a second
    /// receiving takes 0.6 of its time and (1 - 0.6) / 700 us are forwarded; from 1 / 300 us on,
    /// nothing.
    #[test]
    fn a_receive_livelock() {
        let server = || Server::new(&[Room::frames(20)], None);
        assert!(done_in_a_second(&mut server(), 1_000, work(700, 300)) >= 999);
        let at_2000 = done_in_a_second(&mut server(), 500, work(700, 300));
        assert!((570..=572).contains(&at_2000), "{at_2000}");
        assert!(done_in_a_second(&mut server(), 300, work(700, 300)) <= 1);
    }

    /// After ten seconds of a flood whose reception takes more time than there is, a frame waits for the
    /// receptions under way, not for those of the whole flood.
    #[test]
    fn a_flood_is_forgotten_when_it_is_over() {
        let mut server = Server::new(&[Room::frames(1)], None);
        for frame in 0..100_000 {
            let now = at_us(frame * 100);
            while server.finish(now).is_some() {}
            let _dropped = server.offer(now, work(700, 300), ());
        }
        let over = at_us(10_000_000);
        assert!(server.next_done().unwrap().since(over) < Duration::from_ms(30));
    }

    /// Stalled for 20 ms in 100 ms: four fifths of its capacity are left.
    #[test]
    fn a_periodic_stall_takes_its_share() {
        let stall = Stall { every: Duration::from_ms(100), lasts: Duration::from_ms(20) };
        let mut server = Server::new(&[Room::frames(5)], Some(stall));
        let done = done_in_a_second(&mut server, 50, work(100, 0));
        assert!((8_190..=8_202).contains(&done), "the first stall is at 100 ms: {done}");
    }

    /// Work of 10 us takes 40 us from 100 us on, and what is begun at 200 us takes 10 us again.
    #[test]
    fn work_takes_longer_while_others_have_the_processor() {
        let slow = Slow { from: at_us(100), until: at_us(200), times: 4 };
        let server = Server::<()>::new(&[Room::frames(5)], None).slow_at(vec![slow]);
        let done = |from| server.worked(at_us(from), Duration::from_us(10));
        assert_eq!([done(99), done(100), done(199)], [at_us(109), at_us(140), at_us(239)]);
        assert_eq!(done(200), at_us(210));
    }

    #[test]
    fn a_stall_delays_what_it_meets() {
        let stall = Stall { every: Duration::from_us(100), lasts: Duration::from_us(30) };
        assert_eq!(stall.worked(at_us(0), Duration::from_us(50)), at_us(50));
        assert_eq!(stall.worked(at_us(90), Duration::from_us(20)), at_us(140));
        assert_eq!(stall.worked(at_us(110), Duration::from_us(20)), at_us(150));
        assert_eq!(stall.worked(at_us(130), Duration::from_us(100)), at_us(260));
        assert_eq!(stall.worked(at_us(130), Duration::from_us(70 + 3 * 70)), at_us(500));
        assert_eq!(stall.worked(at_us(130), Duration::from_us(70 + 3 * 70 + 1)), at_us(531));
    }
}
