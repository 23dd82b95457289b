//! Facts about a real target and its machine that are recorded with the results.

use std::collections::BTreeMap;

use super::disk::Disk;
use super::found::{Found, TargetKind};
use super::hmb;
use super::roots::attribute;

/// Attributes of a request queue that affect latency or the requests that reach the drive.
const QUEUE: &[&str] = &[
    "logical_block_size",
    "physical_block_size",
    // The kernel splits longer requests.
    "max_sectors_kb",
    "nr_requests",
    "rotational",
    "scheduler",
    "wbt_lat_usec",
    "write_cache",
];

/// Returns the known facts about a target and its machine, by name.
pub(crate) fn environment(found: &Found) -> BTreeMap<String, String> {
    let mut known = BTreeMap::new();
    let mut note = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            known.insert(name.to_owned(), value);
        }
    };
    let roots = found.roots();
    note("kernel", attribute(roots.proc.join("sys/kernel/osrelease")));
    match found.kind() {
        TargetKind::File { mount, below, .. } => {
            note("kind", Some("file".to_owned()));
            note("file_system", mount.as_ref().map(|mount| mount.kind.clone()));
            note("mounted_from", mount.as_ref().map(|mount| mount.source.clone()));
            if let Some(disk) = below {
                drive(disk, &mut note);
            }
        }
        TargetKind::Drive(disk, _) => {
            note("kind", Some(if disk.is_partition() { "partition" } else { "drive" }.to_owned()));
            drive(disk, &mut note);
            note("nvme.max_host_mem_size_mb", hmb::limit_mib(roots).map(|mib| mib.to_string()));
        }
    }
    known
}

fn drive(disk: &Disk, note: &mut impl FnMut(&str, Option<String>)) {
    note("drive", Some(disk.drive()));
    note("model", disk.model());
    note("serial", disk.serial());
    note("firmware", disk.firmware());
    note("link", disk.link().map(|wire| wire.to_string()));
    note("loop.backing_file", disk.backing());
    for name in QUEUE {
        note(&format!("queue.{name}"), disk.queue(name));
    }
}
