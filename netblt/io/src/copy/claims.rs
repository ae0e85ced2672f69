//! Names that several sources have: each goes to one of them.

use super::beneath;
use super::names::Name;
use nix::sys::stat::{FileStat, SFlag};
use std::collections::{BTreeMap, BTreeSet};

/// What names stand for that more than one source has.
#[derive(Debug)]
pub struct Claims {
    /// First parts of such names: only below them can names meet.
    shared: BTreeSet<Vec<u8>>,
    first: BTreeMap<Vec<u8>, Identity>,
}

/// One thing, whatever path leads to it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Identity {
    device: u64,
    inode: u64,
    is_directory: bool,
}

/// What a name of a source is beside those before it.
pub enum Claim {
    /// No other has it.
    Free,
    /// Found by another source already.
    Again,
    /// Something else has the name.
    Taken,
}

impl Claims {
    /// Of sources with these first parts.
    pub fn new<'a>(all: impl Iterator<Item = &'a Vec<u8>>) -> Claims {
        let mut seen = BTreeSet::new();
        let shared = all.filter(|name| !seen.insert(*name)).cloned().collect();
        Claims { shared, first: BTreeMap::new() }
    }

    /// The first who has a name keeps it; what is in two directories of one name goes into one.
    pub fn claim(&mut self, name: &Name<'_>, stat: &FileStat) -> Claim {
        if !self.shared.contains(name.first_part()) {
            return Claim::Free;
        }
        let is_directory = beneath::kind(stat) == SFlag::S_IFDIR;
        let mine = Identity { device: stat.st_dev, inode: stat.st_ino, is_directory };
        match self.first.get(name.bytes()) {
            Some(first) if *first == mine => Claim::Again,
            Some(first) if first.is_directory && is_directory => Claim::Free,
            Some(_) => Claim::Taken,
            None => {
                self.first.insert(name.bytes().to_vec(), mine);
                Claim::Free
            }
        }
    }
}
