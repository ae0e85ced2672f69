//! For build scripts: compiles BPF programs with clang, or says why it cannot. The kernel's part of
//! their interface is `include/kernel.h`.
//!
//! # Example
//!
//! A crate's `build.rs`, with a program in `bpf/count.bpf.c` that begins with `#include "kernel.h"`:
//!
//! ```no_run
//! match bpf_build::Clang::find() {
//!     Ok(clang) => clang.compile("count.bpf.c", "count.o", &["-DLIMIT=16".into()]),
//!     Err(reason) => println!("cargo::warning=without BPF programs: {reason}"),
//! }
//! ```
//!
//! The crate then has it as `include_bytes!(concat!(env!("OUT_DIR"), "/count.o"))`.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A clang that knows the BPF target.
#[derive(Clone, Debug)]
pub struct Clang {
    program: String,
}

impl Clang {
    /// The one that `CLANG` names, or the first on the path; an error in words for the user.
    pub fn find() -> Result<Clang, String> {
        println!("cargo::rerun-if-env-changed=CLANG");
        if env::var("CARGO_CFG_TARGET_ENDIAN").as_deref() != Ok("little") {
            return Err("its BPF programs are written for little-endian machines".into());
        }
        let named = env::var("CLANG").ok().filter(|name| !name.is_empty());
        let usual =
            ["clang", "clang-21", "clang-19", "clang-18", "clang-16", "clang-15", "clang-14"];
        let candidates = named.map_or(usual.map(String::from).to_vec(), |name| vec![name]);
        let program =
            candidates.into_iter().find(|program| knows_bpf(program)).ok_or_else(|| {
                look_again_next_time();
                "netanvil was built without clang; apt install clang (14 or newer) and build again"
            })?;
        Ok(Clang { program })
    }

    /// Compiles `source` to an object of this name in cargo's output folder; `defines` are such as
    /// `-DSLOT_BYTES=120`.
    ///
    /// # Panics
    /// If it does not compile: the sources are part of the program.
    pub fn compile(&self, source: &str, object: &str, defines: &[String]) {
        let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("include");
        println!("cargo::rerun-if-changed={}", include.display());
        println!("cargo::rerun-if-changed=bpf");
        let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
        let here =
            env::current_dir().expect("cargo runs build scripts in the folder of their crate");
        let status = Command::new(&self.program)
            .args(["-target", "bpf", "-mcpu=v3", "-O2", "-g", "-Wall", "-Wextra", "-Werror"])
            // The same object wherever this is built: debugging information names no folder of this machine.
            .arg(format!("-ffile-prefix-map={}=.", here.display()))
            .arg(format!("-ffile-prefix-map={}=bpf", include.display()))
            // Callbacks take what the kernel gives; declared helpers are not all used by each.
            .args(["-Wno-unused-parameter", "-Wno-unused-variable"])
            .args(defines)
            .arg("-I")
            .arg(include)
            .arg("-c")
            .arg(Path::new("bpf").join(source))
            .arg("-o")
            .arg(out.join(object))
            .status();
        let status = status.unwrap_or_else(|error| panic!("cannot run {}: {error}", self.program));
        assert!(status.success(), "{} failed on bpf/{source}", self.program);
    }
}

/// Cargo runs a build script again where a file that it names does not exist: so a clang that is installed
/// later is found.
fn look_again_next_time() {
    println!("cargo::rerun-if-changed=no-clang-was-found");
}

fn knows_bpf(program: &str) -> bool {
    let output = Command::new(program).arg("--print-targets").output();
    output.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).contains("bpf"))
}
