//! The far end: started by a remote shell, and where its packets go to.

use super::place::bare;
use crate::failure::{Failure, Outcome};
use crate::interrupt::{self, Signalled};
use netblt_io::copy::control::{Message, Request, Teller, VERSION, hear};
use netblt_io::copy::names::shown;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::io::BufReader;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How long the far end has to end by itself.
const PATIENCE: Duration = Duration::from_secs(5);

/// The far end's process here: the remote shell. Killed when dropped.
pub struct Far {
    child: Child,
    words: Vec<String>,
    host: String,
    pub teller: Teller,
    pub output: Option<BufReader<ChildStdout>>,
    /// It has answered, or is not waited for any more.
    settled: Arc<AtomicBool>,
    signalled: Signalled,
}

/// How often a signal is looked for while nobody answers, and how long the remote shell then has to end.
const PAUSE: Duration = Duration::from_millis(50);
const GRACE: Duration = Duration::from_secs(1);

/// Ends the remote shell at a signal: until the far end answers, this end waits for its words and for nothing else. What
/// the shell has started may hold on to its output; then this program ends without it.
fn end_at_signal(child: &Child, signalled: Signalled, settled: Arc<AtomicBool>) {
    let shell = Pid::from_raw(child.id().cast_signed());
    std::thread::spawn(move || {
        let is_settled = || settled.load(Ordering::SeqCst);
        while !is_settled() && !signalled.stop() {
            std::thread::sleep(PAUSE);
        }
        if !is_settled() {
            let _ = kill(shell, Signal::SIGTERM);
            std::thread::sleep(GRACE);
        }
        if !is_settled() {
            let _ = kill(shell, Signal::SIGKILL);
            interrupt::force(UNANSWERED);
        }
    });
}

const UNANSWERED: &str = "interrupted before the other end had answered";

impl Far {
    /// Starts it; it greets.
    pub fn start(rsh: &str, host: &str, program: &str, signalled: &Signalled) -> Outcome<Far> {
        let words = shlex::split(rsh).filter(|words| !words.is_empty()).ok_or_else(|| {
            Failure::new(format!("no command: --rsh {rsh:?}"))
                .help("for example --rsh 'ssh -p 2222'")
        })?;
        let mut command = Command::new(&words[0]);
        command
            .args(&words[1..])
            .args([&bare(host), program, "netblt", "copy", "--server"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut child = command.spawn().map_err(|error| {
            Failure::new(format!("cannot start {}: {error}", words[0]))
                .help("--rsh says how to reach the other host")
        })?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(Failure::new("the remote shell has no standard input or output"));
        };
        let (teller, output) = (Teller::new(input), Some(BufReader::new(output)));
        let (host, settled, signalled) = (bare(host), Arc::default(), signalled.clone());
        end_at_signal(&child, signalled.clone(), Arc::clone(&settled));
        let mut far = Far { child, words, host, teller, output, settled, signalled };
        far.greeted(program)?;
        Ok(far)
    }

    fn greeted(&mut self, program: &str) -> Outcome<()> {
        match self.hear() {
            // Of two versions the lower is used; the first is the lowest there is.
            Ok(Some(Message::Greeting { copy, .. })) if copy >= VERSION => Ok(()),
            Ok(Some(Message::Greeting { copy, program })) => Err(Failure::new(format!(
                "the other end is netanvil {}, which speaks version {copy} of copies, and not {VERSION}",
                shown(program.as_bytes())
            ))),
            Ok(Some(_)) => Err(Failure::new("the other end does not greet")),
            Ok(None) if self.signalled.stop() => Err(Failure::new(UNANSWERED)),
            Ok(None) => {
                let status = self.status();
                Err(Failure::new(format!("{} {} ended: {status}", self.words[0], self.host))
                    .help(format!("is {program} installed there? --remote-program gives its path")))
            }
            Err(error) => Err(Failure::new(format!(
                "the other end is no netanvil, or its shell talks: {error}"
            ))
            .help(format!(
                "this must print nothing: {} {} true",
                self.words.join(" "),
                self.host
            ))),
        }
    }

    fn hear(&mut self) -> std::io::Result<Option<Message>> {
        self.output.as_mut().map_or(Ok(None), hear)
    }

    /// How it ended.
    pub fn status(&mut self) -> String {
        let started = Instant::now();
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) => return status.to_string(),
                _ if started.elapsed() > PATIENCE => {
                    let _ = self.child.kill();
                    return "it was stopped".to_owned();
                }
                _ => std::thread::sleep(Duration::from_millis(10)),
            }
        }
    }

    /// Asks it to go to work; gives the port on which it listens, and its address as it knows it.
    pub fn ask(&mut self, request: Request) -> Outcome<(u16, Option<IpAddr>)> {
        let lost = |error: std::io::Error| Failure::new(format!("the other end is gone: {error}"));
        self.teller.tell(&Message::Request(Box::new(request))).map_err(lost)?;
        let answer = self.hear().map_err(lost)?;
        self.settled.store(true, Ordering::SeqCst);
        match answer {
            Some(Message::Listening { port, address }) => {
                Ok((port, address.and_then(|address| address.parse().ok())))
            }
            Some(Message::Failure(reason)) => {
                Err(Failure::new(format!("{}: {}", self.host, shown(reason.as_bytes()))))
            }
            Some(_) => Err(Failure::new("the other end answers something else")),
            None => Err(Failure::new(format!("the other end is gone: {}", self.status()))),
        }
    }

    /// Where packets go to: the address that the remote shell uses, as far as that can be known.
    pub fn address(
        &self,
        udp_host: Option<&str>,
        told: (u16, Option<IpAddr>),
    ) -> Outcome<SocketAddr> {
        let (port, own) = told;
        let own_name = self.host.rsplit_once('@').map_or(&*self.host, |(_, host)| host);
        let alias = self.ssh_host_name();
        let name = udp_host.or(alias.as_deref()).unwrap_or(own_name);
        let name = bare(name);
        let found: Vec<SocketAddr> =
            (name.as_str(), port).to_socket_addrs().map(Iterator::collect).unwrap_or_default();
        let agreed = found.iter().find(|address| Some(address.ip()) == own);
        let told = own.filter(|_| udp_host.is_none()).map(|own| SocketAddr::new(own, port));
        agreed.or(found.first()).copied().or(told).ok_or_else(|| {
            Failure::new(format!("cannot find the address of {name}"))
                .help("give the one to send packets to with --udp-host ADDR")
        })
    }

    /// What ssh's configuration makes of the host.
    fn ssh_host_name(&self) -> Option<String> {
        if Path::new(&self.words[0]).file_name()? != "ssh" {
            return None;
        }
        let mut command = Command::new(&self.words[0]);
        command.args(&self.words[1..]).args(["-G", &self.host]).stdin(Stdio::null());
        let output = command.stderr(Stdio::null()).output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        text.lines().find_map(|line| line.strip_prefix("hostname ")).map(str::to_owned)
    }
}

impl Drop for Far {
    fn drop(&mut self) {
        self.settled.store(true, Ordering::SeqCst);
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
