//! Random calls to a memory, mirrored in a reference model.

use memory::device::Device;
use memory::{Error, Memory, Permissions, Shape};
use sim::{Rng, Streams};

use super::model::{Contents, compare};

/// A small memory: pages of four segments of two sectors each, blocks of 32 segments.
pub fn shape() -> Shape {
    Shape {
        segment_bytes: 1024,
        segments: 4,
        block_segments: 32,
        blocks: 40,
        pages: 40,
        versions: 320,
        tokens: 4,
        journal: 24,
        reserve: 0,
    }
}

pub const DRAM: u64 = 1 << 16;

pub struct Calls {
    pub rng: Rng,
    /// The current state, including unsynced changes.
    pub state: Contents,
    /// The state that a crash restores.
    pub synced: Contents,
    pub syncs: u64,
}

impl Calls {
    pub fn new(seed: u64) -> Calls {
        let rng = Streams::new(seed).stream("test.calls");
        Calls { rng, state: Contents::default(), synced: Contents::default(), syncs: 0 }
    }

    fn page<D: Device>(&mut self, _: &Memory<D>) -> Option<u64> {
        let count = self.state.now.len() as u64;
        (count > 0).then(|| *self.state.now.keys().nth(self.rng.below(count) as usize).expect("in range"))
    }

    /// Makes one random call. Calls `will` with the state that the call is about to make durable, and `did` afterwards.
    pub fn step<D: Device>(
        &mut self,
        memory: &mut Memory<D>,
        will: &mut dyn FnMut(&Memory<D>, &Contents),
        did: &mut dyn FnMut(&Memory<D>, &Contents),
    ) -> Result<(), Error> {
        let page_bytes = memory.shape().page_bytes();
        let chosen = self.page(memory);
        match (self.rng.below(100), chosen) {
            (0..8, _) | (_, None) => {
                let count = 1 + self.rng.below(5);
                match memory.alloc(count * page_bytes, false) {
                    Ok(address) => {
                        for page in 0..count {
                            let old = self.state.now.insert(address + page * page_bytes, vec![0; page_bytes as usize]);
                            assert_eq!(old, None, "the page was already allocated");
                        }
                    }
                    Err(Error::NoPages { .. } | Error::Full(_)) => {}
                    Err(error) => return Err(error),
                }
            }
            (8..60, Some(address)) => {
                let from = self.rng.below(page_bytes);
                let count = 1 + self.rng.below((page_bytes - from).min(1500));
                let bytes: Vec<u8> = (0..count).map(|_| self.rng.bits() as u8).collect();
                memory.write(address + from, &bytes)?;
                let page = self.state.now.get_mut(&address).expect("exists");
                page[from as usize..][..bytes.len()].copy_from_slice(&bytes);
            }
            (60..75, Some(address)) => {
                let mut bytes = vec![0; page_bytes as usize];
                memory.read(address, &mut bytes)?;
                assert_eq!(bytes, self.state.now[&address], "{address:#x}");
            }
            (75..79, Some(address)) => {
                memory.delete(address, page_bytes)?;
                self.state.now.remove(&address);
            }
            (79..81, Some(address)) => {
                let bits = Permissions { permanent: true, write: false, ..Permissions::PRIVATE };
                memory.set_permissions(address, page_bytes, bits)?;
                assert!(matches!(memory.write(address, &[1]), Err(Error::NotPermitted { .. })));
                memory.set_permissions(address, page_bytes, Permissions { write: true, ..bits })?;
            }
            (81..84, _) => {
                let after = self.state.clone();
                will(memory, &after);
                memory.flush()?;
                self.synced = after;
                did(memory, &self.synced);
            }
            (84..91, _) => {
                let name = self.rng.chance(0.3).then(|| format!("state {}", self.syncs));
                self.syncs += 1;
                let mut after = self.state.clone();
                after.snapshots.push((memory.next_token(), name.clone(), self.state.now.clone()));
                will(memory, &after);
                match memory.sync(name.as_deref()) {
                    Ok(token) => {
                        assert_eq!(token, after.snapshots.last().expect("pushed").0);
                        self.state = after;
                        self.synced = self.state.clone();
                    }
                    Err(Error::TooManyTokens { live }) => assert_eq!(live as usize, self.state.snapshots.len()),
                    Err(error) => return Err(error),
                }
                did(memory, &self.synced);
            }
            (91..93, _) if !self.state.snapshots.is_empty() => {
                let at = self.rng.below(self.state.snapshots.len() as u64) as usize;
                let (token, _, pages) = self.state.snapshots[at].clone();
                let after = Contents { now: pages, snapshots: self.state.snapshots[..=at].to_vec() };
                will(memory, &after);
                memory.rollback(token)?;
                self.state = after;
                self.synced = self.state.clone();
                did(memory, &self.synced);
            }
            (93..98, _) if !self.state.snapshots.is_empty() => {
                let at = self.rng.below(self.state.snapshots.len() as u64) as usize;
                let mut after = self.synced.clone();
                let (token, ..) = after.snapshots.remove(at);
                will(memory, &after);
                memory.drop_token(token)?;
                self.state.snapshots.remove(at);
                self.synced = after;
                did(memory, &self.synced);
            }
            (98..99, _) => memory.compact()?,
            _ => {}
        }
        Ok(())
    }
}

/// Checks that a memory is in state `state`, and that each token restores its content.
pub fn verify<D: Device>(memory: &mut Memory<D>, state: &Contents) -> Result<(), String> {
    let tokens = memory.tokens().map_err(|error| error.to_string())?;
    if tokens != state.tokens() {
        return Err(format!("tokens are {tokens:?}, not {:?}", state.tokens()));
    }
    compare(memory, &state.now)?;
    for (token, _, pages) in state.snapshots.iter().rev() {
        memory.rollback(*token).map_err(|error| error.to_string())?;
        compare(memory, pages)?;
    }
    Ok(())
}
