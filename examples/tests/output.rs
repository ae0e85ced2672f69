//! What the examples print, each run as a program of its own.

use std::path::PathBuf;
use std::process::Command;

/// Standard output of an example; cargo builds examples before the tests beside them.
fn output(example: &str, arguments: &[&str]) -> String {
    let own = std::env::current_exe().expect("a path");
    let built: PathBuf = own.ancestors().nth(2).expect("target/PROFILE/deps").join("examples");
    let run = Command::new(built.join(example)).args(arguments).output();
    let run =
        run.unwrap_or_else(|error| panic!("{example}: {error}; run `cargo build --examples`"));
    assert!(run.status.success(), "{example}: {}", String::from_utf8_lossy(&run.stderr));
    String::from_utf8(run.stdout).expect("UTF-8")
}

/// Of the first number of a line.
fn number(line: &str) -> f64 {
    let word = line.split_whitespace().find_map(|word| word.parse().ok());
    word.unwrap_or_else(|| panic!("no number: {line}"))
}

/// 2,500 frames are too many in a second, of which 32 wait at its end and one is being served.
#[test]
fn a_simulated_test() {
    let text = output("simulated_test", &[]);
    let [below, above] = text.lines().collect::<Vec<_>>()[..] else { panic!("{text}") };
    assert_eq!(below, "9000 frames/s: 0 of 9000 lost");
    let lost = above.strip_prefix("12500 frames/s: ").expect("the second load");
    assert!((2_466.0..=2_468.0).contains(&number(lost)), "{above}");
}

/// With room for 90 frames and one in service, and a tenth of a burst served while it comes, a burst of
/// 101 frames fits: when its last frame comes, 10 have been served, one is being served, and 90 wait.
#[test]
fn a_method_in_one_file() {
    let text = output("test_method", &[]);
    let row = |size: &str| text.lines().find(|line| line.trim_start().starts_with(size));
    let words = |size| row(size).unwrap_or_else(|| panic!("no {size}: {text}")).split_whitespace();
    assert!(text.contains("Longest burst"), "{text}");
    assert_eq!(words("64 ").collect::<Vec<_>>(), ["64", "101"], "{text}");
    // Never too long, so that only the longest that was tried is known.
    assert_eq!(words("1518 ").collect::<Vec<_>>(), ["1518", ">=", "10,000"], "{text}");

    // What is saved is read without the method, in every format.
    let folder = tempfile::tempdir().expect("a folder");
    let run = folder.path().join("run");
    assert_eq!(output("test_method", &[run.to_str().expect("UTF-8")]), text);
    let saved = |name: &str| std::fs::read_to_string(run.join(name)).expect("a file");
    let csv = saved("results.csv");
    assert!(csv.contains("longest burst,101.0,frames,equal,101.0,101.0"), "{csv}");
    assert!(saved("report.html").contains("Longest burst"));
    assert!(saved("results.json").contains("\"own\": \"longest burst\""));
}

/// A bucket of 50, and one token for every second frame of the 2,000.
#[test]
fn a_device_in_one_file() {
    let text = output("simulated_device", &[]);
    let [forwarded, dropped] = text.lines().map(number).collect::<Vec<_>>()[..] else {
        panic!("{text}")
    };
    assert_eq!(forwarded + dropped, 2_000.0, "{text}");
    assert!((1_048.0..=1_051.0).contains(&forwarded), "{text}");
}

#[test]
fn a_report_format_in_one_file() {
    let text = output("report_format", &[]);
    assert!(text.starts_with("# A router of 50,000 frames/s\n"), "{text}");
    let row = text.lines().find(|line| line.starts_with("| throughput | 64 | throughput | "));
    let row = row.unwrap_or_else(|| panic!("no throughput: {text}"));
    let cells: Vec<&str> = row.split('|').map(str::trim).collect();
    let [low, high] = [cells[5], cells[6]].map(|cell| cell.parse::<f64>().expect("a number"));
    assert!((49_000.0..=50_000.0).contains(&low), "{row}");
    assert!((50_000.0..=51_000.0).contains(&high), "{row}");
    assert_eq!(cells[7], "fps");

    let folder = tempfile::tempdir().expect("a folder");
    assert_eq!(output("report_format", &[folder.path().to_str().expect("UTF-8")]), "");
    let saved = std::fs::read_to_string(folder.path().join("results.md")).expect("a file");
    assert_eq!(saved, text);
}

/// Live, on a veth pair in a namespace: a port that counts right gets back what it sent.
#[test]
fn a_kind_of_port_in_one_file() {
    if kernel::Privilege::current() != kernel::Privilege::Root {
        eprintln!("skipped: not root");
        return;
    }
    assert_eq!(output("port_kind", &[]), "plain_socket: 200 of 200 frames\n");
}
