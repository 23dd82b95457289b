//! Admission: which cached blocks a request reuses, and room for the others. First come, first served.

use sim::Time;

use super::Server;
use super::agenda::{Copied, Event};
use super::sequence::{GpuBlock, Sequence, SequenceState};
use super::traffic::Purpose;
use crate::blocks::{Key, Source, Tier};
use crate::config::Reuse;
use crate::drives::Use;

impl Server {
    /// Admits waiting requests while there is room.
    pub(super) fn admit(&mut self) {
        while !self.blocked && self.running.len() < self.config.scheduler.batch {
            let Some(id) = self.waiting.front().copied() else { return };
            if !self.admit_one(id) {
                self.blocked = true;
                return;
            }
            self.waiting.pop_front();
            self.running.push(id);
        }
    }

    /// Returns the cached blocks that a sequence reuses: the longest run from its start, as far as the policy allows.
    fn reusable(&self, sequence: &Sequence) -> Vec<(Key, Tier)> {
        let (block, prefix) = (self.config.scheduler.block, self.config.load.prefix_tokens);
        // The last known token is always computed, to generate the next.
        let full = (sequence.known() - 1) / block;
        let mut found = Vec::new();
        for index in 0..full {
            let key = sequence.key(index, block, prefix);
            match self.blocks.find(key) {
                Some(tier) if tier == Tier::Gpu || self.config.tiers.reuse != Reuse::Recompute => {
                    found.push((key, tier));
                }
                _ => break,
            }
        }
        if self.config.tiers.reuse == Reuse::Cheaper {
            self.keep_cheaper(&mut found);
        }
        found
    }

    /// Drops the blocks from the first on a drive on, if computing them is estimated to take less time than the drives
    /// need for them and for the reads before them, at the rate of their link.
    fn keep_cheaper(&self, found: &mut Vec<(Key, Tier)>) {
        let Some(first) = found.iter().position(|(_, tier)| matches!(tier, Tier::Drive(_))) else { return };
        let (block, later) = (self.config.scheduler.block, (found.len() - first) as u64);
        let on_drives = found[first..].iter().filter(|(_, tier)| matches!(tier, Tier::Drive(_))).count() as u64;
        let bytes = on_drives * self.config.block_bytes() + self.drives.pending_read_bytes();
        let fetch = Time::from_secs_f64(bytes as f64 / self.tally.fetch_rate(self.config.tiers.link));
        let compute = self.roofline.prefill(&self.config.model, first as u64 * block, later * block);
        if compute < fetch {
            found.truncate(first);
        }
    }

    /// Admits a sequence: holds its cached blocks, reserves the others and starts the fetches. Returns false without
    /// room.
    fn admit_one(&mut self, id: u32) -> bool {
        let block = self.config.scheduler.block;
        let found = self.reusable(&self.sequences[id as usize]);
        let known = self.sequences[id as usize].known();
        let mut sources: Vec<(u32, Source, Tier)> = Vec::new();
        for (at, (key, tier)) in found.iter().enumerate() {
            match tier {
                Tier::Gpu => self.blocks.hold(*key),
                _ => sources.push((at as u32, self.blocks.pin(*key), *tier)),
            }
        }
        let on_gpu = (found.len() - sources.len()) as u64;
        let mut actions = Vec::new();
        if !self.blocks.reserve(known.div_ceil(block) - on_gpu, &mut actions) {
            for (at, source, _) in &sources {
                self.blocks.unpin(found[*at as usize].0, *source);
            }
            for (key, _) in found.iter().filter(|(_, tier)| *tier == Tier::Gpu) {
                self.blocks.release(*key);
            }
            return false;
        }
        let ready = self.perform(&actions);
        let mut held: Vec<GpuBlock> = found
            .iter()
            .map(|(key, tier)| if *tier == Tier::Gpu { GpuBlock::Shared(*key) } else { GpuBlock::Private })
            .collect();
        held.resize(known.div_ceil(block) as usize, GpuBlock::Private);
        let mut hits = [0; 3];
        for (_, tier) in &found {
            hits[tier_number(*tier)] += block;
        }
        self.tally.reused(&hits, known);
        let sequence = &mut self.sequences[id as usize];
        (sequence.held, sequence.computed) = (held, found.len() as u64 * block);
        sequence.hits.get_or_insert(hits);
        sequence.state = SequenceState::Running;
        sequence.sources = sources;
        self.fetch(id, &found, ready);
        true
    }

    /// Starts the copies that a sequence waits for.
    fn fetch(&mut self, id: u32, found: &[(Key, Tier)], ready: Time) {
        let mut copies = 0;
        if ready > self.now {
            self.agenda.add(ready, Event::Copied(id, Copied::Evicted));
            copies += 1;
        }
        let bytes = self.config.block_bytes();
        let host = found.iter().filter(|(_, tier)| *tier == Tier::Host).count() as u64;
        if host > 0 {
            let to = self.cross_to_gpu(host * bytes);
            self.tally.flow.host_to_gpu += host * bytes;
            self.agenda.add(to, Event::Copied(id, Copied::FromHost));
            copies += 1;
        }
        let mut from_drives = false;
        for (at, (_, tier)) in found.iter().enumerate() {
            if let Tier::Drive(slot) = tier {
                let group = self.drives.block(self.now, Use::Fetch, *slot);
                self.groups.insert(group, Purpose::Fetch(id, at as u32));
                self.tally.flow.drive_to_gpu += bytes;
                copies += 1;
                from_drives = true;
            }
        }
        let sequence = &mut self.sequences[id as usize];
        sequence.copies = copies;
        sequence.fetch = from_drives.then_some(self.now);
        if copies > 0 {
            sequence.state = SequenceState::Fetching;
        }
    }

    /// Takes note of copies that have crossed the host link.
    pub(super) fn copied(&mut self, id: u32, what: Copied) {
        self.blocked = false;
        let arrived: Vec<(u32, Source)> = {
            let sequence = &mut self.sequences[id as usize];
            let is_done = |(at, _, tier): &(u32, Source, Tier)| match what {
                Copied::FromHost => *tier == Tier::Host,
                Copied::FromDrive(index) => *at == index,
                Copied::Evicted => false,
            };
            let arrived = sequence.sources.iter().filter(|each| is_done(each)).map(|(at, source, _)| (*at, *source));
            let arrived = arrived.collect();
            sequence.sources.retain(|each| !is_done(each));
            arrived
        };
        for (at, source) in arrived {
            let key = self.key_of(id, u64::from(at));
            self.blocks.unpin(key, source);
            if self.blocks.publish(key) {
                self.sequences[id as usize].held[at as usize] = GpuBlock::Shared(key);
            }
        }
        let sequence = &mut self.sequences[id as usize];
        sequence.copies -= 1;
        let on_drives = sequence.sources.iter().any(|(_, _, tier)| matches!(tier, Tier::Drive(_)));
        if let Some(from) = sequence.fetch.filter(|_| !on_drives) {
            sequence.fetch = None;
            self.tally.fetched(from, self.now, &self.config.load);
        }
        if sequence.copies == 0 {
            sequence.state = SequenceState::Running;
        }
    }

    pub(super) fn key_of(&self, id: u32, index: u64) -> Key {
        self.sequences[id as usize].key(index, self.config.scheduler.block, self.config.load.prefix_tokens)
    }
}

fn tier_number(tier: Tier) -> usize {
    match tier {
        Tier::Gpu => 0,
        Tier::Host => 1,
        Tier::Drive(_) => 2,
    }
}
