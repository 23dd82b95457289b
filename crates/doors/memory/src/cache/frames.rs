//! The DRAM cache: frames for segments, and the map from segments to frames.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use direct::Aligned;

/// A segment of the memory: its page times the segments per page, plus its index in the page.
pub(crate) type Key = u64;

/// The frame number that stands for no frame.
pub(crate) const NONE: u32 = u32::MAX;

/// Multiplicative hash. Keys are small consecutive numbers; the product spreads them over the high bits.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Multiply(u64);

impl Hasher for Multiply {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, _: &[u8]) {
        unreachable!("keys are numbers");
    }
    fn write_u64(&mut self, key: u64) {
        let product = key.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = product ^ product >> 32;
    }
}

#[derive(Clone, Copy, Debug)]
struct Frame {
    key: Key,
    /// The content differs from the controller's.
    dirty: bool,
    /// A transfer is in flight.
    busy: bool,
    referenced: bool,
    used: bool,
}

/// All frames. The CLOCK algorithm selects victims: the hand skips frames used since its last pass.
#[derive(Debug)]
pub(crate) struct Frames {
    memory: Aligned,
    bytes: usize,
    frames: Vec<Frame>,
    map: HashMap<Key, u32, BuildHasherDefault<Multiply>>,
    free: Vec<u32>,
    hand: usize,
    dirty: usize,
}

impl Frames {
    /// Creates `count` frames of `bytes` bytes each.
    pub fn new(count: usize, bytes: usize) -> Frames {
        let nothing = Frame { key: 0, dirty: false, busy: false, referenced: false, used: false };
        Frames {
            memory: Aligned::new(count * bytes),
            bytes,
            frames: vec![nothing; count],
            map: HashMap::with_capacity_and_hasher(count, BuildHasherDefault::default()),
            free: (0..count as u32).rev().collect(),
            hand: 0,
            dirty: 0,
        }
    }

    pub fn count(&self) -> usize {
        self.frames.len()
    }

    pub fn dirty_count(&self) -> usize {
        self.dirty
    }

    /// Returns the frame of a segment and marks it as recently used.
    pub fn find(&mut self, key: Key) -> Option<u32> {
        let frame = *self.map.get(&key)?;
        self.frames[frame as usize].referenced = true;
        Some(frame)
    }

    pub fn bytes(&self, frame: u32) -> &[u8] {
        &self.memory[frame as usize * self.bytes..][..self.bytes]
    }

    /// Returns the bytes of `count` consecutive frames.
    pub fn bytes_of(&self, first: u32, count: usize) -> &[u8] {
        &self.memory[first as usize * self.bytes..][..count * self.bytes]
    }

    pub fn bytes_mut(&mut self, frame: u32) -> &mut [u8] {
        &mut self.memory[frame as usize * self.bytes..][..self.bytes]
    }

    /// Takes a frame for a segment that has none, and marks it busy. Uses a free frame, or evicts a segment that is
    /// neither dirty nor busy. Returns `None` if all frames are dirty or busy.
    pub fn take(&mut self, key: Key) -> Option<u32> {
        let number = match self.free.pop() {
            Some(number) => number,
            None => self.victim()?,
        };
        self.frames[number as usize] = Frame { key, dirty: false, busy: true, referenced: true, used: true };
        let old = self.map.insert(key, number);
        assert!(old.is_none(), "segment {key} has two frames");
        Some(number)
    }

    fn victim(&mut self) -> Option<u32> {
        // Two rounds, because the first may only clear reference bits.
        for _ in 0..2 * self.frames.len() {
            let number = self.hand;
            self.hand = (self.hand + 1) % self.frames.len();
            let frame = &mut self.frames[number];
            if frame.dirty || frame.busy {
                continue;
            }
            if !std::mem::take(&mut frame.referenced) {
                let key = frame.key;
                self.map.remove(&key);
                return Some(number as u32);
            }
        }
        None
    }

    /// Frees a frame and discards its content.
    pub fn drop(&mut self, number: u32) {
        let frame = &mut self.frames[number as usize];
        self.dirty -= usize::from(frame.dirty);
        let key = frame.key;
        *frame = Frame { key: 0, dirty: false, busy: false, referenced: false, used: false };
        self.map.remove(&key);
        self.free.push(number);
    }

    pub fn is_busy(&self, frame: u32) -> bool {
        self.frames[frame as usize].busy
    }

    /// Frees a frame unless it is dirty or busy.
    pub fn drop_clean(&mut self, number: u32) {
        let frame = self.frames[number as usize];
        if !frame.dirty && !frame.busy {
            self.drop(number);
        }
    }

    pub fn set_busy(&mut self, frame: u32, busy: bool) {
        self.frames[frame as usize].busy = busy;
    }

    pub fn set_dirty(&mut self, frame: u32, dirty: bool) {
        let old = std::mem::replace(&mut self.frames[frame as usize].dirty, dirty);
        self.dirty = self.dirty + usize::from(dirty) - usize::from(old);
    }

    /// Returns the frame of a segment if it is dirty and not being written.
    pub fn dirty_of(&self, key: Key) -> Option<u32> {
        let number = *self.map.get(&key)?;
        let frame = self.frames[number as usize];
        (frame.dirty && !frame.busy).then_some(number)
    }

    /// Collects up to `most` dirty segments that are not being written, starting at the clock hand.
    pub fn dirty_keys(&self, most: usize, into: &mut Vec<Key>) {
        into.clear();
        let (before, behind) = self.frames.split_at(self.hand);
        let dirty = behind.iter().chain(before).filter(|frame| frame.dirty && !frame.busy);
        into.extend(dirty.take(most).map(|frame| frame.key));
    }

    /// Frees all frames.
    ///
    /// # Panics
    /// If any frame is busy.
    pub fn clear(&mut self) {
        for number in 0..self.frames.len() {
            let frame = self.frames[number];
            assert!(!frame.busy, "segment {} is in transit", frame.key);
            if frame.used {
                self.drop(number as u32);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_spares_used_frames_and_never_evicts_dirty_ones() {
        let mut frames = Frames::new(4, 64);
        for key in 0..4 {
            let frame = frames.take(key).expect("free");
            frames.bytes_mut(frame).fill(key as u8);
            frames.set_busy(frame, false);
        }
        let dirty = frames.find(1).expect("there");
        frames.set_dirty(dirty, true);
        // All frames are referenced: the hand clears the bits, then evicts the first clean one.
        frames.take(10).expect("0 goes");
        assert_eq!(frames.find(0), None);
        frames.find(2).expect("there");
        frames.take(11).expect("3 goes");
        assert!(frames.find(3).is_none() && frames.find(2).is_some());
        let still = frames.find(1).expect("dirty");
        assert_eq!(frames.bytes(still), [1; 64]);
        frames.take(12).expect("2 goes");
        // One frame is dirty and three are busy.
        assert_eq!(frames.take(13), None);
        assert_eq!(frames.dirty_count(), 1);
    }
}
