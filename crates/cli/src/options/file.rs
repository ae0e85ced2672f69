//! Reading a configuration file, with errors that name the line and the nearest valid word.

use super::Options;
use crate::failure::{Failure, Outcome};
use std::path::Path;

/// Reads options from a TOML file.
pub fn read(path: &Path) -> Outcome<Options> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| Failure::new(format!("cannot read {}: {error}", path.display())))?;
    parse(&text, &path.display().to_string())
}

/// Reads options from the text of a file called `name`.
pub fn parse(text: &str, name: &str) -> Outcome<Options> {
    toml::from_str(text).map_err(|error| explain(text, name, &error))
}

fn explain(text: &str, name: &str, error: &toml::de::Error) -> Failure {
    let place = error.span().map_or(0, |span| span.start);
    let line = text[..place].matches('\n').count() + 1;
    let message = error.message();
    let failure = Failure::new(format!("{name}:{line}: {}", first_sentence(message)));
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
    let near = |word: &&&str| strsim::jaro_winkler(wrong, word);
    let nearest = valid.iter().max_by(|a, b| near(a).total_cmp(&near(b)));
    let failure = match nearest.filter(|word| near(word) > 0.7) {
        Some(nearest) => failure.help(format!("did you mean `{nearest}`?")),
        None => failure,
    };
    if valid.len() <= 8 {
        failure.help(format!("valid are: {}", valid.join(", ")))
    } else {
        failure.help("`netanvil run --help` lists the options; keys have the same names")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(text: &str) -> String {
        parse(text, "a.toml").expect_err("is refused").to_string()
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
        assert!(refusal("sizes = [63]").contains("64 to 9216"));
        assert!(refusal("seed = [").contains("a.toml:1"));
    }

    #[test]
    fn every_option_survives_a_file() {
        let text = "device = \"linux-bridge\"\nsizes = [64, \"imix\"]\nduration = \"1s\"\n\
                    resolution = \"1%\"\ntest = [\"back-to-back\"]\nport-type = \"af_xdp\"\n\
                    line-rate = \"2.5G\"\nmodifiers = [\"routing-update\"]\nfilter = \"25\"\n";
        let options = parse(text, "a.toml").unwrap();
        assert_eq!(parse(&options.to_toml(), "again").unwrap(), options);
    }
}
