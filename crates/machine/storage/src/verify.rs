//! Every read checked against every write: with payload kept, each sector written carries a number of its own.

use media::{Op, Request, SECTOR, Tag};

/// What is in a sector: the number written last, and when it changed, counted in changes.
#[derive(Clone, Copy, Default)]
struct Sector {
    stamp: u64,
    changed: u64,
}

/// A read whose data are on their way to the host.
#[derive(Clone, Copy, Debug)]
struct Kept {
    io: u32,
    request: Request,
    began: u64,
}

const CHUNK: usize = 1 << 12;

/// What the checker saw, for a judge of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seen {
    /// A command of the request `io` began. Of a write, the sectors get the numbers from `stamp` on.
    Began {
        /// The request that it is, or is part of.
        io: u32,
        /// What it asks.
        request: Request,
        /// Number of the first sector written.
        stamp: u64,
    },
    /// A read that is, or is part of, the request `io` ended well with these numbers.
    Read {
        /// The request.
        io: u32,
        /// What it asked.
        request: Request,
        /// A number a sector.
        stamps: Vec<u64>,
    },
}

/// The numbers of all sectors, as they must read.
pub struct Checker {
    chunks: Vec<Option<Box<[Sector; CHUNK]>>>,
    unit_sectors: u64,
    changes: u64,
    stamps: u64,
    /// Of each read under way: changes before it began.
    began: Vec<u64>,
    requests: Vec<Request>,
    ios: Vec<u32>,
    /// Reads that have ended in the controller, by their place in a data buffer that they have to pass.
    kept: Vec<Option<Kept>>,
    /// What was not written since is known: zeros. After a power cut it is what is read first.
    known: bool,
    log: Option<Vec<Seen>>,
    /// Sectors that were read and were what they had to be.
    pub checked: u64,
    /// Sectors that were read while they were being written: either value is right.
    pub contended: u64,
}

impl Checker {
    /// A drive of `bytes` on which nothing was written, with mapping units of `unit_bytes`.
    pub fn new(bytes: u64, unit_bytes: u64) -> Checker {
        let chunks = (bytes / SECTOR).div_ceil(CHUNK as u64) as usize;
        Checker {
            chunks: (0..chunks).map(|_| None).collect(),
            unit_sectors: unit_bytes / SECTOR,
            changes: 1,
            stamps: 0,
            began: Vec::new(),
            requests: Vec::new(),
            ios: Vec::new(),
            kept: Vec::new(),
            known: true,
            log: None,
            checked: 0,
            contended: 0,
        }
    }

    fn get(&self, sector: u64) -> Sector {
        let chunk = &self.chunks[sector as usize / CHUNK];
        chunk.as_ref().map_or(Sector::default(), |c| c[sector as usize % CHUNK])
    }

    fn set(&mut self, sector: u64, stamp: u64) {
        self.put(sector, Sector { stamp, changed: self.changes });
    }

    fn put(&mut self, sector: u64, to: Sector) {
        let chunk = self.chunks[sector as usize / CHUNK].get_or_insert_with(|| {
            let zeros = vec![Sector::default(); CHUNK].into_boxed_slice();
            zeros.try_into().unwrap_or_else(|_| unreachable!("a chunk of CHUNK sectors"))
        });
        chunk[sector as usize % CHUNK] = to;
    }

    /// A command of the request `io` begins. For a write, `data` (8 bytes a sector) gets the numbers to write.
    pub fn begin(&mut self, tag: Tag, io: u32, request: &Request, data: &mut [u8]) {
        let at = tag.0 as usize;
        if at >= self.began.len() {
            self.began.resize(at + 1, 0);
            self.requests.resize(at + 1, Request::flush());
            self.ios.resize(at + 1, 0);
        }
        self.began[at] = self.changes;
        self.requests[at] = *request;
        self.ios[at] = io;
        if let Some(log) = &mut self.log {
            log.push(Seen::Began { io, request: *request, stamp: self.stamps + 1 });
        }
        match request.op {
            Op::Write => {
                for sector in data.chunks_exact_mut(8) {
                    self.stamps += 1;
                    sector.copy_from_slice(&self.stamps.to_le_bytes());
                }
            }
            Op::Trim => {
                self.changes += 1;
                let unit = self.unit_sectors;
                let (first, end) =
                    ((request.offset / SECTOR).div_ceil(unit) * unit, request.end() / SECTOR / unit * unit);
                for sector in first..end {
                    let was = self.get(sector);
                    if was.stamp != 0 || (was.changed == 0 && !self.known) {
                        self.set(sector, 0);
                    }
                }
            }
            Op::Read | Op::Flush => {}
        }
    }

    /// The data of a write is in the drive: from now on reads return it.
    pub fn arrived(&mut self, tag: Tag, data: &[u8]) {
        self.changes += 1;
        let first = self.requests[tag.0 as usize].offset / SECTOR;
        for (i, stamp) in data.chunks_exact(8).enumerate() {
            self.set(first + i as u64, u64::from_le_bytes(stamp.try_into().unwrap_or_default()));
        }
    }

    /// A read has ended well with `data`.
    ///
    /// # Panics
    /// If a sector is not what was written to it: the model is broken.
    pub fn read(&mut self, tag: Tag, data: &[u8]) {
        let at = tag.0 as usize;
        self.compare(Kept { io: self.ios[at], request: self.requests[at], began: self.began[at] }, data);
    }

    /// A read has ended well in the controller; its data are at `place` of a data buffer.
    pub fn keep(&mut self, tag: Tag, place: u32) {
        let at = tag.0 as usize;
        let kept = Kept { io: self.ios[at], request: self.requests[at], began: self.began[at] };
        if place as usize >= self.kept.len() {
            self.kept.resize(place as usize + 1, None);
        }
        self.kept[place as usize] = Some(kept);
    }

    /// What was at `place` of the data buffer has come to the host as `data`.
    ///
    /// # Panics
    /// As [`read`](Self::read).
    pub fn read_from(&mut self, place: u32, data: &[u8]) {
        // Reads that ended without being executed left nothing there.
        if let Some(kept) = self.kept.get_mut(place as usize).and_then(Option::take) {
            self.compare(kept, data);
        }
    }

    fn compare(&mut self, Kept { io, request, began }: Kept, data: &[u8]) {
        let stamps = data.chunks_exact(8).map(|found| u64::from_le_bytes(found.try_into().unwrap_or_default()));
        if let Some(log) = &mut self.log {
            log.push(Seen::Read { io, request, stamps: stamps.clone().collect() });
        }
        for (i, found) in stamps.enumerate() {
            let number = request.offset / SECTOR + i as u64;
            let sector = self.get(number);
            if sector.changed == 0 && !self.known {
                self.put(number, Sector { stamp: found, changed: 1 });
            } else if sector.stamp == found {
                self.checked += 1;
            } else {
                assert!(
                    sector.changed >= began,
                    "sector {number} reads {found}, but {} was written to it",
                    sector.stamp
                );
                self.contended += 1;
            }
        }
    }

    /// The power was cut: of what was not durable nobody knows what is left. What each sector reads first is what it
    /// holds, until it is written again.
    pub fn power_cut(&mut self) {
        self.chunks.fill_with(|| None);
        self.kept.clear();
        self.known = false;
        self.changes += 1;
    }

    /// Keeps a log from now on; grows until it is taken.
    pub fn keep_log(&mut self) {
        self.log.get_or_insert_default();
    }

    /// The log since the last call; empty if none is kept.
    pub fn take_log(&mut self) -> Vec<Seen> {
        self.log.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// What was requested as `tag`.
    pub fn request(&self, tag: Tag) -> &Request {
        &self.requests[tag.0 as usize]
    }
}
