//! A program in C, compiled with all warnings as errors and linked in both ways.

use netanvil_netblt::transfer::{NetbltOutcome, NetbltProgress};
use std::mem::{offset_of, size_of};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where cargo puts the libraries beside this test.
fn libraries() -> PathBuf {
    let own = std::env::current_exe().expect("a test has a file");
    own.parent().expect("in a folder").to_owned()
}

fn compile(source: &str, out: &Path, link: &[&str]) {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let ran = Command::new("cc")
        .args(["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Wstrict-prototypes", "-Werror"])
        .arg("-I")
        .arg(package.join("include"))
        .arg("-x")
        .arg("c")
        .arg(source)
        .args(["-x", "none"])
        .args(link)
        .arg("-o")
        .arg(out)
        .output()
        .expect("cc runs");
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
}

/// A library of this package, the newest of those that differ in their hash.
fn library(ending: &str) -> PathBuf {
    let found = std::fs::read_dir(libraries()).expect("a folder").filter_map(|entry| {
        let path = entry.ok()?.path();
        let name = path.file_name()?.to_str()?;
        (name.starts_with("libnetanvil_netblt") && name.ends_with(ending)).then_some(path)
    });
    let modified = |path: &PathBuf| path.metadata().and_then(|metadata| metadata.modified()).ok();
    found.max_by_key(modified).unwrap_or_else(|| panic!("no {ending}"))
}

#[test]
fn a_program_in_c_serves_sends_and_fetches() {
    let folder = tempfile::tempdir().unwrap();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/transfer.c");
    let content: Vec<u8> =
        (0..3_000_000u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let digest = blake3::hash(&content).to_hex();
    for ending in [".a", ".so"] {
        let scene = folder.path().join(&ending[1..]);
        std::fs::create_dir_all(scene.join("served")).unwrap();
        std::fs::write(scene.join("file"), &content).unwrap();
        let program = scene.join("transfer");
        let library = library(ending);
        let needed = ["-lpthread", "-ldl", "-lm", "-lgcc_s"];
        let link = [&[library.to_str().unwrap()][..], &needed].concat();
        compile(source.to_str().unwrap(), &program, &link);
        let ran = Command::new(&program)
            .arg(scene.join("served"))
            .arg(scene.join("file"))
            .env("LD_LIBRARY_PATH", libraries())
            .output()
            .expect("the program runs");
        let (out, error) =
            (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
        assert!(ran.status.success(), "{ending}: {out}{error}");
        let lines = ["sent", "fetched", "in memory", "again"];
        let expected = lines.map(|what| format!("{what} 3000000 {digest}\n")).concat();
        assert_eq!(out, expected, "{ending}: {error}");
        for name in ["served/there", "served/again", "file.back"] {
            assert_eq!(std::fs::read(scene.join(name)).unwrap(), content, "{ending}: {name}");
        }
    }
}

/// C and Rust put the members of a structure in the same places.
#[test]
fn structures_are_the_same_in_both_languages() {
    let folder = tempfile::tempdir().unwrap();
    let (source, program) = (folder.path().join("sizes.c"), folder.path().join("sizes"));
    let text = "#include \"netblt.h\"\n#include <stdio.h>\nint main(void) {\n\
        printf(\"%d %d %d %d\", (int)sizeof(netblt_progress), (int)sizeof(netblt_outcome),\n\
        (int)offsetof(netblt_progress, at_most_bps), (int)offsetof(netblt_outcome, digest));\n\
        return 0;\n}\n";
    std::fs::write(&source, text).unwrap();
    compile(source.to_str().unwrap(), &program, &[]);
    let ran = Command::new(&program).output().expect("the program runs");
    let expected = format!(
        "{} {} {} {}",
        size_of::<NetbltProgress>(),
        size_of::<NetbltOutcome>(),
        offset_of!(NetbltProgress, at_most_bps),
        offset_of!(NetbltOutcome, digest)
    );
    assert_eq!(String::from_utf8_lossy(&ran.stdout), expected);
}
