//! Compiles the BPF programs of the `xdp` port and the shim of the `dpdk` port. Without the tools or libraries
//! for one, that port is left out, and its `available()` gives the reason that is recorded here.

use std::env;
use std::path::PathBuf;
use std::process::Command;

/// Room for a frame in one slot of the transmit program: the fewer bytes, the longer a period of
/// frames fits in memory. The last is more than a live frame can hold.
const SLOT_BYTES: [usize; 3] = [120, 1528, 3576];

fn main() {
    xdp_programs();
    dpdk_shim();
}

fn xdp_programs() {
    println!("cargo::rustc-check-cfg=cfg(xdp_programs)");
    println!("cargo::rerun-if-changed=bpf");
    match bpf_build::Clang::find() {
        Ok(clang) => {
            clang.compile("receive.bpf.c", "receive.o", &[]);
            for bytes in SLOT_BYTES {
                let object = format!("transmit_{bytes}.o");
                clang.compile("transmit.bpf.c", &object, &[format!("-DSLOT_BYTES={bytes}")]);
            }
            println!("cargo::rustc-cfg=xdp_programs");
        }
        Err(reason) => {
            println!("cargo::rustc-env=NETANVIL_NO_XDP={reason}");
            println!("cargo::warning=the xdp port is left out: {reason}");
        }
    }
}

fn dpdk_shim() {
    println!("cargo::rustc-check-cfg=cfg(dpdk_shim)");
    println!("cargo::rerun-if-changed=dpdk");
    for variable in ["CC", "PKG_CONFIG_PATH", "PKG_CONFIG_LIBDIR"] {
        println!("cargo::rerun-if-env-changed={variable}");
    }
    match compile_shim() {
        Ok(()) => println!("cargo::rustc-cfg=dpdk_shim"),
        Err(reason) => {
            // Cargo looks again next time where a file that it names does not exist.
            println!("cargo::rerun-if-changed=no-libdpdk-was-found");
            println!("cargo::rustc-env=NETANVIL_NO_DPDK={reason}");
        }
    }
}

/// One shared object, whose bytes become part of the program: nothing but an open `dpdk` port needs DPDK.
fn compile_shim() -> Result<(), String> {
    let is_static = env::var("CARGO_CFG_TARGET_FEATURE")
        .is_ok_and(|features| features.split(',').any(|feature| feature == "crt-static"));
    if is_static || env::var("CARGO_CFG_TARGET_ENV").as_deref() != Ok("gnu") {
        return Err("a static program cannot load DPDK's libraries; use a build for glibc".into());
    }
    if env::var("HOST") != env::var("TARGET") {
        return Err("netanvil was built for another machine than the one it was built on".into());
    }
    let cflags = pkg_config("--cflags")?;
    let libraries = pkg_config("--libs")?;
    let compiler = env::var("CC").ok().filter(|name| !name.is_empty()).unwrap_or("cc".into());
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let here = env::current_dir().expect("cargo runs build scripts in the folder of their crate");
    let status = Command::new(&compiler)
        .args(["-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared"])
        .args(["-fvisibility=hidden", "-Wl,-z,noexecstack"])
        // The same object wherever this is built.
        .arg(format!("-ffile-prefix-map={}=.", here.display()))
        .args(cflags.split_whitespace())
        .arg("dpdk/shim.c")
        .arg("-o")
        .arg(out.join("dpdk_shim.so"))
        .args(libraries.split_whitespace())
        .status();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(_) => Err(format!("{compiler} could not compile its part for this release of DPDK")),
        Err(_) => Err(format!(
            "netanvil was built without a C compiler ({compiler}); apt install gcc and build again"
        )),
    }
}

fn pkg_config(what: &str) -> Result<String, String> {
    let missing = "netanvil was built without libdpdk; apt install libdpdk-dev and build again";
    let output = Command::new("pkg-config").args([what, "libdpdk"]).output().map_err(|_| {
        String::from(
            "netanvil was built without pkg-config; apt install pkg-config and build again",
        )
    })?;
    if !output.status.success() {
        return Err(missing.into());
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
