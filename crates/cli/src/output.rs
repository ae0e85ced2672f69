//! Standard output, where a reader that went away (`| head`) is no error.

use crate::failure::{Failure, Outcome};
use std::io::{self, BufRead, Write};

/// Writes text to standard output, as it is.
pub fn print(text: &str) -> Outcome<()> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::new(format!("cannot write to standard output: {error}")))
        }
        _ => Ok(()),
    }
}

/// Writes a value to standard output as JSON.
pub fn print_json(value: &impl serde::Serialize) -> Outcome<()> {
    let text = serde_json::to_string_pretty(value)
        .map_err(|error| Failure::new(format!("cannot write JSON: {error}")))?;
    print(&(text + "\n"))
}

/// Writes a line to standard error; that nobody reads it is no error.
pub fn say(line: impl std::fmt::Display) {
    let _ = writeln!(io::stderr().lock(), "{line}");
}

/// Says something on standard error, and whether a person agrees to go on.
pub fn ask(question: &str) -> bool {
    say(question);
    let mut stderr = io::stderr().lock();
    let _ = write!(stderr, "Continue? [y/N] ").and_then(|()| stderr.flush());
    let mut answer = String::new();
    let _ = io::stdin().lock().read_line(&mut answer);
    matches!(answer.trim(), "y" | "Y" | "yes")
}

/// Says what is wanted on standard error, and takes a line from standard input.
pub fn ask_for(what: &str) -> Outcome<String> {
    let mut stderr = io::stderr().lock();
    let _ = write!(stderr, "{what}: ").and_then(|()| stderr.flush());
    let mut answer = String::new();
    let read = io::stdin().lock().read_line(&mut answer);
    read.map_err(|error| Failure::new(format!("cannot read the {what}: {error}")))?;
    Ok(answer)
}

/// Writes a line to a terminal in place of the one before; [`say`] an empty one to end with.
pub fn say_over(line: impl std::fmt::Display) {
    let mut stderr = io::stderr().lock();
    let _ = write!(stderr, "\r{line}  ").and_then(|()| stderr.flush());
}
