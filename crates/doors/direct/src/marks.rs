//! Marks on bytes of a file, visible to every process that has the file open, and removed when their holder closes it.
//! They are locks of the open file description (`F_OFD_SETLK`, `F_OFD_GETLK` of fcntl(2)), which are independent of
//! other descriptors in the same process and end with the process.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

fn range(kind: i32, at: u64, bytes: u64) -> io::Result<libc::flock> {
    let offset = |value: u64| libc::off_t::try_from(value).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput));
    // SAFETY: The structure consists of integers, for which zero is valid.
    let mut range: libc::flock = unsafe { std::mem::zeroed() };
    (range.l_type, range.l_whence) = (kind as libc::c_short, libc::SEEK_SET as libc::c_short);
    (range.l_start, range.l_len) = (offset(at)?, offset(bytes)?);
    Ok(range)
}

fn call(file: &File, command: i32, range: &mut libc::flock) -> io::Result<()> {
    // SAFETY: The descriptor is open for as long as `file` is, and the kernel reads and writes one `flock`, which is
    // borrowed.
    match unsafe { libc::fcntl(file.as_raw_fd(), command, std::ptr::from_mut(range)) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// Marks byte `at`, which may be beyond the end of the file. A file can have several marks.
///
/// # Errors
/// The kernel's error; the file must be open for reading.
pub fn mark(file: &File, at: u64) -> io::Result<()> {
    call(file, libc::F_OFD_SETLK, &mut range(libc::F_RDLCK, at, 1)?)
}

/// Removes all marks set through this open file.
///
/// # Errors
/// The kernel's error.
pub fn unmark(file: &File) -> io::Result<()> {
    call(file, libc::F_OFD_SETLK, &mut range(libc::F_UNLCK, 0, 0)?)
}

/// Returns a byte marked through another open file among the `bytes` (0: all) bytes starting at `at`, or `None` if
/// there is none.
///
/// # Errors
/// The kernel's error.
pub fn marked(file: &File, at: u64, bytes: u64) -> io::Result<Option<u64>> {
    let mut found = range(libc::F_WRLCK, at, bytes)?;
    call(file, libc::F_OFD_GETLK, &mut found)?;
    let free = found.l_type == libc::F_UNLCK as libc::c_short;
    Ok((!free).then_some(found.l_start.cast_unsigned().max(at)))
}

#[cfg(test)]
mod tests {
    use std::fs::OpenOptions;

    use super::*;

    #[test]
    fn marks_are_visible_to_other_descriptors_until_their_own_is_closed() {
        let path = std::env::temp_dir().join(format!("nandram-{}-marks", std::process::id()));
        let open =
            || OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path).expect("a file");
        let (writer, one, two) = (open(), open(), open());
        let seen = |at, bytes| marked(&writer, at, bytes).expect("asked");
        assert_eq!(seen(100, 0), None);
        mark(&one, 200).expect("marked");
        mark(&two, 200).expect("marked");
        mark(&two, 300).expect("marked");
        assert_eq!((seen(100, 0), seen(100, 100), seen(200, 1), seen(201, 0)), (Some(200), None, Some(200), Some(300)));
        drop(one);
        assert_eq!(seen(200, 1), Some(200));
        unmark(&two).expect("removed");
        assert_eq!(seen(0, 0), None);
        std::fs::remove_file(&path).expect("removed");
    }
}
