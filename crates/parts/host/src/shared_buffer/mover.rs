//! The pieces of a request's data on their way between its own memory and the data buffer.
//!
//! A request has one mover: its commands' data go in the order in which they may, piece after piece. While the DMA
//! engine moves one piece, the processor makes the caches ready for the next and, behind it, cleans up after the last;
//! the next piece is started by the end of the one before. Movers of other requests do the same beside it, and share the
//! engine and the processors.

use std::collections::VecDeque;

/// A part of a command's data, to be moved at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// The command, by its number at the driver.
    pub piece: u32,
    /// Where it begins in the command's data, in bytes.
    pub from: u64,
    /// Its length in bytes.
    pub bytes: u64,
    /// It is the last of the command.
    pub last: bool,
}

/// What a mover is at.
#[derive(Clone, Debug, Default)]
pub struct Mover {
    /// Commands whose data is to be moved, the bytes of each, and how much of the first is begun.
    queue: VecDeque<(u32, u64)>,
    begun: u64,
    /// The piece that the caches are being made ready for, or are ready for.
    next: Option<(Chunk, bool)>,
    /// The piece that the engine moves.
    moving: Option<Chunk>,
    /// Pieces moved whose caches are cleaned up, oldest first.
    settling: VecDeque<Chunk>,
}

impl Mover {
    /// Nothing is to be done.
    pub fn is_idle(&self) -> bool {
        self.queue.is_empty() && self.next.is_none() && self.moving.is_none() && self.settling.is_empty()
    }

    /// A piece is being moved.
    pub fn is_moving(&self) -> bool {
        self.moving.is_some()
    }

    /// The `bytes` of a command may be moved.
    pub fn add(&mut self, piece: u32, bytes: u64) {
        self.queue.push_back((piece, bytes));
    }

    /// The next piece of at most `most` bytes to make ready, if none is.
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

    /// The caches are ready for the next piece.
    ///
    /// # Panics
    /// If they were not being made so.
    pub fn prepared(&mut self) {
        let Some((_, ready @ false)) = &mut self.next else { panic!("nothing was being made ready: {self:?}") };
        *ready = true;
    }

    /// The piece to start, if one is ready and none is being moved.
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

    /// The piece that the engine moves.
    ///
    /// # Panics
    /// If there is none.
    pub fn in_flight(&self) -> Chunk {
        self.moving.expect("a piece is set up")
    }

    /// The engine has moved its piece, which is to be cleaned up after.
    ///
    /// # Panics
    /// If it had none.
    pub fn moved(&mut self) -> Chunk {
        let chunk = self.moving.take().expect("a piece is moved");
        self.settling.push_back(chunk);
        chunk
    }

    /// The caches are cleaned up after the oldest piece that was moved.
    ///
    /// # Panics
    /// If there is none.
    pub fn settled(&mut self) -> Chunk {
        self.settling.pop_front().expect("a piece settles")
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
