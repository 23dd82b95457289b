//! The drives that a job file names.

use super::rules::Drive;
use super::{Job, JobFileError, WRITE, ZoneMode};

/// Maximum number of drives.
const DRIVES_MAX: usize = 64;

/// Numbers the drives that jobs name, in the order of their first mention, and notes in each job which it uses. Returns their
/// names, unless there is only one. Other file names stand for files on the first drive.
///
/// # Errors
/// If there are too many, or a job cannot run next to other drives.
pub(super) fn number(file: &str, jobs: &mut [Job]) -> Result<Vec<String>, JobFileError> {
    let mut found: Vec<Drive> = Vec::new();
    for job in &mut *jobs {
        let mut on = Vec::new();
        job.drives.retain(|drive| {
            let number = found.iter().position(|other| other.id == drive.id).unwrap_or_else(|| {
                found.push(drive.clone());
                found.len() - 1
            });
            let is_new = !on.contains(&(number as u16));
            if is_new {
                on.push(number as u16);
            }
            is_new
        });
        if !on.is_empty() {
            job.on = on;
        }
    }
    if found.len() > DRIVES_MAX {
        let message = format!("found {} drives, expected at most {DRIVES_MAX}", found.len());
        return Err(jobs[0].error(file, "filename", &message));
    }
    if found.len() < 2 {
        return Ok(Vec::new());
    }
    for job in jobs {
        let fail = |key: &str, message: &str| Err(job.error(file, key, message));
        if !job.iologs.is_empty() {
            return fail("read_iolog", "found next to several drives, expected jobs without traces");
        }
        if job.zone_mode == ZoneMode::Zbd {
            return fail("zonemode", "found zbd next to several drives, expected one drive");
        }
        if job.verify && job.rw.has(WRITE) && job.on.len() > 1 {
            return fail("verify", "found on a job that writes several drives, expected a job for each drive");
        }
    }
    Ok(found.into_iter().map(|drive| drive.name).collect())
}

/// Returns the drives among the names of `filename`, which are separated by colons. Partitions belong to their drive.
pub(super) fn of(text: &str) -> Vec<Drive> {
    // A colon that belongs to a name is escaped.
    let names = text.replace("\\:", "\0");
    names.split(':').filter_map(|name| drive(&name.replace('\0', ":"))).collect()
}

/// Returns the drive that a name stands for: a block device of Linux, or a namespace of SPDK.
fn drive(name: &str) -> Option<Drive> {
    if let Some(device) = name.trim().strip_prefix("/dev/") {
        // Links such as /dev/disk/by-id/... and volumes may lead to the same drive.
        let known = ["nvme", "sd", "hd", "vd", "xvd", "ng", "pmem", "nullb", "zram", "mmcblk"];
        let is_known = known.iter().any(|start| device.starts_with(start));
        return is_known.then(|| Drive { id: whole(device), name: device.to_owned() });
    }
    let joined = || name.split_whitespace().collect::<Vec<_>>().join(" ");
    name.contains("traddr=").then(|| Drive { id: joined(), name: joined() })
}

/// Returns the drive of a partition, a namespace or a character device: `nvme0` of `nvme0n1p2` and of `ng0n1`, `sda` of
/// `sda1`.
fn whole(device: &str) -> String {
    for start in ["nvme", "ng"] {
        let number = device.strip_prefix(start).map(|rest| rest.split(|c: char| !c.is_ascii_digit()).next());
        if let Some(Some(number)) = number.filter(|number| number.is_some_and(|number| !number.is_empty())) {
            return format!("nvme{number}");
        }
    }
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if let Some((drive, number)) = device.rsplit_once('p')
        && digits(number)
        && drive.ends_with(|c: char| c.is_ascii_digit())
    {
        return drive.to_owned();
    }
    let letters = ["sd", "hd", "vd", "xvd"].iter().any(|start| device.starts_with(start));
    if letters { device.trim_end_matches(|c: char| c.is_ascii_digit()).to_owned() } else { device.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drives_are_told_from_files_and_partitions() {
        for (text, drives) in [
            ("/dev/nvme0n1", &["nvme0"][..]),
            ("/dev/nvme0n1p2:/dev/ng0n1", &["nvme0", "nvme0"]),
            ("/dev/sda1:/dev/sdb", &["sda", "sdb"]),
            ("/dev/nvme0n1:/dev/nvme1n1", &["nvme0", "nvme1"]),
            ("data/file:other", &[]),
            ("/dev/mmcblk0p1", &["mmcblk0"]),
            ("/dev/mapper/volume", &[]),
            ("/dev/disk/by-id/one", &[]),
            ("trtype=PCIe traddr=0000.04.00.0 ns=1", &["trtype=PCIe traddr=0000.04.00.0 ns=1"]),
            ("0000\\:01\\:00.0", &[]),
        ] {
            let found: Vec<String> = of(text).into_iter().map(|drive| drive.id).collect();
            assert_eq!(found, drives, "{text}");
        }
    }
}
