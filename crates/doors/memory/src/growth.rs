//! Growth: a memory with more capacity or space takes the place of its file.
//!
//! The parts of the file have sizes that follow from its parameters, so growth writes a new file: the states of all
//! tokens, oldest first, each as changes to the one before, then the last sync. The new file gets the name at once when
//! it is complete and durable. A growth that fails or is killed leaves the old file.

use std::os::unix::fs::{MetadataExt, fchown};
use std::path::Path;

use nvmm::{Answer, Permissions, Request, Token};

use crate::device::Device;
use crate::open::{self, DRAM_MIN, Options, io_error};
use crate::unnamed::Unnamed;
use crate::{Disk, Error, Memory, Reader, catalog};

/// DRAM for each of the two memories while one is copied.
const DRAM: u64 = 64 * DRAM_MIN;

/// The permissions of a page while it is copied.
const COPIED: Permissions = Permissions { permanent: true, ..Permissions::PRIVATE };

/// Gives the memory in `path`, which must not be open for writing, a capacity of at least `capacity` and a space of at
/// least `space` bytes; `None` keeps the capacity, and makes the space at least twice the capacity. Tokens, names,
/// permissions and addresses stay; temporary pages are deleted, as by opening. The result has the newest format.
///
/// Copies all data, so the disk must have room for them twice, and each kept state is read once. Readers of the old file
/// get [`Error::Stale`], and see the new one after a refresh.
///
/// # Errors
/// If a size is smaller than the present one, the memory is on a block device or is open elsewhere, its data cannot be
/// read, or the new file cannot be written. Then the memory is unchanged.
pub fn grow(path: &Path, capacity: Option<u64>, space: Option<u64>) -> Result<(), Error> {
    let name = path.display().to_string();
    if path.metadata().is_ok_and(|metadata| !metadata.is_file()) {
        return Err(Error::Option(format!("{name}: a memory on a block device cannot grow")));
    }
    // It keeps the lock until the new file has the name.
    let mut old = Memory::open(path, &Options { dram: DRAM, ..Options::default() })?;
    let shape = old.shape().grown(capacity, space).map_err(|why| Error::Option(format!("{name}: {why}")))?;
    // A link to a memory stays one.
    let target = path.canonicalize().map_err(io_error(&name, "cannot be found"))?;
    let written = || io_error(&name, "its larger copy cannot be written");
    let unnamed = Unnamed::beside(&target).map_err(written())?;
    let file = open::open_file(&unnamed.reach(), true).map_err(written())?;
    file.set_len(shape.file_bytes()).map_err(written())?;
    let metadata = target.metadata().map_err(written())?;
    // Only privileged processes can keep the owner of another user's file.
    let _ = fchown(&file, Some(metadata.uid()), Some(metadata.gid()));
    file.set_permissions(metadata.permissions()).map_err(written())?;
    let mut new = Memory::create_on(Disk::new(file, true), shape, DRAM, &name)?;
    for (token, _) in old.tokens()? {
        let mut reader = Reader::open(path, DRAM)?;
        reader.go_to(token)?;
        copy_state(&mut reader.memory, &mut new)?;
        new.sync_as(token)?;
    }
    copy_state(&mut Reader::open(path, DRAM)?.memory, &mut new)?;
    new.engine.nvmm.number_next_token(old.next_token());
    new.write_back_all()?;
    new.execute(Request::Flush, catalog::PAGE)?;
    new.close()?;
    unnamed.replace().map_err(written())?;
    old.engine.storage.end_generation().map_err(|stop| old.stopped(stop))
}

/// Makes the pages of `into` equal to those of `from`.
fn copy_state<R: Device, D: Device>(from: &mut Memory<R>, into: &mut Memory<D>) -> Result<(), Error> {
    let (page_bytes, segment) = (from.shape().page_bytes(), u64::from(from.shape().segment_bytes));
    let (mut wanted, mut found) = (vec![0; page_bytes as usize], vec![0; page_bytes as usize]);
    for page in 0..from.shape().pages {
        let address = u64::from(page) * page_bytes;
        let (source, target) = (from.ownership(page)?, into.ownership(page)?);
        let Some(permissions) = source else {
            if target.is_some() {
                into.permit(page, target, COPIED)?;
                into.drop_page(page)?;
            }
            continue;
        };
        match target {
            None => into.create_page(page, COPIED)?,
            Some(_) => into.permit(page, target, COPIED)?,
        }
        if !permissions.read {
            from.permit(page, source, COPIED)?;
        }
        from.read_unchecked(address, &mut wanted)?;
        into.read_unchecked(address, &mut found)?;
        let pairs = wanted.chunks(segment as usize).zip(found.chunks(segment as usize));
        for (at, (wanted, _)) in (address..).step_by(segment as usize).zip(pairs).filter(|(_, (a, b))| a != b) {
            into.write_unchecked(at, wanted)?;
        }
        into.permit(page, Some(COPIED), permissions)?;
    }
    Ok(())
}

impl<D: Device> Memory<D> {
    /// Sets the permissions of a page that has the permissions `now`.
    fn permit(&mut self, page: u32, now: Option<Permissions>, permissions: Permissions) -> Result<(), Error> {
        match now == Some(permissions) {
            true => Ok(()),
            false => {
                let bytes = self.shape().page_bytes();
                self.set_permissions(u64::from(page) * bytes, bytes, permissions)
            }
        }
    }

    /// Syncs with a token of this number, which is greater than those before.
    fn sync_as(&mut self, token: Token) -> Result<(), Error> {
        self.engine.nvmm.number_next_token(token);
        self.write_back_all()?;
        match self.execute(Request::Sync, catalog::PAGE)? {
            Answer::Token(given) => assert_eq!(given, token),
            other => panic!("{other:?} is not an answer to a sync"),
        }
        self.engine.release(0, usize::MAX);
        Ok(())
    }
}
