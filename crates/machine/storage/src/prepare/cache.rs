//! Prepared drives saved on disk, within a size limit. Only drives that had to be written are saved.

use std::fs::{self, File};
use std::io::{BufReader, BufWriter};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use nand::Store;

use crate::prepare::{Preparation, Prepared};
use sim::Streams;
use system::parts::{Parts, Translation};

/// Maximum total size of the saved drives in bytes.
const BYTES_MAX: u64 = 2_000_000_000;

/// Restores a prepared drive from disk. Returns `None` if the file is missing, damaged or no drive's.
pub(crate) fn restore(
    path: &Path,
    parts: &Parts,
    preparation: Preparation,
    streams: &Streams,
) -> Option<(Store, Prepared)> {
    let file = File::open(path).ok()?;
    // The cache evicts by modification time.
    let _ = file.set_modified(SystemTime::now());
    let mut stream = zstd::Decoder::new(BufReader::new(file)).ok()?;
    let mut head = [0u8; HEAD];
    std::io::Read::read_exact(&mut stream, &mut head).ok()?;
    let prepared = read_head(&head, preparation)?;
    let store = Store::load(&mut stream, &parts.nand.geometry, parts.nand.buffers).ok()?;
    if store.payload() != parts.nand.payload || store.order() != parts.nand.order {
        return None;
    }
    // Its checksums do not say that it is of a drive.
    let contradiction = Translation::contradiction(parts, &store, streams).ok()?;
    contradiction.is_none().then_some((store, prepared))
}

/// Bytes of a file before the flash: passes, write amplification, whether it is approximate, and a checksum of these.
const HEAD: usize = 8 + 8 + 1 + 4;

fn write_head(prepared: &Prepared) -> [u8; HEAD] {
    let mut head = [0; HEAD];
    head[..8].copy_from_slice(&prepared.passes.to_le_bytes());
    head[8..16].copy_from_slice(&prepared.write_amplification.unwrap_or(f64::NAN).to_le_bytes());
    head[16] = u8::from(prepared.approximate);
    let sum = crc32fast::hash(&head[..17]);
    head[17..].copy_from_slice(&sum.to_le_bytes());
    head
}

/// Returns the preparation that `head` describes, `None` if it is damaged.
fn read_head(head: &[u8; HEAD], preparation: Preparation) -> Option<Prepared> {
    let float = |at: usize| head[at..at + 8].try_into().map(f64::from_le_bytes).ok();
    let (passes, amplification) = (float(0)?, float(8)?);
    let whole = crc32fast::hash(&head[..17]).to_le_bytes() == head[17..];
    // NaN stands for no amplification.
    let possible = passes.is_finite() && passes >= 0.0 && (amplification.is_nan() || amplification.is_finite());
    (whole && possible).then_some(Prepared {
        preparation,
        restored: true,
        passes,
        write_amplification: (!amplification.is_nan()).then_some(amplification),
        approximate: head[16] != 0,
    })
}

/// Saves a prepared drive. The file is written under a temporary name and then renamed, so that no reader sees half of
/// it.
pub(crate) fn save(path: &Path, store: &Store, prepared: &Prepared) {
    let partial = PathBuf::from(format!("{}.{}", path.display(), std::process::id()));
    let write = || -> std::io::Result<()> {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let mut stream = zstd::Encoder::new(BufWriter::new(File::create(&partial)?), 1)?;
        std::io::Write::write_all(&mut stream, &write_head(prepared))?;
        store.save(&mut stream)?;
        stream.finish()?.into_inner().map_err(std::io::IntoInnerError::into_error)?.sync_all()?;
        fs::rename(&partial, path)
    };
    // A cache that cannot be written costs time but does not affect results.
    if write().is_err() {
        // On a full disk, each run would leave another partial file.
        let _ = fs::remove_file(&partial);
    } else if let Some(folder) = path.parent() {
        make_room(folder, BYTES_MAX);
    }
}

/// Removes the least recently used drives in `folder` until the rest take at most `bytes`.
fn make_room(folder: &Path, bytes: u64) {
    let Ok(files) = fs::read_dir(folder) else { return };
    let mut drives: Vec<(SystemTime, u64, PathBuf)> = files
        .filter_map(Result::ok)
        .filter(|file| is_drive(&file.file_name().to_string_lossy()))
        .filter_map(|file| {
            let found = file.metadata().ok()?;
            Some((found.modified().ok()?, found.len(), file.path()))
        })
        .collect();
    drives.sort();
    let mut all: u64 = drives.iter().map(|drive| drive.1).sum();
    for (_, length, path) in drives {
        if all <= bytes {
            return;
        }
        if fs::remove_file(path).is_ok() {
            all -= length;
        }
    }
}

/// Returns true for file names chosen by [`prepare`](crate::prepare::prepare).
fn is_drive(name: &str) -> bool {
    name.strip_prefix("drive-").is_some_and(|rest| rest.ends_with(".zst"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_head_with_a_changed_bit_is_not_read() {
        for write_amplification in [None, Some(7.321)] {
            let prepared = Prepared {
                preparation: Preparation::Overwritten,
                restored: true,
                passes: 3.5,
                write_amplification,
                approximate: true,
            };
            let head = write_head(&prepared);
            assert_eq!(read_head(&head, Preparation::Overwritten), Some(prepared));
            for bit in 0..HEAD * 8 {
                let mut changed = head;
                changed[bit / 8] ^= 1 << (bit % 8);
                assert_eq!(read_head(&changed, Preparation::Overwritten), None, "bit {bit}");
            }
        }
    }

    #[test]
    fn the_oldest_drives_make_room() {
        let folder = std::env::temp_dir().join(format!("nandram-prepared-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        let file = |name: &str, age: u64, length: usize| {
            let path = folder.join(name);
            fs::write(&path, vec![0; length]).expect("a file");
            let time = SystemTime::now() - Duration::from_secs(age);
            File::options().write(true).open(path).and_then(|f| f.set_modified(time)).expect("its time");
        };
        file("drive-a.zst", 30, 400);
        file("drive-b.zst", 20, 400);
        file("drive-c.zst", 10, 400);
        file("other.zst", 99, 4000);
        make_room(&folder, 800);
        let left = |name: &str| folder.join(name).exists();
        assert_eq!(["drive-a.zst", "drive-b.zst", "drive-c.zst", "other.zst"].map(left), [false, true, true, true]);
        make_room(&folder, 100);
        assert!(!left("drive-c.zst") && left("other.zst"), "a drive larger than the bound is not kept");
        fs::remove_dir_all(folder).expect("it is ours");
    }
}
