//! The obvious memory: a dictionary of pages, and a full copy of it for every sync.

use std::collections::BTreeMap;

use memory::device::Device;
use memory::{Error, Memory, Token};

pub type Pages = BTreeMap<u64, Vec<u8>>;

/// A token, its name, and what it stands for.
pub type Kept = (Token, Option<String>, Pages);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State {
    pub now: Pages,
    pub kept: Vec<Kept>,
}

impl State {
    /// What a crash leaves of it, if this was the last state that a sync, a rollback or a drop completed.
    pub fn tokens(&self) -> Vec<(Token, Option<String>)> {
        self.kept.iter().map(|(token, name, _)| (*token, name.clone())).collect()
    }
}

/// Whether `memory` holds these pages and no others; what is wrong.
pub fn compare<D: Device>(memory: &mut Memory<D>, pages: &Pages) -> Result<(), String> {
    compare_but(memory, pages, |_, _| false)
}

/// The same, but for pages of which `lost` says, by their address and error, that they may be lost.
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
            (Ok(()), Some(_)) => return Err(format!("{address:#x} holds other bytes")),
            (Ok(()), None) => return Err(format!("{address:#x} is there")),
            (Err(error), _) => return Err(error.to_string()),
        }
    }
    Ok(())
}
