//! The control socket of Open vSwitch: requests of JSON-RPC 1.0, one connection for all of them (`ovs-appctl`(8) makes one
//! for each). It stays when the socket's file is gone.

use serde_json::{Value, json};
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

#[derive(Debug)]
pub(super) struct Control {
    stream: UnixStream,
    /// Number of the last request.
    last: u64,
}

impl Control {
    /// `within`: how long an answer may take.
    pub fn connect(socket: &Path, within: Duration) -> io::Result<Self> {
        let stream = UnixStream::connect(socket)?;
        stream.set_read_timeout(Some(within))?;
        Ok(Control { stream, last: 0 })
    }

    /// Gives a command; what it prints.
    pub fn ask(&mut self, command: &str, arguments: &[&str]) -> io::Result<String> {
        self.last += 1;
        let request = json!({ "id": self.last, "method": command, "params": arguments });
        self.stream.write_all(request.to_string().as_bytes())?;
        let mut said = vec![];
        loop {
            if let Some(answer) = first_value(&said)? {
                return text_of(&answer);
            }
            let mut buffer = [0; 16_384];
            match self.stream.read(&mut buffer)? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                length => said.extend_from_slice(&buffer[..length]),
            }
        }
    }
}

/// A whole value of JSON at the start; none while more of it must come.
fn first_value(said: &[u8]) -> io::Result<Option<Value>> {
    match serde_json::Deserializer::from_slice(said).into_iter().next() {
        None => Ok(None),
        Some(Ok(value)) => Ok(Some(value)),
        Some(Err(error)) if error.is_eof() => Ok(None),
        Some(Err(error)) => Err(error.into()),
    }
}

/// The result, or the error as one.
fn text_of(answer: &Value) -> io::Result<String> {
    match (&answer["result"], &answer["error"]) {
        (Value::String(text), _) => Ok(text.clone()),
        (_, Value::String(error)) => Err(io::Error::other(error.trim().to_owned())),
        _ => Err(io::Error::other(format!("answers {answer}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_read_however_it_is_cut() {
        let whole = br#"{"id":1,"result":"port {\n","error":null}"#;
        for length in 0..whole.len() {
            let cut = first_value(&whole[..length]).expect("no error");
            assert_eq!(cut, None, "{length} bytes");
        }
        let answer = first_value(whole).expect("JSON").expect("whole");
        assert_eq!(text_of(&answer).expect("a result"), "port {\n");
        assert!(first_value(b"{]").is_err());
    }

    #[test]
    fn an_error_is_one() {
        let answer = json!({ "id": 1, "result": null, "error": "\"x\" is not a valid command\n" });
        let error = text_of(&answer).expect_err("an error").to_string();
        assert_eq!(error, "\"x\" is not a valid command");
        assert!(text_of(&json!({ "id": 1 })).is_err());
    }
}
