//! Drives that are refused because they are in use.

use std::fs;

use probe::block::{Disk, Refusal, check_drive, check_loop};

use crate::kernel::{NVME, drive, machine};

/// Returns the refusal of the drive, after checking that its second partition is refused for the same reason.
fn said(roots: &probe::block::Roots) -> String {
    let whole = check_drive(roots, "/dev/nvme0n1", &drive(roots)).expect_err("it is in use").to_string();
    let partition = Disk::of(roots, (259, 2)).expect("the partition is there");
    let also = check_drive(roots, "/dev/nvme0n1p2", &partition).expect_err("its drive is in use").to_string();
    assert_eq!(also.replace("/dev/nvme0n1p2: ", ""), whole.replace("/dev/nvme0n1: ", ""));
    whole
}

#[test]
fn an_unused_drive_is_accepted() {
    let (_folder, roots) = machine("unused");
    assert_eq!(check_drive(&roots, "/dev/nvme0n1", &drive(&roots)), Ok(()));
}

#[test]
fn drives_are_described_by_sysfs() {
    let (folder, roots) = machine("described");
    let disk = drive(&roots);
    assert_eq!((disk.name(), disk.drive(), disk.is_partition()), ("nvme0n1".into(), "nvme0n1".into(), false));
    assert_eq!(disk.bytes(), Some(1_024_000_000));
    assert_eq!((disk.model().as_deref(), disk.serial().as_deref()), (Some("EXAMPLE 970"), Some("S4EWNX0R700217A")));
    assert_eq!(disk.partitions(), ["nvme0n1p1", "nvme0n1p2"]);
    assert!(!disk.is_read_only());
    let partition = Disk::of(&roots, (259, 2)).expect("the partition is there");
    assert_eq!((partition.name(), partition.drive()), ("nvme0n1p2".into(), "nvme0n1".into()));
    assert!(partition.is_partition() && partition.serial() == disk.serial());
    folder.write(&format!("{NVME}/ro"), "1\n");
    assert!(disk.is_read_only() && partition.is_read_only());
    assert_eq!(Disk::of(&roots, (8, 0)), None);
}

#[test]
fn scsi_serial_numbers_come_from_a_vpd_page() {
    let (folder, roots) = machine("scsi");
    fs::remove_file(folder.path().join(NVME).join("device")).expect("the link to the controller");
    folder.write(&format!("{NVME}/device/vpd_pg80"), b"\x00\x80\x00\x10   WD-WX11A2345678");
    assert_eq!(drive(&roots).serial().as_deref(), Some("WD-WX11A2345678"));
    // A page without a number.
    folder.write(&format!("{NVME}/device/vpd_pg80"), b"\x00\x80\x00\x04    ");
    assert_eq!(drive(&roots).serial(), None);
}

#[test]
fn mounted_drives_are_refused() {
    let (folder, roots) = machine("mounted");
    folder.write("proc/self/mountinfo", "40 27 259:2 / /mnt/my\\040data rw - xfs /dev/nvme0n1p2 rw\n");
    assert_eq!(
        said(&roots),
        "/dev/nvme0n1: found /dev/nvme0n1p2 mounted on /mnt/my data, expected a drive that nothing uses: unmount it first"
    );
}

#[test]
fn drives_mounted_under_another_device_number_are_refused() {
    let (folder, roots) = machine("btrfs");
    folder.write("proc/self/mountinfo", "40 27 0:35 /@home /home rw - btrfs /dev/nvme0n1 rw\n");
    assert_eq!(
        said(&roots),
        "/dev/nvme0n1: found /dev/nvme0n1 mounted on /home, expected a drive that nothing uses: unmount it first"
    );
}

#[test]
fn swap_drives_are_refused() {
    let (folder, roots) = machine("swap");
    folder.write("proc/swaps", "Filename Type Size Used Priority\n/dev/nvme0n1p1 partition 65532 0 -2\n");
    assert_eq!(
        said(&roots),
        "/dev/nvme0n1: found /dev/nvme0n1p1 in use as swap, expected an unused file or drive: swapoff /dev/nvme0n1p1 first"
    );
}

#[test]
fn drives_below_stacked_devices_are_refused() {
    let (folder, roots) = machine("held");
    fs::create_dir(folder.path().join(NVME).join("nvme0n1p2/holders/dm-0")).expect("a holder");
    let refused = said(&roots);
    assert_eq!(refused, "/dev/nvme0n1: found /dev/nvme0n1p2 in use by dm-0, expected a drive that nothing uses");
    folder.write("sys/block/dm-0/dm/name", "vg-home\n");
    let refused = said(&roots);
    assert_eq!(
        refused,
        "/dev/nvme0n1: found /dev/nvme0n1p2 in use by dm-0 (vg-home), expected a drive that nothing uses"
    );
    fs::create_dir(folder.path().join(NVME).join("holders/md0")).expect("a holder");
    assert_eq!(said(&roots), "/dev/nvme0n1: found /dev/nvme0n1 in use by md0, expected a drive that nothing uses");
}

#[test]
fn drives_below_loop_devices_are_refused() {
    let (folder, roots) = machine("loop");
    folder.write("sys/block/loop3/loop/backing_file", "/dev/nvme0n1p1\n");
    assert_eq!(
        said(&roots),
        "/dev/nvme0n1: found the loop device /dev/loop3 on it, expected an unused file or drive: losetup -d /dev/loop3 first"
    );
}

#[test]
fn an_unreadable_mount_table_is_an_error() {
    let (folder, roots) = machine("mute");
    let mountinfo = folder.path().join("proc/self/mountinfo");
    fs::remove_file(&mountinfo).expect("it is there");
    let refused = check_drive(&roots, "/dev/nvme0n1", &drive(&roots)).expect_err("it may be mounted");
    assert!(matches!(&refused, Refusal::Io { path, .. } if *path == mountinfo), "{refused}");
}

#[test]
fn loop_devices_through_the_page_cache_are_refused() {
    let (folder, roots) = machine("buffered-loop");
    assert_eq!(check_loop("/dev/nvme0n1", &drive(&roots)), Ok(()), "it is no loop device");
    folder.write(&format!("{NVME}/loop/backing_file"), "/home/disk.img\n");
    folder.write(&format!("{NVME}/loop/dio"), "1\n");
    assert_eq!(check_loop("/dev/nvme0n1", &drive(&roots)), Ok(()));
    folder.write(&format!("{NVME}/loop/dio"), "0\n");
    let partition = Disk::of(&roots, (259, 2)).expect("the partition is there");
    for disk in [drive(&roots), partition] {
        assert_eq!(
            check_loop("/dev/it", &disk).expect_err("it uses the page cache").to_string(),
            "/dev/it: found the loop device /dev/nvme0n1 without direct I/O, expected one that bypasses the page cache: \
             losetup --direct-io=on /dev/nvme0n1 first"
        );
    }
}
