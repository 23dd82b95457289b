//! The drives that a job file names.

use super::{Job, JobFileError};

/// Checks that all jobs name the same drive. Other file names stand for files on it.
pub(super) fn check(file: &str, jobs: &[Job]) -> Result<(), JobFileError> {
    let mut first: Option<&str> = None;
    for job in jobs {
        for drive in &job.drives {
            let first = *first.get_or_insert(drive);
            if first != drive {
                let message = format!(
                    "found the drive \"{drive}\" and \"{first}\" before it, expected one drive per run: drives that \
                     share nothing run side by side at the speed of each alone, so run the jobs of each by themselves"
                );
                return Err(job.error(file, "filename", &message));
            }
        }
    }
    Ok(())
}

/// Returns the drives among the names of `filename`, which are separated by colons. Partitions belong to their drive.
pub(super) fn of(text: &str) -> Vec<String> {
    // A colon that belongs to a name is escaped.
    let names = text.replace("\\:", "\0");
    names.split(':').filter_map(|name| drive(&name.replace('\0', ":"))).collect()
}

/// Returns the drive that a name stands for: a block device of Linux, or a namespace of SPDK.
fn drive(name: &str) -> Option<String> {
    if let Some(device) = name.trim().strip_prefix("/dev/") {
        // Links such as /dev/disk/by-id/... and volumes may lead to the same drive.
        let known = ["nvme", "sd", "hd", "vd", "xvd", "ng", "pmem", "nullb", "zram", "mmcblk"];
        return known.iter().any(|start| device.starts_with(start)).then(|| whole(device));
    }
    name.contains("traddr=").then(|| name.split_whitespace().collect::<Vec<_>>().join(" "))
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
            assert_eq!(of(text), drives, "{text}");
        }
    }
}
