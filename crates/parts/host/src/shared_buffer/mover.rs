//! The fragments of a request's data on their way between its memory and the data buffer.
//!
//! A request has one mover, which moves the data of its commands in order, one fragment at a time. While the DMA engine
//! moves a fragment, the processor prepares the caches for the next and then maintains them after the previous one; the
//! end of a transfer starts the next. Movers of different requests run concurrently and share the engine and the
//! processors.

use std::collections::VecDeque;

/// A fragment of a command's data that is moved at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// Number of the command in the driver.
    pub piece: u32,
    /// Offset in the command's data in bytes.
    pub from: u64,
    /// Its length in bytes.
    pub bytes: u64,
    /// True if it is the last of the command.
    pub last: bool,
}

/// State of a request's data movement.
#[derive(Clone, Debug, Default)]
pub struct Mover {
    /// Commands whose data is to be moved with their bytes, and the bytes of the first that have been started.
    queue: VecDeque<(u32, u64)>,
    begun: u64,
    /// The next fragment, and whether the caches are ready for it.
    next: Option<(Chunk, bool)>,
    /// The fragment that the engine moves.
    moving: Option<Chunk>,
    /// Moved fragments whose caches are being maintained, oldest first.
    settling: VecDeque<Chunk>,
}

impl Mover {
    /// Returns true if there is no work.
    pub fn is_idle(&self) -> bool {
        self.queue.is_empty() && self.next.is_none() && self.moving.is_none() && self.settling.is_empty()
    }

    /// Returns true if a fragment is being moved.
    pub fn is_moving(&self) -> bool {
        self.moving.is_some()
    }

    /// Adds the `bytes` of a command to move.
    pub fn add(&mut self, piece: u32, bytes: u64) {
        self.queue.push_back((piece, bytes));
    }

    /// Returns the next fragment of at most `most` bytes to prepare, if none is being prepared.
    pub fn prepare(&mut self, most: u64) -> Option<Chunk> {
        if self.next.is_some() {
            return None;
        }
        let &(piece, whole) = self.queue.front()?;
        let bytes = (whole - self.begun).min(most);
        let chunk = Chunk { piece, from: self.begun, bytes, last: self.begun + bytes == whole };
        self.begun += bytes;
        if chunk.last {
            self.queue.pop_front();
            self.begun = 0;
        }
        self.next = Some((chunk, false));
        Some(chunk)
    }

    /// Records that the caches are ready for the next fragment.
    ///
    /// # Panics
    /// Panics if no fragment was being prepared.
    pub fn prepared(&mut self) {
        let Some((_, ready @ false)) = &mut self.next else { panic!("no fragment was being prepared: {self:?}") };
        *ready = true;
    }

    /// Returns the fragment to start, if one is ready and none is being moved.
    pub fn start(&mut self) -> Option<Chunk> {
        match (self.moving, self.next) {
            (None, Some((chunk, true))) => {
                self.next = None;
                self.moving = Some(chunk);
                Some(chunk)
            }
            _ => None,
        }
    }

    /// Returns the fragment that the engine moves.
    ///
    /// # Panics
    /// Panics if there is none.
    pub fn in_flight(&self) -> Chunk {
        self.moving.expect("a fragment is set up")
    }

    /// Records that the engine has moved its fragment, whose caches must be maintained now.
    ///
    /// # Panics
    /// Panics if no fragment was being moved.
    pub fn moved(&mut self) -> Chunk {
        let chunk = self.moving.take().expect("a fragment is moved");
        self.settling.push_back(chunk);
        chunk
    }

    /// Records the end of cache maintenance after the oldest moved fragment.
    ///
    /// # Panics
    /// Panics if there is none.
    pub fn settled(&mut self) -> Chunk {
        self.settling.pop_front().expect("a fragment settles")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_go_one_after_the_other_and_are_prepared_ahead() {
        let mut mover = Mover::default();
        assert!(mover.is_idle());
        mover.add(7, 100);
        mover.add(8, 40);
        let chunk = |piece, from, bytes, last| Chunk { piece, from, bytes, last };
        assert_eq!(mover.prepare(64), Some(chunk(7, 0, 64, false)));
        assert_eq!((mover.prepare(64), mover.start()), (None, None), "the first is not ready");
        mover.prepared();
        assert_eq!(mover.start(), Some(chunk(7, 0, 64, false)));
        assert_eq!(mover.prepare(64), Some(chunk(7, 64, 36, true)));
        mover.prepared();
        assert_eq!(mover.start(), None, "the engine has the first");
        assert_eq!(mover.moved(), chunk(7, 0, 64, false));
        assert_eq!(mover.start(), Some(chunk(7, 64, 36, true)));
        assert_eq!(mover.prepare(64), Some(chunk(8, 0, 40, true)));
        assert_eq!(mover.settled(), chunk(7, 0, 64, false));
        assert!(!mover.is_idle());
        mover.prepared();
        mover.moved();
        assert_eq!(mover.start(), Some(chunk(8, 0, 40, true)));
        mover.moved();
        assert!(mover.settled().last && mover.settled().last && mover.is_idle());
    }
}
