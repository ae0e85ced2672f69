//! `netanvil netblt copy` at its limits: input that is typed, more sources than files may be open, options that mean
//! nothing, and far ends that mean harm or die.
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "waits for processes")]

use super::netblt_copy::{by, here, ran};
use crate::common::Scratch;
use crate::common::terminal::Terminal;
use std::fs;
use std::process::{Command, Stdio};

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

/// The same command, with files that may be open as `ulimit` says.
fn limited(limit: &str, copy: &Command) -> Command {
    let mut command = Command::new("sh");
    command.arg("-c").arg(format!("ulimit {limit}; exec \"$0\" \"$@\""));
    command.arg(copy.get_program()).args(copy.get_args());
    command.current_dir(copy.get_current_dir().unwrap()).stdin(Stdio::null());
    command
}

/// Directories `s0`, `s1`, ... with a directory and a file in each directory in them.
fn plant_sources(scratch: &Scratch, sources: usize, directories: usize) {
    for source in 0..sources {
        for directory in 0..directories {
            let path = scratch.path().join(format!("s{source}/d{source}_{directory}"));
            fs::create_dir_all(&path).unwrap();
            fs::write(path.join("file"), "x").unwrap();
        }
    }
}

/// More sources, and more directories in them, than files may be open.
#[test]
fn many_sources_are_copied() {
    let scratch = Scratch::new();
    let path = scratch.path().display();
    plant_sources(&scratch, 200, 5);
    // The soft limit is too low for the sources themselves, at either end.
    let low = "shift\nulimit -S -n 100\nexec \"$@\"";
    for arguments in [format!("s*/ lab2:{path}/there"), format!("lab2:{path}/s*/ back")] {
        let copy = by(&scratch, low, &format!("{arguments} --quiet"));
        ran(limited("-S -n 100", &copy)).expect(0);
    }
    for target in ["there", "back"] {
        assert_eq!(fs::read_dir(scratch.path().join(target)).unwrap().count(), 1000, "{target}");
    }
    // The hard limit is too low for all directories in them.
    let copy = here(&scratch, &format!("s*/ lab2:{path}/once-more --quiet"));
    ran(limited("-n 400", &copy)).expect(0);
    assert_eq!(fs::read_dir(scratch.path().join("once-more")).unwrap().count(), 1000);
    // They are all in one directory.
    let copy = here(&scratch, &format!("s* lab2:{path}/named --quiet"));
    ran(limited("-n 400", &copy)).expect(0);
    assert_eq!(fs::read_dir(scratch.path().join("named")).unwrap().count(), 200);
}

/// The words of a far end are shown; a terminal does not obey them.
#[test]
fn a_far_end_does_not_command_the_terminal() {
    let scratch = Scratch::new();
    scratch.file("a", "a");
    for line in [
        r#"{"greeting":{"copy":0,"program":"\u001b[2J"}}"#,
        r#"{"\u001b[2J":1}"#,
        r#"{"failure":"\u001b[2J"}"#,
    ] {
        let told = ran(by(&scratch, &format!("cat <<'END'\n{line}\nEND"), "a lab2:")).expect(2);
        let told = told.stderr;
        assert!(
            !told.contains('\x1b') && (told.contains("[2J") || told.contains("greet")),
            "{told:?}"
        );
    }
}

/// An option that a stream has no use for is named, and not ignored.
#[test]
fn options_that_mean_nothing_for_a_stream_are_refused() {
    let scratch = Scratch::new();
    let file = scratch.file("a.txt", "a");
    scratch.file("b.txt", "b");
    let output = format!("lab2:{} -", file.display());
    let stored = format!("- lab2:{}", scratch.path().join("stored").display());
    for option in ["--checksum", "--links any", "--exclude x", "--include x", "--sparse refuse"] {
        let name = option.split(' ').next().unwrap();
        let told = ran(here(&scratch, &format!("{stored} {option}"))).expect(2).stderr;
        let words = format!("{name} means nothing for standard input");
        assert!(told.contains(&words), "{option}: {told}");
    }
    for option in ["--checksum", "--links any"] {
        let told = ran(here(&scratch, &format!("{output} {option}"))).expect(2).stderr;
        assert!(told.contains("means nothing for standard output"), "{option}: {told}");
    }
    // What chooses files at the far end does so for standard output, too.
    let one = format!("lab2:{}/*.txt - --exclude b.txt --sparse fill", scratch.path().display());
    assert_eq!(ran(here(&scratch, &one)).expect(0).stdout, "a");
    assert!(!scratch.path().join("stored").exists());
}

/// A remote shell that ends between the last packets and the summary of the far end.
#[test]
fn a_copy_that_nobody_confirms_is_not_called_complete() {
    let scratch = Scratch::new();
    scratch.file("a", "a");
    let mute = r#"shift; "$@" | grep --line-buffered -v summary"#;
    let push = format!("a lab2:{} --json", scratch.path().join("there").display());
    let ran = ran(by(&scratch, mute, &push)).expect(2);
    let words =
        "all was sent, but the other end did not say that it is on its disk: its channel ended";
    assert!(ran.stderr.contains(words) && !ran.stderr.contains("complete"), "{}", ran.stderr);
    let last: serde_json::Value =
        serde_json::from_str(ran.stdout.lines().last().unwrap()).expect("JSON");
    assert_eq!(last["complete"], false);
    assert!(last["outcome"].as_str().unwrap().contains(words), "{last}");
}
