//! Reading a configuration file, with errors that name the line and the nearest valid word.

use super::Options;
use crate::failure::{Failure, Outcome};
use serde::de::DeserializeOwned;
use std::path::Path;

/// Reads a TOML file.
pub fn read<T: DeserializeOwned>(path: &Path) -> Outcome<T> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| Failure::new(format!("cannot read {}: {error}", path.display())))?;
    parse(&text, &path.display().to_string())
}

/// Reads the text of a file called `name`.
pub fn parse<T: DeserializeOwned>(text: &str, name: &str) -> Outcome<T> {
    toml::from_str(text).map_err(|error| explain(text, name, &error))
}

/// Reads options from a TOML file.
pub fn read_options(path: &Path) -> Outcome<Options> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| Failure::new(format!("cannot read {}: {error}", path.display())))?;
    parse_options(&text, &path.display().to_string())
}

/// Reads options from the text of a file called `name`.
pub fn parse_options(text: &str, name: &str) -> Outcome<Options> {
    // Options keep their sections as tables, to tell what was given from what is default. This
    // reading only finds wrong keys in them, with their lines.
    #[derive(serde::Deserialize)]
    #[allow(dead_code, reason = "what is read here is only checked")]
    struct Sections {
        trial: Option<method::TrialConfig>,
        search: Option<method::SearchConfig>,
        self_test: Option<method::SelfTestConfig>,
        throughput: Option<method::ThroughputConfig>,
        latency: Option<method::LatencyConfig>,
        pdv: Option<method::PdvConfig>,
        ipdv: Option<method::IpdvConfig>,
        frame_loss: Option<method::FrameLossConfig>,
        back_to_back: Option<method::BackToBackConfig>,
        recovery: Option<method::RecoveryConfig>,
        reset: Option<method::ResetConfig>,
    }
    let options = parse(text, name)?;
    parse::<Sections>(text, name)?;
    Ok(options)
}

fn explain(text: &str, name: &str, error: &toml::de::Error) -> Failure {
    let place = error.span().map_or(0, |span| span.start);
    let line = text[..place].matches('\n').count() + 1;
    let message = error.message();
    let failure = Failure::new(format!("{name}:{line}: {}", first_sentence(message)));
    let failure = match text.lines().nth(line - 1).filter(|_| unknown_word(message).is_none()) {
        Some(wrong) if !wrong.trim().is_empty() => failure.help(format!("in `{}`", wrong.trim())),
        _ => failure,
    };
    match unknown_word(message) {
        Some((wrong, valid)) => suggest(failure, wrong, &valid),
        None => failure,
    }
}

/// `serde` lists every valid word after the wrong one; the nearest is enough for a person.
fn first_sentence(message: &str) -> &str {
    message
        .split_once(", expected")
        .map_or(message, |(first, _)| if unknown_word(message).is_some() { first } else { message })
}

/// The wrong word and the valid ones of an "unknown field" or "unknown variant" message.
fn unknown_word(message: &str) -> Option<(&str, Vec<&str>)> {
    if !message.starts_with("unknown ") {
        return None;
    }
    let mut words = message.split('`').skip(1).step_by(2);
    let wrong = words.next()?;
    Some((wrong, words.collect()))
}

fn suggest(failure: Failure, wrong: &str, valid: &[&str]) -> Failure {
    suggest_nearest(failure, wrong, valid).help(format!("valid are: {}", valid.join(", ")))
}

/// Names the valid word that is most like a wrong one, if any is.
pub fn suggest_nearest(failure: Failure, wrong: &str, valid: &[&str]) -> Failure {
    let wrong = wrong.to_lowercase();
    let near = |word: &&&str| strsim::jaro_winkler(&wrong, word);
    let nearest = valid.iter().max_by(|a, b| near(a).total_cmp(&near(b)));
    match nearest.filter(|word| near(word) > 0.7) {
        Some(nearest) => failure.help(format!("did you mean `{nearest}`?")),
        None => failure,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(text: &str) -> String {
        parse_options(text, "a.toml").expect_err("is refused").to_string()
    }

    #[test]
    fn a_misspelt_key_is_named_with_its_line_and_the_nearest_key() {
        let refusal = refusal("device = \"loopback\"\n\n# note\nbidirectoinal = true\n");
        assert!(refusal.contains("a.toml:4: unknown field `bidirectoinal`"), "{refusal}");
        assert!(refusal.contains("did you mean `bidirectional`?"), "{refusal}");
    }

    #[test]
    fn a_misspelt_value_is_named_with_the_nearest_one() {
        let text = refusal("seed = 1\ndevice = \"linux-ruoter\"\n");
        assert!(text.contains("a.toml:2: unknown variant `linux-ruoter`"), "{text}");
        assert!(text.contains("did you mean `linux-router`?"), "{text}");
        assert!(refusal("test = [\"throughputs\"]").contains("did you mean `throughput`?"));
    }

    #[test]
    fn a_bad_value_says_what_is_wanted() {
        assert!(refusal("duration = \"soon\"").contains("a.toml:1: `soon` is no time"));
        assert!(refusal("sizes = [63]").contains("between 64 and 65535"));
        assert!(refusal("seed = [").contains("a.toml:1"));
        let text = refusal("[latency]\nrepetitions = 3\nfirst_tags_s = 1.0\n");
        assert!(text.contains("a.toml:3") && text.contains("`first_tag_s`"), "{text}");
    }

    #[test]
    fn every_option_survives_a_file() {
        let text = "device = \"linux-bridge\"\nsizes = [64, \"imix\"]\nduration = \"1s\"\n\
                    resolution = \"1%\"\ntest = [\"back-to-back\"]\nport-type = \"af_xdp\"\n\
                    line-rate = \"2.5G\"\nmodifiers = [\"routing_update\"]\nfilter = \"25\"\n";
        let options = parse_options(text, "a.toml").unwrap();
        assert_eq!(parse_options(&options.to_toml(), "again").unwrap(), options);
    }
}
