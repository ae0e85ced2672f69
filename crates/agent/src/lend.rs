//! One session on the agent's side: which ports are lent, and which thread serves each.

use crate::host_time::HostTime;
use crate::message::{Answer, Command, Reply, Request, VERSION, Wanted};
use crate::worker::Worker;
use ports::{PortRequest, clock, cores};
use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use tokio::sync::mpsc::UnboundedSender;
use tonic::Status;
use trial::{PortId, TesterError};

/// Where replies go, and what their times are read with.
#[derive(Clone)]
pub(crate) struct Replies {
    /// To the tester.
    pub to_tester: UnboundedSender<Result<Reply, Status>>,
    /// This host's time of day.
    pub time: Arc<HostTime>,
}

/// What an agent has to lend.
pub(crate) struct Lender {
    host: String,
    offered: Vec<String>,
    /// Whether a session has it. There is one clock to convert, and so one session at a time.
    taken: Mutex<bool>,
    freed: Condvar,
}

impl Lender {
    pub fn new(host: String, offered: Vec<String>) -> Self {
        Lender { host, offered, taken: Mutex::new(false), freed: Condvar::new() }
    }

    /// A session begins.
    pub fn begin(self: Arc<Self>, replies: Replies) -> Loan {
        Loan { lender: self, replies, is_welcome: false, workers: BTreeMap::new() }
    }

    /// Waits until no port is lent.
    pub fn await_free(&self) {
        let taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        drop(self.freed.wait_while(taken, |taken| *taken));
    }

    fn take(&self) -> bool {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        !std::mem::replace(&mut *taken, true)
    }

    fn free(&self) {
        *self.taken.lock().unwrap_or_else(PoisonError::into_inner) = false;
        self.freed.notify_all();
    }
}

/// A session: what it has borrowed goes back when it is dropped.
pub(crate) struct Loan {
    lender: Arc<Lender>,
    replies: Replies,
    is_welcome: bool,
    workers: BTreeMap<PortId, Worker>,
}

impl Loan {
    /// Carries out a request, or passes it to the thread of its port, which replies.
    pub fn take(&mut self, Request { id, command }: Request) {
        let answer = match command {
            Command::Hello { version } => self.hello(&version),
            _ if !self.is_welcome => Err(bad("a session begins with a hello")),
            Command::Exchange => Ok(Answer::Done),
            Command::AskTime => {
                self.replies.time.ask();
                Ok(Answer::Done)
            }
            Command::MapClock(mapping) => {
                clock::map(mapping);
                Ok(Answer::Done)
            }
            Command::Lend(wanted) => return self.lend(id, *wanted),
            Command::ToPort(port, command) => match self.workers.get(&port) {
                Some(worker) => return worker.take(id, *command),
                None => Err(bad("the port is not lent")),
            },
        };
        reply(&self.replies, id, answer);
    }

    fn hello(&mut self, version: &str) -> Result<Answer, TesterError> {
        let host = &self.lender.host;
        if version != VERSION {
            return Err(TesterError::System {
                what: format!("begin a session with the agent on {host}"),
                detail: format!(
                    "it is netanvil {VERSION} and this is netanvil {version}; install the same version on both"
                ),
            });
        }
        if !self.is_welcome && !self.lender.take() {
            return Err(TesterError::System {
                what: format!("begin a session with the agent on {host}"),
                detail: "its ports are lent to another tester, or are being given back; wait until that has ended"
                    .into(),
            });
        }
        self.is_welcome = true;
        Ok(Answer::Welcome)
    }

    fn lend(&mut self, id: u64, wanted: Wanted) {
        let refuse = |answer| reply(&self.replies, id, Err(answer));
        let Lender { host, offered, .. } = &*self.lender;
        if !offered.contains(&wanted.interface) {
            return refuse(TesterError::System {
                what: format!("borrow {} of {host}", wanted.interface),
                detail: format!(
                    "its agent lends {} only; name the port there: netanvil agent --ports ...",
                    offered.join(", ")
                ),
            });
        }
        if !wanted.port_type.has_interface() {
            return refuse(TesterError::Unsupported {
                port: format!("{host}:{}", wanted.interface),
                what: format!("a {} port of another host", wanted.port_type),
                remedy: "use xdp, af_xdp or af_packet there".into(),
            });
        }
        if self.workers.contains_key(&wanted.id) {
            return refuse(bad("a port of this number is lent"));
        }
        let request = PortRequest {
            id: wanted.id,
            interface: wanted.interface,
            nominal_rate: wanted.nominal_rate,
            largest_frame: wanted.largest_frame,
            port_type: wanted.port_type,
            queues: 1,
        };
        let worker = Worker::start(request, id, self.replies.clone());
        self.workers.insert(wanted.id, worker);
        let ports: Vec<PortId> = self.workers.keys().copied().collect();
        let plan = cores::plan(&kernel::thread::allowed_cores(), &ports, &ports, &[]);
        for (port, worker) in &self.workers {
            let sends = plan.transmit.get(port).and_then(|cores| cores.first().copied());
            let receives = plan.receive.get(port).and_then(|cores| cores.first().copied());
            worker.place(sends, receives);
        }
    }
}

impl Drop for Loan {
    fn drop(&mut self) {
        if !self.is_welcome {
            return;
        }
        let workers = std::mem::take(&mut self.workers);
        let lender = self.lender.clone();
        // Ports close in their own time, and not on the thread that serves connections.
        std::thread::spawn(move || {
            workers.into_values().for_each(Worker::end);
            lender.free();
        });
    }
}

/// Sends a reply with the time; nobody waits for it where the session has ended.
pub(crate) fn reply(replies: &Replies, id: u64, answer: Result<Answer, TesterError>) {
    let utc = replies.time.read();
    let agent_ns = utc.map_or_else(clock::own_ns, |utc| utc.before_ns);
    let pulled_ppb = replies.time.pulled_ppb();
    let _ = replies.to_tester.send(Ok(Reply { id, agent_ns, utc, pulled_ppb, answer }));
}

fn bad(what: &str) -> TesterError {
    TesterError::BadTrial(what.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

    fn loan(lender: &Arc<Lender>) -> (Loan, UnboundedReceiver<Result<Reply, Status>>) {
        let (to_tester, heard) = unbounded_channel();
        let replies = Replies { to_tester, time: Arc::new(HostTime::of_this_host()) };
        (lender.clone().begin(replies), heard)
    }

    fn said(heard: &mut UnboundedReceiver<Result<Reply, Status>>) -> Result<Answer, TesterError> {
        heard.try_recv().expect("a reply").expect("no status").answer
    }

    #[test]
    fn a_tester_of_another_version_is_told_what_to_do() {
        let lender = Arc::new(Lender::new("lab-b".into(), vec!["eth1".into()]));
        let (mut loan, mut heard) = loan(&lender);
        loan.take(Request { id: 1, command: Command::Hello { version: "0.0.9".into() } });
        let error = said(&mut heard).expect_err("another version").to_string();
        assert!(error.contains("0.0.9") && error.contains("same version on both"), "{error}");
        // Nor does it get anything else.
        loan.take(Request { id: 2, command: Command::Exchange });
        assert!(said(&mut heard).is_err());
    }

    #[test]
    fn one_tester_at_a_time_has_the_ports() {
        let lender = Arc::new(Lender::new("lab-b".into(), vec!["eth1".into()]));
        let hello = || Request { id: 1, command: Command::Hello { version: VERSION.into() } };
        let ((mut first, mut to_first), (mut second, mut to_second)) =
            (loan(&lender), loan(&lender));
        first.take(hello());
        assert!(matches!(said(&mut to_first), Ok(Answer::Welcome)));
        second.take(hello());
        let error = said(&mut to_second).expect_err("taken").to_string();
        assert!(error.contains("another tester"), "{error}");
        drop(first);
        lender.await_free();
        second.take(hello());
        assert!(said(&mut to_second).is_ok());
    }
}
