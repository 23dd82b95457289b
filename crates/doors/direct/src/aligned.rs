//! Memory for requests that bypass the page cache.

/// Where it begins: at a multiple of the page, which satisfies every controller's alignment.
pub const ALIGNMENT: usize = 4096;

/// The first `bytes` of `memory` from where it is aligned.
///
/// # Panics
/// If it is shorter than `bytes` and [`ALIGNMENT`].
pub fn aligned(memory: &mut [u8], bytes: usize) -> &mut [u8] {
    let start = memory.as_ptr().align_offset(ALIGNMENT);
    &mut memory[start..start + bytes]
}

/// Zeros, aligned, that do not move.
#[derive(Debug)]
pub struct Aligned {
    memory: Box<[u8]>,
    start: usize,
    bytes: usize,
}

impl Aligned {
    /// So many bytes. What is never written costs no memory, where the system gives zeros that way.
    pub fn new(bytes: usize) -> Aligned {
        let memory = vec![0; bytes + ALIGNMENT].into_boxed_slice();
        let start = memory.as_ptr().align_offset(ALIGNMENT);
        Aligned { memory, start, bytes }
    }
}

impl std::ops::Deref for Aligned {
    type Target = [u8];
    #[inline]
    fn deref(&self) -> &[u8] {
        &self.memory[self.start..self.start + self.bytes]
    }
}

impl std::ops::DerefMut for Aligned {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.memory[self.start..self.start + self.bytes]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_aligned_and_as_long_as_asked() {
        for bytes in [0, 1, 512, 4096, 70_000] {
            let mut memory = Aligned::new(bytes);
            assert_eq!((memory.as_ptr() as usize % ALIGNMENT, memory.len()), (0, bytes));
            memory.fill(7);
            assert!(memory.iter().all(|byte| *byte == 7));
        }
    }
}
