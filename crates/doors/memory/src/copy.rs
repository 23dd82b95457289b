//! Copies of what a reader reads, while the writer goes on: a memory of its own, or plain bytes.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::Path;

use direct::Aligned;

use crate::device::{Device, Op};
use crate::layout::UNIT;
use crate::open::{DRAM_MIN, io_error};
use crate::overlay::Overlay;
use crate::storage::Storage;
use crate::sums::sum;
use crate::{Disk, Error, Reader};

/// Blocks that are copied between two looks at whether the state is still there.
const BLOCKS: usize = 64;
/// Bytes that are exported at a time.
const PIECE: usize = 1 << 20;

/// Makes `to`, a file that is not there, a memory as the last completed sync left the one in `from`: with its tokens, byte for byte of
/// what any of them needs, and no longer on disk. Whoever writes to `from` goes on. What of it cannot be read is told and is as damaged in
/// the copy; its superblocks are written last, so that what was cut off is no memory.
///
/// # Errors
/// If `from` cannot be opened, `to` cannot be made or written; [`Error::Stale`]. Then `to` is not there.
pub fn backup(from: &Path, to: &Path) -> Result<Vec<Error>, Error> {
    let mut reader = Reader::open_for(from, DRAM_MIN, true)?;
    let bad = made(to, |file, name| copy(&mut reader, file, name))?;
    if bad == 0 {
        return Ok(Vec::new());
    }
    // Which of what is there they are of; pages that nobody needs may be among them.
    Ok(reader.verify()?.0)
}

/// Makes the file `to`, has it filled and made durable; it is gone if that fails.
fn made<T>(to: &Path, fill: impl FnOnce(&File, &str) -> Result<T, Error>) -> Result<T, Error> {
    let name = to.display().to_string();
    let mut options = OpenOptions::new();
    let file = options.write(true).create_new(true).open(to).map_err(io_error(&name, "cannot be made"))?;
    let parent = to.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let durable = || file.sync_all().and_then(|()| File::open(parent)?.sync_all());
    let filled = fill(&file, &name).and_then(|filled| match durable() {
        Ok(()) => Ok(filled),
        Err(error) => Err(io_error(&name, "cannot be synced")(error)),
    });
    if filled.is_err() {
        // What is left of it if not says itself that it is none.
        let _ = std::fs::remove_file(to);
    }
    filled
}

/// How many pages cannot be read.
fn copy(reader: &mut Reader<Disk>, file: &File, name: &str) -> Result<u64, Error> {
    let shape = reader.shape();
    let write =
        |offset: u64, bytes: &[u8]| file.write_all_at(bytes, offset).map_err(io_error(name, "cannot be written"));
    file.set_len(shape.file_bytes()).map_err(io_error(name, "cannot be so long"))?;
    let engine = &mut reader.memory.engine;
    // The table, which opening wrote anew.
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
            let (row, lost) = read_pieces(storage, shape.row(*block), row_bytes, row_bytes);
            bad += lost;
            write(shape.row(*block), &row)?;
            let sums = row.chunks_exact(8).map(|bytes| u64::from_le_bytes(bytes.try_into().expect("8 bytes")));
            let sums: Vec<u64> = sums.take(shape.block_segments as usize).collect();
            let (pages, _) = read_pieces(storage, shape.page(*block, 0), shape.block_bytes() as usize, segment);
            for (page, expected) in (0u32..).zip(&sums).filter(|(_, sum)| **sum != 0) {
                let bytes = &pages[page as usize * segment..][..segment];
                bad += u64::from(sum(bytes, storage.at(*block, page)) != *expected);
            }
            // What was never written is a hole in the copy too.
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

/// `bytes` bytes from `offset` on: in one piece, or, if that cannot be read, in those of `piece`; how many of these cannot be, and are zeros.
fn read_pieces(storage: &mut Storage<Overlay<Disk>>, offset: u64, bytes: usize, piece: usize) -> (Aligned, u64) {
    if let Ok(read) = storage.alone(Op::Read, offset, bytes, Aligned::new(bytes)) {
        return (read, 0);
    }
    let (mut whole, mut lost) = (Aligned::new(bytes), 0);
    for (at, into) in (offset..).step_by(piece).zip(whole.chunks_mut(piece)) {
        match storage.alone(Op::Read, at, into.len(), Aligned::new(into.len())) {
            Ok(read) => into.copy_from_slice(&read[..into.len()]),
            Err(_) => lost += 1,
        }
    }
    (whole, lost)
}

impl<D: Device> Reader<D> {
    /// Makes `to`, a file that is not there, of the bytes of the area `name`; of none, of all pages that are there, each at its address.
    ///
    /// # Errors
    /// If the area is not there, something in it cannot be read, or `to` cannot be made or written. Then `to` is not there.
    pub fn export(&mut self, name: Option<&str>, to: &Path) -> Result<u64, Error> {
        let page = self.shape().page_bytes();
        let area = name.map(|name| self.find(name)).transpose()?;
        made(to, |file, path| {
            let (start, bytes) = area.unwrap_or((0, self.shape().capacity() + page));
            file.set_len(bytes).map_err(io_error(path, "cannot be so long"))?;
            let write = |offset: u64, bytes: &[u8]| {
                file.write_all_at(bytes, offset).map_err(io_error(path, "cannot be written"))
            };
            let mut buffer = vec![0; PIECE];
            let step = if area.is_some() { PIECE as u64 } else { page };
            for at in (start.max(page)..start + bytes).step_by(step as usize) {
                let piece = &mut buffer[..step.min(start + bytes - at) as usize];
                match self.read(at, piece) {
                    Ok(()) => write(at - start, piece)?,
                    // A hole, as is what may not be read.
                    Err(Error::NotAllocated { .. } | Error::NotPermitted { .. }) if area.is_none() => {}
                    Err(error) => return Err(error),
                }
            }
            Ok(bytes)
        })
    }
}
