//! A disk that fills up: the run stops cleanly, and everything saved before is there.

use crate::{EVENTS, report};
use method::{Event, EventSink};
use report::run_folder::{RunFolder, read_events};
use std::path::Path;
use std::process::Command;

/// A file system of its own, gone at the end of the test.
struct SmallDisk(tempfile::TempDir);

impl SmallDisk {
    /// `None` where the user may not mount.
    fn new(size_kib: u32) -> Option<Self> {
        let disk = SmallDisk(tempfile::tempdir().unwrap());
        disk.mount(&format!("size={size_kib}k")).then_some(disk)
    }

    fn mount(&self, options: &str) -> bool {
        let mount = Command::new("mount")
            .args(["-t", "tmpfs", "-o", options, "tmpfs"])
            .arg(self.path())
            .output();
        mount.is_ok_and(|output| output.status.success())
    }

    fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.path()).output();
    }
}

/// Events as they are saved.
fn lines(events: &[Event]) -> Vec<String> {
    events.iter().map(|event| serde_json::to_string(event).unwrap()).collect()
}

#[test]
fn results_taken_before_the_disk_was_full_are_kept_and_the_run_goes_on_later() {
    let Some(disk) = SmallDisk::new(128) else {
        eprintln!("not root: a full disk is tested by /dev/full only");
        return;
    };
    let folder = disk.path().join("run");
    let mut run = RunFolder::create_at(&folder).unwrap();
    let mut saved = 0;
    let error = EVENTS.iter().find_map(|event| {
        let error = run.emit(event).err();
        saved += usize::from(error.is_none());
        error
    });
    let error = error.expect("the events do not fit").to_string();
    assert!(error.contains("no space left") && error.contains("--resume"), "{error}");
    assert!(error.contains(folder.to_str().unwrap()), "{error}");
    // What is rendered does not fit either; what was rendered before must stay whole.
    report::save(&folder, &report()).unwrap_err();
    drop(run);

    let (events, notices) = read_events(&folder).unwrap();
    assert_eq!(events.len(), saved, "every event before the error, and no half one");
    assert!(lines(&events) == lines(&EVENTS[..saved]));
    assert_eq!(notices, []);

    assert!(disk.mount("remount,size=64m"));
    let (mut run, events, _) = RunFolder::resume(&folder).unwrap();
    assert_eq!(events.len(), saved);
    EVENTS[saved..].iter().for_each(|event| run.emit(event).unwrap());
    assert!(lines(&read_events(&folder).unwrap().0) == lines(&EVENTS));
    report::save(&folder, &report()).unwrap();
}

/// Killed while a line was written: at any byte of the last event.
#[test]
fn a_torn_event_is_dropped_with_a_notice() {
    let runs = tempfile::tempdir().unwrap();
    let folder = runs.path().join("run");
    let mut run = RunFolder::create_at(&folder).unwrap();
    let trials = EVENTS.iter().filter(|event| matches!(event, Event::TrialFinished(_)));
    let trials: Vec<&Event> = trials.take(3).collect();
    trials.iter().for_each(|trial| run.emit(trial).unwrap());
    drop(run);
    let path = folder.join("events.jsonl");
    let bytes = std::fs::read(&path).unwrap();
    let second = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n').nth(1).unwrap().0 + 1;
    for cut in [second + 1, second + (bytes.len() - second) / 2, bytes.len() - 1] {
        std::fs::write(&path, &bytes[..cut]).unwrap();
        let (events, notices) = read_events(&folder).unwrap();
        assert_eq!(events.len(), 2);
        assert_eq!(notices.len(), 1, "{notices:?}");
        let report = report::Report::from_events(&events, notices);
        assert!(report::html::render(&report).contains("unfinished line"));
    }
}
