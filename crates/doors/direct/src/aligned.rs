//! Page-aligned buffers for requests that bypass the page cache.

/// Alignment of the buffers: a page, which satisfies every controller.
pub const ALIGNMENT: usize = 4096;

/// Returns the first `bytes` bytes of `memory` that start at an aligned address.
///
/// # Panics
/// May panic if `memory` is shorter than `bytes` + [`ALIGNMENT`].
pub fn aligned(memory: &mut [u8], bytes: usize) -> &mut [u8] {
    let start = memory.as_ptr().align_offset(ALIGNMENT);
    &mut memory[start..start + bytes]
}

/// An aligned buffer of zeros with a stable address.
#[derive(Debug)]
pub struct Aligned {
    memory: Box<[u8]>,
    start: usize,
    bytes: usize,
}

impl Aligned {
    /// Creates a buffer of `bytes` bytes. Where the system provides zero pages on demand, parts that are never written
    /// take no memory.
    pub fn new(bytes: usize) -> Aligned {
        let memory = vec![0; bytes + ALIGNMENT].into_boxed_slice();
        let start = memory.as_ptr().align_offset(ALIGNMENT);
        Aligned { memory, start, bytes }
    }
}

impl std::ops::Deref for Aligned {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        &self.memory[self.start..self.start + self.bytes]
    }
}

impl std::ops::DerefMut for Aligned {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.memory[self.start..self.start + self.bytes]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_is_aligned_and_has_the_requested_length() {
        for bytes in [0, 1, 512, 4096, 70_000] {
            let mut memory = Aligned::new(bytes);
            assert_eq!((memory.as_ptr() as usize % ALIGNMENT, memory.len()), (0, bytes));
            memory.fill(7);
            assert!(memory.iter().all(|byte| *byte == 7));
        }
    }
}
