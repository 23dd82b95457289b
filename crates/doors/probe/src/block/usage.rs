//! Detects other users of a drive or file, which then must not be probed: their requests disturb its caches and timing,
//! and the writes of a probe would destroy their data.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::disk::{Disk, Number, number};
use super::refusal::Refusal;
use super::roots::{Roots, attribute, names};

/// One line of `/proc/self/mountinfo` (proc(5)).
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Mount {
    /// Device number of the file system; differs from the number of the drive if the file system spans several (btrfs).
    pub number: Number,
    /// The mount point.
    pub at: String,
    /// The file system type.
    pub kind: String,
    /// The mounted device or file.
    pub source: String,
}

/// Returns all mounts, the latest last.
pub(crate) fn mounts(roots: &Roots) -> Result<Vec<Mount>, Refusal> {
    let path = roots.proc.join("self/mountinfo");
    let text = fs::read_to_string(&path).map_err(|error| Refusal::io(&path, error))?;
    Ok(text.lines().filter_map(mount).collect())
}

fn mount(line: &str) -> Option<Mount> {
    // A variable number of optional fields precedes the dash.
    let (before, after) = line.split_once(" - ")?;
    let mut before = before.split(' ').skip(2);
    let number = number(before.next()?)?;
    let at = unescape(before.nth(1)?);
    let mut after = after.split(' ');
    Some(Mount { number, at, kind: after.next()?.to_owned(), source: unescape(after.next()?) })
}

/// Decodes spaces, tabs, newlines and backslashes, which are written as three octal digits.
fn unescape(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, behind)) = rest.split_first() {
        let code = (first == b'\\').then(|| behind.get(..3)).flatten();
        let code = code.and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok());
        bytes.push(code.unwrap_or(first));
        rest = if code.is_some() { &behind[3..] } else { behind };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Returns all swap files and devices.
fn swaps(roots: &Roots) -> Vec<String> {
    let text = fs::read_to_string(roots.proc.join("swaps")).unwrap_or_default();
    text.lines().skip(1).filter_map(|line| line.split_whitespace().next()).map(unescape).collect()
}

/// Returns the path of the loop device on top of a file or device.
fn loop_on(roots: &Roots, path: &Path) -> Option<String> {
    let block = roots.sys.join("block");
    let on =
        |name: &String| attribute(block.join(name).join("loop/backing_file")).is_some_and(|at| Path::new(&at) == path);
    names(&block).into_iter().find(on).map(|name| format!("/dev/{name}"))
}

/// Refuses a drive if it or one of its partitions is in use; a partition shares the caches of its drive. `path` is the
/// path given by the user.
///
/// # Errors
/// The first user found: a mount, swap, a stacked device, a loop device.
pub fn check_drive(roots: &Roots, path: &str, disk: &Disk) -> Result<(), Refusal> {
    let (mounts, swaps) = (mounts(roots)?, swaps(roots));
    for (name, number) in disk.family() {
        let device = format!("/dev/{name}");
        // A file system over several drives has its own device number; one of the drives is its source.
        if let Some(mount) = mounts.iter().find(|mount| mount.number == number || names_it(&mount.source, &device)) {
            return Err(Refusal::Mounted { path: path.to_owned(), device, at: mount.at.clone() });
        }
        if swaps.iter().any(|swap| names_it(swap, &device)) {
            return Err(Refusal::Swap { path: path.to_owned(), device });
        }
        if let Some(holder) = disk.holders(&name).first() {
            let known = attribute(roots.sys.join("block").join(holder).join("dm/name"));
            let holder = known.map_or_else(|| holder.clone(), |known| format!("{holder} ({known})"));
            return Err(Refusal::InUse { path: path.to_owned(), device, holder });
        }
        if let Some(device) = loop_on(roots, Path::new(&device)) {
            return Err(Refusal::Loop { path: path.to_owned(), device });
        }
    }
    Ok(())
}

/// Returns whether a path names a device, directly or through a link in `/dev/disk` or `/dev/mapper`.
fn names_it(path: &str, device: &str) -> bool {
    path == device || fs::canonicalize(path).is_ok_and(|found| found == Path::new(device))
}

/// Refuses a loop device whose requests go through the page cache, which a probe would measure.
pub fn check_loop(shown: &str, disk: &Disk) -> Result<(), Refusal> {
    match disk.is_buffered_loop() {
        true => Err(Refusal::BufferedLoop { path: shown.to_owned(), device: disk.drive() }),
        false => Ok(()),
    }
}

/// Refuses a file that is in use; `path` is canonical.
pub(crate) fn check_file(roots: &Roots, shown: &str, path: &Path) -> Result<(), Refusal> {
    let shown = || shown.to_owned();
    if let Some(device) = loop_on(roots, path) {
        return Err(Refusal::Loop { path: shown(), device });
    }
    if let Some(swap) = swaps(roots).into_iter().find(|swap| Path::new(swap) == path) {
        return Err(Refusal::Swap { path: shown(), device: swap });
    }
    let mounts = mounts(roots)?;
    if let Some(mount) = mounts.iter().find(|mount| Path::new(&mount.source) == path) {
        return Err(Refusal::MountedFile { path: shown(), at: mount.at.clone() });
    }
    match lock_on(roots, path) {
        Some(process) => Err(Refusal::Locked { path: shown(), process }),
        None => Ok(()),
    }
}

/// Returns the process that holds a lock on a file, from `/proc/locks` (proc(5)).
fn lock_on(roots: &Roots, path: &Path) -> Option<String> {
    let data = fs::metadata(path).ok()?;
    let (major, minor) = (rustix::fs::major(data.dev()), rustix::fs::minor(data.dev()));
    let wanted = format!("{major:02x}:{minor:02x}:{}", data.ino());
    let text = fs::read_to_string(roots.proc.join("locks")).ok()?;
    let line = text.lines().find(|line| line.split_whitespace().any(|field| field == wanted))?;
    // Number, kind, advisory or mandatory, mode, process, file. An open-file-description lock has process -1.
    let process = line.split_whitespace().filter(|field| *field != "->").nth(4)?;
    let name = attribute(roots.proc.join(process).join("comm"));
    Some(match name {
        Some(name) => format!("{name} (process {process})"),
        None if process.starts_with('-') => "a process".to_owned(),
        None => format!("process {process}"),
    })
}

/// Returns the mount that a file is on.
pub(crate) fn mount_of(roots: &Roots, device: Number) -> Result<Option<Mount>, Refusal> {
    Ok(mounts(roots)?.into_iter().rev().find(|mount| mount.number == device))
}

/// Checks this user's write permission for a path without opening it.
pub(crate) fn may_write(path: &Path) -> Result<(), rustix::io::Errno> {
    use rustix::fs::{Access, AtFlags, CWD, accessat};
    accessat(CWD, path, Access::WRITE_OK, AtFlags::EACCESS)
}

/// Resolves all links in a path.
pub(crate) fn canonical(path: &str) -> Result<PathBuf, Refusal> {
    fs::canonicalize(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => Refusal::Missing { path: path.to_owned() },
        std::io::ErrorKind::PermissionDenied => Refusal::Permission { path: path.to_owned(), what: "read" },
        _ => Refusal::io(path, error),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_mountinfo_is_parsed() {
        let line =
            r"36 35 98:0 /mnt1 /mnt\040two rw,noatime master:1 shared:3 - ext3 /dev/my\011root rw,errors=continue";
        let expected = Mount {
            number: (98, 0),
            at: "/mnt two".to_owned(),
            kind: "ext3".to_owned(),
            source: "/dev/my\troot".to_owned(),
        };
        assert_eq!(mount(line), Some(expected));
        assert_eq!(mount("36 35 98:0 / /mnt rw - tmpfs none rw").map(|mount| mount.source), Some("none".to_owned()));
        assert_eq!(mount("rubbish"), None);
    }

    #[test]
    fn only_octal_escapes_are_decoded() {
        assert_eq!(unescape(r"a\134b\04"), r"a\b\04");
        assert_eq!(unescape(r"\999"), r"\999");
    }
}
