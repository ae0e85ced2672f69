//! Two hosts, what is between them, and programs that run on them.

use crate::Failure;
use link::{RealTimeLink, WayCounts};
use netblt_studies::paths::LinkModel;
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use std::io::{BufRead, BufReader, Read, Seek};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};
use testbed::TwoHosts;

/// The server is on the right, the client on the left.
pub const CLIENT: usize = 0;
pub const SERVER: usize = 1;
/// A server says something by then.
const START: Duration = Duration::from_secs(10);

/// Two hosts with a cable or a link between them.
pub struct Lab {
    hosts: TwoHosts,
    link: Option<RealTimeLink>,
}

impl Lab {
    /// A veth pair as the kernel makes it.
    pub fn joined() -> Result<Lab, Failure> {
        Ok(Lab { hosts: TwoHosts::joined()?, link: None })
    }
    /// A real-time link, the same both ways.
    pub fn linked(model: &LinkModel, seed: u64) -> Result<Lab, Failure> {
        let hosts = TwoHosts::apart()?;
        let link = RealTimeLink::start(&hosts, [model.clone(), model.clone()], seed)?;
        Ok(Lab { hosts, link: Some(link) })
    }

    /// A program on a host.
    pub fn command(&self, host: usize, program: &Path) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", self.hosts.host(host).name()]).arg(program);
        command
    }

    /// Whether what is between the hosts did what its model says, and in time.
    pub fn is_faithful(&self) -> bool {
        self.link.as_ref().is_none_or(|link| link.counts().iter().all(WayCounts::is_faithful))
    }
    /// Frames that the link's program lost itself.
    pub fn lost_by_program(&self) -> u64 {
        let lost = |counts: WayCounts| counts.missed_frames + counts.refused_frames;
        self.link.as_ref().map_or(0, |link| link.counts().into_iter().map(lost).sum())
    }
}

/// A server that is killed when it is dropped.
pub struct Server {
    child: Child,
    /// Kept open, or what it says later would end it.
    _said: Option<Box<dyn BufRead + Send>>,
}

impl Server {
    /// Started in silence.
    pub fn spawn(command: &mut Command) -> Result<Server, Failure> {
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        Ok(Server { child, _said: None })
    }
    /// Started, once a line on standard error or output has said so.
    pub fn start(command: &mut Command, on_stderr: bool) -> Result<Server, Failure> {
        let (out, err) = match on_stderr {
            true => (Stdio::null(), Stdio::piped()),
            false => (Stdio::piped(), Stdio::null()),
        };
        let mut child = command.stdout(out).stderr(err).spawn()?;
        let mut said: Box<dyn BufRead + Send> = match (child.stderr.take(), child.stdout.take()) {
            (Some(err), _) => Box::new(BufReader::new(err)),
            (None, Some(out)) => Box::new(BufReader::new(out)),
            (None, None) => Box::new(std::io::empty()),
        };
        let (heard_by, heard) = channel();
        thread::spawn(move || {
            let mut line = String::new();
            let spoke = said.read_line(&mut line).is_ok() && !line.is_empty();
            let _ = heard_by.send(spoke.then_some(said));
        });
        let said = heard.recv_timeout(START).ok().flatten();
        let server = Server { child, _said: said };
        match server._said {
            None => Err(format!("{command:?} did not start").into()),
            Some(_) => Ok(server),
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What a program printed, if it ended well and in time; if not, it is killed.
pub fn output(command: &mut Command, limit: Duration) -> Result<String, Failure> {
    // Files, unlike pipes, are never full.
    let (mut out, mut err) = (tempfile::tempfile()?, tempfile::tempfile()?);
    let mut child = command.stdout(out.try_clone()?).stderr(err.try_clone()?).spawn()?;
    let started = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if started.elapsed() > limit {
            child.kill()?;
            child.wait()?;
            return Err(format!("not over after {} s", limit.as_secs()).into());
        }
        thread::sleep(Duration::from_millis(10));
    };
    let (mut said, mut complaint) = (String::new(), String::new());
    out.rewind()?;
    out.read_to_string(&mut said)?;
    err.rewind()?;
    err.read_to_string(&mut complaint)?;
    match status.success() {
        true => Ok(said),
        false => Err(format!("{command:?}: {said}{complaint}").into()),
    }
}

/// Processor time of all programs that have ended, in the system and outside, in seconds.
pub fn processor_s() -> Result<f64, Failure> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    let time = usage.user_time().num_microseconds() + usage.system_time().num_microseconds();
    Ok(time as f64 / 1e6)
}
