//! The tag buffer: like a TLB, the tags of some sets in the controller. All others are in DRAM and have to be read first.

/// A set's number plus one (0: nothing), above it the number of the read that brings it, then the flags.
const SET: u64 = (1 << 33) - 1;
const READ: u32 = 33;
const READ_BITS: u32 = 12;
const DIRTY: u64 = 1 << 60;
const COMING: u64 = 1 << 61;

/// Reads of tags at a time at most.
pub(super) const READS: u32 = 1 << READ_BITS;

/// What is found of a set's tags.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tags {
    /// They are in the buffer.
    Here,
    /// They are being read, by this read.
    Coming(u32),
    /// They are in DRAM only.
    Away,
}

/// Set-associative, the least recently used leaves.
pub(super) struct TagBuffer {
    entries: Vec<u64>,
    ways: usize,
    mask: u32,
}

impl TagBuffer {
    /// Room for the tags of `sets` sets, a power of two.
    pub fn new(sets: u32) -> TagBuffer {
        let ways = sets.min(8);
        TagBuffer { entries: vec![0; sets as usize], ways: ways as usize, mask: sets / ways - 1 }
    }

    #[inline]
    fn group(&mut self, set: u32) -> &mut [u64] {
        &mut self.entries[(set & self.mask) as usize * self.ways..][..self.ways]
    }

    /// Looks for the tags of `set`, and uses them if they are there.
    #[inline]
    pub fn find(&mut self, set: u32) -> Tags {
        let group = self.group(set);
        for at in 0..group.len() {
            let entry = group[at];
            if entry & SET == u64::from(set) + 1 {
                if at > 0 {
                    group.copy_within(..at, 1);
                    group[0] = entry;
                }
                return match entry & COMING {
                    0 => Tags::Here,
                    _ => Tags::Coming((entry >> READ) as u32 & (READS - 1)),
                };
            }
        }
        Tags::Away
    }

    /// The tags of `set` were changed. False if they are not in the buffer, nor on their way to it.
    #[inline]
    pub fn change(&mut self, set: u32) -> bool {
        let found = self.group(set).iter_mut().find(|entry| **entry & SET == u64::from(set) + 1);
        let is_here = found.is_some();
        if let Some(entry) = found {
            *entry |= DIRTY;
        }
        is_here
    }

    /// The tags of `set` are read, by read `read`. The set whose tags have to be written for that, if any; `None` if there
    /// is no room now, since all there are on their way.
    pub fn begin(&mut self, set: u32, read: u32) -> Option<Option<u32>> {
        let group = self.group(set);
        let at = (0..group.len()).rev().find(|at| group[*at] & COMING == 0)?;
        let old = group[at];
        group.copy_within(..at, 1);
        group[0] = (u64::from(set) + 1) | u64::from(read) << READ | COMING;
        Some((old & DIRTY != 0).then(|| (old & SET) as u32 - 1))
    }

    /// The tags of `set` are there.
    pub fn end(&mut self, set: u32) {
        let group = self.group(set);
        let entry = group.iter_mut().find(|entry| **entry & SET == u64::from(set) + 1);
        let entry = entry.unwrap_or_else(|| panic!("nobody reads the tags of set {set}"));
        *entry &= SET | DIRTY;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_recently_used_leaves_and_is_written_if_it_was_changed() {
        let mut buffer = TagBuffer::new(2);
        assert_eq!(buffer.begin(10, 0), Some(None));
        assert_eq!(buffer.begin(11, 1), Some(None));
        assert_eq!(buffer.begin(12, 2), None, "all on their way");
        assert_eq!(buffer.find(10), Tags::Coming(0));
        buffer.end(10);
        buffer.end(11);
        assert_eq!((buffer.find(10), buffer.find(12)), (Tags::Here, Tags::Away));
        assert!(buffer.change(11) && !buffer.change(12));
        assert_eq!(buffer.begin(12, 0), Some(Some(11)), "11 was used before 10, and changed");
        assert_eq!(buffer.find(11), Tags::Away);
        assert_eq!(buffer.find(10), Tags::Here);
    }
}
