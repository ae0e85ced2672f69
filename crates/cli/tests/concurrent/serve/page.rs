//! The page in a real browser, with real runs behind it.

use super::browser::Browser;
use super::has_program;
use super::server::Server;
use crate::common::Scratch;
use std::path::PathBuf;

/// Whether anything is wider than the window.
const TOO_WIDE: &str = "document.documentElement.scrollWidth > innerWidth";
const TRIALS: &str = "document.querySelectorAll('#trials tbody tr').length";

/// A run that goes on until it is stopped, in trials of so many frames that a page does not get thousands of them.
const LONG: &str = "run --sim router --profile rfc --duration 1s --line-rate 100M";

/// Where pictures of the page go, for people to look at.
pub fn picture(name: &str) -> PathBuf {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("serve");
    std::fs::create_dir_all(&folder).expect("a folder");
    folder.join(format!("{name}.png"))
}

fn start(browser: &Browser, command: &str) {
    browser.until("document.querySelector('#link').textContent === 'live'");
    browser.value(&format!("document.querySelector('#command').value = '{command}'; document.querySelector('#start').requestSubmit()"));
}

fn press(browser: &Browser, button: &str) {
    browser.until(&format!("!document.querySelector('[data-do={button}]').hidden"));
    browser.value(&format!("document.querySelector('[data-do={button}]').click()"));
}

#[test]
fn a_run_is_started_watched_stopped_and_resumed() {
    if !has_program("chromium", "a_run_is_started_watched_stopped_and_resumed") {
        return;
    }
    let scratch = Scratch::new();
    let server = Server::start(&scratch, "");
    let browser = Browser::open(&server.url, 1400);
    start(&browser, LONG);
    browser.until(&format!("{TRIALS} > 2"));
    let before = browser.value(TRIALS).as_u64().unwrap();
    browser.until(&format!("{TRIALS} > {before}"));
    browser.until("document.querySelectorAll('#charts svg[role=img]').length === 4");
    browser.until("document.querySelector('#balance').innerText.includes('in time')");
    assert_eq!(browser.value("document.querySelector('#state').textContent"), "running");
    browser.picture(&picture("run-1400"));
    assert_eq!(browser.value(TOO_WIDE), false);
    browser.resize(400);
    browser.picture(&picture("run-400"));
    assert_eq!(browser.value(TOO_WIDE), false, "at 400 pixels");
    press(&browser, "stop");
    browser.until("document.querySelector('#state').textContent === 'stopped'");
    browser.until("document.querySelector('#messages').innerText.includes('Incomplete')");
    let kept = browser.value(TRIALS).as_u64().unwrap();
    press(&browser, "resume");
    browser.until("document.querySelector('#state').textContent === 'running'");
    browser.until(&format!("{TRIALS} > {kept}"));
    press(&browser, "stop");
    browser.until("document.querySelector('#state').textContent === 'stopped'");
    assert_eq!(*browser.complaints.borrow(), Vec::<String>::new());
}

#[test]
fn a_page_that_is_loaded_again_shows_the_same_and_what_came_since() {
    if !has_program("chromium", "a_page_that_is_loaded_again_shows_the_same_and_what_came_since") {
        return;
    }
    let scratch = Scratch::new();
    let server = Server::start(&scratch, "");
    let other = scratch.start(LONG, "runs/other", "trial_finished");
    let browser = Browser::open(&server.url, 1400);
    browser.until(&format!("{TRIALS} > 3"));
    // The server goes, the run goes on, the server comes back at the same address.
    let address = server.address.clone();
    server.kill();
    browser.until("document.querySelector('#link').classList.contains('lost')");
    let shown = browser.value("record.trials.length").as_u64().unwrap();
    let server = Server::listening(&scratch, &format!("--listen {address}"));
    browser.until(&format!(
        "record.trials.length > {shown} && document.querySelector('#link').textContent === 'live'"
    ));
    other.signal("INT");
    other.wait().expect(2);
    browser.until("document.querySelector('#state').textContent === 'stopped' && record.finished");
    let numbers = "JSON.stringify(record.trials.map(trial => trial.number))";
    let all = browser.value(numbers);
    let log = std::fs::read_to_string(scratch.path().join("runs/other/events.jsonl")).unwrap();
    let saved = log.lines().filter(|line| line.starts_with("{\"trial_finished\"")).count();
    let each: Vec<usize> = serde_json::from_str(all.as_str().unwrap()).unwrap();
    assert_eq!(each, (1..=saved).collect::<Vec<_>>(), "each trial once, in order");
    browser.call("Page.reload", serde_json::json!({}));
    browser.until("typeof record !== 'undefined' && record && record.finished");
    assert_eq!(browser.value(numbers), all);
    assert!(browser.value("location.hash").as_str().unwrap().contains("other"));
    drop(server);
}

#[test]
fn traffic_moves_pauses_and_stops() {
    if !has_program("chromium", "traffic_moves_pauses_and_stops")
        || !super::can_build_devices("traffic_moves_pauses_and_stops")
    {
        return;
    }
    let _turn = crate::common::turn::wait();
    let scratch = Scratch::new();
    let server = Server::start(&scratch, "");
    let browser = Browser::open(&server.url, 1400);
    start(&browser, "traffic --device linux-router --rate 5kpps --duration forever");
    // In a second in which nobody holds the tester up.
    browser.until("record.seconds.length > 2 && record.seconds.some(at => at.sent_frames >= 4000)");
    let rate = "document.querySelector('#figures .value').textContent";
    // A look that came late ends a second of several.
    let most = browser.value("Math.max(...record.seconds.map(at => at.sent_frames / at.length_s))");
    assert!(most.as_f64().unwrap() <= 5_100.0, "{most}");
    press(&browser, "faster");
    browser.until(
        "record.load === 10000 && record.seconds[record.seconds.length - 1].sent_frames > 7000",
    );
    browser.picture(&picture("traffic-1400"));
    browser.resize(400);
    browser.picture(&picture("traffic-400"));
    assert_eq!(browser.value(TOO_WIDE), false);
    assert!(browser.value(rate).as_str().unwrap().contains("frames/s"));
    press(&browser, "pause");
    browser.until("document.querySelector('#state').textContent === 'running, paused'");
    let seconds = browser.value("record.seconds.length");
    std::thread::sleep(std::time::Duration::from_millis(2_500));
    assert_eq!(browser.value("record.seconds.length"), seconds, "nothing is sent in a pause");
    press(&browser, "pause");
    browser.until(&format!("record.seconds.length > {seconds}"));
    press(&browser, "stop");
    browser
        .until("record.summary && document.querySelector('#figures').innerText.includes('exact')");
    browser.until("document.querySelector('#state').textContent !== 'stopping'");
    assert_eq!(*browser.complaints.borrow(), Vec::<String>::new());
}

#[test]
fn a_refused_command_is_told_on_the_page() {
    if !has_program("chromium", "a_refused_command_is_told_on_the_page") {
        return;
    }
    let scratch = Scratch::new();
    let server = Server::start(&scratch, "");
    let browser = Browser::open(&server.url, 400);
    start(&browser, "run --device linux-ruoter");
    browser.until("document.querySelector('#refused').innerText.includes('linux-router')");
    assert_eq!(browser.value(TOO_WIDE), false);
}
