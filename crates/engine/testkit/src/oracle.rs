//! The values that a read may return: every write with the times of its submission and acknowledgment.

/// A write (or trim: value 0) of a sector.
#[derive(Clone, Copy, Debug)]
struct Write {
    value: u64,
    asked: u64,
    acknowledged: Option<u64>,
    /// Acknowledged as durable by itself (FUA), or by a later flush.
    durable: bool,
}

/// The history of every sector.
#[derive(Debug)]
pub struct Oracle {
    sectors: Vec<Vec<Write>>,
}

impl Oracle {
    /// Creates the history of `sectors` sectors that read as zero.
    pub fn new(sectors: usize) -> Oracle {
        let unwritten = Write { value: 0, asked: 0, acknowledged: Some(0), durable: true };
        Oracle { sectors: vec![vec![unwritten]; sectors] }
    }

    /// Handles the submission of a write of `value`.
    pub fn asked(&mut self, sector: usize, value: u64, now: u64) {
        self.sectors[sector].push(Write { value, asked: now, acknowledged: None, durable: false });
    }

    /// Handles the acknowledgment at `now` of the write of `value` submitted at `asked`.
    ///
    /// # Panics
    /// If there is no such write.
    pub fn acknowledged(&mut self, sector: usize, value: u64, asked: u64, now: u64, durable: bool) {
        let write = self.sectors[sector]
            .iter_mut()
            .find(|w| w.value == value && w.asked == asked)
            .expect("the write was submitted");
        (write.acknowledged, write.durable) = (Some(now), durable);
    }

    /// Handles the acknowledgment of a flush submitted at `asked`: writes acknowledged before it are durable.
    pub fn flushed(&mut self, asked: u64) {
        for write in self.sectors.iter_mut().flatten() {
            write.durable |= write.acknowledged.is_some_and(|at| at < asked);
        }
    }

    /// Returns true if a read submitted at `from` and completed at `to` may return `value`.
    pub fn may_read(&self, sector: usize, value: u64, from: u64, to: u64) -> bool {
        let history = &self.sectors[sector];
        history.iter().filter(|w| w.value == value).any(|w| {
            w.asked < to
                && !history.iter().any(|newer| {
                    w.acknowledged.is_some_and(|at| newer.asked > at) && newer.acknowledged.is_some_and(|at| at < from)
                })
        })
    }

    /// Returns true if `value` may be read after a power cut.
    pub fn may_survive(&self, sector: usize, value: u64) -> bool {
        let history = &self.sectors[sector];
        history
            .iter()
            .filter(|w| w.value == value)
            .any(|w| !history.iter().any(|newer| newer.durable && w.acknowledged.is_some_and(|at| newer.asked > at)))
    }

    /// Sets the only possible content to `value`, read after a power cut.
    pub fn settle(&mut self, sector: usize, value: u64, now: u64) {
        self.sectors[sector] = vec![Write { value, asked: now, acknowledged: Some(now), durable: true }];
    }

    /// Sets the current content to `value`, read after a controller reset that ended all commands. It is no more
    /// durable than before. Uses the times `now` and `now + 1`.
    pub fn settle_volatile(&mut self, sector: usize, value: u64, now: u64) {
        let history = &mut self.sectors[sector];
        for write in history.iter_mut() {
            write.acknowledged.get_or_insert(now);
        }
        history.push(Write { value, asked: now + 1, acknowledged: Some(now + 1), durable: false });
    }

    /// Returns the writes of a sector, for the message of a failure.
    pub fn history(&self, sector: usize) -> String {
        format!("{:?}", self.sectors[sector])
    }
}
