//! The folder of a program's sockets: nobody else may look into it, and it is on record while it stands.

use crate::error::{Result, TestbedError};
use crate::hardware::SwitchedOff;
use crate::registry::{Registration, next_run_name};
use kernel::Privilege;
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// It goes when this is dropped; [`clean`](crate::clean) removes it after a kill.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
    /// Last, so that the record goes after what it records.
    _registration: Option<Registration>,
}

impl Folder {
    /// That of a program in [`FOLDERS_OF_RUNS`](crate::registry::FOLDERS_OF_RUNS), beside the records of all runs; where this process may not write there, among other temporary files.
    pub fn create(program: &str) -> Result<Self> {
        let registration = match Privilege::current() {
            Privilege::Root => Some(Registration::new(&SwitchedOff::new())?),
            Privilege::UserNamespace | Privilege::Ordinary => None,
        };
        let path = match &registration {
            Some(registration) => registration.folder(program),
            None => std::env::temp_dir().join(format!("netanvil-{}.{program}", next_run_name())),
        };
        DirBuilder::new()
            .mode(0o700)
            .create(&path)
            .map_err(|error| TestbedError::system(format!("create {}", path.display()), error))?;
        Ok(Folder { path, _registration: registration })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.path);
    }
}
