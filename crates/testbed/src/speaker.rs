//! A routing daemon, BIRD, in a namespace of its own: what a host that speaks routing protocols is made of.
//! Whoever wants it joins the namespace with a network.

use crate::error::{Result, TestbedError};
use crate::hardware::SwitchedOff;
use crate::registry::{Registration, files_of};
use crate::routing::Bird;
use kernel::{Namespace, set_sysctls};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

/// How long the daemon may take until it takes commands, in steps of 10 ms.
const STARTS_WITHIN: u32 = 1_000;
/// How long it may take to answer one.
const ANSWERS_WITHIN: Duration = Duration::from_secs(30);
/// Codes of its answers from this on are errors (BIRD's `doc/reply_codes`).
const ERRORS_FROM: u32 = 8000;

/// The daemon and its namespace. Both go with this value; what a killed process leaves, `netanvil clean` removes.
#[derive(Debug)]
pub struct Speaker {
    // Fields are dropped in this order: the daemon ends before its namespace goes.
    bird: Option<Bird>,
    namespace: Namespace,
    control: PathBuf,
    _registration: Registration,
}

impl Speaker {
    /// A namespace without a daemon yet. Its kernel says nothing by itself.
    pub fn prepare() -> Result<Speaker> {
        let registration = Registration::new(&SwitchedOff::new())?;
        let namespace = Namespace::create_named(&registration.namespace_name("speaker"))?;
        let [_, control, _] = files_of(&namespace);
        let speaker = Speaker { bird: None, namespace, control, _registration: registration };
        speaker.namespace.run(|| {
            set_sysctls(&[
                ("net/ipv6/conf/all/accept_dad", "0"),
                ("net/ipv6/conf/default/accept_dad", "0"),
                ("net/ipv6/conf/default/accept_ra", "0"),
                ("net/ipv6/conf/default/router_solicitations", "0"),
                // No address that nobody has given.
                ("net/ipv6/conf/default/addr_gen_mode", "1"),
            ])
        })??;
        speaker.namespace.netlink()?.set_link_up("lo", true)?;
        Ok(speaker)
    }

    /// Where the daemon is.
    pub fn namespace(&self) -> &Namespace {
        &self.namespace
    }

    /// Starts the daemon with this configuration, in its own language, and waits until it takes commands.
    #[allow(clippy::disallowed_methods, reason = "a program starts in real time")]
    pub fn start(&mut self, text: &str) -> Result<()> {
        self.bird = Some(Bird::start(&self.namespace, text)?);
        for _ in 0..STARTS_WITHIN {
            if UnixStream::connect(&self.control).is_ok() {
                return Ok(());
            }
            self.check()?;
            std::thread::sleep(Duration::from_millis(10));
        }
        Err(failed("it takes no commands".into()))
    }

    /// An error with what the daemon said if it has ended.
    pub fn check(&mut self) -> Result<()> {
        self.bird.as_mut().map_or(Ok(()), Bird::check)
    }

    /// What the daemon answers to a command: its lines without their codes.
    pub fn ask(&self, command: &str) -> Result<Vec<String>> {
        let failed_to = |error: std::io::Error| failed(format!("{command}: {error}"));
        let mut stream = UnixStream::connect(&self.control).map_err(failed_to)?;
        stream.set_read_timeout(Some(ANSWERS_WITHIN)).map_err(failed_to)?;
        stream.write_all(format!("{command}\n").as_bytes()).map_err(failed_to)?;
        let mut reader = BufReader::new(stream);
        // What it says first is its own name.
        answer(&mut reader).map_err(|why| failed(format!("{command}: {why}")))?;
        answer(&mut reader).map_err(|why| failed(format!("{command}: {why}")))
    }
}

impl Drop for Speaker {
    fn drop(&mut self) {
        self.bird = None;
        let _ = self.namespace.remove();
    }
}

fn failed(message: String) -> TestbedError {
    TestbedError::Program { program: "bird", message }
}

/// One answer: lines of a code of four digits and `-`, the last with a space in its place; lines that begin with a
/// space have the code before.
fn answer(reader: &mut impl BufRead) -> std::result::Result<Vec<String>, String> {
    let mut lines = vec![];
    loop {
        let mut line = String::new();
        match reader.read_line(&mut line) {
            Ok(0) => return Err("it hung up".into()),
            Ok(_) => {}
            Err(error) => return Err(error.to_string()),
        }
        if let Some(more) = line.strip_prefix(' ') {
            lines.push(more.trim_end().to_owned());
            continue;
        }
        let line = line.trim_end_matches(['\r', '\n']);
        let (code, rest) = line.split_at_checked(4).unwrap_or((line, ""));
        let code: u32 = code.parse().map_err(|_| format!("it said {line:?}"))?;
        let text = rest.get(1..).unwrap_or_default().to_owned();
        if code >= ERRORS_FROM {
            return Err(text);
        }
        if !text.is_empty() {
            lines.push(text);
        }
        if !rest.starts_with('-') {
            return Ok(lines);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_read_to_their_last_line() {
        let said = "0001 BIRD 2.0.12 ready.\n1002-p0  BGP\n1006-  State\n  Routes: 2\n \n0000 \n";
        let mut reader = BufReader::new(said.as_bytes());
        assert_eq!(answer(&mut reader).unwrap(), ["BIRD 2.0.12 ready."]);
        assert_eq!(answer(&mut reader).unwrap(), ["p0  BGP", "  State", " Routes: 2", ""]);
        assert_eq!(answer(&mut reader).unwrap_err(), "it hung up");
        let of = |said: &str| answer(&mut BufReader::new(said.as_bytes()));
        assert_eq!(of("9001 syntax error\n").unwrap_err(), "syntax error");
        assert!(of("").is_err() && of("x\n").is_err() && of("äöü\n").is_err());
    }
}
