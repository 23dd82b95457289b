//! The content of every line, wherever it is, to test that nothing is lost. A line's content is the number of the
//! write-back that brought it; in flash it is in the first eight of its 64 bytes.

use std::collections::BTreeMap;

use dram_cache::{Config, Move};
use media::line::{LINE, LineKind, LineRequest};

#[derive(Clone)]
struct Buffer {
    lines: Vec<u64>,
    /// Lines written back, which override data from flash.
    written: Vec<bool>,
}

/// A request under way: its data, or the data that it must return; and the data given to it.
struct Asked {
    request: LineRequest,
    stamp: u64,
    got: Option<u64>,
}

/// Frames, buffers, and the last write to every line.
pub(super) struct Contents {
    lines: usize,
    frames: BTreeMap<u64, Vec<u64>>,
    fetches: Vec<Buffer>,
    buffers: Vec<Vec<u64>>,
    newest: BTreeMap<u64, u64>,
    asked: BTreeMap<u32, Asked>,
    stamp: u64,
    /// The last writes at each sync, by token.
    kept: BTreeMap<u64, BTreeMap<u64, u64>>,
}

impl Contents {
    pub fn new(config: &Config) -> Contents {
        let lines = config.page_bytes as usize / LINE as usize;
        let buffer = Buffer { lines: vec![0; lines], written: vec![false; lines] };
        Contents {
            lines,
            frames: BTreeMap::new(),
            fetches: vec![buffer; config.keys.fetches as usize],
            buffers: vec![vec![0; lines]; config.write_backs() as usize],
            newest: BTreeMap::new(),
            asked: BTreeMap::new(),
            stamp: 0,
            kept: BTreeMap::new(),
        }
    }

    /// Records a request that reaches the controller.
    pub fn request(&mut self, request: LineRequest) {
        let stamp = match request.kind {
            LineKind::WriteBack => {
                self.stamp += 1;
                self.newest.insert(request.address, self.stamp);
                self.stamp
            }
            LineKind::Fill => self.newest.get(&request.address).copied().unwrap_or(0),
        };
        let before = self.asked.insert(request.id, Asked { request, stamp, got: None });
        assert!(before.is_none(), "{request:?} has the number of one under way");
    }

    /// Records the state of a token.
    pub fn keep(&mut self, token: u64) {
        self.kept.insert(token, self.newest.clone());
    }

    /// Expects the state of a token from now on.
    pub fn roll_back(&mut self, token: u64) {
        self.newest.clone_from(&self.kept[&token]);
    }

    /// Checks the answer to request `id`: a read returns the last write, unless the line was written meanwhile.
    pub fn answer(&mut self, id: u32) {
        let Asked { request, stamp, got } = self.asked.remove(&id).expect("it was asked");
        if request.kind == LineKind::Fill {
            let newest = self.newest.get(&request.address).copied().unwrap_or(0);
            let got = got.expect("it was given something");
            assert!((stamp..=newest).contains(&got), "{request:?} gets {got}, expected {stamp} to {newest}");
        }
    }

    /// Records the arrival of a page from flash; `None` if it was never written.
    pub fn arrive(&mut self, fetch: u32, bytes: Option<&[u8]>) {
        let buffer = &mut self.fetches[fetch as usize];
        for line in (0..self.lines).filter(|line| !buffer.written[*line]) {
            let at = line * LINE as usize;
            let word = |bytes: &[u8]| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
            buffer.lines[line] = bytes.map_or(0, word);
        }
    }

    /// Returns the bytes of the flash page that a write-back writes.
    pub fn load(&self, slot: u32, bytes: &mut [u8]) {
        bytes.fill(0);
        for (line, to) in self.buffers[slot as usize].iter().zip(bytes.chunks_exact_mut(LINE as usize)) {
            to[..8].copy_from_slice(&line.to_le_bytes());
        }
    }

    pub fn apply(&mut self, movement: Move) {
        match movement {
            Move::LineToFrame { id, frame, line } => {
                self.frames.get_mut(&frame).expect("a hit")[line as usize] = self.asked[&id].stamp;
            }
            Move::FrameToLine { frame, line, id } => self.deliver(id, self.frames[&frame][line as usize]),
            Move::LineToFetch { id, fetch, line } => {
                let buffer = &mut self.fetches[fetch as usize];
                (buffer.lines[line as usize], buffer.written[line as usize]) = (self.asked[&id].stamp, true);
            }
            Move::FetchToLine { fetch, line, id } => {
                self.deliver(id, self.fetches[fetch as usize].lines[line as usize])
            }
            Move::BufferToFetch { slot, fetch } => {
                let (from, to) = (&self.buffers[slot as usize], &mut self.fetches[fetch as usize]);
                for line in (0..self.lines).filter(|line| !to.written[*line]) {
                    to.lines[line] = from[line];
                }
            }
            Move::FrameToBuffer { frame, slot } => {
                self.buffers[slot as usize].copy_from_slice(&self.frames[&frame]);
            }
            Move::FetchToFrame { fetch, frame } => {
                let buffer = &mut self.fetches[fetch as usize];
                self.frames.insert(frame, buffer.lines.clone());
                buffer.written.fill(false);
            }
        }
    }

    fn deliver(&mut self, id: u32, stamp: u64) {
        self.asked.get_mut(&id).expect("it was asked").got = Some(stamp);
    }
}
