//! HTTP as plain as it comes, so that a test can send what no library would.

use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// An answer.
#[derive(Debug)]
pub struct Reply {
    pub status: u16,
    pub head: String,
    pub body: Vec<u8>,
}

impl Reply {
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{error}: {} {}", self.head, self.text()))
    }
    pub fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.filter(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value).next()
    }
}

pub fn get(address: &str, path: &str, headers: &[(&str, &str)]) -> Reply {
    request(address, "GET", path, headers, &[])
}

pub fn post(address: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Reply {
    request(address, "POST", path, headers, body)
}

/// The text of a request, whose connection ends with the answer.
pub fn text(
    address: &str,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    length: usize,
) -> String {
    let mut text =
        format!("{method} {path} HTTP/1.1\r\nConnection: close\r\nContent-Length: {length}\r\n");
    if !headers.iter().any(|(name, _)| *name == "Host") {
        text += &format!("Host: {address}\r\n");
    }
    headers.iter().for_each(|(name, value)| text += &format!("{name}: {value}\r\n"));
    text + "\r\n"
}

#[track_caller]
fn request(
    address: &str,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &[u8],
) -> Reply {
    let mut stream = TcpStream::connect(address).expect("a connection");
    stream.write_all(text(address, method, path, headers, body.len()).as_bytes()).expect("sent");
    // A server that has read enough may close before all is sent.
    let _ = stream.write_all(body);
    reply(stream)
}

/// Reads an answer to its end.
#[track_caller]
pub fn reply(mut stream: impl Read) -> Reply {
    let mut bytes = vec![];
    let mut part = [0; 65_536];
    // After an early answer the rest of the connection may be torn.
    while let Ok(count @ 1..) = stream.read(&mut part) {
        bytes.extend(&part[..count]);
    }
    let at = bytes.windows(4).position(|four| four == b"\r\n\r\n").expect("the head of an answer");
    let head = String::from_utf8_lossy(&bytes[..at]).into_owned();
    let status = head.split(' ').nth(1).and_then(|code| code.parse().ok()).expect("a status");
    let body = &bytes[at + 4..];
    let is_chunked = head.to_lowercase().contains("transfer-encoding: chunked");
    Reply { status, head, body: if is_chunked { dechunked(body) } else { body.to_vec() } }
}

fn dechunked(mut body: &[u8]) -> Vec<u8> {
    let mut whole = vec![];
    while let Some(at) = body.windows(2).position(|two| two == b"\r\n") {
        let length =
            usize::from_str_radix(&String::from_utf8_lossy(&body[..at]), 16).expect("a length");
        whole.extend(&body[at + 2..at + 2 + length]);
        body = &body[(at + 4 + length).min(body.len())..];
    }
    whole
}

/// A stream of events.
pub struct Events {
    reader: BufReader<TcpStream>,
}

/// One of them: its id, where it has one, and its data.
#[derive(Clone, PartialEq, Debug)]
pub struct Told {
    pub id: Option<u64>,
    pub data: Value,
}

impl Events {
    /// Those of a run, after an id where one is given.
    #[track_caller]
    pub fn of(address: &str, id: &str, after: Option<u64>) -> Events {
        let mut stream = TcpStream::connect(address).expect("a connection");
        stream.set_read_timeout(Some(Duration::from_secs(90))).expect("a timeout");
        let last = after.map(|id| id.to_string());
        let headers: Vec<(&str, &str)> =
            last.iter().map(|last| ("Last-Event-ID", &last[..])).collect();
        let text = text(address, "GET", &format!("/api/runs/{id}/events"), &headers, 0);
        stream.write_all(text.as_bytes()).expect("sent");
        let mut reader = BufReader::new(stream);
        let mut line = String::new();
        reader.read_line(&mut line).expect("a status");
        assert!(line.starts_with("HTTP/1.1 200"), "{line}");
        Events { reader }
    }

    /// The next event; `None` where the server ends the stream.
    pub fn next(&mut self) -> Option<Told> {
        let mut id = None;
        loop {
            let mut line = String::new();
            if self.reader.read_line(&mut line).expect("an event in time") == 0 {
                return None;
            }
            if let Some(given) = line.strip_prefix("id: ") {
                id = given.trim().parse().ok();
            }
            if let Some(data) = line.strip_prefix("data: ") {
                return Some(Told { id, data: serde_json::from_str(data).expect("JSON") });
            }
        }
    }

    /// All up to the one of this kind.
    #[track_caller]
    pub fn until(&mut self, kind: &str) -> Vec<Told> {
        let mut told = vec![];
        while let Some(event) = self.next() {
            let is_last = event.data["kind"] == kind;
            told.push(event);
            if is_last {
                return told;
            }
        }
        panic!("the stream ended before {kind}: {told:?}");
    }
}
