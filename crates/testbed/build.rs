//! Compiles the BPF programs of the device's input queues. Without a clang that can they are queues
//! of another kind, and the description of a test bed gives the reason that is recorded here.

fn main() {
    println!("cargo::rustc-check-cfg=cfg(bpf_programs)");
    println!("cargo::rerun-if-changed=bpf");
    match bpf_build::Clang::find() {
        Ok(clang) => {
            clang.compile("input_queue.bpf.c", "input_queue.o", &[]);
            clang.compile("input_queue_counts.bpf.c", "input_queue_counts.o", &[]);
            println!("cargo::rustc-cfg=bpf_programs");
        }
        Err(reason) => println!("cargo::rustc-env=NETANVIL_NO_BPF={reason}"),
    }
}
