//! The zones that jobs share.

use crate::fio::{Job, JobFileError};
use crate::player::Options;

/// Maximum number of zones.
const ZONES_MAX: u64 = 1 << 24;

/// Zones of a drive, or emulated ones.
#[derive(Clone, Debug)]
pub(in crate::player) struct Zones {
    /// Bytes from the start of a zone to that of the next.
    pub(super) size: u64,
    /// Writable bytes of a zone.
    pub(super) capacity: u64,
    /// Whether the drive has these zones. Emulated ones are reset and finished without a request.
    pub(super) real: bool,
    /// Maximum number of targets; 0 for no limit.
    pub(super) open_max: u32,
    pub(super) zones: Vec<Zone>,
    /// Zones that jobs write, in the order in which they were chosen. Empty without a limit.
    pub(super) targets: Vec<u32>,
    /// Number of targets that each job has chosen.
    pub(super) chosen: Vec<u32>,
    /// Zones whose written bytes are counted, for `zone_reset_threshold`.
    counted: (u32, u32),
    /// Written bytes of these zones.
    pub(super) written: u64,
    /// Writes until the next reset of `zone_reset_frequency`.
    pub(super) countdown: u64,
    /// Outstanding requests to zones.
    pub(super) in_flight: u32,
    /// Jobs that wait for one of these to end.
    waiting: Vec<u16>,
}

/// A zone.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Zone {
    /// Write pointer: bytes from the start.
    pub written: u64,
    /// Whether it is among the targets.
    pub target: bool,
    /// Whether it must be reset before it is written.
    pub due: bool,
    /// Outstanding requests, all of one job.
    pub holds: u32,
    /// That job.
    pub holder: u16,
    /// The job that has made it a target.
    pub chooser: u16,
}

impl Zones {
    /// Creates the zones of a drive as its first job with `zonemode=zbd` requests them. All are empty.
    ///
    /// # Errors
    /// If the job's keys do not fit the drive.
    pub fn new(file: &str, job: &Job, jobs: usize, drive: &Options) -> Result<Zones, JobFileError> {
        let keys = &job.zbd;
        let (size, capacity) = match drive.zones {
            Some(zones) => (zones.size, zones.capacity),
            None if keys.capacity > job.zones.size => {
                let message =
                    format!("found {}, expected at most the zonesize of {} bytes", keys.capacity, job.zones.size);
                return Err(job.error(file, "zonecapacity", &message));
            }
            None => (job.zones.size, if keys.capacity > 0 { keys.capacity } else { job.zones.size }),
        };
        let count = drive.capacity / size;
        if count > ZONES_MAX {
            let message = format!("found {size}, expected at least {} bytes", drive.capacity.div_ceil(ZONES_MAX));
            return Err(job.error(file, "zonesize", &message));
        }
        let limit = drive.zones.and_then(|zones| zones.open).filter(|_| !keys.ignores_limits);
        let open_max = match limit {
            Some(limit) if keys.open_max > limit => {
                let message = format!(
                    "found {}, expected at most the drive's {limit} open zones, or ignore_zone_limits=1 as well",
                    keys.open_max
                );
                return Err(job.error(file, "max_open_zones", &message));
            }
            Some(limit) if keys.open_max == 0 => limit,
            _ => keys.open_max,
        };
        Ok(Zones {
            size,
            capacity,
            real: drive.zones.is_some(),
            open_max,
            zones: vec![Zone::default(); count as usize],
            targets: Vec::new(),
            chosen: vec![0; jobs],
            counted: (0, 0),
            written: 0,
            countdown: u64::from(u32::MAX),
            in_flight: 0,
            waiting: Vec::new(),
        })
    }

    /// Returns whether the drive has these zones.
    pub fn are_real(&self) -> bool {
        self.real
    }

    /// Returns the note on emulated zones.
    pub fn emulated(&self, file: &str) -> String {
        format!(
            "{file}: zonemode=zbd: the drive has no zones; as in fio, zones of {} bytes are emulated, which begin empty and \
             are reset without a command",
            self.size
        )
    }

    /// Sets the write pointer of each zone, in bytes from its start.
    pub fn report(&mut self, written: impl Fn(u32) -> u64) {
        for (number, zone) in (0..).zip(&mut self.zones) {
            zone.written = written(number);
        }
        self.count(self.counted);
    }

    /// Counts the written bytes of these zones from now on. Returns false if others are counted already.
    pub(super) fn count(&mut self, range: (u32, u32)) -> bool {
        if self.counted != (0, 0) && self.counted != range {
            return false;
        }
        self.counted = range;
        self.written = self.zones[range.0 as usize..range.1 as usize].iter().map(|zone| zone.written).sum();
        true
    }

    /// Returns the first byte of a zone.
    pub(super) fn start(&self, zone: u32) -> u64 {
        u64::from(zone) * self.size
    }

    /// Returns the zone of a byte.
    pub(super) fn of(&self, byte: u64) -> u32 {
        (byte / self.size) as u32
    }

    /// Returns the bytes of a zone that can still be written.
    pub(super) fn room(&self, zone: u32) -> u64 {
        self.capacity.saturating_sub(self.zones[zone as usize].written)
    }

    /// Returns the bytes of a zone that can be read.
    pub(super) fn readable(&self, zone: u32) -> u64 {
        self.zones[zone as usize].written.min(self.capacity)
    }

    /// Moves the write pointer of a zone.
    pub(super) fn set_written(&mut self, zone: u32, written: u64) {
        let before = std::mem::replace(&mut self.zones[zone as usize].written, written);
        if (self.counted.0..self.counted.1).contains(&zone) {
            self.written = self.written + written - before;
        }
    }

    /// Returns whether a job may issue a request to a zone.
    pub(super) fn is_free(&self, zone: u32, job: u16) -> bool {
        let zone = &self.zones[zone as usize];
        zone.holds == 0 || zone.holder == job
    }

    /// Records a request of a job to a zone. `last`: it is a write that ends at the zone's capacity. Returns the number that
    /// its end reports.
    pub(super) fn hold(&mut self, zone: u32, job: u16, last: bool) -> u32 {
        debug_assert!(self.is_free(zone, job));
        let state = &mut self.zones[zone as usize];
        state.holds += 1;
        state.holder = job;
        self.in_flight += 1;
        (zone + 1) << 1 | u32::from(last)
    }

    /// Ends the request with this number.
    pub(super) fn release(&mut self, number: u32) {
        let zone = (number >> 1) - 1;
        self.zones[zone as usize].holds -= 1;
        self.in_flight -= 1;
        if number & 1 == 1 {
            self.drop_target(zone);
        }
    }

    /// Makes a job wait for the end of another job's request.
    pub fn wait(&mut self, job: u16) {
        self.waiting.push(job);
    }

    /// Returns the jobs that wait.
    pub fn take_waiting(&mut self) -> Vec<u16> {
        std::mem::take(&mut self.waiting)
    }

    /// Makes a zone a target.
    pub(super) fn add_target(&mut self, zone: u32, job: u16) {
        self.targets.push(zone);
        self.chosen[job as usize] += 1;
        let state = &mut self.zones[zone as usize];
        (state.target, state.chooser) = (true, job);
    }

    /// Removes a zone from the targets.
    pub(super) fn drop_target(&mut self, zone: u32) {
        let state = &mut self.zones[zone as usize];
        if std::mem::take(&mut state.target) {
            self.chosen[state.chooser as usize] -= 1;
            self.targets.retain(|target| *target != zone);
        }
    }
}
