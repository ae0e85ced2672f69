//! The devices at the far end of a veth pair: queues of known depth, served at a known rate.

use crate::Result;
use aya::maps::Array;
use aya::programs::{Xdp, XdpMode};
use aya::{Ebpf, EbpfLoader};
use kernel::Namespace;
use ports::clock;
use serde::Serialize;
use units::FrameRate;

/// Frames that may wait in each of the devices.
pub const DEPTHS: [u64; 4] = [16, 64, 256, 1024];
/// How much faster than the intended load they are served.
pub const HEADROOM: f64 = 1.05;

/// Frames that found the queue full, by [`DEPTHS`].
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug, Serialize)]
pub struct Refused {
    /// By the time at which they came in.
    pub arrived: [u64; DEPTHS.len()],
    /// By the time at which the tester stamped them.
    pub stamped: [u64; DEPTHS.len()],
    /// All frames.
    pub offered: u64,
}

/// The program at an interface.
pub struct Devices {
    program: Ebpf,
}

#[cfg(bpf_programs)]
fn object() -> Result<&'static [u8]> {
    Ok(aya::include_bytes_aligned!(concat!(env!("OUT_DIR"), "/queues.o")))
}
#[cfg(not(bpf_programs))]
fn object() -> Result<&'static [u8]> {
    Err("built without clang; apt install clang and build again".into())
}

impl Devices {
    /// Puts them where an interface receives.
    pub fn attach(namespace: &Namespace, interface: &str) -> Result<Devices> {
        let mut loader = EbpfLoader::new();
        loader.btf(None);
        let mut program = loader.load(object()?)?;
        let count: &mut Xdp = program.program_mut("count").expect("it is there").try_into()?;
        count.load()?;
        namespace.run(|| count.attach(interface, XdpMode::Driver).map(drop))??;
        Ok(Devices { program })
    }

    /// Empties them for a load of this rate.
    pub fn reset(&mut self, load: FrameRate) -> Result<()> {
        let base_ns = clock::now().as_ps() / 1_000;
        let service_ps = (1e12 / (load.fps() * HEADROOM)) as u64;
        let settings = self.program.map_mut("settings").expect("it is there");
        Array::<_, [u64; 2]>::try_from(settings)?.set(0, [base_ns, service_ps], 0)?;
        let mut queues =
            Array::<_, [u64; 4]>::try_from(self.program.map_mut("queues").expect("too"))?;
        for (index, depth) in (0..).zip(DEPTHS.iter().chain(&DEPTHS)) {
            queues.set(index, [*depth, 0, 0, 0], 0)?;
        }
        Ok(())
    }

    /// What they have refused since.
    pub fn refused(&self) -> Result<Refused> {
        let queues = Array::<_, [u64; 4]>::try_from(self.program.map("queues").expect("there"))?;
        let mut refused = Refused::default();
        for index in 0..DEPTHS.len() {
            let [_, _, taken, arrived] = queues.get(&(index as u32), 0)?;
            let [_, _, _, stamped] = queues.get(&((DEPTHS.len() + index) as u32), 0)?;
            (refused.arrived[index], refused.stamped[index]) = (arrived, stamped);
            refused.offered = taken + arrived;
        }
        Ok(refused)
    }
}
