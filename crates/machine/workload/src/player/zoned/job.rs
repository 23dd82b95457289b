//! A job that uses zones.

use media::{Op, Request};

use super::super::region::Region;
use super::Zones;
use crate::fio::{Amount, Job, JobFileError, READ, ReadWriteKind, TRIM, WRITE, ZbdKeys};
use crate::player::placing::Placed;

/// State of a job with `zonemode=zbd`.
#[derive(Clone, Debug)]
pub(in crate::player) struct ZonedJob {
    pub(super) index: u16,
    /// Its zones: the first, and the first beyond.
    pub(super) first: u32,
    pub(super) end: u32,
    pub(super) region: Region,
    /// Smallest size of reads, writes and trims.
    pub(super) least: [u64; 3],
    pub(super) keys: ZbdKeys,
    pub(super) random: bool,
    /// Whether written data is read back, so that no zone may be reset.
    pub(super) keeps_data: bool,
    /// Whether the job starts again at the end of a pass.
    pub(super) repeats: bool,
    /// Percentage of reads.
    reads: u64,
    /// Bytes that a sequential job skips after each zone, and the start of its zone.
    pub(super) skip: u64,
    pub(super) base: u64,
    /// Bytes transferred in that zone.
    pub(super) zone_bytes: u64,
    pub(super) pending: Option<Pending>,
    /// Resets and finishes that are outstanding: at most one.
    managing: u32,
    /// The next zone to empty before the first request, if data is kept.
    clears: u32,
    writes: u64,
    requests: u64,
    /// Requests before the pass in progress.
    before: u64,
    /// Zones that were reset.
    resets: u64,
}

/// A request that has no place yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pending {
    pub direction: usize,
    pub at: u64,
    pub bytes: u64,
    /// The zone, if it is already chosen.
    pub zone: Option<u32>,
    /// Whether `zone_reset_frequency` has counted the request.
    pub counted: bool,
}

impl ZonedJob {
    /// Creates the state of a job on its region.
    ///
    /// # Errors
    /// If the job's keys do not fit the zones.
    pub fn new(file: &str, job: &Job, index: u16, region: Region, zones: &mut Zones) -> Result<ZonedJob, JobFileError> {
        let fail = |key: &str, message: String| Err(job.error(file, key, &message));
        let keys = job.zbd;
        let (first, end) = (zones.of(region.start), zones.of(region.start + region.bytes));
        if job.zones.size > 0 && job.zones.size != zones.size {
            return fail("zonesize", format!("found {}, expected the {} of other jobs", job.zones.size, zones.size));
        }
        let skip = job.zones.skip(zones.size);
        if !skip.is_multiple_of(zones.size) {
            return fail("zoneskip", format!("found {skip}, expected a multiple of a zone's {} bytes", zones.size));
        }
        if keys.open_max > 0 && keys.open_max != zones.open_max {
            return fail(
                "max_open_zones",
                format!("found {}, expected the {} of other jobs", keys.open_max, zones.open_max),
            );
        }
        let sizes = [READ, WRITE, TRIM].map(|direction| job.sizes(direction));
        if job.rw.has(TRIM) && (sizes[TRIM].smallest(), sizes[TRIM].largest()) != (zones.size, zones.size) {
            let found = sizes[TRIM].largest();
            return fail("bs", format!("found trims of {found} bytes, expected those of a zone, {}", zones.size));
        }
        let writes = job.rw.has(WRITE);
        if writes && sizes[WRITE].largest() > zones.capacity {
            let found = sizes[WRITE].largest();
            return fail("bs", format!("found writes of {found} bytes, expected at most a zone's {}", zones.capacity));
        }
        if writes && keys.job_open_max > 0 && zones.open_max == 0 {
            let message = "found on a drive without a limit of open zones, expected max_open_zones as well";
            return fail("job_max_open_zones", message.to_owned());
        }
        if writes && keys.reset_threshold > 0.0 && !zones.count((first, end)) {
            let message = "found with jobs that write different zones, expected the same offset and size for all";
            return fail("zone_reset_threshold", message.to_owned());
        }
        let mut zoned = ZonedJob {
            index,
            first,
            end,
            region,
            least: sizes.map(|sizes| sizes.smallest()),
            keys,
            random: job.rw.random,
            keeps_data: writes && job.verify,
            repeats: job.io_size.is_some() || job.time_based || skip > 0,
            reads: if job.rw.kind == ReadWriteKind::Mixed { job.reads } else { 100 },
            skip,
            base: region.start,
            zone_bytes: 0,
            pending: None,
            managing: 0,
            clears: end,
            writes: 0,
            requests: 0,
            before: 0,
            resets: 0,
        };
        if zoned.keeps_data {
            zoned.clears = first;
        }
        if writes {
            zoned.restart_countdown(zones);
        }
        Ok(zoned)
    }

    /// Returns the number of zones that the job has reset, other than by trims.
    pub fn resets(&self) -> u64 {
        self.resets
    }

    /// Returns whether the job has issued no request.
    pub fn found_nothing(&self) -> bool {
        self.requests == 0
    }

    /// Returns the direction in place of `drawn`: as in fio, a job that reads and writes begins with a write.
    pub(super) fn direction(&self, drawn: usize) -> usize {
        let reads_first = drawn == READ && self.reads < 100 && self.writes == 0 && !self.keys.reads_beyond;
        if reads_first { WRITE } else { drawn }
    }

    /// Ends a request of the job: `number` is that of its placement.
    pub fn ended(&mut self, op: Op, number: u32, zones: &mut Zones) {
        if number == 0 {
            return;
        }
        if self.managing > 0 && matches!(op, Op::ZoneReset | Op::ZoneFinish) {
            self.managing -= 1;
        }
        zones.release(number);
    }

    /// Returns whether a reset or finish is outstanding.
    pub(super) fn is_managing(&self) -> bool {
        self.managing > 0
    }

    /// Returns whether the job starts again at the end of a pass: as fio's jobs do, unless the pass found nothing.
    pub(super) fn starts_again(&mut self) -> bool {
        let before = std::mem::replace(&mut self.before, self.requests);
        self.repeats && self.requests > before
    }

    /// Counts a request to a zone.
    pub(super) fn count(&mut self, direction: usize, bytes: u64) {
        self.requests += 1;
        self.zone_bytes += bytes;
        self.writes += u64::from(direction == WRITE);
    }

    /// Sets the number of writes until a reset of `zone_reset_frequency`.
    pub(super) fn restart_countdown(&self, zones: &mut Zones) {
        let frequency = self.keys.reset_frequency;
        zones.countdown = if frequency > 0.0 { (1.0 / frequency) as u64 } else { u64::from(u32::MAX) }.max(1);
    }

    /// Empties the job's zones before it writes, if data is kept. Returns `None` once all are empty.
    pub(super) fn clear(&mut self, zones: &mut Zones, in_flight: u32) -> Option<Placed> {
        while self.clears < self.end {
            let zone = self.clears;
            if zones.zones[zone as usize].written > 0 {
                if !zones.is_free(zone, self.index) {
                    return Some(if in_flight > 0 { Placed::Park } else { Placed::Hold });
                }
                zones.drop_target(zone);
                self.clears += 1;
                if let Some(reset) = self.reset(zones, zone) {
                    return Some(reset);
                }
            } else {
                self.clears += 1;
            }
        }
        None
    }

    /// Empties a zone. Returns the request, if the drive has the zone.
    pub(super) fn reset(&mut self, zones: &mut Zones, zone: u32) -> Option<Placed> {
        self.resets += 1;
        zones.set_written(zone, 0);
        self.manage(Op::ZoneReset, zones, zone)
    }

    /// Makes a zone full. Returns the request, if the drive has the zone.
    pub(super) fn finish(&mut self, zones: &mut Zones, zone: u32) -> Option<Placed> {
        zones.set_written(zone, zones.size);
        self.manage(Op::ZoneFinish, zones, zone)
    }

    fn manage(&mut self, op: Op, zones: &mut Zones, zone: u32) -> Option<Placed> {
        zones.real.then(|| {
            self.managing += 1;
            let request = Request::new(op, zones.start(zone), zones.size);
            Placed::Manage(request, zones.hold(zone, self.index, false))
        })
    }
}

impl ZonedJob {
    /// Returns the note that fio prints on a job whose region was rounded.
    pub fn rounding(file: &str, job: &Job, region: &Region) -> Option<String> {
        let given = job.size.is_some() || !matches!(job.offset, Amount::Bytes(0));
        (region.rounded && given).then(|| {
            format!(
                "{file}: job \"{}\": its region is rounded to whole zones, {} bytes from byte {} on, as in fio",
                job.name, region.bytes, region.start
            )
        })
    }
}
