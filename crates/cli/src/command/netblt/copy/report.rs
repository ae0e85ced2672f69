//! What a copy came to, in words and as JSON.

use super::progress::bytes;
use netblt_io::copy::tally::Figures;
use serde::Serialize;

/// What a copy came to, as JSON has it.
#[derive(Serialize)]
pub struct Report<'a> {
    pub event: &'static str,
    pub complete: bool,
    /// This end was stopped by a signal before the copy was complete.
    pub interrupted: bool,
    /// How it ended, in words.
    pub outcome: &'a str,
    /// It is not complete, what arrived is kept, and the same command goes on there.
    pub resumable: bool,
    #[serde(flatten)]
    pub figures: &'a Figures,
    pub elapsed_s: f64,
    pub wire_bytes_sent: u64,
    pub wire_bytes_received: u64,
}

impl Report<'_> {
    /// In words.
    pub fn said(&self) -> String {
        let figures = self.figures;
        let mut text = format!(
            "{} copied, {} there already, {} not copied; {} moved in {:.1} s ({:.1} Mb/s)",
            figures.copied_entries,
            figures.same_entries,
            figures.failed_entries,
            bytes(figures.moved_bytes),
            self.elapsed_s,
            figures.moved_bytes as f64 * 8e-6 / self.elapsed_s.max(1e-3),
        );
        for (count, what) in [
            (figures.resumed_bytes, "bytes were there of an earlier attempt"),
            (figures.excluded_entries, "left out by --exclude"),
            (figures.temporary_files, "hidden files of an unfinished copy left out"),
            (figures.special_modes, "files lost setuid, setgid or the sticky bit"),
        ] {
            if count > 0 {
                text += &format!("\n{count} {what}");
            }
        }
        text
    }
}
