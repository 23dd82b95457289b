//! Changes behind the pages of the file, which take effect together.
//!
//! A file that could not be written lacks changes, whose order no longer matters to flash: a block may have been erased
//! and programmed again, with contents whose old places were erased as well. To make them in place one after another
//! would lose flushed data if the server ended in between. They are therefore written behind the pages first, and in
//! place once they are durable there. A start that finds a complete tail repeats that.
//!
//! ```text
//! head               4 KiB, written last: magic, number of records u64, CRC-32
//! records            4 KiB each: magic, place u64, bytes u64 (0 for a hole), bytes of the hole u64, CRC-32 of the data
//!                    u32, CRC-32; then the data in whole sectors
//! ```

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use direct::Aligned;
use rustix::fs::{FallocateFlags, fallocate};

use crate::layout::{ALIGN, Sector, is_whole, sector};

const HEAD: &[u8; 16] = b"NANDRAM-TAIL\0\0\0\0";
const RECORD: &[u8; 16] = b"NANDRAM-CHANGE\0\0";

/// The bytes behind the pages of a file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Tail {
    /// Incomplete: nothing in it counts.
    Incomplete,
    /// All of this many records count.
    Complete(u64),
    /// Neither.
    Foreign,
}

/// A writer of a tail.
pub(crate) struct Writer<'a> {
    file: &'a File,
    /// Offset of the head, and of the next record.
    begin: u64,
    at: u64,
    records: u64,
    buffer: Aligned,
}

/// Reserves room in the file, so that a later write needs none. File systems that cannot are left to fail then.
fn reserve(file: &File, place: u64, bytes: u64) -> io::Result<()> {
    match fallocate(file, FallocateFlags::KEEP_SIZE, place, bytes) {
        Err(rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::NOSYS) => Ok(()),
        other => Ok(other?),
    }
}

impl<'a> Writer<'a> {
    /// Creates a writer of the tail at `begin`, for records of at most `bytes` bytes.
    pub fn new(file: &'a File, begin: u64, bytes: usize) -> Writer<'a> {
        let at = begin + ALIGN as u64;
        Writer { file, begin, at, records: 0, buffer: Aligned::new(ALIGN + bytes.max(ALIGN)) }
    }

    /// Adds `data`, whole sectors, for `place`, and reserves room there.
    pub fn add(&mut self, place: u64, data: &[u8]) -> io::Result<()> {
        reserve(self.file, place, data.len() as u64)?;
        self.buffer[ALIGN..ALIGN + data.len()].copy_from_slice(data);
        self.add_record(place, data.len(), 0)
    }

    /// Adds a hole of `bytes` bytes at `place`.
    pub fn add_hole(&mut self, place: u64, bytes: u64) -> io::Result<()> {
        self.add_record(place, 0, bytes)
    }

    fn add_record(&mut self, place: u64, bytes: usize, hole: u64) -> io::Result<()> {
        let sum = crc32fast::hash(&self.buffer[ALIGN..ALIGN + bytes]);
        let mut head = RECORD.to_vec();
        head.extend([place, bytes as u64, hole].iter().flat_map(|number| number.to_le_bytes()));
        head.extend(sum.to_le_bytes());
        self.buffer[..ALIGN].copy_from_slice(&sector(&head));
        self.file.write_all_at(&self.buffer[..ALIGN + bytes], self.at)?;
        self.at += (ALIGN + bytes) as u64;
        self.records += 1;
        Ok(())
    }

    /// Completes the tail, durably. Returns the number of its records.
    pub fn complete(mut self) -> io::Result<u64> {
        self.file.sync_data()?;
        self.buffer[..ALIGN].copy_from_slice(&sector(&[&HEAD[..], &self.records.to_le_bytes()].concat()));
        self.file.write_all_at(&self.buffer[..ALIGN], self.begin)?;
        self.file.sync_data()?;
        Ok(self.records)
    }
}

/// Reads the tail that begins at `begin`, before the end of the file.
pub(crate) fn find(file: &File, begin: u64) -> io::Result<Tail> {
    let mut buffer = Aligned::new(ALIGN);
    if file.metadata()?.len() < begin + ALIGN as u64 {
        return Ok(Tail::Foreign);
    }
    file.read_exact_at(&mut buffer, begin)?;
    let head = copy(&buffer);
    Ok(match head {
        head if head.iter().all(|byte| *byte == 0) => Tail::Incomplete,
        head if head[..16] == HEAD[..] && is_whole(&head) => Tail::Complete(quad(&head, 16)),
        _ => Tail::Foreign,
    })
}

/// Makes the changes of a complete tail in place, and removes it. A record that ends behind `begin`, or has more than
/// `record_max` bytes of data, is an error of kind `InvalidData`.
pub(crate) fn apply(file: &File, begin: u64, records: u64, record_max: usize) -> io::Result<()> {
    let damaged = || io::Error::from(io::ErrorKind::InvalidData);
    let (mut head, mut data) = (Aligned::new(ALIGN), Aligned::new(record_max));
    let mut at = begin + ALIGN as u64;
    for _ in 0..records {
        file.read_exact_at(&mut head, at)?;
        let record = copy(&head);
        let (place, bytes, hole) = (quad(&record, 16), quad(&record, 24), quad(&record, 32));
        let is_inside = |bytes: u64| place.checked_add(bytes).is_some_and(|end| end <= begin);
        if record[..16] != RECORD[..]
            || !is_whole(&record)
            || !is_inside(bytes)
            || !is_inside(hole)
            || bytes > record_max as u64
            || !bytes.is_multiple_of(ALIGN as u64)
            || !place.is_multiple_of(ALIGN as u64)
        {
            return Err(damaged());
        }
        let content = &mut data[..bytes as usize];
        file.read_exact_at(content, at + ALIGN as u64)?;
        if crc32fast::hash(content).to_le_bytes() != record[40..44] {
            return Err(damaged());
        }
        file.write_all_at(content, place)?;
        if hole > 0 {
            // Not every file system supports holes. The pages' epoch has passed in any case.
            let _ = direct::punch(file, place, hole);
        }
        at += ALIGN as u64 + bytes;
    }
    file.sync_data()?;
    // A tail that came back after a failure of the host would undo later changes.
    head.fill(0);
    file.write_all_at(&head, begin)?;
    file.sync_data()?;
    remove(file, begin)
}

/// Removes a tail that does not count.
pub(crate) fn remove(file: &File, begin: u64) -> io::Result<()> {
    file.set_len(begin)
}

fn copy(buffer: &Aligned) -> Sector {
    std::array::from_fn(|i| buffer[i])
}

fn quad(sector: &Sector, at: usize) -> u64 {
    u64::from_le_bytes(std::array::from_fn(|i| sector[at + i]))
}

#[cfg(test)]
mod tests {
    use super::*;

    const BYTES: usize = 16 * ALIGN;

    fn file(name: &str) -> File {
        let path = std::env::temp_dir().join(format!("nandram-tail-{}-{name}", std::process::id()));
        let file = File::options().read(true).write(true).create_new(true).open(&path).expect("a file");
        std::fs::remove_file(path).expect("the file");
        file.write_all_at(&[1; BYTES], 0).expect("written");
        file
    }

    fn all(file: &File) -> Vec<u8> {
        let mut bytes = vec![0; file.metadata().expect("a file").len() as usize];
        file.read_exact_at(&mut bytes, 0).expect("the file");
        bytes
    }

    /// Writes a tail of two sectors and a hole, without its head if it is not `complete`.
    fn write(file: &File, complete: bool) -> Vec<u8> {
        let mut writer = Writer::new(file, BYTES as u64, 2 * ALIGN);
        writer.add_hole(8 * ALIGN as u64, 4 * ALIGN as u64).expect("written");
        writer.add(2 * ALIGN as u64, &[2; 2 * ALIGN]).expect("written");
        writer.add(9 * ALIGN as u64, &[3; ALIGN]).expect("written");
        if complete {
            assert_eq!(writer.complete().expect("written"), 3);
        }
        let mut after = vec![1; BYTES];
        after[8 * ALIGN..12 * ALIGN].fill(0);
        after[2 * ALIGN..4 * ALIGN].fill(2);
        after[9 * ALIGN..10 * ALIGN].fill(3);
        after
    }

    #[test]
    fn a_complete_tail_takes_effect_as_often_as_it_is_found() {
        let file = file("complete");
        let after = write(&file, true);
        let whole = all(&file);
        assert!(whole[..BYTES].iter().all(|byte| *byte == 1), "nothing is in place before");
        for _ in 0..2 {
            assert_eq!(find(&file, BYTES as u64).expect("the file"), Tail::Complete(3));
            apply(&file, BYTES as u64, 3, 2 * ALIGN).expect("applied");
            assert!(all(&file) == after);
            // As if its removal had been lost.
            file.write_all_at(&whole[BYTES..], BYTES as u64).expect("written");
        }
    }

    #[test]
    fn an_incomplete_tail_does_not_count_and_a_damaged_one_is_found() {
        let tail = file("incomplete");
        write(&tail, false);
        assert_eq!(find(&tail, BYTES as u64).expect("the file"), Tail::Incomplete);
        remove(&tail, BYTES as u64).expect("removed");
        assert!(all(&tail) == [1; BYTES]);
        write(&tail, true);
        for (place, byte) in [(0, b'x'), (100, 1), (ALIGN, b'x'), (ALIGN + 16, 1), (2 * ALIGN + 300, 1), (4 * ALIGN, 9)]
        {
            let mut old = [0];
            tail.read_exact_at(&mut old, (BYTES + place) as u64).expect("the file");
            tail.write_all_at(&[byte], (BYTES + place) as u64).expect("written");
            match find(&tail, BYTES as u64).expect("the file") {
                Tail::Foreign => assert!(place < ALIGN, "byte {place}"),
                found => {
                    assert_eq!(found, Tail::Complete(3));
                    let error = apply(&tail, BYTES as u64, 3, 2 * ALIGN).expect_err("damage");
                    assert_eq!(error.kind(), io::ErrorKind::InvalidData, "byte {place}");
                }
            }
            tail.write_all_at(&old, (BYTES + place) as u64).expect("written");
        }
        let error = apply(&tail, BYTES as u64, 3, ALIGN).expect_err("a record that is too long");
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
    }
}
