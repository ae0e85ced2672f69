//! A review of one or several devices, to be printed: what its publisher writes beside the runs.

use serde::Deserialize;
use std::path::PathBuf;

/// What the publisher writes: a TOML file.
///
/// ```
/// let review: report::Publication = toml::from_str(
///     r#"
///     title = "Two software routers"
///     date = "2026-11-27"
///
///     [[product]]
///     run = "linux-6.1"
///     remarks = "It was quiet."
///     "#,
/// )?;
/// assert_eq!(review.products[0].remarks, "It was quiet.");
/// # Ok::<(), toml::de::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Publication {
    /// On the cover.
    pub title: String,
    /// Who publishes it.
    #[serde(default)]
    pub publisher: String,
    /// Who wrote it.
    #[serde(default)]
    pub authors: Vec<String>,
    /// When, in the publisher's words.
    #[serde(default)]
    pub date: String,
    /// On the first page; paragraphs with an empty line between them.
    #[serde(default)]
    pub summary: String,
    /// In the order of their chapters.
    #[serde(rename = "product")]
    pub products: Vec<Product>,
}

/// One device.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Product {
    /// The folder of its run.
    pub run: PathBuf,
    /// What readers know it by; empty: as the run calls it.
    #[serde(default)]
    pub name: String,
    /// The reviewer's; paragraphs with an empty line between them.
    #[serde(default)]
    pub remarks: String,
    /// What its maker says to the results.
    #[serde(default)]
    pub response: String,
}

impl Publication {
    /// What is wrong in it, whatever the runs hold.
    pub fn refusal(&self) -> Option<String> {
        if self.title.trim().is_empty() {
            return Some("`title` is empty: the cover needs one".into());
        }
        if self.products.is_empty() {
            return Some("there is no [[product]]: name at least one run".into());
        }
        None
    }
}

/// The paragraphs of a text: an empty line stands between them.
pub fn paragraphs(text: &str) -> impl Iterator<Item = String> {
    let all = text.split("\n\n").map(|part| part.split_whitespace().collect::<Vec<_>>().join(" "));
    all.filter(|paragraph| !paragraph.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_member_is_refused_and_so_is_a_review_of_nothing() {
        let unknown = "title = \"T\"\nproduct = []\nprice = 3";
        assert!(toml::from_str::<Publication>(unknown).unwrap_err().to_string().contains("price"));
        let empty: Publication = toml::from_str("title = \"T\"\nproduct = []").unwrap();
        assert!(empty.refusal().is_some_and(|why| why.contains("[[product]]")));
    }

    #[test]
    fn paragraphs_are_parted_by_empty_lines() {
        let all: Vec<String> = paragraphs("one\n  line\n\n\n\ntwo\n").collect();
        assert_eq!(all, ["one line", "two"]);
    }
}
