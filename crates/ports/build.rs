//! Compiles the BPF programs of the `xdp` port. Without a clang that can, the port is left out, and
//! `ports::xdp::available()` gives the reason that is recorded here.

/// Room for a frame in one slot of the transmit program: the fewer bytes, the longer a period of
/// frames fits in memory. The last is more than a live frame can hold.
const SLOT_BYTES: [usize; 3] = [120, 1528, 3576];

fn main() {
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
