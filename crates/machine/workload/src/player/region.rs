//! The part of the drive that a job uses.

use super::Options;
use crate::fio::{Amount, Job, JobFileError, READ, TRIM, WRITE, ZoneMode};

/// A job's region, in bytes of the drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Region {
    /// First byte.
    pub start: u64,
    /// Length: whole blocks of the job's smallest size.
    pub bytes: u64,
    /// Bytes to transfer, if different from the region's.
    pub io_size: Option<u64>,
    /// The configured size, if the drive ends before it.
    pub cut: Option<u64>,
    /// Whether start or length were rounded to whole zones.
    pub rounded: bool,
    /// Bytes of a zone, if the job uses zones; else 0.
    pub zone: u64,
}

impl Region {
    /// Returns the same region on another of a job's drives.
    pub fn on(&self, job: &Job, drive: u16, capacity: u64) -> Region {
        let first = u64::from(job.on[0]) * capacity;
        Region { start: self.start - first + u64::from(drive) * capacity, ..*self }
    }

    /// Returns the region of a clone of `job` on the first of its drives.
    pub fn new(file: &str, job: &Job, clone: u32, drive: &Options) -> Result<Region, JobFileError> {
        let (capacity, zone) = (drive.capacity, zone_bytes(file, job, drive)?);
        let directions = || [READ, WRITE, TRIM].into_iter().filter(|direction| job.rw.has(*direction));
        let unit = directions().map(|d| job.sizes(d).smallest()).min().expect("a job has a direction");
        let bytes_of = |amount: Amount| match amount {
            Amount::Bytes(bytes) => bytes,
            Amount::Percent(percent) => (u128::from(capacity) * u128::from(percent) / 100) as u64,
            Amount::Zones(zones) => zones.saturating_mul(zone),
        };
        let increment = bytes_of(job.offset_increment).saturating_mul(u64::from(clone));
        let mut start = bytes_of(job.offset).saturating_add(increment);
        if matches!(job.offset, Amount::Percent(_)) || matches!(job.offset_increment, Amount::Percent(_)) {
            let align = if job.offset_align > 0 { job.offset_align } else { unit };
            start = start.checked_next_multiple_of(align).unwrap_or(u64::MAX);
        }
        if start >= capacity {
            let of = if clone > 0 { format!(" for clone {clone}") } else { String::new() };
            let message = format!("found a start at byte {start}{of}, expected less than the drive's {capacity} bytes");
            let key = if clone > 0 { "offset_increment" } else { "offset" };
            return Err(job.error(file, key, &message));
        }
        let room = capacity - start;
        // A region ends at the end of the drive, as with fio on a block device.
        let files = job.file_size.map(|bytes| Amount::Bytes(bytes.saturating_mul(job.files)));
        let wanted = job.size.or(files);
        // As in fio, a size in bytes is that of all drives together.
        let count = job.on.len() as u64;
        let bytes = wanted.map_or(room, |size| match size {
            Amount::Bytes(bytes) if job.size.is_some() => (bytes / count).min(room),
            size => bytes_of(size).min(room),
        });
        let cut = match wanted {
            Some(amount @ (Amount::Bytes(_) | Amount::Zones(_))) if bytes_of(amount) > room => Some(bytes_of(amount)),
            _ => None,
        };
        let wanted = (start, bytes);
        let (start, bytes) = match job.zone_mode {
            ZoneMode::Zbd => whole_zones(job, start, bytes, zone).ok_or_else(|| {
                let message = format!("found a region of {bytes} bytes, expected at least one zone of {zone}");
                job.error(file, "size", &message)
            })?,
            ZoneMode::None | ZoneMode::Strided => wanted,
        };
        let largest = directions().map(|d| job.sizes(d).largest()).max().expect("a job has a direction");
        if largest > bytes {
            let key = ["bssplit", "bsrange", "bs"].into_iter().find(|key| job.setting(key).is_some());
            return Err(match key {
                Some(key) => {
                    let message = format!("found {largest} bytes, expected at most the job's region of {bytes} bytes");
                    job.error(file, key, &message)
                }
                None => {
                    let message = format!("found a region of {bytes} bytes, expected at least a request of {largest}");
                    job.error(file, "size", &message)
                }
            });
        }
        let bytes = if job.zone_mode == ZoneMode::Zbd { bytes } else { bytes - bytes % unit };
        let io_size = job.io_size.map(|amount| match amount {
            Amount::Bytes(bytes) => bytes,
            Amount::Percent(percent) => (u128::from(bytes) * u128::from(percent) / 100) as u64,
            Amount::Zones(zones) => zones.saturating_mul(zone),
        });
        let io_size = if count > 1 { io_size.or(Some(bytes.saturating_mul(count))) } else { io_size };
        let start = start + u64::from(job.on[0]) * capacity;
        Ok(Region { start, bytes, io_size, cut, rounded: (start, bytes) != wanted, zone })
    }
}

/// Returns the bytes of the zones that a job uses: those of the drive, or of emulated ones; 0 if it uses none.
///
/// # Errors
/// If the job needs zones and neither the drive nor the job has some, or if the job's have another size.
fn zone_bytes(file: &str, job: &Job, drive: &Options) -> Result<u64, JobFileError> {
    let own = job.zones.size;
    match (job.zone_mode, drive.zones) {
        (ZoneMode::Zbd, Some(zones)) if own > 0 && own != zones.size => {
            let message =
                format!("found {own}, expected {}, the size of the drive's zones, or no zonesize", zones.size);
            Err(job.error(file, "zonesize", &message))
        }
        (ZoneMode::Zbd, Some(zones)) => Ok(zones.size),
        (ZoneMode::Zbd, None) if own == 0 => {
            let message = "found zbd without zonesize on a drive without zones, expected a drive with zones, such as \
                           the preset wd-zn540, or zonesize=BYTES for zones that are emulated as in fio";
            Err(job.error(file, "zonemode", message))
        }
        (ZoneMode::None, _) => {
            let amounts = [
                ("size", job.size),
                ("io_size", job.io_size),
                ("offset", Some(job.offset)),
                ("offset_increment", Some(job.offset_increment)),
            ];
            let in_zones = |amount: &Option<Amount>| matches!(amount, Some(Amount::Zones(_)));
            match amounts.into_iter().find(|(_, amount)| in_zones(amount)) {
                Some((key, _)) => Err(job.error(file, key, "found a number of zones, expected zonemode=zbd as well")),
                None => Ok(0),
            }
        }
        _ => Ok(own),
    }
}

/// Returns start and length in whole zones, or `None` if there is not one. As in fio, a job that only reads keeps its start.
fn whole_zones(job: &Job, start: u64, bytes: u64, zone: u64) -> Option<(u64, u64)> {
    let end = (start + bytes) / zone * zone;
    let start = if job.rw.has(WRITE) || job.rw.has(TRIM) { start.checked_next_multiple_of(zone)? } else { start };
    (end > start).then(|| (start, end - start))
}
