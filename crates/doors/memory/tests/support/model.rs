//! The reference model of a memory: a map of pages, with a full copy for every sync.

use std::collections::BTreeMap;

use memory::device::Device;
use memory::{Error, Memory, Token};

pub type Pages = BTreeMap<u64, Vec<u8>>;

/// A token, its name, and the content that it stands for.
pub type Snapshot = (Token, Option<String>, Pages);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Contents {
    pub now: Pages,
    pub snapshots: Vec<Snapshot>,
}

impl Contents {
    /// Returns the tokens and names, as `Memory::tokens` does.
    pub fn tokens(&self) -> Vec<(Token, Option<String>)> {
        self.snapshots.iter().map(|(token, name, _)| (*token, name.clone())).collect()
    }
}

/// Checks that `memory` contains exactly these pages.
pub fn compare<D: Device>(memory: &mut Memory<D>, pages: &Pages) -> Result<(), String> {
    compare_but(memory, pages, |_, _| false)
}

/// Like [`compare`], but tolerates errors for which `lost` returns true, given the page's address.
pub fn compare_but<D: Device>(
    memory: &mut Memory<D>,
    pages: &Pages,
    mut lost: impl FnMut(u64, &Error) -> bool,
) -> Result<(), String> {
    let page = memory.shape().page_bytes();
    let mut bytes = vec![0; page as usize];
    for address in (page..memory.shape().capacity() + page).step_by(page as usize) {
        match (memory.read(address, &mut bytes), pages.get(&address)) {
            (Ok(()), Some(expected)) if *expected == bytes => {}
            (Err(Error::NotAllocated { .. }), None) => {}
            (Err(error), _) if lost(address, &error) => {}
            (Ok(()), Some(_)) => return Err(format!("{address:#x} has different bytes")),
            (Ok(()), None) => return Err(format!("{address:#x} is allocated")),
            (Err(error), _) => return Err(error.to_string()),
        }
    }
    Ok(())
}
