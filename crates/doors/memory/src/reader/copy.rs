//! Copies of a reader's state, made while the writer continues: a complete memory or plain bytes.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use direct::Aligned;

use crate::device::overlay::Overlay;
use crate::device::{Device, Op};
use crate::open::{DRAM_MIN, io_error};
use crate::storage::Storage;
use crate::storage::layout::UNIT;
use crate::storage::sums::sum;
use crate::unnamed::Unnamed;
use crate::{Disk, Error, Reader};

/// Number of blocks copied between checks that the state is still intact.
const BLOCKS: usize = 64;
/// Bytes exported at a time.
const EXPORT_CHUNK: usize = 1 << 20;

/// Creates the file `to` as a memory in the state that the last completed sync left in `from`: with its tokens, and
/// byte for byte the data that any of them needs, but no larger on disk. A writer of `from` continues undisturbed.
/// Unreadable data is returned as errors and is just as damaged in the copy.
///
/// # Errors
/// If `from` cannot be opened, or `to` cannot be created or written; [`Error::Stale`]. In these cases `to` does not
/// exist.
pub fn backup(from: &Path, to: &Path) -> Result<Vec<Error>, Error> {
    let mut reader = Reader::open_for(from, DRAM_MIN, true)?;
    let bad = create_file(to, |file, name| copy(&mut reader, file, name))?;
    if bad == 0 {
        return Ok(Vec::new());
    }
    // Verify to find out which data is affected; unreadable flash pages may also hold data that no token needs.
    Ok(reader.verify()?.0)
}

/// Creates the file `to` with the content that `fill` writes, durably. It appears when it is complete.
fn create_file<T>(to: &Path, fill: impl FnOnce(&File, &str) -> Result<T, Error>) -> Result<T, Error> {
    let name = to.display().to_string();
    let unnamed = Unnamed::create(to).map_err(io_error(&name, "cannot be created"))?;
    let filled = fill(unnamed.file(), &name)?;
    unnamed.publish().map_err(io_error(&name, "cannot be created"))?;
    Ok(filled)
}

/// Copies the memory into `file` and returns the number of unreadable pages.
fn copy(reader: &mut Reader<Disk>, file: &File, name: &str) -> Result<u64, Error> {
    let shape = reader.shape();
    let write =
        |offset: u64, bytes: &[u8]| file.write_all_at(bytes, offset).map_err(io_error(name, "cannot be written"));
    file.set_len(shape.file_bytes()).map_err(io_error(name, "cannot be extended to its full length"))?;
    let engine = &mut reader.memory.engine;
    // The page table, which opening rewrote into the overlay.
    for (offset, bytes) in engine.storage.device().written() {
        write(*offset, bytes)?;
    }
    let mut bad = 0;
    let blocks: Vec<u32> = engine.nvmm.blocks_in_use().map(|block| block.block).collect();
    let segment = shape.segment_bytes as usize;
    for some in blocks.chunks(BLOCKS) {
        for block in some {
            let storage = &mut reader.memory.engine.storage;
            let row_bytes = shape.row_bytes() as usize;
            let (row, lost) = read_chunks(storage, shape.row(*block), row_bytes, row_bytes);
            bad += lost;
            write(shape.row(*block), &row)?;
            let sums = row.chunks_exact(8).map(|bytes| u64::from_le_bytes(bytes.try_into().expect("8 bytes")));
            let sums: Vec<u64> = sums.take(shape.block_segments as usize).collect();
            let (pages, _) = read_chunks(storage, shape.page(*block, 0), shape.block_bytes() as usize, segment);
            for (page, expected) in (0u32..).zip(&sums).filter(|(_, sum)| **sum != 0) {
                let bytes = &pages[page as usize * segment..][..segment];
                bad += u64::from(sum(bytes, storage.at(*block, page)) != *expected);
            }
            // Leave a hole in the copy where nothing was ever written.
            let mut page = 0;
            for run in sums.chunk_by(|a, b| (*a == 0) == (*b == 0)) {
                if run[0] != 0 {
                    write(shape.page(*block, page), &pages[page as usize * segment..][..run.len() * segment])?;
                }
                page += run.len() as u32;
            }
        }
        reader.check_generation()?;
    }
    file.sync_all().map_err(io_error(name, "cannot be synced"))?;
    let mut bytes = vec![0; UNIT as usize];
    shape.superblock(&mut bytes);
    for at in [UNIT, 0] {
        write(at, &bytes)?;
    }
    Ok(bad)
}

/// Reads `bytes` bytes at `offset` in one request or, if that fails, in chunks of `chunk` bytes. Returns the data,
/// with zeros for unreadable chunks, and the number of these.
fn read_chunks(storage: &mut Storage<Overlay<Disk>>, offset: u64, bytes: usize, chunk: usize) -> (Aligned, u64) {
    if let Ok(read) = storage.transfer_now(Op::Read, offset, bytes, Aligned::new(bytes)) {
        return (read, 0);
    }
    let (mut whole, mut lost) = (Aligned::new(bytes), 0);
    for (at, into) in (offset..).step_by(chunk).zip(whole.chunks_mut(chunk)) {
        match storage.transfer_now(Op::Read, at, into.len(), Aligned::new(into.len())) {
            Ok(read) => into.copy_from_slice(&read[..into.len()]),
            Err(_) => lost += 1,
        }
    }
    (whole, lost)
}

impl<D: Device> Reader<D> {
    /// Creates the file `to` from the bytes of the area `name` or, without a name, from all allocated pages, each at
    /// its address. Returns the file's length.
    ///
    /// # Errors
    /// If the area does not exist, part of it cannot be read, or `to` cannot be created or written. In these cases
    /// `to` does not exist.
    pub fn export(&mut self, name: Option<&str>, to: &Path) -> Result<u64, Error> {
        let page = self.shape().page_bytes();
        let area = name.map(|name| self.find(name)).transpose()?;
        create_file(to, |file, path| {
            let (start, bytes) = area.unwrap_or((0, self.shape().capacity() + page));
            file.set_len(bytes).map_err(io_error(path, "cannot be extended to its full length"))?;
            let write = |offset: u64, bytes: &[u8]| {
                file.write_all_at(bytes, offset).map_err(io_error(path, "cannot be written"))
            };
            let mut buffer = vec![0; EXPORT_CHUNK];
            let step = if area.is_some() { EXPORT_CHUNK as u64 } else { page };
            for at in (start.max(page)..start + bytes).step_by(step as usize) {
                let chunk = &mut buffer[..step.min(start + bytes - at) as usize];
                match self.read(at, chunk) {
                    Ok(()) => write(at - start, chunk)?,
                    // Pages that are not allocated, or whose permissions forbid reading, become holes.
                    Err(Error::NotAllocated { .. } | Error::NotPermitted { .. }) if area.is_none() => {}
                    Err(error) => return Err(error),
                }
            }
            Ok(bytes)
        })
    }
}
