//! A trial in a few lines: a stream of one template's frames, and a trial that sends it.

use crate::{
    Expectation, PortId, PortLoad, Role, Schedule, Stream, StreamFrame, StreamId, Trial,
    ValidityLimits, Waits,
};
use traffic::template::{BuildError, FrameTemplate};
use units::FrameSize;
use wire::signature::Key;

impl Stream {
    /// Test frames of one size (FCS included) from one port to another: one period of the template's
    /// modifiers, with room for the signatures of the trial that `key` belongs to.
    ///
    /// # Errors
    /// If the headers and the signature do not fit into the size, or the size not into the protocol.
    pub fn new(
        id: StreamId,
        (from, to): (PortId, PortId),
        template: &FrameTemplate,
        size: FrameSize,
        key: Key,
    ) -> Result<Stream, BuildError> {
        let prepared = template.prepare(size, Some((key, id.0)))?;
        let frame = |index| StreamFrame { bytes: prepared.frame(index), form: prepared.form() };
        Ok(Stream {
            id,
            name: format!("{from} to {to}"),
            role: Role::Test,
            from,
            expect: Expectation::Ports(vec![to]),
            frames: (0..prepared.period()).map(frame).collect(),
            fingerprint: None,
            given_up: template.given_up(size).into_iter().map(String::from).collect(),
            bad_fcs: false,
            grows_by_bytes: 0,
        })
    }
}

impl Trial {
    /// A trial that sends nothing yet, with the waits of RFC 2544 section 23, the usual bounds of
    /// validity, and transport checksums verified.
    pub fn new(label: impl Into<String>, key: Key) -> Trial {
        Trial {
            label: label.into(),
            key,
            streams: vec![],
            loads: vec![],
            prelude: vec![],
            waits: Waits::RFC2544,
            tagging: None,
            count_flows: false,
            verify_payload: true,
            action: None,
            captures: vec![],
            limits: ValidityLimits::default(),
        }
    }

    /// The same with this stream sent by its port. A port has one load: a tester refuses a second
    /// stream from the same port that is added so.
    pub fn sending(mut self, stream: Stream, schedule: Schedule) -> Trial {
        let (port, order) = (stream.from, vec![stream.id]);
        self.loads.push(PortLoad { port, schedule, order, insertions: vec![] });
        self.streams.push(stream);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;
    use traffic::modifier::{Field, Modifier, Pattern};
    use units::{Duration, FrameRate};
    use wire::ethernet::MacAddr;

    fn template() -> FrameTemplate {
        let end = |n| (MacAddr([2, 0, 0, 0, 0, n]), Ipv4Addr::new(198, 18, n, 2));
        FrameTemplate::udp_ipv4(end(0), end(1))
    }

    fn stream(size: u32, template: &FrameTemplate) -> Result<Stream, BuildError> {
        let ports = (PortId(0), PortId(1));
        let size = FrameSize::from_bytes(size);
        Stream::new(StreamId(1), ports, template, size, Key::from_seed(1))
    }

    #[test]
    fn a_stream_has_the_period_of_its_template() {
        let frames = stream(128, &template()).unwrap().frames;
        assert_eq!((frames.len(), frames[0].bytes.len()), (1, 124), "without FCS");
        let ports = Pattern::Increment { start: 7, step: 1, count: 8 };
        let eight = Modifier::new(Field::UdpDst, ports);
        let frames = stream(128, &template().modifier(eight)).unwrap().frames;
        let mut all: Vec<_> = frames.iter().map(|frame| &frame.bytes).collect();
        all.dedup();
        assert_eq!(all.len(), 8);
    }

    #[test]
    fn what_does_not_fit_is_an_error() {
        assert!(stream(40, &template()).is_err());
    }

    #[test]
    fn what_is_added_is_sent() {
        let schedule = Schedule::constant(FrameRate::from_fps(1_000), Duration::from_secs(2));
        let trial = Trial::new("a trial", Key::from_seed(1));
        assert!(!trial.expects_arrivals());
        let trial = trial.sending(stream(64, &template()).unwrap(), schedule);
        assert!(trial.expects_arrivals());
        let plan = &trial.transmit_plans().unwrap()[0];
        assert_eq!((plan.port, plan.schedule.frames()), (PortId(0), 2_000));
    }
}
