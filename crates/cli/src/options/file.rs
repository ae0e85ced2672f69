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
    checked(text).map_err(|error| explain(text, name, &error))
}

/// Options keep their sections as tables, to tell what was given from what is default. The second reading only finds
/// wrong keys in them, with their lines.
fn checked(text: &str) -> Result<Options, toml::de::Error> {
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
    let options = toml::from_str(text)?;
    toml::from_str::<Sections>(text)?;
    Ok(options)
}

/// Reads `SECTION.KEY=VALUE` of `--set`. Words need no quotes, which a shell would take away.
pub fn parse_setting(setting: &str) -> Outcome<Options> {
    let refused = |why: &str| {
        Failure::new(format!("--set {setting}: {why}"))
            .help("write --set SECTION.KEY=VALUE, such as latency.repetitions=5")
    };
    let (key, value) = setting.split_once('=').ok_or_else(|| refused("no value"))?;
    let (key, value) = (key.trim(), value.trim());
    if value.is_empty() {
        return Err(refused("no value"));
    }
    if key.split('.').any(|part| part.trim().is_empty()) {
        return Err(refused("no name of a section and a key before `=`"));
    }
    let is_toml = toml::from_str::<toml::Table>(&format!("value = {value}")).is_ok();
    let value = if is_toml { value.into() } else { toml::Value::from(value).to_string() };
    let text = format!("{key} = {value}");
    checked(&text).map_err(|error| explained(format!("--set {setting}"), &error))
}

fn explain(text: &str, name: &str, error: &toml::de::Error) -> Failure {
    let place = error.span().map_or(0, |span| span.start);
    let line = text[..place].matches('\n').count() + 1;
    let failure = explained(format!("{name}:{line}"), error);
    match text.lines().nth(line - 1).filter(|_| unknown_word(error.message()).is_none()) {
        Some(wrong) if !wrong.trim().is_empty() => failure.help(format!("in `{}`", wrong.trim())),
        _ => failure,
    }
}

/// What is wrong at a place, in words, and the valid words where one is unknown.
fn explained(place: String, error: &toml::de::Error) -> Failure {
    let message = error.message();
    let failure = Failure::new(format!("{place}: {}", in_words(first_sentence(message))));
    match unknown_word(message) {
        Some((wrong, valid)) => suggest(failure, wrong, &valid),
        None => failure,
    }
}

/// `serde` names types of Rust.
fn in_words(message: &str) -> String {
    let Some((found, expected)) = message.split_once(", expected ") else { return message.into() };
    let whole = |most: u64| format!("a whole number from 0 to {most}");
    let wanted = match expected {
        "u8" => whole(u8::MAX.into()),
        "u16" => whole(u16::MAX.into()),
        "u32" => whole(u32::MAX.into()),
        "u64" | "usize" => "a whole number, 0 or more".into(),
        "f64" => "a number".into(),
        "a sequence" => "a list, such as [1, 2]".into(),
        "a boolean" => "true or false".into(),
        other => other.into(),
    };
    format!("{found}, expected {wanted}")
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

    /// No example names another setting, and no type of Rust is named.
    #[test]
    fn a_wrong_setting_is_named_with_what_is_wanted() {
        let refusal = |setting| parse_setting(setting).expect_err("is refused").to_string();
        let u32s = "expected a whole number from 0 to 4294967295";
        for (setting, words) in [
            ("throughput.final_trials=-1", u32s),
            ("throughput.final_trials=1.5", u32s),
            ("throughput.final_trials=99999999999", u32s),
            ("latency.repetitions=x", "invalid type: string \"x\", expected a whole number"),
            ("pdv.repetitions=-2", u32s),
            ("trial.duration_s=abc", "string \"abc\", expected a number"),
            ("trial.duration_s=1s", "string \"1s\", expected a number"),
            ("trial.keep_alives=maybe", "string \"maybe\", expected true or false"),
            ("throughput.loss_tolerances_percent=5", "expected a list, such as [1, 2]"),
            ("search.policy=foo", "unknown variant `foo`"),
            ("search.policy=bisec", "did you mean `bisect`?"),
            ("throughput.final_trial=3", "did you mean `final_trials`?"),
            ("trial.limits.short=1", "did you mean `shortfall`?"),
            ("foo=1", "unknown field `foo`"),
        ] {
            let refusal = refusal(setting);
            assert!(refusal.contains(words), "{setting}: {refusal}");
            assert!(refusal.starts_with(&format!("error: --set {setting}: ")), "{refusal}");
            let others = refusal.replace(setting, "");
            assert!(!others.contains("latency.repetitions"), "{refusal}");
        }
        for setting in
            ["throughput", "throughput=", "throughput.final_trials=", "=1", ".=1", "a..b=1"]
        {
            let refusal = refusal(setting);
            assert!(refusal.contains("such as latency.repetitions=5"), "{setting}: {refusal}");
        }
        for setting in
            ["search.policy=bisect", "search.policy=\"bisect\"", "search.policy = 'bisect'"]
        {
            let options = parse_setting(setting).expect("a setting");
            assert_eq!(options.search.unwrap()["policy"].as_str(), Some("bisect"));
        }
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
