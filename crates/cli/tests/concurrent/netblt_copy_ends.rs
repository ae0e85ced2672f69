//! `netanvil netblt copy` at its limits: input that is typed, more sources than files may be open, options that mean
//! nothing, and far ends that mean harm or die.
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "waits for processes")]

use super::netblt_copy::{by, here, ran};
use crate::common::Scratch;
use crate::common::terminal::Terminal;
use std::fs;
use std::process::Command;

/// What is typed is copied, line by line, up to Ctrl-D.
#[test]
fn typed_input_is_copied_and_ends() {
    let scratch = Scratch::new();
    let stored = scratch.path().join("stored");
    let copy = here(&scratch, &format!("- lab2:{}", stored.display()));
    let mut limited = Command::new("timeout");
    limited.args(["--foreground", "60"]).arg(copy.get_program()).args(copy.get_args());
    limited.current_dir(scratch.path());
    let mut terminal = Terminal::start(&limited);
    terminal.press("typed + by hand\n");
    terminal.press("\x04");
    terminal.read_until("1 copied");
    assert_eq!(terminal.child.wait().unwrap().code(), Some(0));
    assert_eq!(fs::read(stored).unwrap(), b"typed + by hand\n");
}

/// A far end that has not heard of --exclude, and sends all.
#[test]
fn what_is_left_out_is_not_taken_from_a_far_end_that_sends_it() {
    let scratch = Scratch::new();
    fs::create_dir(scratch.path().join("tree")).unwrap();
    fs::write(scratch.path().join("tree/secret"), "secret").unwrap();
    let pull = format!("lab2:{}/tree new --exclude secret", scratch.path().display());
    ran(here(&scratch, &pull)).expect(0);
    let edit = r#"shift; sed -u 's/"exclude":."secret"./"exclude":[]/' | "$@""#;
    fs::remove_dir_all(scratch.path().join("new")).unwrap();
    let told = ran(by(&scratch, edit, &pull)).expect(2).stderr;
    assert!(told.contains("sends tree/secret, which --exclude leaves out"), "{told}");
    assert!(!scratch.path().join("new/tree/secret").exists());
}
