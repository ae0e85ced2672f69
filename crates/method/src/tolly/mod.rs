//! The tests of the Torrent IP9000 Gigabit Router (Tolly Group, May 1998, document 8276): routing to a
//! million hosts, multicast to 65,536 groups, multicast in a mesh, and one stream or group for each
//! port; three iterations each, averaged.
//!
//! Every test is of the same kind: a counted number of packets leaves each input port "at wire speed
//! (with a minimum interframe gap)", and each output port counts what comes out.

mod config;
mod layout;
mod multicast;
mod outcome;
mod pictures;
mod published;
mod result;
mod unicast;

pub use config::TollyConfig;
pub use multicast::{Membership, memberships, multicast};
pub(crate) use published::TEST_BED;
pub use result::{TollyIteration, TollyResult, TollyRow};
pub use unicast::{base_unicast, host_behind, internet_scale, routes};

use crate::RunError;
use crate::bench::{Bench, Ran};
use crate::chassis::{ChassisTest, Draft, TestSetup};
use traffic::template::FrameTemplate;
use trial::{Schedule, Segment, StreamFrame, StreamId};
use units::{Duration, FrameRate};
use wire::keepalive;
use wire::signature::Key;

/// Refuses a test that needs more ports than there are.
fn need_ports(rack: &TestSetup<'_>, test: ChassisTest, ports: usize) -> Result<(), RunError> {
    match rack.ports < ports {
        true => Err(RunError::Config(format!(
            "{test} takes {ports} ports, there are {}: take a device with more, or set smaller \
             numbers under `tolly`",
            rack.ports
        ))),
        false => Ok(()),
    }
}

/// One of several rows of a test: who sends to whom, how fast.
struct Row<'a> {
    test: ChassisTest,
    inputs: usize,
    outputs: usize,
    streams: usize,
    /// Of each input, in percent of its medium.
    load_percent: f64,
    /// Sets up what a trial at this rate needs.
    prepare: &'a Prepare<'a>,
    /// Adds streams and what each port sends.
    build: &'a dyn Fn(&mut Draft, FrameRate) -> Result<(), RunError>,
}

type Prepare<'a> = dyn Fn(&mut Bench<'_>, FrameRate) -> Result<(), RunError> + 'a;

impl Row<'_> {
    /// Runs it as often as is asked for.
    fn run(&self, bench: &mut Bench<'_>, rack: &TestSetup<'_>) -> Result<TollyRow, RunError> {
        let mut row = TollyRow {
            inputs: self.inputs,
            outputs: self.outputs,
            streams: self.streams,
            load_percent: self.load_percent,
            intended: rack.rate_of(self.load_percent),
            iterations: vec![],
            invalid: vec![],
            upper: None,
        };
        for iteration in 1..=rack.config.chassis.tolly.iterations {
            let ran = self.once(bench, rack, self.load_percent, iteration)?;
            row.take(&ran, rack);
        }
        Ok(row)
    }

    fn once(
        &self,
        bench: &mut Bench<'_>,
        rack: &TestSetup<'_>,
        load_percent: f64,
        iteration: u32,
    ) -> Result<Ran, RunError> {
        let Row { test, inputs, outputs, .. } = self;
        let size = rack.size;
        let label =
            format!("{test} {inputs}x{outputs}, {size} bytes, {iteration}: {load_percent:.3} %");
        let rate = rack.rate_of(load_percent);
        (self.prepare)(bench, rate)?;
        rack.run(bench, *test, &label, rate, &|draft| (self.build)(draft, rate))
    }
}

/// The host at a port makes itself known to the router.
fn say_hello(draft: &mut Draft, rack: &TestSetup<'_>, port: usize) {
    let host = rack.port(port);
    let frames = keepalive::arp((host.mac, host.host_ipv4), host.device_ipv4).frames;
    draft.say(rack, port, frames, Duration::from_secs_f64(rack.config.trial.learning_wait_s));
}

/// Every frame of a template's period, signed.
fn frames_of(
    rack: &TestSetup<'_>,
    template: &FrameTemplate,
    (key, id): (Key, StreamId),
) -> Result<Vec<StreamFrame>, RunError> {
    let prepared = template.prepare(rack.size, Some((key, id.0)))?;
    let frame = |index| StreamFrame { bytes: prepared.frame(index), form: prepared.form() };
    Ok((0..prepared.period()).map(frame).collect())
}

fn constant(rate: FrameRate, frames: u64) -> Schedule {
    Schedule { segments: vec![Segment::constant(rate, frames)] }
}
