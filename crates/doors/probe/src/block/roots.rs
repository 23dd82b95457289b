//! Locations of the kernel's device information.

use std::fs;
use std::path::{Path, PathBuf};

/// The roots of sysfs and procfs. Tests substitute their own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Roots {
    /// Mount point of sysfs.
    pub sys: PathBuf,
    /// Mount point of procfs.
    pub proc: PathBuf,
}

impl Default for Roots {
    fn default() -> Roots {
        Roots { sys: PathBuf::from("/sys"), proc: PathBuf::from("/proc") }
    }
}

impl Roots {
    /// Returns the roots `sys` and `proc` below a folder.
    pub fn below(folder: &Path) -> Roots {
        Roots { sys: folder.join("sys"), proc: folder.join("proc") }
    }
}

/// Reads an attribute, trimmed; `None` if it is missing or empty.
pub(crate) fn attribute(path: impl AsRef<Path>) -> Option<String> {
    let text = String::from_utf8_lossy(&fs::read(path).ok()?).trim().to_owned();
    (!text.is_empty()).then_some(text)
}

/// Returns the sorted names in a folder; empty if there is no such folder.
pub(crate) fn names(folder: impl AsRef<Path>) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort_unstable();
    names
}
