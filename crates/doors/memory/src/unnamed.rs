//! Files that get their name when they are complete, so that a creation that is killed, or that runs out of disk, leaves
//! nothing behind and can be repeated.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Mode, OFlags, RenameFlags, linkat, open, renameat_with};
use rustix::io::Errno;

/// A new file, not yet visible under its name.
#[derive(Debug)]
pub(crate) struct Unnamed {
    file: File,
    path: PathBuf,
    /// The name that it has meanwhile, on a file system where every file needs one.
    temporary: Option<PathBuf>,
}

impl Unnamed {
    /// Creates a file that will be called `path`.
    ///
    /// # Errors
    /// If anything has this name, even a link without a target, or the folder does not allow a file.
    pub fn create(path: &Path) -> io::Result<Unnamed> {
        if path.symlink_metadata().is_ok() {
            return Err(Errno::EXIST.into());
        }
        Unnamed::beside(path)
    }

    /// Creates a file that will take the place of the file `path`.
    ///
    /// # Errors
    /// If the folder does not allow a file.
    pub fn beside(path: &Path) -> io::Result<Unnamed> {
        let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
        match open(folder(path), flags, Mode::from_raw_mode(0o666)) {
            Ok(file) => {
                let unnamed = Unnamed { file: file.into(), path: path.to_owned(), temporary: None };
                // Its name will be given through /proc.
                if unnamed.reach().exists() { Ok(unnamed) } else { Unnamed::create_named(path) }
            }
            Err(Errno::OPNOTSUPP | Errno::ISDIR) => Unnamed::create_named(path),
            Err(error) => Err(error.into()),
        }
    }

    /// Creates the file under a temporary name in the same folder.
    fn create_named(path: &Path) -> io::Result<Unnamed> {
        let (temporary, file) = under_temporary_name(path, |temporary| {
            OpenOptions::new().read(true).write(true).create_new(true).open(temporary)
        })?;
        Ok(Unnamed { file, path: path.to_owned(), temporary: Some(temporary) })
    }

    /// Returns the file.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Returns a path by which this process can open the file again.
    pub fn reach(&self) -> PathBuf {
        self.temporary.clone().unwrap_or_else(|| format!("/proc/self/fd/{}", self.file.as_raw_fd()).into())
    }

    /// Makes the file durable and gives it its name, durably. Replaces nothing.
    ///
    /// # Errors
    /// If something has the name meanwhile, or writing fails.
    pub fn publish(mut self) -> io::Result<()> {
        self.file.sync_all()?;
        match self.temporary.clone() {
            None => linkat(CWD, self.reach(), CWD, &self.path, AtFlags::SYMLINK_FOLLOW)?,
            Some(temporary) => match renameat_with(CWD, &temporary, CWD, &self.path, RenameFlags::NOREPLACE) {
                Ok(()) => self.temporary = None,
                // Not every file system can rename without replacing. Dropping the value removes the temporary name.
                Err(Errno::INVAL | Errno::NOSYS) => std::fs::hard_link(temporary, &self.path)?,
                Err(error) => return Err(error.into()),
            },
        }
        File::open(folder(&self.path))?.sync_all()
    }
}

impl Unnamed {
    /// Makes the file durable and lets it replace the file that has its name, durably. A kill at the wrong instant can
    /// leave it under a temporary name, too.
    ///
    /// # Errors
    /// If writing fails; then the other file remains.
    pub fn replace(mut self) -> io::Result<()> {
        self.file.sync_all()?;
        if self.temporary.is_none() {
            let named = under_temporary_name(&self.path, |temporary| {
                Ok(linkat(CWD, self.reach(), CWD, temporary, AtFlags::SYMLINK_FOLLOW)?)
            });
            self.temporary = Some(named?.0);
        }
        if let Some(temporary) = &self.temporary {
            std::fs::rename(temporary, &self.path)?;
        }
        self.temporary = None;
        File::open(folder(&self.path))?.sync_all()
    }
}

/// Calls `make` with temporary names in the folder of `path` until one is free.
fn under_temporary_name<T>(path: &Path, make: impl Fn(&Path) -> io::Result<T>) -> io::Result<(PathBuf, T)> {
    let name = path.file_name().ok_or_else(|| io::Error::from(Errno::INVAL))?.to_string_lossy();
    for number in 0.. {
        let temporary = folder(path).join(format!(".{name}.{}-{number}.new", std::process::id()));
        match make(&temporary) {
            Ok(made) => return Ok((temporary, made)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    unreachable!("some number is free")
}

impl Drop for Unnamed {
    fn drop(&mut self) {
        if let Some(temporary) = &self.temporary {
            // If this fails, a file remains that nobody mistakes for a memory.
            let _ = std::fs::remove_file(temporary);
        }
    }
}

fn folder(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    /// Returns an empty folder.
    fn empty(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("nandram-{}-{name}", std::process::id()));
        drop(std::fs::remove_dir_all(&folder));
        std::fs::create_dir(&folder).expect("a folder");
        folder
    }

    #[test]
    fn a_file_is_there_only_when_it_is_complete() {
        type Create = fn(&Path) -> io::Result<Unnamed>;
        for (name, create) in [("unnamed", Unnamed::create as Create), ("named", Unnamed::create_named)] {
            let folder = empty(name);
            let path = folder.join("data");
            // As if it had been killed, or had run out of disk: nothing stays.
            drop(create(&path).expect("created"));
            assert_eq!(std::fs::read_dir(&folder).expect("there").count(), 0, "{name}");
            let unnamed = create(&path).expect("created");
            unnamed.file().write_all(b"whole").expect("written");
            assert!(!path.exists());
            let rival = create(&path).expect("created");
            unnamed.publish().expect("named");
            assert_eq!(std::fs::read(&path).expect("there"), b"whole");
            assert_eq!(rival.publish().map_err(|error| error.kind()), Err(io::ErrorKind::AlreadyExists), "{name}");
            assert_eq!(std::fs::read_dir(&folder).expect("there").count(), 1, "{name}");
            std::fs::remove_dir_all(&folder).expect("removed");
        }
    }

    #[test]
    fn links_are_not_followed() {
        let folder = empty("links");
        let (link, target) = (folder.join("link"), folder.join("target"));
        std::os::unix::fs::symlink(&target, &link).expect("a link");
        assert_eq!(Unnamed::create(&link).err().map(|error| error.kind()), Some(io::ErrorKind::AlreadyExists));
        // A link that comes meanwhile stays as it is.
        let other = folder.join("other");
        let unnamed = Unnamed::create(&other).expect("created");
        std::os::unix::fs::symlink(&target, &other).expect("a link");
        assert_eq!(unnamed.publish().map_err(|error| error.kind()), Err(io::ErrorKind::AlreadyExists));
        assert!(!target.exists());
        std::fs::remove_dir_all(&folder).expect("removed");
    }
}
