//! The part of the drive that a job uses.

use crate::fio::{Amount, Job, JobFileError, READ, TRIM, WRITE};

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
}

impl Region {
    /// Returns the region of a clone of `job` on a drive of `capacity` bytes.
    pub fn new(file: &str, job: &Job, clone: u32, capacity: u64) -> Result<Region, JobFileError> {
        let directions = || [READ, WRITE, TRIM].into_iter().filter(|direction| job.rw.has(*direction));
        let unit = directions().map(|d| job.sizes(d).smallest()).min().expect("a job has a direction");
        let bytes_of = |amount: Amount| match amount {
            Amount::Bytes(bytes) => bytes,
            Amount::Percent(percent) => (u128::from(capacity) * u128::from(percent) / 100) as u64,
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
        let bytes = wanted.map_or(room, |size| bytes_of(size).min(room));
        let cut = match wanted {
            Some(Amount::Bytes(wanted)) if wanted > room => Some(wanted),
            _ => None,
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
        let bytes = bytes - bytes % unit;
        let io_size = job.io_size.map(|amount| match amount {
            Amount::Bytes(bytes) => bytes,
            Amount::Percent(percent) => (u128::from(bytes) * u128::from(percent) / 100) as u64,
        });
        Ok(Region { start, bytes, io_size, cut })
    }
}
