//! What goes into the input queues on a processor, what they drop and what they still hold: counted at
//! the kernel's tracepoints, since no interface counts it.

use aya::maps::{MapError, PerCpuHashMap, PerCpuValues};
use aya::programs::RawTracePoint;
use aya::{Ebpf, include_bytes_aligned};
use kernel::causes;
use std::sync::Mutex;

static OBJECT: &[u8] = include_bytes_aligned!(concat!(env!("OUT_DIR"), "/input_queue_counts.o"));

/// Come to the queue, dropped there, taken out of it, dropped thereafter: frames, as the program keeps them.
type Counts = [u64; 4];

/// The counters of the queues of a device. They are gone when this is dropped.
#[derive(Debug)]
pub struct QueueCounts(Mutex<Ebpf>);

impl QueueCounts {
    /// Counts at the queues with these numbers from now on; an error in words.
    pub fn of(maps: &[u32]) -> Result<Self, String> {
        let mut ebpf = Ebpf::load(OBJECT).map_err(|error| causes(&error))?;
        let mut counts = counts(&mut ebpf).map_err(|error| causes(&error))?;
        let processors = aya::util::nr_cpus().map_err(|(_, error)| error.to_string())?;
        for map in maps {
            let none = PerCpuValues::try_from(vec![[0; 4]; processors]);
            let none = none.map_err(|error| error.to_string())?;
            counts.insert(map, none, 0).map_err(|error| causes(&error))?;
        }
        for (name, event) in [("enqueued", "xdp_cpumap_enqueue"), ("taken", "xdp_cpumap_kthread")] {
            let program = ebpf.program_mut(name).expect("the object has the program");
            let program: &mut RawTracePoint =
                program.try_into().expect("a program for a raw tracepoint");
            program.load().map_err(|error| causes(&error))?;
            program.attach(event).map_err(|error| causes(&error))?;
        }
        Ok(QueueCounts(Mutex::new(ebpf)))
    }

    /// Frames dropped at a queue so far, and frames waiting in it now.
    pub fn read(&self, map: u32) -> Option<(u64, u64)> {
        let mut ebpf = self.0.lock().expect("no panic while held");
        let by_processor = counts(&mut ebpf).ok()?.get(&map, 0).ok()?;
        let sum = |at: usize| by_processor.iter().map(|counts| counts[at]).sum::<u64>();
        let [come, dropped, taken, dropped_after] = [0, 1, 2, 3].map(sum);
        Some((dropped + dropped_after, come.saturating_sub(dropped + taken)))
    }
}

fn counts(
    ebpf: &mut Ebpf,
) -> Result<PerCpuHashMap<&mut aya::maps::MapData, u32, Counts>, MapError> {
    PerCpuHashMap::try_from(ebpf.map_mut("counts").expect("the object has the map"))
}
