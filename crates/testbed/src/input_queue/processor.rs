//! A receive queue on the way to the device's processor (a BPF map of type CPUMAP).
//!
//! An XDP program at the port puts each frame into the queue; a kernel thread bound to the processor
//! takes it out, makes a packet of it and hands it to the network stack as if the port had received
//! it there. A frame that finds the queue full is lost: the device has had it and dropped it.

use crate::error::Result;
use crate::threads::PortThreads;
use kernel::Namespace;

#[cfg(bpf_programs)]
pub(super) use with_bpf::ProcessorQueue;
#[cfg(not(bpf_programs))]
pub(super) use without_bpf::ProcessorQueue;

#[cfg(bpf_programs)]
mod with_bpf {
    use super::*;
    use crate::error::TestbedError;
    use aya::maps::CpuMap;
    use aya::programs::{Xdp, XdpMode};
    use aya::{Ebpf, EbpfLoader, include_bytes_aligned};
    use kernel::causes;
    use std::io;
    use std::sync::Mutex;

    /// The longest queue that the kernel makes.
    const FRAMES_MAX: u32 = 16_384;

    static OBJECT: &[u8] = include_bytes_aligned!(concat!(env!("OUT_DIR"), "/input_queue.o"));

    /// One queue, with the program that fills it. It is gone when this is dropped.
    #[derive(Debug)]
    pub struct ProcessorQueue {
        ebpf: Mutex<Ebpf>,
        processor: usize,
        map: u32,
    }

    impl ProcessorQueue {
        /// A queue of so many frames to this processor, or to the last one; an error in words.
        pub fn new(frames: u32, processor: Option<usize>) -> Result<Self, String> {
            if frames > FRAMES_MAX {
                return Err(format!("there they hold at most {FRAMES_MAX} frames"));
            }
            let processors = std::thread::available_parallelism().map_or(1, usize::from);
            let processor = processor.unwrap_or(processors - 1);
            if processor >= processors {
                return Err(format!("there is no processor {processor}"));
            }
            let number = processor as u32;
            let mut loader = EbpfLoader::new();
            loader.btf(None).map_max_entries("queues", number + 1);
            loader.override_global("PROCESSOR", &number, true);
            let mut ebpf = loader.load(OBJECT).map_err(|error| causes(&error))?;
            let map = ebpf.map_mut("queues").expect("the object has the map");
            let mut queues = CpuMap::try_from(map).map_err(|error| causes(&error))?;
            queues.set(number, frames, None, 0).map_err(|error| causes(&error))?;
            let map = ebpf.map("queues").expect("the object has the map");
            let map = id_of(map).map_err(|error| causes(&error))?;
            program(&mut ebpf).load().map_err(|error| causes(&error))?;
            Ok(ProcessorQueue { ebpf: Mutex::new(ebpf), processor, map })
        }

        /// Has everything that an interface of the namespace receives go through the queue.
        pub fn attach(&self, namespace: &Namespace, interface: &str) -> Result<()> {
            let attach = || {
                let mut ebpf = self.ebpf.lock().expect("no panic while held");
                program(&mut ebpf).attach(interface, XdpMode::Driver).map(drop)
            };
            namespace.run(attach)?.map_err(|error| {
                let doing = format!("put an input queue at {interface}");
                TestbedError::system(doing, io::Error::other(causes(&error)))
            })
        }

        /// The number by which the kernel's events name it.
        pub fn map(&self) -> u32 {
            self.map
        }

        /// The kernel thread behind it, as of a port.
        pub fn thread(&self, interface: String) -> PortThreads {
            let name = format!("cpumap/{}/map:{}", self.processor, self.map);
            PortThreads {
                interface,
                threaded: true,
                threads: crate::threads::kernel_threads_named(&name),
                pinned_to_cpu: Some(self.processor),
                shortfall: None,
            }
        }
    }

    fn program(ebpf: &mut Ebpf) -> &mut Xdp {
        let program = ebpf.program_mut("enqueue").expect("the object has the program");
        program.try_into().expect("an XDP program")
    }

    fn id_of(map: &aya::maps::Map) -> Result<u32, aya::maps::MapError> {
        match map {
            aya::maps::Map::CpuMap(data) => Ok(data.info()?.id()),
            _ => unreachable!("declared as a CPUMAP"),
        }
    }
}

#[cfg(not(bpf_programs))]
mod without_bpf {
    use super::*;

    /// Cannot be had in this build.
    #[derive(Debug)]
    pub enum ProcessorQueue {}

    impl ProcessorQueue {
        /// Always an error: why this build has no BPF programs.
        pub fn new(_frames: u32, _processor: Option<usize>) -> Result<Self, String> {
            Err(env!("NETANVIL_NO_BPF").into())
        }
        /// Never called.
        pub fn attach(&self, _namespace: &Namespace, _interface: &str) -> Result<()> {
            match *self {}
        }
        /// Never called.
        pub fn thread(&self, _interface: String) -> PortThreads {
            match *self {}
        }
    }
}
