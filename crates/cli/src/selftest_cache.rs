//! Self-tests of earlier runs: valid for the same machine, kernel, program and configuration.

use crate::host;
use method::{SelfTest, SelfTestSize};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use traffic::size::SizePattern;

/// The number of the method by which a self-test is made: one more where the same tester may read otherwise.
const METHOD: u32 = 2;

/// Everything that a self-test depends on, in words. If any of it differs the cached one is void.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Key {
    program: String,
    method: u32,
    kernel: String,
    processors: String,
    /// The tester's ports: types, names, drivers, rates.
    ports: String,
    /// The options of the self-test.
    options: String,
}

/// The file: what is known for a key, size by size.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
struct File {
    key: Key,
    ports: String,
    sizes: Vec<KnownSize>,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
struct KnownSize {
    taken_unix_s: i64,
    size: SelfTestSize,
}

/// A self-test of earlier runs.
#[derive(Clone, PartialEq, Debug)]
pub struct Cached {
    /// When the oldest part of it was measured, in seconds since 1970.
    pub taken_unix_s: i64,
    /// What was measured.
    pub self_test: SelfTest,
}

impl Key {
    /// For these ports and options on this machine.
    pub fn new(ports: String, options: String) -> Self {
        Key {
            program: format!("netanvil {}", env!("CARGO_PKG_VERSION")),
            method: METHOD,
            kernel: host::kernel(),
            processors: host::processors(),
            ports,
            options,
        }
    }

    /// What is kept for this key, if it covers all these sizes.
    pub fn load(&self, sizes: &[SizePattern]) -> Option<Cached> {
        let file = self.read()?;
        let of_size = |wanted: &SizePattern| {
            let name = String::from(wanted.clone());
            file.sizes.iter().find(|known| known.size.conditions.frame_size == name).cloned()
        };
        let known: Vec<KnownSize> = sizes.iter().map(of_size).collect::<Option<_>>()?;
        let taken_unix_s = known.iter().map(|known| known.taken_unix_s).min()?;
        let sizes = known.into_iter().map(|known| known.size).collect();
        Some(Cached { taken_unix_s, self_test: SelfTest { ports: file.ports, sizes } })
    }

    /// Keeps a self-test beside what is known of other sizes. That it cannot be kept only costs
    /// time: the next run measures again.
    pub fn store(&self, self_test: &SelfTest) -> Option<PathBuf> {
        let path = self.path()?;
        std::fs::create_dir_all(path.parent()?).ok()?;
        let mut sizes = self.read().map(|file| file.sizes).unwrap_or_default();
        sizes.retain(|known| self_test.of_size(&known.size.conditions.frame_size).is_none());
        let taken_unix_s = host::now_unix_s();
        let new = self_test.sizes.iter().cloned();
        sizes.extend(new.map(|size| KnownSize { taken_unix_s, size }));
        let file = File { key: self.clone(), ports: self_test.ports.clone(), sizes };
        let temporary = path.with_extension(format!("{}.new", std::process::id()));
        std::fs::write(&temporary, serde_json::to_vec(&file).ok()?).ok()?;
        std::fs::rename(&temporary, &path).ok()?;
        Some(path)
    }

    fn read(&self) -> Option<File> {
        let text = std::fs::read(self.path()?).ok()?;
        let file: File = serde_json::from_slice(&text).ok()?;
        (file.key == *self).then_some(file)
    }

    fn path(&self) -> Option<PathBuf> {
        let set = |name| std::env::var_os(name).filter(|value| !value.is_empty());
        let base = set("XDG_CACHE_HOME").map(PathBuf::from);
        let base = base.or_else(|| Some(PathBuf::from(set("HOME")?).join(".cache")))?;
        Some(base.join("netanvil").join(format!("self-test-{:016x}.json", self.digest())))
    }

    /// FNV-1a: only a file name; the whole key is compared after reading.
    fn digest(&self) -> u64 {
        let text = serde_json::to_vec(self).unwrap_or_default();
        text.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
        })
    }
}
