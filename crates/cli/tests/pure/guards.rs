//! What documents name exists: the tests of docs/guards.md, the files of ARCHITECTURE.md's path of a run, the
//! device of docs/devices.md.

use std::path::{Path, PathBuf};

/// Files that one has to read to follow a run.
const FILES_MAX: usize = 40;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The folders of all crates that others can use.
fn crates() -> Vec<PathBuf> {
    let folders = ["crates", "netblt"].map(|folder| std::fs::read_dir(root().join(folder)));
    let entries = folders.into_iter().flat_map(|folder| folder.expect("crates"));
    entries.map(|entry| entry.expect("an entry").path()).collect()
}

/// Whether the word stands in the text, with no letter before or after it.
fn has_word(text: &str, word: &str) -> bool {
    let part = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(word)
        .any(|(at, _)| !text[..at].ends_with(part) && !text[at + word.len()..].starts_with(part))
}

/// Whether a Rust or C file defines that name.
fn defines(source: &str, name: &str) -> bool {
    let kinds = ["fn", "struct", "enum", "trait", "const", "static", "int"];
    kinds.iter().any(|kind| has_word(source, &format!("{kind} {name}")))
}

/// The lines `1. \`FILE\` \`NAME\`: ...` of a text: file and name.
fn path_of_a_run(text: &str) -> Vec<(&str, &str)> {
    let numbered = (1..).map_while(|number| {
        let begins = format!("{number}. `crates/");
        text.lines().find(|line| line.starts_with(&begins))
    });
    numbered
        .map(|line| {
            let mut words = line.split('`').skip(1).step_by(2);
            (words.next().unwrap_or_default(), words.next().unwrap_or_default())
        })
        .collect()
}

#[test]
fn the_path_of_a_run_is_one_and_short() {
    let text = read("ARCHITECTURE.md");
    let path = path_of_a_run(&text);
    assert!((20..=FILES_MAX).contains(&path.len()), "{} files", path.len());
    let mut above = String::new();
    for (file, name) in path {
        let source = read(file);
        assert!(defines(&source, name), "{file} defines no `{name}`");
        assert!(above.is_empty() || has_word(&above, name), "nothing above {file} names `{name}`");
        above.push_str(&source);
    }
}

#[test]
fn the_path_is_read_as_it_is_written() {
    let text =
        "# A\n1. `crates/a.rs` `main`: begins\n2. `crates/b.c` `send`: sends\n4. `crates/c` `x`\n";
    assert_eq!(path_of_a_run(text), [("crates/a.rs", "main"), ("crates/b.c", "send")]);
    assert!(defines("pub fn send(&self)", "send") && !defines("pub fn sender()", "send"));
    assert!(has_word("a::send(1)", "send") && !has_word("a::resend(1)", "send"));
}

/// The example of the documentation is one.
#[test]
fn the_documented_device_can_be_read() {
    let text = read("docs/devices.md");
    let example = text.split("```toml\n").nth(1).expect("an example").split("```").next();
    let device = sim::Description::from_toml(example.expect("its end")).expect("a device");
    assert_eq!((device.ports, device.filter.rules.len()), (4, 1));
}

/// Names of the form `crates/FILE.rs::TEST` in a text.
fn named(text: &str) -> Vec<(&str, &str)> {
    let quoted = text.split('`').skip(1).step_by(2);
    quoted.filter_map(|words| words.split_once("::")).collect()
}

/// Whether a file has a test of this name, which is neither left out nor made of nothing.
fn has_test(source: &str, name: &str) -> bool {
    let lines: Vec<&str> = source.lines().map(str::trim).collect();
    let begins = |line: &&str| line.starts_with(&format!("fn {name}("));
    let Some(at) = lines.iter().position(begins) else { return false };
    let above = lines[..at].iter().rev();
    let marks: Vec<_> =
        above.take_while(|line| line.starts_with('#') || line.starts_with("//")).collect();
    marks.iter().any(|line| **line == "#[test]")
        && !marks.iter().any(|line| line.contains("ignore"))
}

#[test]
fn every_test_that_is_named_exists() {
    let root = root();
    let text = read("docs/guards.md");
    let mut missing = vec![];
    for (file, name) in named(&text) {
        let source = std::fs::read_to_string(root.join(file)).unwrap_or_default();
        if !has_test(&source, name) {
            missing.push(format!("{file}::{name}"));
        }
    }
    assert!(missing.is_empty(), "docs/guards.md names tests that do not exist: {missing:#?}");
    let rows: Vec<&str> = text.lines().filter(|line| line.starts_with("| ")).skip(1).collect();
    assert!(rows.len() >= 17, "{} rows", rows.len());
    for row in rows {
        assert!(!named(row).is_empty(), "nothing guards: {row}");
    }
}

/// The jobs of the first table of docs/jobs.md; each of another command or another test.
const JOBS: usize = 22;

#[test]
fn every_job_of_the_list_has_its_test() {
    let text = read("docs/jobs.md");
    let rows: Vec<&str> = text.lines().filter(|line| line.starts_with("| ")).skip(1).collect();
    assert_eq!(rows.len(), JOBS);
    let mut known = vec![];
    for row in rows {
        let named = named(row);
        let [(file, name)] = named[..] else { panic!("one test is to be named: {row}") };
        assert!(has_test(&read(file), name), "{file} has no test {name}");
        assert!(!known.contains(&(file.to_owned(), name.to_owned())), "named twice: {name}");
        known.push((file.to_owned(), name.to_owned()));
    }
    // Whatever is a job is in the list.
    let folder = root().join("crates/cli/tests/live/jobs");
    let files = std::fs::read_dir(folder).expect("jobs").map(|file| file.expect("a file").path());
    let wrong = root().join("crates/cli/tests/concurrent/nothing_comes_back.rs");
    let files = files.chain([wrong]);
    let texts = files.map(|path| std::fs::read_to_string(path).expect("a text"));
    let tests: usize = texts.map(|text| text.matches("#[test]").count()).sum();
    assert_eq!(tests, JOBS, "docs/jobs.md lists every test of the jobs");
}

/// A file of tests that its binary does not name is not compiled, and nobody would miss it.
#[test]
fn every_file_of_tests_is_named_by_its_binary() {
    let root = root();
    let folders = crates().into_iter().map(|package| package.join("tests"));
    let folders = folders.chain([root.join("tests/live/tests")]);
    let mut checked = 0;
    for folder in folders.filter(|folder| folder.join("main.rs").exists()) {
        let mut files = vec![];
        sources(&folder, &mut files);
        for file in files.iter().filter(|file| file.parent() != Some(&folder)) {
            let name = file.file_stem().expect("a name").to_string_lossy();
            let (name, within) = match &*name {
                "mod" => (file.parent().and_then(Path::file_name).expect("a folder"), 2),
                _ => (file.file_stem().expect("a name"), 1),
            };
            let within = file.ancestors().nth(within).expect("a folder").join("mod.rs");
            let names = if within.exists() { within } else { folder.join("main.rs") };
            let source = std::fs::read_to_string(&names).expect("a source");
            let module = format!("mod {};", name.to_string_lossy());
            assert!(source.contains(&module), "{} lacks `{module}`", names.display());
            checked += 1;
        }
    }
    assert!(checked > 60, "{checked} files");
}

#[test]
fn a_test_is_a_function_that_is_marked_as_one() {
    let source = "/// Why.\n#[test]\nfn one() {}\nfn two() {}\n#[test]\n#[ignore]\nfn three() {}\n";
    assert!(has_test(source, "one"));
    assert!(!has_test(source, "two") && !has_test(source, "three") && !has_test(source, "on"));
}

/// What a source includes when it is compiled, relative to the source.
fn included(source: &str) -> impl Iterator<Item = &str> {
    let after = source.match_indices("include_str!(\"").map(|(at, begins)| at + begins.len());
    after.filter_map(|at| source[at..].split('"').next())
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        match path.is_dir() {
            true => sources(&path, found),
            false if path.extension().is_some_and(|kind| kind == "rs") => found.push(path),
            false => {}
        }
    }
}

/// Names of the types in which tests keep what they find while they run.
fn types_of_results() -> Vec<String> {
    let mut files = vec![];
    sources(&root().join("crates/method/src"), &mut files);
    let mut names = vec![];
    for file in files {
        let source = std::fs::read_to_string(file).expect("a source");
        let after = source.match_indices("pub struct ").map(|(at, begins)| at + begins.len());
        let named = after.filter_map(|at| source[at..].split([' ', '<', '(', ';']).next());
        names.extend(named.filter(|name| name.ends_with("Result")).map(String::from));
    }
    // A comparison of two devices is no test; it has events of its own.
    names.retain(|name| name != "VersusResult");
    names
}

/// Whoever prints, compares or saves results knows outcomes and no test.
#[test]
fn events_and_reports_name_no_tests_result() {
    let types = types_of_results();
    assert!(types.len() >= 24 && types.contains(&"IpdvResult".into()), "{types:?}");
    let mut files = vec![root().join("crates/method/src/event.rs")];
    sources(&root().join("crates/report/src"), &mut files);
    sources(&root().join("crates/cli/src"), &mut files);
    assert!(files.len() > 100, "{} files", files.len());
    for file in files {
        // They say what one suite found in the words of the document of 1989.
        let of_1989 = ["reproduce_1989", "findings_1989", "graphs_1989"];
        if of_1989.iter().any(|name| file.ends_with(format!("harvard/{name}.rs"))) {
            continue;
        }
        let source = std::fs::read_to_string(&file).expect("a source");
        let named: Vec<_> = types.iter().filter(|name| has_word(&source, name)).collect();
        assert!(named.is_empty(), "{} names {named:?}", file.display());
        // The record of a test is passed on as it is.
        let reads = source.contains(".detail[") || source.contains(".record::<");
        assert!(!reads, "{} reads a test's own record", file.display());
    }
}

/// What it takes to have a test in the product is said as it is.
#[test]
fn the_files_that_name_a_test_are_as_many_as_is_said() {
    let mut files = vec![];
    crates().iter().for_each(|package| sources(&package.join("src"), &mut files));
    let count = |words: [&str; 2]| {
        let names = |file: &&PathBuf| {
            let source = std::fs::read_to_string(file).expect("a source");
            words.iter().any(|word| source.contains(word))
        };
        files.iter().filter(names).count()
    };
    let named = (count(["ipdv", "Ipdv"]), count(["broadcast_latency", "BroadcastLatency"]));
    let said = format!(
        "it is named in {} files, the broadcast latency of many ports in {} (",
        named.0, named.1
    );
    assert!(read("ARCHITECTURE.md").contains(&said), "ARCHITECTURE.md does not say: {said}");
}

/// Formats that are not of `wire`: whoever defines one reads it by its places.
const OTHER_FORMATS: [(&str, &str); 3] = [
    ("crates/kernel/src/netlink.rs", "messages of netlink; `kernel` rests on no other crate"),
    ("netblt/io/src/seal.rs", "sealed packets: the file defines their greeting and refusal"),
    ("netblt/io/src/seal/session.rs", "sealed packets: the file defines their header"),
];

/// Places of a line at which the bytes of a frame or packet are read or written by a literal place:
/// `frame[12..14]`, `header.bytes[..6]`, `packet.get(9)`, `u16_at(frame, 12)`.
fn literal_places(line: &str) -> usize {
    const BYTES: [&str; 9] = [
        "frame", "packet", "header", "datagram", "segment", "message", "octets", "bytes", "payload",
    ];
    let is_bytes = |before: &str| {
        BYTES.iter().any(|name| {
            let part = |c: char| c.is_alphanumeric() || c == '_' || c == '"';
            before.strip_suffix(name).is_some_and(|before| !before.ends_with(part))
        })
    };
    let is_literal = |index: &str| {
        let index = index.trim_start_matches(['.', '=', ' ']);
        index.starts_with(|c: char| c.is_ascii_digit())
    };
    let opened = ["[", ".get(", ".get_mut("];
    let opened = opened.iter().flat_map(|open| line.match_indices(open));
    let indexed = opened.filter(|(at, open)| {
        let index = &line[at + open.len()..];
        // `[..]` is the whole, and `[0; 4]` an array.
        let end = index.find([']', ')', ';']).unwrap_or(index.len());
        is_bytes(&line[..*at]) && is_literal(&index[..end]) && !index[end..].starts_with(';')
    });
    let called = ["u16_at(", "put_u16("].iter().flat_map(|call| line.match_indices(call));
    let called = called
        .filter(|(at, call)| line[at + call.len()..].split(", ").nth(1).is_some_and(is_literal));
    indexed.count() + called.count()
}

/// A line without comment and text.
fn code(line: &str) -> String {
    let code = if line.trim_start().starts_with("//") { "" } else { line };
    code.split('"').step_by(2).collect()
}

/// Lines of a source before its tests, with their numbers; one that goes on with a call is one with the line before.
fn production(source: &str) -> Vec<(usize, String)> {
    let end = source.find("\n#[cfg(test)]\nmod tests {").unwrap_or(source.len());
    let mut lines: Vec<(usize, String)> = vec![];
    for (index, line) in source[..end].lines().enumerate() {
        let code = code(line);
        match lines.last_mut().filter(|_| line.trim_start().starts_with('.')) {
            Some((_, before)) => before.push_str(code.trim()),
            None => lines.push((index + 1, code.trim().into())),
        }
    }
    lines
}

/// Every offset of a header is in its protocol's file.
#[test]
fn no_header_is_read_by_literal_places() {
    let mut files = vec![];
    crates().iter().for_each(|package| sources(&package.join("src"), &mut files));
    let root = root();
    let (mut found, mut excepted) = (vec![], std::collections::BTreeSet::new());
    for file in files {
        let name = file.strip_prefix(&root).expect("in the repository").display().to_string();
        let is_test = name.ends_with("tests.rs") || name.contains("/tests/");
        if is_test || name.starts_with("crates/wire/") {
            continue;
        }
        let source = std::fs::read_to_string(&file).expect("a source");
        for (number, line) in production(&source) {
            if literal_places(&line) == 0 {
                continue;
            }
            match OTHER_FORMATS.iter().find(|(other, _)| *other == name) {
                Some((other, _)) => drop(excepted.insert(*other)),
                None => found.push(format!("{name}:{number}: {line}")),
            }
        }
    }
    assert!(found.is_empty(), "read by a `View` of `wire`: {found:#?}");
    assert_eq!(excepted.len(), OTHER_FORMATS.len(), "exceptions of which there is no need");
}

#[test]
fn a_literal_place_is_known_by_its_digits() {
    let read = [
        "if frame[12..14] == [8, 0] {",
        "let tag = &frame[14 + 9];",
        "bytes[..6].copy_from_slice(&dst.0);",
        "frame.bytes[6..12].fill(0);",
        "packet.get(9) == Some(&17)",
        "header.get_mut(0..2)",
        "u16_at(frame, 12)",
        "put_u16(&mut bytes, 2, length)",
    ];
    assert!(read.iter().all(|line| literal_places(&code(line)) == 1));
    let fine = [
        "// frame[12..14]",
        "format!(\"{path}.packet[0]\")",
        "view.src()",
        "frames[0]",
        "&frame[at..at + 2]",
        "&frame[..len / 4 * 4]",
        "bytes: [0; 4]",
        "u16_at(bytes, at)",
    ];
    assert!(fine.iter().all(|line| literal_places(&code(line)) == 0));
    let source = "#[cfg(test)]\nmod tests;\nlet tag = frame\n    .get(12..14);\n\n\
                  #[cfg(test)]\nmod tests {\nframe[1];\n}";
    let found = production(source).iter().filter(|(_, line)| literal_places(line) > 0).count();
    assert_eq!(found, 1, "neither a module of its own nor what is behind the tests ends it");
}

/// Files of a package, as cargo packs it.
fn packed(package: &Path) -> Vec<PathBuf> {
    let cargo = std::process::Command::new(env!("CARGO"))
        .args(["package", "--list", "--offline", "--allow-dirty", "--quiet"])
        .current_dir(package)
        .output()
        .expect("cargo");
    assert!(cargo.status.success(), "{}", String::from_utf8_lossy(&cargo.stderr));
    let list = String::from_utf8(cargo.stdout).expect("UTF-8");
    list.lines().map(PathBuf::from).collect()
}

/// A package is built where the rest of the repository is not.
#[test]
fn every_crate_packs_what_it_is_built_of() {
    let mut checked = 0;
    for package in crates() {
        let packed = packed(&package);
        let has = |path: &Path| packed.iter().any(|file| file == path);
        for licence in ["LICENSE-APACHE", "LICENSE-MIT"] {
            assert!(has(Path::new(licence)), "{} without {licence}", package.display());
        }
        let (mut all, mut wanted) = (vec![], vec![]);
        sources(&package.join("src"), &mut all);
        for file in &all {
            let source = std::fs::read_to_string(file).expect("a source");
            let folder = file.parent().expect("a folder").strip_prefix(&package);
            let folder = folder.expect("in the package").to_owned();
            wanted.extend(included(&source).map(|name| folder.join(name)));
        }
        if let Ok(programs) = std::fs::read_dir(package.join("bpf")) {
            let names = programs.map(|entry| entry.expect("an entry").file_name());
            wanted.extend(names.map(|name| Path::new("bpf").join(name)));
            wanted.push("build.rs".into());
        }
        for path in &wanted {
            let inside = plain(path);
            let path = inside.unwrap_or_else(|| panic!("{path:?} leads out of {package:?}"));
            assert!(has(&path), "{} does not pack {}", package.display(), path.display());
        }
        checked += wanted.len();
    }
    assert!(checked > 40, "{checked} files");
}

/// A path without `..`; `None` where it leads out of where it begins.
fn plain(path: &Path) -> Option<PathBuf> {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            std::path::Component::ParentDir => plain.pop().then_some(())?,
            part => plain.push(part),
        }
    }
    Some(plain)
}

#[test]
fn a_path_out_of_its_folder_is_none() {
    assert_eq!(plain(Path::new("src/a/../../data/x.csv")), Some("data/x.csv".into()));
    assert_eq!(plain(Path::new("src/../../data/x.csv")), None);
    let source = "const A: &str = include_str!(\"a.css\");\nconst B: &str = \"b\";";
    assert_eq!(included(source).collect::<Vec<_>>(), ["a.css"]);
}
