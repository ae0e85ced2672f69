//! One-line files of /proc and /sys.

use std::path::Path;

/// The trimmed text of a file; nothing if it cannot be read or is empty.
pub fn text(path: impl AsRef<Path>) -> Option<String> {
    let text = std::fs::read_to_string(path).ok()?.trim().to_owned();
    (!text.is_empty()).then_some(text)
}

/// The number in a file.
pub fn number<T: std::str::FromStr>(path: impl AsRef<Path>) -> Option<T> {
    text(path)?.parse().ok()
}
