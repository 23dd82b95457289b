//! Computes the next request for each page, for policies that know the future.
//!
//! For a trace in memory this takes one backward pass ([`foresee`]). A trace that does not fit is read twice in
//! constant memory: once from its last chunk to its first, writing four bytes per request ([`write_ahead`]), and once
//! forwards alongside that file ([`Foreseeing`]).

use std::io::{self, Read, Seek, SeekFrom, Write};

use crate::policy::Foreseen;

/// No further request for the same page.
pub const NEVER: u32 = u32::MAX;

/// Walks a trace backwards and returns, for each request, the distance in requests to the next request for the same
/// page.
#[derive(Clone, Debug)]
pub struct Backwards {
    /// Position of each page when last encountered, counted in requests from the end starting at 1; 0 if not
    /// encountered.
    met: Vec<u64>,
    from_end: u64,
}

impl Backwards {
    /// Creates a walk from the end of a trace of pages `0..pages`.
    pub fn new(pages: u32) -> Backwards {
        Backwards { met: vec![0; pages as usize], from_end: 0 }
    }

    /// Processes the request that precedes those processed so far.
    ///
    /// # Panics
    /// If the page is out of range, or the distance is 2^32 - 1 requests or more.
    pub fn step(&mut self, page: u32) -> u32 {
        self.from_end += 1;
        match std::mem::replace(&mut self.met[page as usize], self.from_end) {
            0 => NEVER,
            met => {
                let ahead = self.from_end - met;
                assert!(
                    ahead < u64::from(NEVER),
                    "page {page} is next requested {ahead} requests later, expected less than 2^32 - 1"
                );
                ahead as u32
            }
        }
    }
}

/// Annotates a whole trace of pages `0..pages` with its future.
///
/// # Panics
/// Like [`Backwards::step`].
pub fn foresee(pages: u32, trace: &[u32]) -> Vec<Foreseen> {
    let mut backwards = Backwards::new(pages);
    let mut seen: Vec<Foreseen> =
        trace.iter().rev().map(|&page| Foreseen { page, ahead: backwards.step(page) }).collect();
    seen.reverse();
    seen
}

/// Number of requests read and written at a time.
const CHUNK: u64 = 1 << 16;

/// Reads a trace of densely numbered pages (little-endian `u32`s) backwards and writes to `ahead` one little-endian
/// `u32` per request: the distance to the next request for the same page, or [`NEVER`]. Both files are used from their
/// start. Uses memory for one chunk and 8 bytes per page. Returns the number of requests.
///
/// # Errors
/// Any error of the two files; `InvalidData` if the length of the trace is not a multiple of 4 bytes or a page is not
/// below `pages`.
pub fn write_ahead<R: Read + Seek, W: Write + Seek>(pages: u32, mut trace: R, mut ahead: W) -> io::Result<u64> {
    let invalid = |what: String| io::Error::new(io::ErrorKind::InvalidData, what);
    let bytes = trace.seek(SeekFrom::End(0))?;
    if !bytes.is_multiple_of(4) {
        return Err(invalid(format!("a page trace of {bytes} bytes, expected a multiple of 4")));
    }
    let requests = bytes / 4;
    let mut backwards = Backwards::new(pages);
    let mut words = vec![0u8; (4 * CHUNK.min(requests)) as usize];
    let mut end = requests;
    while end > 0 {
        let start = end.saturating_sub(CHUNK);
        let chunk = &mut words[..(4 * (end - start)) as usize];
        trace.seek(SeekFrom::Start(4 * start))?;
        trace.read_exact(chunk)?;
        for (back, word) in chunk.chunks_exact_mut(4).rev().enumerate() {
            let page = u32::from_le_bytes([word[0], word[1], word[2], word[3]]);
            if page >= pages {
                let request = end - 1 - back as u64;
                return Err(invalid(format!("request {request} is for page {page}, expected less than {pages}")));
            }
            word.copy_from_slice(&backwards.step(page).to_le_bytes());
        }
        ahead.seek(SeekFrom::Start(4 * start))?;
        ahead.write_all(chunk)?;
        end = start;
    }
    ahead.flush()?;
    Ok(requests)
}

/// Reads a trace of densely numbered pages forwards alongside its [`write_ahead`] file, for [`Min`](crate::policy::Min)
/// in constant memory.
#[derive(Debug)]
pub struct Foreseeing<R, A> {
    trace: R,
    ahead: A,
    words: Vec<u8>,
}

impl<R: Read, A: Read> Foreseeing<R, A> {
    /// Reads both files from their start.
    pub fn new(trace: R, ahead: A) -> Foreseeing<R, A> {
        Foreseeing { trace, ahead, words: Vec::new() }
    }

    /// Replaces `chunk` with the next requests, at most 65,536; empty at the end.
    ///
    /// # Errors
    /// Any error of the two files; `UnexpectedEof` if the second is shorter; `InvalidData` if the length of the trace
    /// is not a multiple of 4 bytes.
    pub fn next_chunk(&mut self, chunk: &mut Vec<Foreseen>) -> io::Result<()> {
        chunk.clear();
        self.words.clear();
        self.trace.by_ref().take(4 * CHUNK).read_to_end(&mut self.words)?;
        let bytes = self.words.len();
        if !bytes.is_multiple_of(4) {
            let what = format!("a page trace that ends {} bytes into a word of 4", bytes % 4);
            return Err(io::Error::new(io::ErrorKind::InvalidData, what));
        }
        self.words.resize(2 * bytes, 0);
        let (pages, ahead) = self.words.split_at_mut(bytes);
        self.ahead.read_exact(ahead)?;
        let word = |bytes: &[u8]| u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        let both = pages.chunks_exact(4).zip(ahead.chunks_exact(4));
        chunk.extend(both.map(|(page, ahead)| Foreseen { page: word(page), ahead: word(ahead) }));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;
    use sim::Streams;

    #[test]
    fn foresee_matches_a_forward_search() {
        let mut rng = Streams::new(3).stream("future");
        let trace: Vec<u32> = (0..500).map(|_| rng.below(40) as u32).collect();
        for (i, seen) in foresee(40, &trace).into_iter().enumerate() {
            let next = trace[i + 1..].iter().position(|&page| page == trace[i]);
            assert_eq!(seen, Foreseen { page: trace[i], ahead: next.map_or(NEVER, |next| next as u32 + 1) });
        }
    }

    #[test]
    fn a_file_yields_the_same_future_as_memory() {
        let mut rng = Streams::new(4).stream("future");
        for requests in [0, 1, CHUNK - 1, CHUNK, 2 * CHUNK + 5] {
            let trace: Vec<u32> = (0..requests).map(|_| rng.below(300) as u32).collect();
            let file: Vec<u8> = trace.iter().flat_map(|page| page.to_le_bytes()).collect();
            let mut ahead = Cursor::new(Vec::new());
            assert_eq!(write_ahead(300, Cursor::new(&file), &mut ahead).unwrap(), requests);
            ahead.set_position(0);
            let mut foreseeing = Foreseeing::new(Cursor::new(&file), ahead);
            let (mut read, mut chunk) = (Vec::new(), Vec::new());
            loop {
                foreseeing.next_chunk(&mut chunk).unwrap();
                if chunk.is_empty() {
                    break;
                }
                read.extend_from_slice(&chunk);
            }
            assert_eq!(read, foresee(300, &trace));
        }
    }

    #[test]
    fn malformed_files_are_rejected() {
        let mut out = Cursor::new(Vec::new());
        let error = write_ahead(2, Cursor::new(vec![0; 6]), &mut out).unwrap_err();
        assert_eq!(error.to_string(), "a page trace of 6 bytes, expected a multiple of 4");
        let file: Vec<u8> = [1u32, 0, 2, 1].iter().flat_map(|page| page.to_le_bytes()).collect();
        let error = write_ahead(2, Cursor::new(file), &mut out).unwrap_err();
        assert_eq!(error.to_string(), "request 2 is for page 2, expected less than 2");
        let error = Foreseeing::new(&[0; 7][..], &[0; 8][..]).next_chunk(&mut Vec::new()).unwrap_err();
        assert_eq!(error.to_string(), "a page trace that ends 3 bytes into a word of 4");
        let error = Foreseeing::new(&[0; 8][..], &[0; 4][..]).next_chunk(&mut Vec::new()).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
    }
}
