//! What tester and agent tell each other, as JSON. Both are of one version of the program, or the session ends with
//! its first message.

use crate::host_time::UtcReading;
use kernel::InterfaceState;
use ports::clock::Mapping;
use ports::{ArrivalsSoFar, PerhapsFull, PortType, Transmission};
use serde::{Deserialize, Serialize};
use trial::{
    PortDescription, PortId, PortReceived, ReceivePlan, ReceivedSoFar, SentSoFar, StreamId,
    TesterError, TransmitPlan,
};
use units::{FrameSize, Instant, LineRate};

/// What an agent of another version says no to.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
/// A longer message is refused: the frames of a trial are the most there is.
pub const MESSAGE_MAX: usize = 512 << 20;

/// From the tester.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The reply has it, too. Above 0.
    pub id: u64,
    /// What to do.
    pub command: Command,
}

/// What an agent is to do.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Command {
    /// First of all.
    Hello {
        /// Of the tester's program.
        version: String,
    },
    /// Nothing but to read its clock.
    Exchange,
    /// Ask who keeps its host's time of day how well that is kept.
    AskTime,
    /// From now on the agent counts in the tester's time.
    MapClock(Mapping),
    /// Opens a port.
    Lend(Box<Wanted>),
    /// To a port that is lent.
    ToPort(PortId, Box<PortCommand>),
}

/// A port that the tester wants to use.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wanted {
    /// Its number at the tester.
    pub id: PortId,
    /// Its interface.
    pub interface: String,
    /// What is to carry its frames.
    pub port_type: PortType,
    /// Where its driver has no rate to tell.
    pub nominal_rate: LineRate,
    /// Without VLAN tags.
    pub largest_frame: FrameSize,
}

/// What a port is to do.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PortCommand {
    /// Tell the state and counters of its interface.
    State,
    /// Send these single frames at once, given without FCS.
    Send(Vec<Vec<u8>>),
    /// Make ready to send.
    PrepareTransmit(TransmitPlan),
    /// Make ready to receive; frames count from then on.
    PrepareReceive(ReceivePlan),
    /// Begin to receive.
    Receive,
    /// Begin to send.
    Transmit {
        /// When the first frame is due, on the tester's clock.
        start: Instant,
        /// When to end in any case.
        stop_at: Instant,
    },
    /// Tell how the trial goes, and hear what the tester knows of it.
    Poll(Known),
}

/// What the tester knows of a trial under way.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Known {
    /// When the first frame is due.
    pub start: Option<Instant>,
    /// After this arrivals are late.
    pub deadline: Option<Instant>,
    /// Whether transmitters are to end.
    pub stop: bool,
    /// The number of the sample that is asked for.
    pub asked: u64,
    /// Receiving ends: so many frames of each stream were sent.
    pub sent: Option<Vec<(StreamId, u64)>>,
}

/// From the agent.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reply {
    /// That of the request; 0 for what nobody asked for.
    pub id: u64,
    /// The agent's own clock, unconverted, when it had the request and before it replied.
    pub agent_ns: u64,
    /// The agent's time of day beside it, where its host says how well that is kept; it begins at `agent_ns`.
    pub utc: Option<UtcReading>,
    /// By how much its kernel has its clocks run faster than its counter, in parts per 10^9.
    pub pulled_ppb: i64,
    /// What came of it.
    pub answer: Result<Answer, TesterError>,
}

/// What an agent answers.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// It is done, and there is nothing to tell.
    Done,
    /// To [`Command::Hello`].
    Welcome,
    /// To [`Command::Lend`].
    Lent {
        /// The port as it was opened.
        description: PortDescription,
        /// What a reader of its results should know.
        notes: Vec<String>,
    },
    /// To [`PortCommand::State`].
    State(InterfaceState),
    /// To [`PortCommand::Poll`].
    Progress(Box<Progress>),
    /// A frame of the control side has arrived; without FCS.
    Heard(PortId, Vec<u8>),
}

/// How a trial goes at a port.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Progress {
    /// What has arrived so far.
    pub arrivals: ArrivalsSoFar,
    /// The number of the sample below; 0 for none.
    pub sample: u64,
    /// What was sent by then.
    pub sent: Option<SentSoFar>,
    /// What had arrived by then.
    pub received: Vec<ReceivedSoFar>,
    /// What was sent, once when all was.
    pub transmission: Option<Result<Transmission, TesterError>>,
    /// What was received, once when receiving has ended.
    pub account: Option<Result<Received, TesterError>>,
}

/// What a port has received in a trial, and what it says of that.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Received {
    /// The account.
    pub account: PortReceived,
    /// Frames that the tester itself lost, by counter.
    pub drops: Vec<(String, u64)>,
    /// Whether its queue may have been full.
    pub perhaps_full: Option<PerhapsFull>,
    /// What a reader should know.
    pub notes: Vec<String>,
}

/// Reads a request. A plan whose parts do not fit each other is none.
///
/// # Errors
/// What is wrong with it.
pub fn read_request(bytes: &[u8]) -> Result<Request, String> {
    let request: Request = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
    if let Command::ToPort(_, command) = &request.command {
        match &**command {
            PortCommand::PrepareTransmit(plan) => plan.check()?,
            PortCommand::PrepareReceive(plan) => plan.check()?,
            _ => {}
        }
    }
    Ok(request)
}

/// Reads a reply.
///
/// # Errors
/// What is wrong with it.
pub fn read_reply(bytes: &[u8]) -> Result<Reply, String> {
    serde_json::from_slice(bytes).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use traffic::template::FrameTemplate;
    use trial::{Schedule, Stream, Trial};
    use units::{Duration, FrameRate};
    use wire::{ethernet::MacAddr, signature::Key};

    fn trial() -> Trial {
        let end = |n| (MacAddr([2, 0, 0, 0, 0, n]), std::net::Ipv4Addr::new(198, 18, n, 2));
        let frames = FrameTemplate::udp_ipv4(end(0), end(1));
        let (key, size) = (Key::from_seed(1), FrameSize::from_bytes(128));
        let stream = Stream::new(StreamId(1), (PortId(0), PortId(1)), &frames, size, key);
        let schedule = Schedule::constant(FrameRate::from_fps(500), Duration::from_secs(2));
        Trial::new("a trial", key).sending(stream.expect("a stream"), schedule)
    }

    fn request(command: PortCommand) -> Request {
        Request { id: 7, command: Command::ToPort(PortId(1), Box::new(command)) }
    }

    #[test]
    fn plans_come_over_as_they_are() {
        let plan = trial().transmit_plans().expect("plans").remove(0);
        for command in [
            PortCommand::PrepareTransmit(plan),
            PortCommand::PrepareReceive(trial().receive_plan(PortId(1))),
            PortCommand::Poll(Known { sent: Some(vec![(StreamId(1), 9)]), ..Known::default() }),
        ] {
            let sent = request(command);
            let bytes = serde_json::to_vec(&sent).expect("JSON");
            assert_eq!(read_request(&bytes), Ok(sent));
        }
    }

    #[test]
    fn a_plan_that_names_frames_it_does_not_have_is_refused() {
        let plan = trial().transmit_plans().expect("plans").remove(0);
        let bytes =
            serde_json::to_string(&request(PortCommand::PrepareTransmit(plan))).expect("JSON");
        for (from, to) in [
            ("\"offset_bytes\":0", "\"offset_bytes\":18446744073709551615"),
            ("\"period\":1", "\"period\":2"),
            ("\"order\":[0]", "\"order\":[1]"),
        ] {
            assert!(bytes.contains(from), "{bytes}");
            let error = read_request(bytes.replace(from, to).as_bytes()).expect_err(to);
            assert!(!error.is_empty());
        }
        let unknown = bytes.replacen("\"id\":7", "\"id\":7,\"speed\":1", 1);
        assert!(read_request(unknown.as_bytes()).expect_err("unknown").contains("speed"));
    }
}
