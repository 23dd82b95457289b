//! Checks every read against all writes. If payload is kept, each sector written carries a unique number, its stamp.

use media::{Op, Request, SECTOR, Tag};

/// Expected content of a sector: the stamp last written, and the change counter at that write.
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

/// An observation of the checker, logged for an independent check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seen {
    /// A command of request `io` began. If it is a write, its sectors receive the stamps from `stamp` on.
    Began {
        /// The request that the command is, or is part of.
        io: u32,
        /// The command's request.
        request: Request,
        /// Stamp of the first sector written.
        stamp: u64,
    },
    /// A read that is, or is part of, request `io` succeeded with these stamps.
    Read {
        /// The request.
        io: u32,
        /// The read command's request.
        request: Request,
        /// One stamp per sector.
        stamps: Vec<u64>,
    },
}

/// The expected stamps of all sectors.
pub struct Checker {
    chunks: Vec<Option<Box<[Sector; CHUNK]>>>,
    unit_sectors: u64,
    changes: u64,
    stamps: u64,
    /// For each read in progress, the change counter at its start.
    began: Vec<u64>,
    requests: Vec<Request>,
    ios: Vec<u32>,
    /// Reads that have ended in the controller and wait to leave a data buffer, by place in the buffer.
    kept: Vec<Option<Kept>>,
    /// True if sectors not written since are known to be zero. After a power cut, the first value read is taken as the
    /// content.
    known: bool,
    log: Option<Vec<Seen>>,
    /// Number of sectors that were read and had the expected content.
    pub checked: u64,
    /// Number of sectors read while being written, when either value is correct.
    pub contended: u64,
}

impl Checker {
    /// Creates a checker for an empty drive of `bytes` bytes with mapping units of `unit_bytes`.
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

    /// Begins a command of request `io`. For a write, fills `data` (8 bytes per sector) with new stamps.
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
            Op::Write | Op::Append => {
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
            Op::ZoneReset => {
                self.changes += 1;
                let (mut sector, end) = (request.offset / SECTOR, request.end() / SECTOR);
                while sector < end {
                    if self.known && self.chunks[sector as usize / CHUNK].is_none() {
                        // Nothing was written there; the request may cover the whole drive.
                        sector = (sector / CHUNK as u64 + 1) * CHUNK as u64;
                        continue;
                    }
                    if self.get(sector).stamp != 0 || !self.known {
                        self.set(sector, 0);
                    }
                    sector += 1;
                }
            }
            Op::Read | Op::Flush | Op::ZoneOpen | Op::ZoneClose | Op::ZoneFinish => {}
        }
    }

    /// Records that the data of a write are in the drive; from now on reads return them.
    pub fn arrived(&mut self, tag: Tag, data: &[u8]) {
        self.changes += 1;
        let first = self.requests[tag.0 as usize].offset / SECTOR;
        for (i, stamp) in data.chunks_exact(8).enumerate() {
            self.set(first + i as u64, u64::from_le_bytes(stamp.try_into().unwrap_or_default()));
        }
    }

    /// Checks a read that succeeded with `data`.
    ///
    /// # Panics
    /// Panics if a sector does not have the content last written to it, which means that the model is broken.
    pub fn read(&mut self, tag: Tag, data: &[u8]) {
        let at = tag.0 as usize;
        self.compare(Kept { io: self.ios[at], request: self.requests[at], began: self.began[at] }, data);
    }

    /// Defers the check of a read that succeeded in the controller until its data leave `place` of a data buffer.
    pub fn keep(&mut self, tag: Tag, place: u32) {
        let at = tag.0 as usize;
        let kept = Kept { io: self.ios[at], request: self.requests[at], began: self.began[at] };
        if place as usize >= self.kept.len() {
            self.kept.resize(place as usize + 1, None);
        }
        self.kept[place as usize] = Some(kept);
    }

    /// Checks `data`, which has left `place` of the data buffer for the host.
    ///
    /// # Panics
    /// Panics like [`read`](Self::read).
    pub fn read_from(&mut self, place: u32, data: &[u8]) {
        // Reads that ended without being executed left no data there.
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

    /// Records a power cut: the content of sectors without durable data is unknown. The first value read from a sector
    /// becomes its expected content until it is written again.
    pub fn power_cut(&mut self) {
        self.chunks.fill_with(|| None);
        self.kept.clear();
        self.known = false;
        self.changes += 1;
    }

    /// Keeps a log from now on. It grows until it is taken.
    pub fn keep_log(&mut self) {
        self.log.get_or_insert_default();
    }

    /// Returns the log since the last call; empty if none is kept.
    pub fn take_log(&mut self) -> Vec<Seen> {
        self.log.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Returns the request of command `tag`.
    pub fn request(&self, tag: Tag) -> &Request {
        &self.requests[tag.0 as usize]
    }
}
