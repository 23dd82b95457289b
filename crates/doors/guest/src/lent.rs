//! The map entries that the drive keeps in memory lent by the guest (the Host Memory Buffer), with a check code per line.
//!
//! The guest may write to this memory at any time, so nothing in it is trusted. Two checks find what it changed. The
//! check code, as a real controller has it, stands behind each line; it depends on a key of the drive and on the line's
//! place, so a line that the guest makes up or moves fails it. A sum of each line stays with the drive; it also finds
//! an older line put back, and whatever a short code or none misses.

use std::collections::BTreeMap;

use device::hmb::Descriptor;
use host_interface::external::Lines;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::memory::GuestMemory;

/// Bytes of map entries per line.
const LINE: usize = ftl::config::HostMemory::LINE as usize;

/// Layout of the memory.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// Bytes of check code per line.
    pub check: u32,
    /// Lines per frame of the map cache.
    pub frame_lines: u32,
    /// Key of the check codes.
    pub key: u64,
}

/// Counts of lines of map entries in lent memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LentStatistics {
    /// Lines written.
    pub stored: u64,
    /// Lines read back unchanged.
    pub verified: u64,
    /// Lines read back unchanged, but older than the map, which changed without a store: a program failed, or a whole
    /// translation unit was trimmed. The drive wrote them again.
    pub late: u64,
    /// Lines with a wrong check code, or no longer in the guest's memory. The drive used its copy in flash.
    pub damaged: u64,
    /// Changed lines with a valid check code, found by the drive's sum. The drive used its copy in flash.
    pub forged: u64,
}

/// Result of loading a line.
#[derive(Clone, Copy)]
enum Verdict {
    /// It was not stored yet: its translation unit, which was never in flash, was made in the controller.
    New,
    Verified,
    Late,
    Damaged,
    Forged,
}

impl LentStatistics {
    fn count(&mut self, verdict: Verdict) {
        let count = match verdict {
            Verdict::New => &mut self.stored,
            Verdict::Verified => &mut self.verified,
            Verdict::Late => &mut self.late,
            Verdict::Damaged => &mut self.damaged,
            Verdict::Forged => &mut self.forged,
        };
        *count += 1;
    }
}

/// A range of guest memory that holds a part of the buffer.
#[derive(Clone, Copy, Debug)]
struct Extent {
    /// Offset in the buffer.
    offset: u64,
    address: u64,
    bytes: u64,
}

/// Frames of the map cache in memory that a guest has lent.
#[derive(Clone, Debug)]
pub(crate) struct Lent {
    layout: Layout,
    extents: Vec<Extent>,
    /// Number of places for frames.
    places: u32,
    /// Places that were never used, and those that are free again.
    unused: u32,
    free: Vec<u32>,
    /// The frame numbers' places.
    place_of: BTreeMap<u32, u32>,
    /// Lines of frames that have no place yet, because the frames to be evicted for them are still read.
    waiting: BTreeMap<u32, BTreeMap<u32, [u8; LINE]>>,
    /// The sum of each line per place; zero if it was not stored.
    sums: Vec<Box<[u64]>>,
    statistics: LentStatistics,
}

impl Lent {
    /// Creates the state without memory.
    pub fn new(layout: Layout) -> Lent {
        Lent {
            layout,
            extents: Vec::new(),
            places: 0,
            unused: 0,
            free: Vec::new(),
            place_of: BTreeMap::new(),
            waiting: BTreeMap::new(),
            sums: Vec::new(),
            statistics: LentStatistics::default(),
        }
    }

    /// Returns the counts so far.
    pub fn statistics(&self) -> LentStatistics {
        self.statistics
    }

    /// Takes over `memory`, in pages of `page` bytes, in which nothing is stored yet.
    pub fn lend(&mut self, memory: &[Descriptor], page: u64) {
        self.forget();
        let mut offset = 0;
        for descriptor in memory {
            let bytes = u64::from(descriptor.pages) * page;
            self.extents.push(Extent { offset, address: descriptor.address, bytes });
            offset += bytes;
        }
        self.places = u32::try_from(offset / self.frame_bytes()).unwrap_or(u32::MAX);
    }

    /// Forgets the memory and its contents.
    pub fn forget(&mut self) {
        *self = Lent { statistics: self.statistics, ..Lent::new(self.layout) };
    }

    /// Frees the place of frame `frame`, for a frame that waits for one.
    pub fn free(&mut self, frame: u32, memory: &mut dyn GuestMemory) {
        if self.waiting.remove(&frame).is_some() {
            return;
        }
        let Some(place) = self.place_of.remove(&frame) else { return };
        self.sums[place as usize].fill(0);
        self.free.push(place);
        if let Some((frame, lines)) = self.waiting.pop_first() {
            self.place(frame);
            for (line, entries) in lines {
                self.write(Lines { frame, first: line, entries: &entries }, memory);
            }
        }
    }

    /// Stores lines.
    pub fn store(&mut self, lines: Lines<'_>, memory: &mut dyn GuestMemory) {
        self.statistics.stored += (lines.entries.len() / LINE) as u64;
        if self.place(lines.frame).is_some() {
            return self.write(lines, memory);
        }
        let waiting = self.waiting.entry(lines.frame).or_default();
        for (line, entries) in (lines.first..).zip(lines.entries.as_chunks::<LINE>().0) {
            waiting.insert(line, *entries);
        }
    }

    /// Loads lines. Returns true if the guest has not changed them.
    pub fn load(&mut self, lines: Lines<'_>, memory: &mut dyn GuestMemory) -> bool {
        let Some(place) = self.place(lines.frame) else { return true };
        let (entries, stored) = (lines.entries.as_chunks::<LINE>().0, self.stored());
        let mut bytes = vec![0; entries.len() * stored];
        let readable = self.read_at(self.offset(place, lines.first), &mut bytes, memory);
        let mut intact = true;
        for ((line, entries), found) in (lines.first..).zip(entries).zip(bytes.chunks_exact(stored)) {
            let (found, code) = found.split_at(LINE);
            let (expected, sum) = (self.sums[place as usize][line as usize], self.sum(place, line, found));
            let verdict = match expected {
                0 => Verdict::New,
                _ if !readable || !is_code(code, sum) => Verdict::Damaged,
                _ if expected != sum => Verdict::Forged,
                _ if found != entries => Verdict::Late,
                _ => Verdict::Verified,
            };
            self.statistics.count(verdict);
            match verdict {
                Verdict::New | Verdict::Late => {
                    self.write(Lines { frame: lines.frame, first: line, entries }, memory);
                }
                Verdict::Damaged | Verdict::Forged => intact = false,
                Verdict::Verified => {}
            }
        }
        intact
    }

    /// Returns the place of frame `frame`, a new one if it has none and one is free.
    fn place(&mut self, frame: u32) -> Option<u32> {
        if let Some(place) = self.place_of.get(&frame) {
            return Some(*place);
        }
        let place = match self.free.pop() {
            Some(place) => place,
            None if self.unused < self.places => {
                self.sums.push(vec![0; self.layout.frame_lines as usize].into());
                self.unused += 1;
                self.unused - 1
            }
            None => return None,
        };
        self.place_of.insert(frame, place);
        Some(place)
    }

    /// Writes lines of a frame that has a place. What cannot be written is found to be damaged later.
    fn write(&mut self, lines: Lines<'_>, memory: &mut dyn GuestMemory) {
        let place = self.place_of[&lines.frame];
        let entries = lines.entries.as_chunks::<LINE>().0;
        let mut bytes = Vec::with_capacity(entries.len() * self.stored());
        for (line, entries) in (lines.first..).zip(entries) {
            let sum = self.sum(place, line, entries);
            self.sums[place as usize][line as usize] = sum;
            bytes.extend_from_slice(entries);
            let end = bytes.len() + self.layout.check as usize;
            bytes.extend(sum.to_le_bytes().iter().take(self.layout.check as usize));
            bytes.resize(end, 0);
        }
        let mut offset = self.offset(place, lines.first);
        let mut left = &bytes[..];
        while let Some((address, count)) = self.locate(offset, left.len()) {
            let (now, later) = left.split_at(count);
            let _ = memory.write(address, now);
            (offset, left) = (offset + count as u64, later);
        }
    }

    /// Reads the buffer from `offset` on. Returns false unless all of this is memory.
    fn read_at(&self, mut offset: u64, mut to: &mut [u8], memory: &dyn GuestMemory) -> bool {
        while let Some((address, count)) = self.locate(offset, to.len()) {
            let (now, later) = to.split_at_mut(count);
            if memory.read(address, now).is_err() {
                return false;
            }
            (offset, to) = (offset + count as u64, later);
        }
        to.is_empty()
    }

    /// Returns the guest address of `offset` in the buffer, and how many of `bytes` bytes follow there.
    fn locate(&self, offset: u64, bytes: usize) -> Option<(u64, usize)> {
        if bytes == 0 {
            return None;
        }
        let after = self.extents.partition_point(|extent| extent.offset <= offset);
        let extent = self.extents.get(after.checked_sub(1)?)?;
        let within = offset - extent.offset;
        let left = extent.bytes.checked_sub(within).filter(|left| *left > 0)?;
        Some((extent.address + within, left.min(bytes as u64) as usize))
    }

    /// Returns the sum of a line, which is not zero. Its first bytes are the check code.
    fn sum(&self, place: u32, line: u32, entries: &[u8]) -> u64 {
        let at = u64::from(place) << 32 | u64::from(line);
        xxh3_64_with_seed(entries, self.layout.key ^ at).max(1)
    }

    /// Returns the offset of a line in the buffer.
    fn offset(&self, place: u32, line: u32) -> u64 {
        u64::from(place) * self.frame_bytes() + u64::from(line) * self.stored() as u64
    }

    /// Returns the bytes of a line in the buffer.
    fn stored(&self) -> usize {
        LINE + self.layout.check as usize
    }

    fn frame_bytes(&self) -> u64 {
        u64::from(self.layout.frame_lines) * self.stored() as u64
    }
}

/// Returns true if `code` is the check code of a line with this sum.
fn is_code(code: &[u8], sum: u64) -> bool {
    let sum = sum.to_le_bytes();
    code.iter().zip(sum.iter().chain(std::iter::repeat(&0))).all(|(code, sum)| code == sum)
}
