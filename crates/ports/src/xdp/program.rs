//! The compiled BPF programs, and how they are loaded.

use super::layout::Shared;
use super::shared::SharedArray;
use aya::maps::Map;
use aya::programs::Xdp;
use aya::{Ebpf, EbpfLoader, include_bytes_aligned};
use std::os::fd::AsFd;
use trial::TesterError;

macro_rules! object {
    ($file:literal) => {
        include_bytes_aligned!(concat!(env!("OUT_DIR"), "/", $file))
    };
}

/// The receive program.
pub(super) fn receive_object() -> &'static [u8] {
    object!("receive.o")
}

/// Bytes in a slot besides the frame: its length and form.
pub(super) const SLOT_HEADER_BYTES: usize = 8;

/// The transmit program with the smallest slots that hold frames of `longest_bytes`, and how many
/// bytes of frame a slot holds.
pub(super) fn transmit_object(longest_bytes: usize) -> Option<(&'static [u8], usize)> {
    match longest_bytes {
        0..=120 => Some((object!("transmit_120.o"), 120)),
        121..=1528 => Some((object!("transmit_1528.o"), 1528)),
        1529..=3576 => Some((object!("transmit_3576.o"), 3576)),
        _ => None,
    }
}

/// One object whose maps and constants are sized for one trial.
pub(super) struct Object {
    ebpf: Ebpf,
    port: String,
}

impl Object {
    /// Creates the maps with these numbers of entries and sets the program's constants.
    pub fn load(
        port: &str,
        object: &'static [u8],
        entries: &[(&'static str, usize)],
        constants: &[(&'static str, u32)],
    ) -> Result<Self, TesterError> {
        let mut loader = EbpfLoader::new();
        loader.btf(None);
        for &(map, entries) in entries {
            let entries = u32::try_from(entries.max(1)).map_err(|_| TesterError::Unsupported {
                port: port.into(),
                what: format!("a trial with {entries} {map}"),
                remedy: "shorten the trial or split it over fewer streams".into(),
            })?;
            loader.map_max_entries(map, entries);
        }
        for (name, value) in constants {
            loader.override_global(name, value, true);
        }
        let ebpf = loader.load(object).map_err(|error| failed(port, "create BPF maps", &error))?;
        Ok(Object { ebpf, port: port.into() })
    }

    /// Maps one of its arrays, which has `len` entries of `T`.
    pub fn array<T: Shared>(&self, name: &str, len: usize) -> Result<SharedArray<T>, TesterError> {
        let Some(Map::Array(data)) = self.ebpf.map(name) else {
            return Err(self.error("find the BPF map", &std::io::Error::other(name.to_string())));
        };
        SharedArray::map(data.fd().as_fd(), len.max(1))
            .map_err(|error| self.error("map memory shared with a BPF program", &error))
    }

    /// Takes one of its maps out.
    pub fn take_map(&mut self, name: &str) -> Option<Map> {
        self.ebpf.take_map(name)
    }

    /// Has the kernel verify and compile a program.
    pub fn load_program(&mut self, name: &str) -> Result<&mut Xdp, TesterError> {
        let port = self.port.clone();
        let loaded = self.program_mut(name).load();
        loaded.map_err(|error| failed(&port, "load a BPF program", &error))?;
        Ok(self.program_mut(name))
    }

    /// A program of this object.
    pub fn program(&self, name: &str) -> &Xdp {
        let program = self.ebpf.program(name).expect("the object has the program");
        program.try_into().expect("an XDP program")
    }

    /// A program of this object.
    pub fn program_mut(&mut self, name: &str) -> &mut Xdp {
        let program = self.ebpf.program_mut(name).expect("the object has the program");
        program.try_into().expect("an XDP program")
    }

    fn error(&self, what: &str, error: &dyn std::error::Error) -> TesterError {
        failed(&self.port, what, error)
    }
}

/// An error of the system with all its causes.
pub(super) fn failed(port: &str, what: &str, error: &dyn std::error::Error) -> TesterError {
    let mut detail = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let text = cause.to_string();
        if !detail.contains(&text) {
            detail = format!("{detail}: {text}");
        }
        source = cause.source();
    }
    if detail.contains("Operation not permitted") || detail.contains("Permission denied") {
        detail.push_str("; run as root or use --port-type af_packet");
    }
    TesterError::System { what: format!("{port}: {what}"), detail }
}
