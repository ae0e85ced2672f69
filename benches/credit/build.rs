//! Compiles the device: a program with queues of known depth.

fn main() {
    println!("cargo::rustc-check-cfg=cfg(bpf_programs)");
    if let Ok(clang) = bpf_build::Clang::find() {
        clang.compile("queues.bpf.c", "queues.o", &[]);
        println!("cargo::rustc-cfg=bpf_programs");
    }
}
