//! The tag buffer. Like a TLB, it holds the tags of some sets in the controller; all others must be read from DRAM
//! first.

use sim::Dense;

/// Ways of the buffer, at most.
const WAYS: usize = 8;

/// A way's state: the number of the read that brings its tags, then flags.
const READ_BITS: u32 = 12;
const CLEAN: u16 = 0;
const DIRTY: u16 = 1 << 12;
const COMING: u16 = 1 << 13;

/// Maximum number of concurrent tag reads.
pub(super) const READS: u32 = 1 << READ_BITS;

/// The result of a lookup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tags {
    /// In the buffer.
    Here,
    /// Being read, by this read.
    Coming(u32),
    /// Only in DRAM.
    Away,
}

/// A group: the ways where a set's tags may be.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Group {
    /// The set of each way, plus one; 0: none.
    sets: [u32; WAYS],
    states: [u16; WAYS],
    /// The ways by recency, four bits each, the most recent in the lowest bits.
    order: u32,
}

impl Group {
    const EMPTY: Group = Group { sets: [0; WAYS], states: [CLEAN; WAYS], order: 0x7654_3210 };

    /// Returns the way with the tags of `set`.
    fn find(&self, set: u32) -> Option<usize> {
        self.sets.iter().position(|of| *of == set + 1)
    }

    /// Returns the way at position `at` in the order of recency.
    fn nth(&self, at: usize) -> usize {
        (self.order >> (4 * at)) as usize % WAYS
    }

    /// Makes `way` the most recent one.
    fn touch(&mut self, way: usize) {
        const ONES: u32 = 0x1111_1111;
        // The lowest group of four zero bits is that of the way.
        let others = self.order ^ (way as u32 * ONES);
        let place = (others.wrapping_sub(ONES) & !others & (ONES << 3)).trailing_zeros() - 3;
        let before = (1 << place) - 1;
        let behind = !(before | 0xf << place);
        self.order = self.order & behind | (self.order & before) << 4 | way as u32;
    }
}

/// A set-associative buffer that evicts the least recently used tags.
pub(super) struct TagBuffer {
    groups: Dense<Group>,
    ways: usize,
    mask: u32,
}

impl TagBuffer {
    /// Creates a buffer for the tags of `sets` sets, a power of two.
    pub fn new(sets: u32) -> TagBuffer {
        assert!(sets.is_power_of_two(), "{sets} sets");
        let ways = sets.min(WAYS as u32);
        let groups = Dense::new(vec![Group::EMPTY; (sets / ways) as usize]);
        TagBuffer { groups, ways: ways as usize, mask: sets / ways - 1 }
    }

    fn group(&mut self, set: u32) -> &mut Group {
        // SAFETY: the mask is the number of groups, a power of two, less one.
        unsafe { self.groups.get_unchecked_mut((set & self.mask) as usize) }
    }

    /// Looks up the tags of `set`, and uses them if present.
    pub fn find(&mut self, set: u32) -> Tags {
        let group = self.group(set);
        let Some(way) = group.find(set) else { return Tags::Away };
        group.touch(way);
        match group.states[way] {
            state if state & COMING == 0 => Tags::Here,
            state => Tags::Coming(u32::from(state) & (READS - 1)),
        }
    }

    /// Marks the tags of `set` as changed. Returns false if they are neither in the buffer nor on their way.
    pub fn change(&mut self, set: u32) -> bool {
        let group = self.group(set);
        let way = group.find(set);
        if let Some(way) = way {
            group.states[way] |= DIRTY;
        }
        way.is_some()
    }

    /// Starts tag read `read` of `set`. Returns the set whose tags must be written to DRAM first, if any; `None` if all
    /// ways are on their way.
    pub fn begin(&mut self, set: u32, read: u32) -> Option<Option<u32>> {
        let ways = self.ways;
        let group = self.group(set);
        let way = (0..ways).rev().map(|at| group.nth(at)).find(|way| group.states[*way] & COMING == 0)?;
        let (old, state) = (group.sets[way], group.states[way]);
        (group.sets[way], group.states[way]) = (set + 1, read as u16 | COMING);
        group.touch(way);
        // `end` has cleared the number of the read, so the state is `CLEAN` or `DIRTY`.
        Some((state != CLEAN).then(|| old - 1))
    }

    /// Marks the tags of `set` as arrived.
    pub fn end(&mut self, set: u32) {
        let group = self.group(set);
        let way = group.find(set).unwrap_or_else(|| panic!("nobody reads the tags of set {set}"));
        group.states[way] &= DIRTY;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use sim::Streams;

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

    /// Compared with an obvious implementation: a list of sets, most recent first.
    #[test]
    fn it_does_what_a_list_in_order_of_use_does() {
        for (seed, sets) in [(1, 1), (2, 2), (3, 4), (4, 8), (5, 64)] {
            let mut rng = Streams::new(seed).stream("tags");
            let mut buffer = TagBuffer::new(sets);
            let (ways, groups) = (sets.min(8), sets.div_ceil(8));
            let mut lists: Vec<Vec<Obvious>> = vec![Vec::new(); groups as usize];
            for step in 0..20_000 {
                let set = rng.below(u64::from(3 * sets)) as u32;
                let list = &mut lists[(set % groups) as usize];
                let at = list.iter().position(|one| one.set == set);
                match (rng.below(4), at) {
                    (0, Some(at)) if list[at].coming.is_some() => {
                        buffer.end(set);
                        list[at].coming = None;
                    }
                    (1, _) => {
                        assert_eq!(buffer.change(set), at.is_some(), "step {step}");
                        at.into_iter().for_each(|at| list[at].dirty = true);
                    }
                    (_, Some(at)) => {
                        let one = list.remove(at);
                        assert_eq!(buffer.find(set), one.coming.map_or(Tags::Here, Tags::Coming), "step {step}");
                        list.insert(0, one);
                    }
                    (_, None) => {
                        assert_eq!(buffer.find(set), Tags::Away, "step {step}");
                        let leaves = match list.len() < ways as usize {
                            true => Some(None),
                            false => list.iter().rposition(|one| one.coming.is_none()).map(|at| Some(list.remove(at))),
                        };
                        let written = leaves.map(|one| one.filter(|one| one.dirty).map(|one| one.set));
                        let read = rng.below(u64::from(READS)) as u32;
                        assert_eq!(buffer.begin(set, read), written, "step {step}");
                        if leaves.is_some() {
                            list.insert(0, Obvious { set, coming: Some(read), dirty: false });
                        }
                    }
                }
            }
        }
    }

    #[derive(Clone, Copy)]
    struct Obvious {
        set: u32,
        coming: Option<u32>,
        dirty: bool,
    }
}
