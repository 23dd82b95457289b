//! A place for a memory on a real file.

use std::fs;
use std::path::PathBuf;

use memory::{Error, Memory, Options};

/// A path for a memory that is gone when the test ends.
pub struct Place(pub PathBuf);

impl Place {
    pub fn new(name: &str) -> Place {
        let path = std::env::temp_dir().join(format!("nandram-{}-{name}.memory", std::process::id()));
        drop(fs::remove_file(&path));
        Place(path)
    }

    pub fn name(&self) -> String {
        self.0.display().to_string()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        drop(fs::remove_file(&self.0));
    }
}

/// Of a small one.
pub fn options() -> Options {
    Options { capacity: Some(4 << 20), dram: 1 << 20, ..Options::default() }
}

/// A small memory.
pub fn made(name: &str) -> (Place, Memory) {
    let place = Place::new(name);
    let memory = Memory::create(&place.0, &options()).unwrap_or_else(|error| panic!("{error}"));
    (place, memory)
}

/// What is told.
pub fn words<T>(result: Result<T, Error>) -> String {
    result.err().expect("it is refused").to_string()
}
