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

/// One object: its maps and constants are sized for one trial, and for others like it.
pub(super) struct Object {
    ebpf: Ebpf,
    port: String,
    size: Size,
    /// Whether a trial has used its maps.
    is_used: bool,
    /// Programs that the kernel has compiled.
    loaded: Vec<&'static str>,
}

/// What an object was made for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Size {
    /// The compiled programs.
    pub image: &'static [u8],
    /// For how many trials its maps have room, so that one is prepared while another one counts.
    pub halves: usize,
    /// Numbers of entries for a trial, by map.
    pub entries: Vec<(&'static str, usize)>,
    /// Bytes of the ring for captures.
    pub ring_bytes: usize,
    /// Constants of the programs.
    pub constants: Vec<(&'static str, u32)>,
}

/// More room than needed by this factor is too much to be cleared for each trial.
const TOO_LARGE: usize = 4;
/// Room is given out in so many steps from one power of two to the next.
const STEPS: usize = 8;

impl Size {
    /// The same with some room to spare, so that a trial that is a little longer finds room, too.
    fn with_room(&self) -> Size {
        let room = |&(map, entries): &(&'static str, usize)| {
            let entries = entries.max(1);
            (map, entries.next_multiple_of((entries.next_power_of_two() / STEPS).max(1)))
        };
        Size { entries: self.entries.iter().map(room).collect(), ..self.clone() }
    }

    /// Whether an object of this size does for a trial that needs `other`.
    pub fn does_for(&self, other: &Size) -> bool {
        let has_room = |((name, has), (other, needs)): (&(&str, usize), &(&str, usize))| {
            let needs = (*needs).max(1);
            name == other && *has >= needs && *has <= needs.saturating_mul(TOO_LARGE)
        };
        let alike = |size: &Size| (size.halves, size.ring_bytes, size.entries.len());
        std::ptr::eq(self.image, other.image)
            && alike(self) == alike(other)
            && self.constants == other.constants
            && self.entries.iter().zip(&other.entries).all(has_room)
    }
}

/// Objects that no trial uses at the moment. To read, relocate and verify one takes tens of
/// milliseconds, so that it pays to use it again; the trials of a search need the same over and over.
#[derive(Default)]
pub(super) struct Spare(Vec<Object>);

/// More of them are not kept.
const SPARE_MAX: usize = 4;

impl Spare {
    /// An object for a trial that needs this much: one that did for another, if there is one.
    pub fn take(&mut self, port: &str, size: Size) -> Result<Object, TesterError> {
        match self.0.iter().rposition(|object| object.size.does_for(&size)) {
            Some(at) => Ok(self.0.remove(at)),
            None => Object::load(port, size.with_room()),
        }
    }

    /// Keeps an object for later, and lets go of the one that has been unused for longest.
    pub fn give_back(&mut self, object: Object) {
        self.0.push(object);
        if self.0.len() > SPARE_MAX {
            self.0.remove(0);
        }
    }
}

impl Object {
    /// Creates the maps with these numbers of entries and sets the program's constants.
    fn load(port: &str, size: Size) -> Result<Self, TesterError> {
        let mut loader = EbpfLoader::new();
        loader.btf(None);
        let whole = |&(map, entries): &(&'static str, usize)| (map, entries * size.halves);
        for (map, entries) in size.entries.iter().map(whole).chain([("captured", size.ring_bytes)])
        {
            let entries = u32::try_from(entries.max(1)).map_err(|_| TesterError::Unsupported {
                port: port.into(),
                what: format!("a trial with {entries} {map}"),
                remedy: "shorten the trial or split it over fewer streams".into(),
            })?;
            loader.map_max_entries(map, entries);
        }
        for (name, value) in &size.constants {
            loader.override_global(name, value, true);
        }
        let ebpf =
            loader.load(size.image).map_err(|error| failed(port, "create BPF maps", &error))?;
        Ok(Object { ebpf, port: port.into(), size, is_used: false, loaded: vec![] })
    }

    /// What it has room for.
    pub fn size(&self) -> &Size {
        &self.size
    }

    /// From now on its maps have to be cleared before they are used.
    pub fn is_used_now(&mut self) {
        self.is_used = true;
    }

    /// Where the entries of a half begin in a map.
    pub fn first(&self, map: &str, half: usize) -> usize {
        let room = self.size.entries.iter().find(|(name, _)| *name == map);
        room.map_or(0, |(_, entries)| half * entries)
    }

    /// Maps a half of one of its arrays, all zero: `len` values of `T`, and all room where an entry is
    /// a `T`.
    pub fn array<T: Shared>(
        &self,
        name: &str,
        half: usize,
        len: usize,
    ) -> Result<SharedArray<T>, TesterError> {
        let Some(Map::Array(data)) = self.ebpf.map(name) else {
            return Err(self.error("find the BPF map", &std::io::Error::other(name.to_string())));
        };
        let room = self.size.entries.iter().find(|(map, _)| *map == name);
        let len = room.map_or(len, |(_, entries)| len.max(*entries)).max(1);
        let array = SharedArray::map(data.fd().as_fd(), self.first(name, half), len)
            .map_err(|error| self.error("map memory shared with a BPF program", &error))?;
        if self.is_used {
            array.clear();
        }
        Ok(array)
    }

    /// Maps an array of one number, as it is.
    pub fn selector(&self, name: &str) -> Result<SharedArray<u64>, TesterError> {
        let Some(Map::Array(data)) = self.ebpf.map(name) else {
            return Err(self.error("find the BPF map", &std::io::Error::other(name.to_string())));
        };
        SharedArray::map(data.fd().as_fd(), 0, 1)
            .map_err(|error| self.error("map memory shared with a BPF program", &error))
    }

    /// One of its maps.
    pub fn map_mut(&mut self, name: &str) -> Option<&mut Map> {
        self.ebpf.map_mut(name)
    }

    /// Takes one of its maps out.
    pub fn take_map(&mut self, name: &str) -> Option<Map> {
        self.ebpf.take_map(name)
    }

    /// Has the kernel verify and compile a program, unless it has.
    pub fn load_program(&mut self, name: &'static str) -> Result<&mut Xdp, TesterError> {
        if !self.loaded.contains(&name) {
            let port = self.port.clone();
            let loaded = self.program_mut(name).load();
            loaded.map_err(|error| failed(&port, "load a BPF program", &error))?;
            self.loaded.push(name);
        }
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
    let mut detail = kernel::causes(error);
    if detail.contains("Operation not permitted") || detail.contains("Permission denied") {
        detail.push_str("; run as root or use --port-type af_packet");
    }
    TesterError::System { what: format!("{port}: {what}"), detail }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size(seen: usize, streams: u32) -> Size {
        let entries = vec![("seen", seen), ("queues", 2)];
        let constants = vec![("STREAMS", streams)];
        Size { image: receive_object(), halves: 2, entries, ring_bytes: 4096, constants }
    }

    #[test]
    fn an_object_does_for_trials_that_fit_it_and_are_not_much_smaller() {
        let object = size(3_125, 1).with_room();
        assert_eq!(object.entries, [("seen", 3_584), ("queues", 2)]);
        for (seen, streams, does) in [
            (3_584, 1, true),
            (3_585, 1, false),
            (896, 1, true),
            (895, 1, false),
            (3_125, 2, false),
        ] {
            assert_eq!(object.does_for(&size(seen, streams)), does, "{seen} {streams}");
        }
    }

    #[test]
    fn no_room_at_all_is_room_for_one() {
        assert_eq!(size(0, 1).with_room().entries[0], ("seen", 1));
        assert!(size(0, 1).with_room().does_for(&size(0, 1)));
    }
}
