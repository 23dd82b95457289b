//! Which KV block is in which tier: a state machine without time or data.
//!
//! A full block has a [`Key`] and may be on the GPU, in host memory and on the drives at once; its content never
//! changes, so that a copy is never stale. A GPU block is either *private* to a sequence (being filled, fetched or a
//! duplicate), or *shared* under its key by any number of sequences. A shared block that no sequence holds is evictable.
//! An evicted block moves to host memory, and from there to the drives, unless a copy exists. The drives keep their copy
//! of a block that is fetched, so that its next eviction writes nothing.

mod entry;
mod order;

use std::collections::HashMap;

use crate::config::Eviction;
use entry::{Entry, Resident, Stored};
use order::Order;

/// Identity of a full block: the same tokens after the same tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    /// The session, or the shared prefix with the highest bit set.
    pub owner: u64,
    /// Number of the block in the sequence.
    pub index: u32,
}

/// Tier in which a block was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tier {
    /// GPU memory.
    Gpu,
    /// Host memory, including blocks on their way to the drives.
    Host,
    /// The drives, in this slot.
    Drive(u64),
}

/// The copy from which a block is fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The one in host memory.
    Host,
    /// The one of the drives, which is still in host memory while it is being written.
    Drive,
}

/// A consequence of an eviction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Copy a block from GPU to host memory.
    ToHost(Key),
    /// Write a block to a slot of the drives. [`Blocks::written`] ends it.
    ToDrive(Key, u64),
    /// The last copy of a block is gone.
    Dropped(Key),
}

/// Capacities of the tiers in blocks, and their orders of eviction.
#[derive(Clone, Copy, Debug)]
pub struct Capacities {
    /// Blocks of GPU memory.
    pub gpu: u64,
    /// Blocks of host memory.
    pub host: u64,
    /// Blocks of the drives.
    pub drive: u64,
    /// Largest number of blocks on their way to the drives.
    pub staging: u64,
    /// Eviction from GPU and host memory.
    pub memory_eviction: Eviction,
    /// Eviction from the drives.
    pub drive_eviction: Eviction,
}

/// The blocks of a server.
#[derive(Clone, Debug)]
pub struct Blocks {
    capacities: Capacities,
    entries: Vec<Entry>,
    free_entries: Vec<u32>,
    names: HashMap<Key, u32>,
    gpu: Order,
    host: Order,
    drive: Order,
    /// Blocks in use per tier. Those of the GPU include private ones.
    gpu_used: u64,
    host_used: u64,
    private: u64,
    /// Slots never used begin here.
    fresh_slot: u64,
    writing: u64,
}

impl Blocks {
    /// Creates empty tiers.
    pub fn new(capacities: Capacities) -> Blocks {
        Blocks {
            capacities,
            entries: Vec::new(),
            free_entries: Vec::new(),
            names: HashMap::new(),
            gpu: Order::new(capacities.memory_eviction),
            host: Order::new(capacities.memory_eviction),
            drive: Order::new(capacities.drive_eviction),
            gpu_used: 0,
            host_used: 0,
            private: 0,
            fresh_slot: 0,
            writing: 0,
        }
    }

    /// Returns the fastest tier that holds `key`.
    pub fn find(&self, key: Key) -> Option<Tier> {
        let entry = &self.entries[*self.names.get(&key)? as usize];
        Some(match (&entry.gpu, &entry.host, &entry.drive) {
            (Some(_), _, _) => Tier::Gpu,
            (_, Some(_), _) | (_, _, Some(Stored { written: false, .. })) => Tier::Host,
            (_, _, Some(stored)) => Tier::Drive(stored.slot),
            _ => unreachable!("an entry is somewhere"),
        })
    }

    /// Returns the number of GPU blocks that [`reserve`](Self::reserve) could provide.
    pub fn room(&self) -> u64 {
        self.capacities.gpu - self.gpu_used + self.gpu.len()
    }

    /// Returns the blocks in use on the GPU, in host memory and on the drives.
    pub fn used(&self) -> [u64; 3] {
        let stored = self.entries.iter().filter(|entry| entry.drive.is_some()).count() as u64;
        [self.gpu_used, self.host_used, stored]
    }

    /// Returns the number of blocks on their way to the drives.
    pub fn writing(&self) -> u64 {
        self.writing
    }

    /// Takes a shared GPU block into use by one more sequence.
    pub fn hold(&mut self, key: Key) {
        let at = self.names[&key];
        let gpu = self.entries[at as usize].gpu.as_mut().expect("a block on the GPU");
        if gpu.uses == 0 {
            self.gpu.hold(at, gpu.place);
        }
        gpu.uses += 1;
    }

    /// Ends a sequence's use of a shared GPU block.
    pub fn release(&mut self, key: Key) {
        let at = self.names[&key];
        let gpu = self.entries[at as usize].gpu.as_mut().expect("a block on the GPU");
        gpu.uses -= 1;
        if gpu.uses == 0 {
            gpu.place = self.gpu.free(at, gpu.place);
        }
    }

    /// Protects the copy below GPU memory from which a block is fetched, and returns which one that is.
    pub fn pin(&mut self, key: Key) -> Source {
        let at = self.names[&key];
        let entry = &mut self.entries[at as usize];
        if let Some(host) = &mut entry.host {
            if host.uses == 0 {
                self.host.hold(at, host.place);
            }
            host.uses += 1;
            return Source::Host;
        }
        let drive = entry.drive.as_mut().expect("a block below GPU memory");
        if drive.evictable() {
            self.drive.hold(at, drive.place);
        }
        drive.uses += 1;
        Source::Drive
    }

    /// Ends the protection of a copy.
    pub fn unpin(&mut self, key: Key, source: Source) {
        let at = self.names[&key];
        let entry = &mut self.entries[at as usize];
        match source {
            Source::Host => {
                let host = entry.host.as_mut().expect("a copy in use");
                host.uses -= 1;
                if host.uses == 0 {
                    host.place = self.host.free(at, host.place);
                }
            }
            Source::Drive => {
                let drive = entry.drive.as_mut().expect("a copy in use");
                drive.uses -= 1;
                if drive.evictable() {
                    drive.place = self.drive.free(at, drive.place);
                }
            }
        }
    }

    /// Reserves `count` private GPU blocks, evicting others. Returns false, and changes nothing, without room.
    pub fn reserve(&mut self, count: u64, actions: &mut Vec<Action>) -> bool {
        if self.room() < count {
            return false;
        }
        for _ in 0..count {
            if self.gpu_used == self.capacities.gpu {
                self.evict_gpu(actions);
            }
            self.gpu_used += 1;
            self.private += 1;
        }
        true
    }

    /// Gives private blocks back.
    pub fn free_private(&mut self, count: u64) {
        self.private -= count;
        self.gpu_used -= count;
    }

    /// Makes a private block shared under `key`, in use by its sequence. Returns false if the GPU has that block: the
    /// block then stays a private duplicate.
    pub fn publish(&mut self, key: Key) -> bool {
        let at = self.entry(key);
        if self.entries[at as usize].gpu.is_some() {
            return false;
        }
        let place = self.gpu.insert();
        self.entries[at as usize].gpu = Some(Resident { uses: 1, place });
        self.private -= 1;
        true
    }

    /// Notes that a block has been written to the drives.
    pub fn written(&mut self, key: Key) {
        let at = self.names[&key];
        let drive = self.entries[at as usize].drive.as_mut().expect("a block that is being written");
        assert!(!drive.written, "{key:?} was written twice");
        drive.written = true;
        self.writing -= 1;
        if drive.evictable() {
            drive.place = self.drive.free(at, drive.place);
        }
    }

    fn entry(&mut self, key: Key) -> u32 {
        if let Some(at) = self.names.get(&key) {
            return *at;
        }
        let at = self.free_entries.pop().unwrap_or(self.entries.len() as u32);
        if at as usize == self.entries.len() {
            self.entries.push(Entry::new(key));
        } else {
            self.entries[at as usize] = Entry::new(key);
        }
        self.names.insert(key, at);
        at
    }

    /// Forgets an entry without a copy.
    fn forget(&mut self, at: u32, actions: &mut Vec<Action>) {
        let key = self.entries[at as usize].key;
        self.names.remove(&key);
        self.free_entries.push(at);
        actions.push(Action::Dropped(key));
    }

    fn evict_gpu(&mut self, actions: &mut Vec<Action>) {
        let at = self.gpu.pop().expect("an evictable block");
        self.gpu_used -= 1;
        self.entries[at as usize].gpu = None;
        if self.entries[at as usize].host.is_some() {
            return;
        }
        let is_full = self.host_used == self.capacities.host;
        let victim = if is_full { self.host.pop() } else { None };
        if is_full && victim.is_none() {
            return self.demote_to_drive(at, actions);
        }
        // The block is in host memory before another one leaves it, whose slot may be that of the block's own old copy.
        self.host_used += 1;
        let place = self.host.insert();
        let place = self.host.free(at, place);
        self.entries[at as usize].host = Some(Resident { uses: 0, place });
        actions.push(Action::ToHost(self.entries[at as usize].key));
        if let Some(victim) = victim {
            self.host_used -= 1;
            self.entries[victim as usize].host = None;
            self.demote_to_drive(victim, actions);
        }
    }

    /// Moves a block that has just lost its copy in memory to the drives, unless they have it.
    fn demote_to_drive(&mut self, at: u32, actions: &mut Vec<Action>) {
        let entry = &self.entries[at as usize];
        if entry.gpu.is_some() || entry.drive.is_some() {
            return;
        }
        let slot = match self.writing < self.capacities.staging {
            true => self.slot(actions),
            false => None,
        };
        let Some(slot) = slot else { return self.forget(at, actions) };
        let place = self.drive.insert();
        let entry = &mut self.entries[at as usize];
        entry.drive = Some(Stored { slot, written: false, uses: 0, place });
        self.writing += 1;
        actions.push(Action::ToDrive(entry.key, slot));
    }

    /// Returns a slot to write to: a fresh one, or that of an evicted block.
    fn slot(&mut self, actions: &mut Vec<Action>) -> Option<u64> {
        if self.fresh_slot < self.capacities.drive {
            self.fresh_slot += 1;
            return Some(self.fresh_slot - 1);
        }
        let victim = self.drive.pop()?;
        let slot = self.entries[victim as usize].drive.take().expect("a block on the drives").slot;
        let entry = &self.entries[victim as usize];
        if entry.gpu.is_none() && entry.host.is_none() {
            self.forget(victim, actions);
        }
        Some(slot)
    }
}
