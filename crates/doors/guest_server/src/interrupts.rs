//! MSI-X vectors and the event file descriptors that the monitor assigned to them.

use std::fs::File;
use std::io::Write;

use guest::QUEUES;

/// A vector.
#[derive(Debug, Default)]
struct Vector {
    event: Option<File>,
    is_masked: bool,
    /// Raised while it was masked or had no event file descriptor.
    is_pending: bool,
}

/// All vectors of the function.
#[derive(Debug)]
pub(crate) struct Interrupts(Vec<Vector>);

impl Interrupts {
    /// Creates vectors without event file descriptors.
    pub fn new() -> Interrupts {
        Interrupts((0..QUEUES).map(|_| Vector::default()).collect())
    }

    /// Assigns the event file descriptors of `count` vectors from `start` on; those without one are released.
    pub fn assign(&mut self, start: u32, count: u32, events: Vec<File>) {
        let mut events = events.into_iter();
        for vector in self.range(start, count) {
            vector.event = events.next();
            vector.deliver();
        }
    }

    /// Masks or unmasks vectors.
    pub fn mask(&mut self, start: u32, count: u32, masked: bool) {
        for vector in self.range(start, count) {
            vector.is_masked = masked;
            vector.deliver();
        }
    }

    /// Releases all vectors, and forgets what was pending.
    pub fn release(&mut self) {
        *self = Interrupts::new();
    }

    /// Raises a vector.
    pub fn raise(&mut self, vector: u16) {
        let vector = &mut self.0[usize::from(vector)];
        vector.is_pending = true;
        vector.deliver();
    }

    fn range(&mut self, start: u32, count: u32) -> impl Iterator<Item = &mut Vector> {
        self.0.iter_mut().skip(start as usize).take(count as usize)
    }
}

impl Vector {
    fn deliver(&mut self) {
        if let (true, false, Some(event)) = (self.is_pending, self.is_masked, &mut self.event) {
            // The write fails only if the monitor passed something that is no event file descriptor.
            let _ = event.write_all(&1u64.to_ne_bytes());
            self.is_pending = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::event::{EventfdFlags, eventfd};
    use std::io::Read;

    fn event() -> (File, File) {
        let event = File::from(eventfd(0, EventfdFlags::NONBLOCK).expect("an event file descriptor"));
        (event.try_clone().expect("a copy"), event)
    }

    fn count(event: &mut File) -> u64 {
        let mut count = [0; 8];
        event.read_exact(&mut count).map_or(0, |()| u64::from_ne_bytes(count))
    }

    #[test]
    fn a_vector_raised_without_event_is_delivered_when_it_gets_one() {
        let (mut interrupts, (given, mut seen)) = (Interrupts::new(), event());
        interrupts.raise(3);
        interrupts.raise(3);
        interrupts.assign(3, 1, vec![given.try_clone().expect("a copy")]);
        assert_eq!(count(&mut seen), 1);
        interrupts.mask(3, 1, true);
        interrupts.raise(3);
        assert_eq!(count(&mut seen), 0);
        interrupts.mask(0, 65, false);
        assert_eq!(count(&mut seen), 1);
        interrupts.release();
        interrupts.raise(3);
        assert_eq!(count(&mut seen), 0);
    }

    #[test]
    fn vectors_that_do_not_exist_are_ignored() {
        let (mut interrupts, (given, mut seen)) = (Interrupts::new(), event());
        interrupts.assign(u32::from(QUEUES) - 1, u32::MAX, vec![given]);
        interrupts.mask(u32::MAX, u32::MAX, true);
        interrupts.raise(QUEUES - 1);
        assert_eq!(count(&mut seen), 1);
    }
}
