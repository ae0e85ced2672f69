//! Each fuzzer for a short time, from the committed seeds, with no tool but the compiler at hand.
//! `cargo fuzz run NAME fuzz/seeds/NAME` goes on where this ends.
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "reads a clock to stop")]

#[path = "../../new_seed.rs"]
mod new_seed;

use fuzzing::TARGETS;
use fuzzing::mutate::Mutator;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Mutations of each target's seeds; with the same number the same ones.
const MUTATIONS: u64 = 20_000;
/// On a slow machine fewer, so that a test stays a test.
const LONGEST: Duration = Duration::from_secs(4);
/// Never so few that nothing was tried.
const AT_LEAST: u64 = 500;
const SEED: u64 = 0x1989;

fn folder(target: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds").join(target)
}

fn seeds(target: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let folder = folder(target);
    let entries = std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{folder:?}: {error}"));
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    let read = |path: PathBuf| {
        let bytes = std::fs::read(&path).expect("a seed");
        (path, bytes)
    };
    paths.into_iter().map(read).collect()
}

/// A finding leaves its input behind, to become a seed.
fn checked(target: (&str, fn(&[u8])), input: &[u8], what: &str) {
    if catch_unwind(AssertUnwindSafe(|| target.1(input))).is_err() {
        let finding = std::env::temp_dir().join(format!("netanvil-finding-{}", target.0));
        std::fs::write(&finding, input).expect("a place for the finding");
        panic!("{}: {what} makes it panic; the input is in {}", target.0, finding.display());
    }
}

fn run(name: &str) {
    let target = (name, fuzzing::target(name));
    let seeds = seeds(name);
    assert!(!seeds.is_empty(), "no seeds in {}", folder(name).display());
    for (path, bytes) in &seeds {
        checked(target, bytes, &path.display().to_string());
    }
    let inputs: Vec<Vec<u8>> = seeds.into_iter().map(|(_, bytes)| bytes).collect();
    let (mut mutator, mut new) = (Mutator::new(SEED), Mutator::new(new_seed::new_seed()));
    let start = Instant::now();
    for number in 0..MUTATIONS {
        if number >= AT_LEAST && start.elapsed() > LONGEST {
            return eprintln!("{name}: {number} mutations in the time there was");
        }
        checked(target, &mutator.mutation_of(&inputs), &format!("mutation {number}"));
        if number % 4 == 0 {
            checked(
                target,
                &new.mutation_of(&inputs),
                &format!("mutation {number} of the new seed"),
            );
        }
    }
}

macro_rules! short {
    ($($name:ident)*) => {
        $(#[test]
        fn $name() {
            run(stringify!($name));
        })*

        #[test]
        fn every_target_has_a_test() {
            let tested = [$(stringify!($name)),*];
            assert_eq!(tested.to_vec(), TARGETS.map(|(name, _)| name).to_vec());
        }
    };
}

short! {
    frame headers views rip snmp groups netblt copy signature fragments bridging decnet appletalk ipx
    template sizes device config capture hammer agent
}
