//! Compiles the BPF programs of the `xdp` port with clang. Without a clang that can, the port is
//! left out, and `ports::xdp::available()` gives the reason that is recorded here.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Room for a frame in one slot of the transmit program: the fewer bytes, the longer a period of
/// frames fits in memory. The last is more than a live frame can hold.
const SLOT_BYTES: [usize; 3] = [120, 1528, 3576];

fn main() {
    println!("cargo::rustc-check-cfg=cfg(xdp_programs)");
    println!("cargo::rerun-if-changed=bpf");
    println!("cargo::rerun-if-env-changed=CLANG");
    match find_clang() {
        Ok(clang) => {
            compile_all(&clang);
            println!("cargo::rustc-cfg=xdp_programs");
        }
        Err(reason) => {
            println!("cargo::rustc-env=NETANVIL_NO_XDP={reason}");
            println!("cargo::warning=the xdp port is left out: {reason}");
        }
    }
}

/// The first clang that knows the BPF target.
fn find_clang() -> Result<String, String> {
    if std::env::var("CARGO_CFG_TARGET_ENDIAN").as_deref() != Ok("little") {
        return Err("its BPF programs are written for little-endian machines".into());
    }
    let named = std::env::var("CLANG").ok().filter(|name| !name.is_empty());
    let candidates = match named {
        Some(name) => vec![name],
        None => ["clang", "clang-21", "clang-19", "clang-18", "clang-16", "clang-15", "clang-14"]
            .map(String::from)
            .to_vec(),
    };
    let knows_bpf = |clang: &String| {
        let output = Command::new(clang).arg("--print-targets").output();
        output.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).contains("bpf"))
    };
    candidates.into_iter().find(knows_bpf).ok_or_else(|| {
        "netanvil was built without clang; apt install clang (14 or newer) and build again".into()
    })
}

fn compile_all(clang: &str) {
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    compile(clang, "receive.bpf.c", &out.join("receive.o"), &[]);
    for bytes in SLOT_BYTES {
        let to = out.join(format!("transmit_{bytes}.o"));
        compile(clang, "transmit.bpf.c", &to, &[format!("-DSLOT_BYTES={bytes}")]);
    }
}

fn compile(clang: &str, source: &str, to: &Path, defines: &[String]) {
    let status = Command::new(clang)
        .args(["-target", "bpf", "-mcpu=v3", "-O2", "-g", "-Wall", "-Wextra", "-Werror"])
        // Callbacks take what the kernel gives; declared helpers are not all used by each.
        .args(["-Wno-unused-parameter", "-Wno-unused-variable"])
        .args(defines)
        .arg("-c")
        .arg(Path::new("bpf").join(source))
        .arg("-o")
        .arg(to)
        .status();
    let status = status.unwrap_or_else(|error| panic!("cannot run {clang}: {error}"));
    assert!(status.success(), "{clang} failed on bpf/{source}");
}
