//! Real files as targets: which are refused, and that read-only targets are never written.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use media::{Op, Request};
use probe::block::{Block, Found, Options, Roots};
use probe::{Target, TargetError};
use sim::Time;

use crate::kernel::Folder;

fn look(path: &Path) -> Result<Found, String> {
    let path = path.to_str().expect("a plain path");
    Found::inspect(path, &Roots::default()).map_err(|refusal| refusal.to_string())
}

fn said(folder: &Folder, path: &Path) -> String {
    look(path).expect_err("it is refused").replace(folder.path().to_str().expect("a plain path"), "")
}

fn reading() -> Options {
    Options { write: None, switch_hmb: false, seed: 1, stop: Arc::new(AtomicBool::new(false)) }
}

/// Returns a megabyte of distinct sectors.
fn megabyte() -> Vec<u8> {
    (0_u32..1 << 18).flat_map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes()).collect()
}

#[test]
fn other_kinds_of_files_are_refused() {
    let folder = Folder::new("kinds");
    let expected = ", expected a file or a block device";
    assert_eq!(said(&folder, &folder.path().join("none")), format!("/none: found no such file{expected}"));
    assert_eq!(said(&folder, folder.path()), format!(": found a folder{expected}"));
    assert_eq!(said(&folder, Path::new("/dev/null")), format!("/dev/null: found a character device{expected}"));
    symlink("nowhere", folder.path().join("dangling")).expect("a link");
    assert_eq!(said(&folder, &folder.path().join("dangling")), format!("/dangling: found no such file{expected}"));
    let socket = std::os::unix::net::UnixListener::bind(folder.path().join("socket")).expect("a socket");
    assert_eq!(said(&folder, &folder.path().join("socket")), format!("/socket: found a socket{expected}"));
    drop(socket);
}

#[test]
fn a_file_in_memory_is_refused() {
    let file = Path::new("/dev/shm").join(format!("nandram-{}", std::process::id()));
    fs::write(&file, megabyte()).expect("Linux has memory to share at /dev/shm");
    let refused = look(&file);
    fs::remove_file(&file).expect("it is there");
    let expected = "found a file on tmpfs, which is in memory, expected one on a drive";
    assert_eq!(refused.expect_err("it is on no drive"), format!("{}: {expected}", file.display()));
}

#[test]
fn a_file_with_holes_is_refused() {
    let folder = Folder::new("sparse");
    let file = folder.write("image", megabyte());
    OpenOptions::new().write(true).open(&file).expect("it is there").set_len(3 << 20).expect("it grows");
    let expected = "found 2MiB of it never written, expected a file without holes: copy it with cp --sparse=never";
    assert_eq!(said(&folder, &file), format!("/image: {expected}"));
}

#[test]
fn reads_change_nothing_and_writes_panic() {
    let folder = Folder::new("read");
    let content = megabyte();
    let file = folder.write("image", &content);
    let found = look(&file).expect("a file of a drive");
    assert_eq!(found.capacity_bytes(), 1 << 20);
    let mut target = Block::open(&found, reading()).expect("it can be opened");
    assert!(!target.facts().writable && !target.facts().trims);
    let mut timed = Vec::new();
    let reads: Vec<Request> = (0..64).map(|n| Request::new(Op::Read, n * 4096, 4096)).collect();
    for depth in [1, 2, 32] {
        let took = target.run(&reads, depth, &mut timed).expect("reads work");
        assert_eq!(timed.len(), 64);
        assert!(timed.iter().all(|each| each.ended > each.submitted && each.ended <= took));
    }
    target.run(&[Request::flush()], 1, &mut timed).expect("a flush works");
    let wrote = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        target.run(&[Request::new(Op::Write, 0, 4096)], 1, &mut Vec::new())
    }));
    assert!(wrote.is_err(), "a target opened for reading accepted a write");
    assert_eq!(fs::read(&file).expect("it is there"), content);
}

#[test]
fn a_file_is_writable_after_its_path_was_confirmed() {
    let folder = Folder::new("write");
    let content = megabyte();
    let file = folder.write("image", &content);
    let found = look(&file).expect("a file of a drive");
    found.check_writes("write-buffer").expect("it can be written");
    for typed in ["", "image", "S4EWNX0R700217A", "/image"] {
        let refused = found.confirm(typed).expect_err("it is not the path").to_string();
        let expected = format!("the file's path from the root: {}", file.display());
        assert_eq!(refused, format!("--confirm: found `{typed}`, expected {expected}"));
    }
    let confirmed = found.confirm(file.to_str().expect("a plain path")).expect("it is the path");
    let mut target = Block::open(&found, Options { write: Some(confirmed), ..reading() }).expect("it can be opened");
    let (one, other) =
        (Request::new(Op::Write, 8192, 8192), Request { fua: true, ..Request::new(Op::Write, 65536, 4096) });
    for depth in [1, 4] {
        target.run(&[one, Request::flush(), other], depth, &mut Vec::new()).expect("writes work");
    }
    let written = fs::read(&file).expect("it is there");
    assert_eq!(written.len(), content.len());
    let ours = |at: usize| (8192..16384).contains(&at) || (65536..69632).contains(&at);
    for (sector, (was, is)) in content.chunks(512).zip(written.chunks(512)).enumerate() {
        assert_eq!(was != is, ours(512 * sector), "sector {sector}");
    }
}

#[test]
fn protected_files_are_refused_for_writing() {
    let folder = Folder::new("refused-writes");
    let root = folder.path().to_str().expect("a plain path");
    let said =
        |found: &Found| found.check_writes("write-buffer").expect_err("it is refused").to_string().replace(root, "");
    let file = folder.write("locked", megabyte());
    fs::set_permissions(&file, fs::Permissions::from_mode(0o444)).expect("it is ours");
    let found = look(&file).expect("it may be read");
    // Root could write to it despite its mode.
    assert_eq!(
        said(&found),
        "/locked: found a file that is read-only, expected one that can be written, for write-buffer"
    );
    let mut image = megabyte();
    image[0x438..0x43a].copy_from_slice(b"\x53\xef");
    let found = look(&folder.write("ext4", &image)).expect("it may be read");
    assert_eq!(
        said(&found),
        "/ext4: found an ext2, ext3 or ext4 file system on it, expected nothing that write-buffer would destroy: wipe it first \
         if it is not needed (wipefs --all)"
    );
    let mut image = megabyte();
    image[512..520].copy_from_slice(b"EFI PART");
    let found = look(&folder.write("gpt", &image)).expect("it may be read");
    assert!(said(&found).starts_with("/gpt: found a partition table (GPT) on it, "));
}

#[test]
fn a_locked_file_is_refused() {
    let folder = Folder::new("flock");
    let file = folder.write("image", megabyte());
    let open = fs::File::open(&file).expect("it is there");
    open.lock().expect("no other process has it");
    let us = std::process::id();
    let said = said(&folder, &file);
    assert!(said.starts_with("/image: found it locked by ") && said.contains(&format!("(process {us})")), "{said}");
    open.unlock().expect("it is ours");
    look(&file).expect("it is unlocked");
}

#[test]
fn a_file_below_the_required_size_is_refused() {
    let folder = Folder::new("small");
    // Bytes beyond the last whole block are not used.
    let mut content = megabyte();
    content.extend([0; 100]);
    let found = look(&folder.write("image", content)).expect("a file of a drive");
    assert_eq!(found.capacity_bytes(), 1 << 20);
    found.check_size("read-cache", 1 << 20).expect("it is just large enough");
    let refused = found.check_size("read-cache", 4 << 20).expect_err("it is too small").to_string();
    assert!(refused.ends_with("/image: found 1MiB, expected at least 4MiB for read-cache"), "{refused}");
}

#[test]
fn a_replaced_file_is_not_opened() {
    let folder = Folder::new("replaced");
    let file = folder.write("image", megabyte());
    let found = look(&file).expect("a file of a drive");
    fs::remove_file(&file).expect("it is there");
    // A file system may reuse a freed inode number for the next file.
    folder.write("image", megabyte());
    folder.write("other", megabyte());
    let refused = Block::open(&found, reading()).expect_err("it is another file").to_string();
    assert!(
        refused.ends_with("found that the file or drive changed since it was inspected, expected the same one"),
        "{refused}"
    );
}

#[test]
fn a_stop_request_interrupts_batches_and_waits() {
    let folder = Folder::new("stop");
    let found = look(&folder.write("image", megabyte())).expect("a file of a drive");
    let options = reading();
    let stop = Arc::clone(&options.stop);
    let mut target = Block::open(&found, options).expect("it can be opened");
    let reads = vec![Request::new(Op::Read, 0, 4096); 1000];
    target.run(&reads[..10], 4, &mut Vec::new()).expect("reads work");
    stop.store(true, std::sync::atomic::Ordering::Relaxed);
    for depth in [1, 4] {
        assert_eq!(target.run(&reads, depth, &mut Vec::new()), Err(TargetError::Interrupted));
    }
    assert_eq!(target.wait(Time::from_s(1000)), Err(TargetError::Interrupted));
    stop.store(false, std::sync::atomic::Ordering::Relaxed);
    target.run(&reads[..10], 4, &mut Vec::new()).expect("it is as before");
    target.wait(Time::from_ms(1)).expect("a moment passes");
}

#[test]
fn a_failed_read_is_reported() {
    let folder = Folder::new("shrunk");
    let file = folder.write("image", megabyte());
    let found = look(&file).expect("a file of a drive");
    let mut target = Block::open(&found, reading()).expect("it can be opened");
    OpenOptions::new().write(true).open(&file).expect("it is there").set_len(1 << 19).expect("it shrinks");
    let reads = [Request::new(Op::Read, 0, 4096), Request::new(Op::Read, 1 << 19, 8192)];
    for depth in [1, 2] {
        let failed = target.run(&reads, depth, &mut Vec::new()).expect_err("half of it is gone");
        let expected = format!("{}: Read of 8192 bytes at 524288 failed: 0 bytes moved", file.display());
        assert_eq!(failed.to_string(), expected);
    }
}
