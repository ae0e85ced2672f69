//! Patterns of names: what a copy includes and excludes, and globs in names of sources.

use super::control::Patterns;

/// A name with `*`, `?`, `[a-z]` and `{a,b}`; no `/` is matched by them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Glob(String);

impl Glob {
    /// An error says what is wrong with it.
    pub fn new(text: &str) -> Result<Glob, String> {
        fast_glob::validate(text).map_err(|error| error.to_string())?;
        // A `!` at the begin is a character of a name like others.
        let literal = if text.starts_with('!') { "\\" } else { "" };
        Ok(Glob(format!("{literal}{text}")))
    }
    /// Whether the whole name is one of those.
    pub fn matches(&self, name: &[u8]) -> bool {
        fast_glob::glob_match(&self.0, name)
    }
}

/// A pattern as a line of .gitignore has it; `{a,b}` means either besides.
#[derive(Clone, Debug)]
struct Pattern {
    glob: Glob,
    only_directories: bool,
    includes: bool,
}

impl Pattern {
    fn new(said: &str, includes: bool) -> Result<Pattern, String> {
        let wrong = |why: &str| Err(format!("no pattern: {said:?}: {why}"));
        let text = without_trailing_spaces(said);
        if text.is_empty() || text.starts_with(['!', '#']) {
            return wrong("it is empty or begins with ! or #");
        }
        let (text, only_directories) = match text.strip_suffix('/') {
            Some(directory) => (directory, true),
            None => (text, false),
        };
        // A slash within binds it to the top of the tree; else it is meant at any depth.
        let anchored = match text.strip_prefix('/') {
            Some(anchored) => anchored.to_owned(),
            None if text.contains('/') => text.to_owned(),
            None => format!("**/{text}"),
        };
        match Glob::new(&anchored) {
            _ if anchored.is_empty() || text.is_empty() => wrong("it names nothing"),
            Ok(glob) => Ok(Pattern { glob, only_directories, includes }),
            Err(why) => wrong(&why),
        }
    }
}

/// Spaces at the end do not count, unless a backslash stands before.
fn without_trailing_spaces(text: &str) -> &str {
    let trimmed = text.trim_end_matches(' ');
    match trimmed.ends_with('\\') && trimmed.len() < text.len() {
        true => &text[..=trimmed.len()],
        false => trimmed,
    }
}

/// What of a tree is left out.
#[derive(Clone, Debug, Default)]
pub struct Exclusion(Vec<Pattern>);

impl Exclusion {
    /// An error names the pattern that is none.
    pub fn new(patterns: &Patterns) -> Result<Exclusion, String> {
        // The last one that matches decides: what is included comes last.
        let excluded = patterns.exclude.iter().map(|said| Pattern::new(said, false));
        let included = patterns.include.iter().map(|said| Pattern::new(said, true));
        excluded.chain(included).collect::<Result<_, _>>().map(Exclusion)
    }
    /// Whether an entry is left out, by its path below the top of the tree.
    pub fn covers(&self, path: &[u8], is_directory: bool) -> bool {
        let meant = |pattern: &&Pattern| {
            (is_directory || !pattern.only_directories) && pattern.glob.matches(path)
        };
        self.0.iter().rev().find(meant).is_some_and(|pattern| !pattern.includes)
    }
    /// Whether an entry is left out, or a directory that it is in.
    pub fn covers_way(&self, path: &[u8], is_directory: bool) -> bool {
        let mut slashes = (0..path.len()).filter(|at| path[*at] == b'/');
        slashes.any(|at| self.covers(&path[..at], true)) || self.covers(path, is_directory)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn covered(pattern: &str, path: &str, is_directory: bool) -> bool {
        let patterns = Patterns { exclude: vec![pattern.to_owned()], include: vec![] };
        Exclusion::new(&patterns).unwrap().covers(path.as_bytes(), is_directory)
    }

    /// gitignore(5), "PATTERN FORMAT" and "EXAMPLES".
    #[test]
    fn patterns_mean_what_the_manual_of_git_says() {
        for (pattern, path, is_directory, expected) in [
            ("hello.*", "hello.txt", false, true),
            ("hello.*", "a/hello.java", false, true),
            ("/hello.*", "hello.c", false, true),
            ("/hello.*", "a/hello.java", false, false),
            ("foo/", "foo", true, true),
            ("foo/", "foo", false, false),
            ("foo/", "a/foo", true, true),
            ("doc/frotz", "doc/frotz", true, true),
            ("doc/frotz", "a/doc/frotz", true, false),
            ("/doc/frotz/", "doc/frotz", true, true),
            ("foo/*", "foo/test.json", false, true),
            ("foo/*", "foo/bar/hello.c", false, false),
            ("**/foo", "a/b/foo", false, true),
            ("**/foo/bar", "x/foo/bar", false, true),
            ("abc/**", "abc/d/e", false, true),
            ("abc/**", "abc", true, false),
            ("a/**/b", "a/b", false, true),
            ("a/**/b", "a/x/y/b", false, true),
            ("\\#x", "#x", false, true),
            ("\\!important!.txt", "!important!.txt", false, true),
            ("end ", "end", false, true),
            ("end\\ ", "end ", false, true),
            ("f?o", "f/o", false, false),
            ("[a-c].o", "b.o", false, true),
            ("[!a-c].o", "b.o", false, false),
            ("*.{o,a}", "x.a", false, true),
            ("Foo", "foo", false, false),
        ] {
            assert_eq!(covered(pattern, path, is_directory), expected, "{pattern:?} of {path:?}");
        }
    }

    #[test]
    fn what_is_no_pattern_is_named() {
        for wrong in ["", " ", "!x", "#x", "/", "[a", "{a", "a\\"] {
            let error = Pattern::new(wrong, false).unwrap_err();
            assert!(
                error.contains("no pattern") && error.contains(&format!("{wrong:?}")),
                "{error}"
            );
        }
    }

    #[test]
    fn a_name_may_begin_with_an_exclamation_mark() {
        let glob = Glob::new("!*.rs").unwrap();
        assert!(glob.matches(b"!a.rs") && !glob.matches(b"a.rs") && !glob.matches(b"!a/b.rs"));
    }

    proptest! {
        #[test]
        fn no_pattern_and_no_name_panics(pattern in ".*", name: Vec<u8>) {
            let _ = Pattern::new(&pattern, true).map(|pattern| pattern.glob.matches(&name));
        }
        #[test]
        fn a_plain_name_matches_itself_alone(name in "[a-z.0-9]{1,12}", other in "[a-z.0-9]{1,12}") {
            prop_assert!(covered(&name, &name, false));
            prop_assert_eq!(covered(&name, &other, false), name == other);
        }
    }
}
