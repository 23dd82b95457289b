//! Temporary files for memories.

use std::fs;
use std::path::PathBuf;

use memory::{Error, Memory, Options};

/// The path of a memory that is deleted at the end of the test.
pub struct TempFile(pub PathBuf);

impl TempFile {
    pub fn new(name: &str) -> TempFile {
        let path = std::env::temp_dir().join(format!("nandram-{}-{name}.memory", std::process::id()));
        drop(fs::remove_file(&path));
        TempFile(path)
    }

    pub fn name(&self) -> String {
        self.0.display().to_string()
    }
}

impl Drop for TempFile {
    fn drop(&mut self) {
        drop(fs::remove_file(&self.0));
    }
}

/// Options for a small memory.
pub fn options() -> Options {
    Options { capacity: Some(4 << 20), dram: 1 << 20, ..Options::default() }
}

/// Creates a small memory.
pub fn create(name: &str) -> (TempFile, Memory) {
    let place = TempFile::new(name);
    let memory = Memory::create(&place.0, &options()).unwrap_or_else(|error| panic!("{error}"));
    (place, memory)
}

/// Returns the error message of a failed call.
pub fn message<T>(result: Result<T, Error>) -> String {
    result.err().expect("the call fails").to_string()
}
