//! Everything in turn, round after round, so that whatever changes on the machine meanwhile
//! changes for all alike.

use crate::bed::{Bed, Sink};
use crate::competitor::{Arena, receive_with_testpmd};
use crate::error::{BenchError, Result};
use crate::frame_building;
use crate::memif::{self, MemifRate, Sender, Way};
use crate::netanvil::Netanvil;
use crate::options::{Options, Part};
use crate::pacing::{self, Pace};
use crate::queues::{self, QueueRate};
use crate::results::{Exchange, Pacing, Results, TransmitOnly, TransmitReceive};
use crate::say;
use crate::spinning;
use crate::subject::{SIZES_BYTES, Subject};
use crate::targets;
use crate::window::Window;

/// A run in progress.
pub struct Suite<'a> {
    /// What was asked for.
    pub options: &'a Options,
    /// What competitors are run with.
    pub arena: Arena<'a>,
    /// What there is so far.
    pub results: Results,
}

impl Suite<'_> {
    /// Measures everything. Whatever cannot be measured is named among the failures; only an
    /// interruption ends the run early, and what there is by then is kept.
    pub fn run(mut self) -> (Results, bool) {
        let interrupted = matches!(self.all_rounds(), Err(BenchError::Interrupted));
        self.results.verdicts = targets::judge(&self.results);
        (self.results, interrupted)
    }

    fn all_rounds(&mut self) -> Result<()> {
        for round in 1..=self.options.rounds {
            for size_bytes in SIZES_BYTES {
                for subject in self.generators() {
                    self.transmit_only(round, subject, size_bytes)?;
                    self.transmit_receive(round, subject, size_bytes)?;
                }
            }
            for subject in self.generators().into_iter().filter(|s| s.port_type().is_some()) {
                self.pacing(round, subject)?;
            }
            self.memif(round)?;
            self.queues(round)?;
            self.spinning(round)?;
        }
        if self.options.wants(Subject::FrameBuilding) {
            say("frame building");
            let measured = frame_building::measure(self.arena.cores[0]);
            let measured = self.keep("frame building", measured)?;
            self.results.frame_building = measured.unwrap_or_default();
        }
        Ok(())
    }

    fn generators(&self) -> Vec<Subject> {
        let wanted = |subject: &Subject| self.options.wants(*subject);
        Subject::GENERATORS.into_iter().filter(wanted).collect()
    }

    fn transmit_only(&mut self, round: u32, subject: Subject, size_bytes: u32) -> Result<()> {
        if !self.options.has(Part::Transmit) {
            return Ok(());
        }
        let Some(sent_bytes) = subject.sent_size_bytes(size_bytes) else { return Ok(()) };
        for sink in subject.sinks() {
            let case = format!("{subject}, {sent_bytes} bytes, transmit only to {sink}");
            self.say(round, &case);
            let window = self.watch_transmission(subject, size_bytes, *sink);
            let Some(window) = self.keep(&case, window)? else { continue };
            say(&format!("    {:.2} M frames/s", window.arrived_fps() / 1e6));
            let all = &mut self.results.transmit_only;
            let known = all.iter_mut().find(|known| {
                (known.subject, known.size_bytes, known.sink) == (subject, sent_bytes, *sink)
            });
            match known {
                Some(known) => known.rounds.push(window),
                None => all.push(TransmitOnly {
                    subject,
                    size_bytes: sent_bytes,
                    sink: *sink,
                    rounds: vec![window],
                }),
            }
        }
        Ok(())
    }

    fn watch_transmission(&self, subject: Subject, size_bytes: u32, sink: Sink) -> Result<Window> {
        let bed = Bed::build()?;
        bed.put_sink(sink, self.arena.helpers.sink())?;
        match subject.port_type() {
            Some(_) => {
                Netanvil::open(&bed, subject, false, &self.arena.stop)?.transmit_only(size_bytes)
            }
            None => self.arena.transmit_only(subject, &bed, size_bytes),
        }
    }

    fn transmit_receive(&mut self, round: u32, subject: Subject, size_bytes: u32) -> Result<()> {
        if !subject.receives() || !self.options.has(Part::Exchange) {
            return Ok(());
        }
        let case = format!("{subject}, {size_bytes} bytes, transmit to receive");
        self.say(round, &case);
        let exchange = self.exchange(subject, size_bytes);
        let Some(exchange) = self.keep(&case, exchange)? else { return Ok(()) };
        say(&format!(
            "    {:.2} M frames/s sent, {:.2} received, {:.2} without loss",
            exchange.sent_fps() / 1e6,
            exchange.received_fps() / 1e6,
            exchange.no_loss_fps().unwrap_or(f64::NAN) / 1e6
        ));
        let all = &mut self.results.transmit_receive;
        match all.iter_mut().find(|case| (case.subject, case.size_bytes) == (subject, size_bytes)) {
            Some(known) => known.rounds.push(exchange),
            None => all.push(TransmitReceive { subject, size_bytes, rounds: vec![exchange] }),
        }
        Ok(())
    }

    fn exchange(&self, subject: Subject, size_bytes: u32) -> Result<Exchange> {
        let bed = Bed::build()?;
        if subject.port_type().is_none() {
            let received = receive_with_testpmd(&self.arena, subject, &bed, size_bytes)?;
            return Ok(Exchange::Testpmd(received));
        }
        let mut netanvil = Netanvil::open(&bed, subject, true, &self.arena.stop)?;
        let flat_out = netanvil.flat_out(size_bytes)?;
        let no_loss_fps = match flat_out.lost_frames + flat_out.dropped_frames {
            0 => flat_out.sent_fps,
            _ => netanvil.no_loss_fps(size_bytes, flat_out.sent_fps)?,
        };
        Ok(Exchange::Netanvil { flat_out, no_loss_fps })
    }

    fn pacing(&mut self, round: u32, subject: Subject) -> Result<()> {
        if !self.options.has(Part::Pacing) {
            return Ok(());
        }
        let case = format!("{subject}, pacing");
        self.say(round, &case);
        let measured =
            Bed::build().and_then(|bed| pacing::measure(&bed, subject, &self.arena.stop));
        let Some(measured) = self.keep(&case, measured)? else { return Ok(()) };
        for (rate_fps, pace) in measured {
            self.add_pace(subject, rate_fps, pace);
        }
        Ok(())
    }

    fn memif(&mut self, round: u32) -> Result<()> {
        if !self.options.has(Part::Memif) {
            return Ok(());
        }
        for (way, size_bytes) in
            Way::ALL.into_iter().flat_map(|way| SIZES_BYTES.map(|size| (way, size)))
        {
            for sender in [Sender::Testpmd, Sender::Netanvil] {
                let case = format!("{sender:?} over memif {}, {size_bytes} bytes", way.name());
                self.say(round, &case);
                let measured = memif::measure(&self.arena, way, sender, size_bytes);
                let Some(fps) = self.keep(&case, measured)? else { continue };
                say(&format!("    {:.2} M frames/s", fps / 1e6));
                let all = &mut self.results.memif;
                let same = |known: &&mut MemifRate| {
                    (known.way, known.sender, known.size_bytes) == (way, sender, size_bytes)
                };
                match all.iter_mut().find(same) {
                    Some(known) => known.rounds_fps.push(fps),
                    None => all.push(MemifRate { way, sender, size_bytes, rounds_fps: vec![fps] }),
                }
            }
        }
        Ok(())
    }

    fn queues(&mut self, round: u32) -> Result<()> {
        if !self.options.has(Part::Queues) {
            return Ok(());
        }
        let wanted = queues::SUBJECTS.into_iter().filter(|subject| self.options.wants(*subject));
        let cases: Vec<_> = wanted
            .flat_map(|subject| SIZES_BYTES.map(|size| (subject, size)))
            .flat_map(|(subject, size)| queues::QUEUES.map(|number| (subject, size, number)))
            .collect();
        for (subject, size_bytes, number) in cases {
            let case = format!("{subject}, {size_bytes} bytes, queues that send: {number}");
            self.say(round, &case);
            let measured = queues::measure(&self.arena, subject, number, size_bytes);
            let Some(measured) = self.keep(&case, measured)? else { continue };
            say(&format!("    {:.2} M frames/s received", measured.received_fps / 1e6));
            let all = &mut self.results.queues;
            let same = |known: &&mut QueueRate| {
                (known.subject, known.queues, known.size_bytes) == (subject, number, size_bytes)
            };
            match all.iter_mut().find(same) {
                Some(known) => known.rounds.push(measured),
                None => {
                    let rounds = vec![measured];
                    all.push(QueueRate { subject, queues: number, size_bytes, rounds });
                }
            }
        }
        Ok(())
    }

    fn spinning(&mut self, round: u32) -> Result<()> {
        if self.options.has(Part::Pacing) {
            self.say(round, "a bare spinning thread");
            let measured = spinning::measure(self.arena.cores[0]);
            let measured = self.keep("a bare spinning thread", measured)?;
            self.results.spinning.extend(measured);
        }
        Ok(())
    }

    fn add_pace(&mut self, subject: Subject, rate_fps: u64, pace: Pace) {
        let all = &mut self.results.pacing;
        match all.iter_mut().find(|case| (case.subject, case.rate_fps) == (subject, rate_fps)) {
            Some(known) => known.rounds.push(pace),
            None => all.push(Pacing { subject, rate_fps, rounds: vec![pace] }),
        }
    }

    /// Keeps what was measured; a failure is put on record and the run goes on, unless somebody
    /// wants to stop.
    fn keep<T>(&mut self, case: &str, measured: Result<T>) -> Result<Option<T>> {
        let stopped = self.arena.stop.load(std::sync::atomic::Ordering::Relaxed);
        match measured {
            _ if stopped => Err(BenchError::Interrupted),
            Ok(measured) => Ok(Some(measured)),
            Err(error) => {
                say(&format!("    failed: {error}"));
                self.results.failures.push(format!("{case}: {error}"));
                Ok(None)
            }
        }
    }

    fn say(&self, round: u32, case: &str) {
        say(&format!("round {round} of {}: {case}", self.options.rounds));
    }
}
