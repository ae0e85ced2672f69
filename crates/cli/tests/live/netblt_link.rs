//! What a link leaves that is killed.

use crate::common;
use crate::common::Scratch;
use std::io::{BufRead, BufReader};
use std::process::Stdio;

#[test]
fn a_link_that_was_killed_is_cleaned_away() {
    if !common::is_root() {
        eprintln!("skipped: not root");
        return;
    }
    let scratch = Scratch::new();
    let ended = scratch.run("link --rate 10M --delay 20ms --duration 100ms --json").expect(0);
    let json: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(
        (&json["faithful"], &json["left_to_right"]["arrived_frames"]),
        (&true.into(), &0.into())
    );

    let mut child = scratch.command("link").stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stderr.take().unwrap()).read_line(&mut line).unwrap();
    let name = |role: &str| {
        let word = line.split([' ', ';']).find(|word| word.ends_with(role)).expect(&line);
        std::path::Path::new("/run/netns").join(word)
    };
    let names = [name("-left"), name("-right")];
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(names.iter().all(|name| name.exists()), "nobody removed them");
    scratch.run("clean").expect(0);
    assert!(!names.iter().any(|name| name.exists()), "{line}");
}
