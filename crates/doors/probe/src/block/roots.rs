//! Where the kernel tells of its devices.

use std::fs;
use std::path::{Path, PathBuf};

/// The roots of the kernel's file systems. Tests have their own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Roots {
    /// Where sysfs is mounted.
    pub sys: PathBuf,
    /// Where procfs is mounted.
    pub proc: PathBuf,
}

impl Default for Roots {
    fn default() -> Roots {
        Roots { sys: PathBuf::from("/sys"), proc: PathBuf::from("/proc") }
    }
}

impl Roots {
    /// `sys` and `proc` below a folder.
    pub fn below(folder: &Path) -> Roots {
        Roots { sys: folder.join("sys"), proc: folder.join("proc") }
    }
}

/// An attribute's text without the space around it; `None` if there is none, or if it is empty.
pub(crate) fn attribute(path: impl AsRef<Path>) -> Option<String> {
    let text = String::from_utf8_lossy(&fs::read(path).ok()?).trim().to_owned();
    (!text.is_empty()).then_some(text)
}

/// The names in a folder, in their order; none if there is no such folder.
pub(crate) fn names(folder: impl AsRef<Path>) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort_unstable();
    names
}
