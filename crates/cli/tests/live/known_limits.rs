//! The command line's known limits on real kernel devices: what `results.json` says is what
//! arithmetic says of the limit's own parameters. (`tests/live` has the derivation, and holds every
//! single trial to it.)
//!
//! No test here asserts a time: trials in which the tester was held up say so and are repeated,
//! and how long frames were held up is allowed for. Root only.

use crate::common::{Scratch, figure, fps, is_root, record};
use serde_json::Value;
use std::sync::Mutex;

/// 64-byte frames on a nominal 5 Mbit/s, at most 7,440 frames a second: any machine sends them.
/// Queue and bucket bridge 100 ms, so that frames sent 20 ms late may count as in time.
const COMMON: &str = "--profile quick --sizes 64 --line-rate 5M --skip-selftest --seed 3 \
                      --set trial.duration_s=0.3 --set search.trial_duration_s=0.3 \
                      --set trial.drain_s=0.15 --set trial.invalid_retries=10 \
                      --set trial.limits.late_after_us=20000";
const LOSS: &str = "--set frame_loss.step_percent=40";
const SEARCH: &str = "--set search.resolution_percent=8 --set search.max_trials_per_load=3 \
                      --set search.no_verification_above_lost_frames=60";
/// Length of a trial, in seconds.
const DURATION_S: f64 = 0.3;
/// Frames a second that a limit passes, and frames it passes at once or lets wait.
const LIMIT_FPS: f64 = 2_000.0;
const DEPTH_FRAMES: f64 = 200.0;
/// Seconds for which a device's own threads may be held up.
const THREADS_HELD_UP_S: f64 = 0.010;

/// One at a time: two would take each other's processors.
static TURN: Mutex<()> = Mutex::new(());

/// Nothing where the tester was held up too often to measure everything.
fn measure(arguments: &str) -> Option<Value> {
    let _turn = TURN.lock().unwrap_or_else(|failed| failed.into_inner());
    let scratch = Scratch::new();
    let ran = scratch.run(&format!("run {arguments} {COMMON} --out a"));
    ran.expect_complete();
    if ran.code == Some(3) {
        return None;
    }
    let text = std::fs::read_to_string(scratch.path().join("a/results.json")).unwrap();
    Some(serde_json::from_str(&text).unwrap())
}

/// Frames by which noise can falsify what a test found: what the limit passes while tester (by
/// its own account) and device are held up, and two for rounding.
fn noise_frames(results: &Value, test: &str) -> f64 {
    let trials = results["trials"].as_array().unwrap().iter();
    let valid = trials.filter(|trial| trial["test"] == test && trial["verdict"] != "invalid");
    let lateness = valid.filter_map(|trial| trial["lateness_max_ps"].as_f64());
    2.0 + LIMIT_FPS * (lateness.fold(0.0, f64::max) / 1e12 + THREADS_HELD_UP_S)
}

/// The truth lies between what passed and what did not, but for noise.
#[track_caller]
fn assert_between(passed: &Value, truth: f64, failed: f64, noise: f64, found: &Value) {
    let passed = passed.as_f64().unwrap_or_else(|| panic!("nothing was measured: {found:#}"));
    assert!(
        passed - noise <= truth && truth <= failed + noise,
        "{passed} to {failed}, noise {noise}, where {truth} would be right: {found:#}"
    );
}

/// A limit of C frames a second with room for D passes all frames of a trial of length T up to
/// the rate C + D / T.
#[track_caller]
fn assert_throughput(results: &Value, depth_frames: f64) {
    let found = figure(results, "throughput");
    let relation = if depth_frames > 0.0 { "between" } else { "equal" };
    assert!(found["relation"] == relation || found["relation"] == "equal", "{found:#}");
    let noise_fps = noise_frames(results, "throughput") / DURATION_S;
    let failed = found["high"].as_f64().expect("a load that failed");
    let truth = LIMIT_FPS + depth_frames / DURATION_S;
    assert_between(&found["low"], truth, failed, noise_fps, found);
    let resolution = failed - found["low"].as_f64().expect("a rate");
    // What its room carried is no part of the rate that it keeps up, and widens what is stated.
    let of_room = if depth_frames > 0.0 { depth_frames / DURATION_S } else { 0.0 };
    assert!(resolution <= 0.08 * failed + of_room + 0.1, "{found:#}");
}

/// Every frame counts: of F forwarded frames floor(F / N) are lost, over all trials together.
#[test]
fn loss_of_one_in_n_is_exact_to_the_frame() {
    if !is_root() {
        return;
    }
    for (device, every) in [("linux-router", 100), ("linux-bridge", 37)] {
        let arguments = format!("--device {device} --drop-every {every} --test loss {LOSS}");
        let Some(results) = measure(&arguments) else { continue };
        let trials = results["trials"].as_array().unwrap();
        assert!(trials.len() >= 3, "{trials:?}");
        let (mut sent, mut lost) = (0, 0);
        for trial in trials {
            sent += trial["offered_frames"].as_u64().unwrap();
            lost += trial["lost_frames"].as_u64().unwrap();
            assert_eq!(lost, sent / every, "{device} after trial {}: {trial:#}", trial["number"]);
            for nothing in ["duplicate_frames", "corrupted_frames", "misdirected_frames"] {
                assert_eq!(trial[nothing], 0, "{nothing}: {trial:#}");
            }
        }
        for point in record(&results, "frame_loss")["points"].as_array().unwrap() {
            let percent = point["loss_percent"].as_f64().unwrap();
            let frames = point["expected_frames"].as_f64().unwrap();
            assert!((percent - 100.0 / every as f64).abs() < 100.0 / frames, "{point:#}");
        }
    }
}

/// What a limit keeps up, and the rate that its bucket carries for the length of a trial beside it.
#[track_caller]
fn assert_limit_without_queue(results: &Value) {
    let found = figure(results, "throughput");
    let buffered = &record(results, "throughput")["throughput"]["buffered"];
    // A tester that was held up may leave the two apart no further than a bracket.
    if buffered.is_null() {
        return assert_throughput(results, DEPTH_FRAMES);
    }
    let noise_fps = noise_frames(results, "throughput") / DURATION_S;
    let failed = found["high"].as_f64().expect("a bound");
    assert_between(&found["low"], LIMIT_FPS, failed, noise_fps, found);
    let letter = fps(&buffered["rate"]).expect("a rate");
    let carried = LIMIT_FPS + DEPTH_FRAMES / DURATION_S;
    let least = carried * (1.0 - 0.08) - noise_fps;
    assert!((least..=carried + noise_fps).contains(&letter), "{carried}: {buffered:#}");
    assert!(
        (buffered["token_frames"].as_f64().unwrap() / DEPTH_FRAMES - 1.0).abs() < 0.2,
        "{buffered:#}"
    );
}

/// nftables `limit rate 2000/second burst 200`: a bucket and no queue. Of a load beyond the limit
/// so many pass as arithmetic says.
#[test]
fn a_limit_of_frames_a_second_is_found() {
    if !is_root() {
        return;
    }
    let limit = format!("--frame-limit {LIMIT_FPS} --frame-limit-burst {DEPTH_FRAMES}");
    let arguments = format!("--device linux-router {limit} --test throughput,loss {LOSS} {SEARCH}");
    let Some(results) = measure(&arguments) else { return };
    assert_limit_without_queue(&results);
    let noise = noise_frames(&results, "frame_loss");
    for point in record(&results, "frame_loss")["points"].as_array().unwrap() {
        let passes = DEPTH_FRAMES + LIMIT_FPS * DURATION_S;
        let truth = passes.min(point["expected_frames"].as_f64().unwrap());
        let received = &point["received_frames"];
        assert_between(received, truth, received.as_f64().unwrap(), noise, point);
    }
}

/// The limit counts frames of all ports together: two pairs of a bridge of four ports have half of it each.
#[test]
fn two_pairs_of_ports_share_a_limit_of_all_ports() {
    if !is_root() {
        return;
    }
    let limit = format!("--frame-limit {LIMIT_FPS} --frame-limit-burst {DEPTH_FRAMES}");
    let arguments = format!(
        "--device linux-bridge --pattern pairs --port-count 4 --port-type af_packet {limit} \
         --test throughput {SEARCH}"
    );
    let Some(results) = measure(&arguments) else { return };
    let found = figure(&results, "throughput");
    let conditions = &record(&results, "throughput")["conditions"];
    assert_eq!(conditions["transmitting_ports"], 2, "{conditions:#}");
    let noise_fps = noise_frames(&results, "throughput") / DURATION_S;
    let failed = found["high"].as_f64().expect("a load that failed");
    let (each, with_bucket) = (LIMIT_FPS / 2.0, (LIMIT_FPS + DEPTH_FRAMES / DURATION_S) / 2.0);
    // A tester that was held up may leave the two apart no further than a bracket.
    let buffered = &record(&results, "throughput")["throughput"]["buffered"];
    let truth = if buffered.is_null() { failed.clamp(each, with_bucket) } else { each };
    assert_between(&found["low"], truth, failed, noise_fps, found);
    assert!(found["low"].as_f64().unwrap() > 0.8 * each, "{found:#}");
}

/// tc tbf of 2,000 frames a second (64 + 20) x 8 bits each, with 100 in the bucket (less the 24
/// octets of overhead that its size is without) and 100 in the queue. At 7,440 frames a second
/// the longest burst is 200 / (1 - 2,000 / 7,440).
#[test]
fn a_token_bucket_with_its_queue_is_found() {
    if !is_root() {
        return;
    }
    let arguments = format!(
        "--device linux-router --tbf-rate 1344k --tbf-queue 100 --tbf-burst 8376 \
         --test throughput,back-to-back --set back_to_back.repetitions=1 \
         --set back_to_back.step_frames=8 --set back_to_back.resolution_percent=0.0 \
         --set back_to_back.limit_s=0.08 {SEARCH}",
    );
    let Some(results) = measure(&arguments) else { return };
    assert_throughput(&results, DEPTH_FRAMES);
    let found = record(&results, "back_to_back");
    let burst_fps = fps(&found["burst_rate"]).expect("a rate");
    let medium_fps = 5e6 / (84.0 * 8.0);
    // A tester that was held up may have sent the burst more slowly, by up to a twentieth, and then says so.
    assert!((medium_fps * 0.95..medium_fps + 1.0).contains(&burst_fps), "{found:#}");
    let burst = &found["summary"]["frames"]["mean"];
    let failed = burst.as_f64().unwrap_or_default() + 8.0;
    let truth = DEPTH_FRAMES / (1.0 - LIMIT_FPS / burst_fps);
    assert_between(burst, truth, failed, noise_frames(&results, "back_to_back"), found);
}
