//! Saved drives with right checksums and wrong contents: each is used only if a drive can have left it; any other is
//! prepared again.

#[path = "support/closed_loop.rs"]
mod closed_loop;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use closed_loop::fly;
use media::{Op, Request};
use nand::PayloadKind;
use sim::{Rng, Streams};
use storage::Machine;
use storage::prepare::{Preparation, prepare};
use system::System;
use system::parts::Parts;

/// Bytes before the flash's image, and of the image's magic with its version; places of the image's numbers and blocks.
const HEAD: usize = 21;
const NUMBERS: usize = HEAD + 16;
const BLOCKS: usize = NUMBERS + 48 + 4;

const SMALL: [(&str, &str); 7] = [
    ("flash.channels", "2"),
    ("flash.chips", "1"),
    ("flash.dies", "1"),
    ("flash.blocks", "24"),
    ("flash.pages", "16"),
    ("ftl.over_provisioning", "0.4"),
    ("ftl.gc.start", "3"),
];

/// A folder that is removed at the end of its test.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn seal(bytes: &mut [u8], from: usize, to: usize) {
    let sum = crc32fast::hash(&bytes[from..to]);
    bytes[to..to + 4].copy_from_slice(&sum.to_le_bytes());
}

/// Changes one to three numbers, with right checksums.
fn forge(bytes: &mut [u8], rng: &mut Rng) -> String {
    let mut what = String::new();
    let end = bytes.len() - 4;
    for _ in 0..1 + rng.below(3) {
        let at = match rng.below(8) {
            0 => rng.below(4) as usize * 4,
            1 => NUMBERS + rng.below(12) as usize * 4,
            // The first block's numbers, and its first page's.
            2 | 3 => BLOCKS + rng.below(12) as usize * 4,
            _ => BLOCKS + rng.below(((end - BLOCKS) / 4) as u64) as usize * 4,
        };
        let old = u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
        let new = match rng.below(6) {
            0 => u32::MAX - rng.below(3) as u32,
            1 => old ^ 1 << rng.below(32),
            2 => rng.below(5000) as u32,
            3 => rng.below(1 << 32) as u32,
            4 => old.wrapping_add(1),
            _ => old.wrapping_sub(1),
        };
        bytes[at..at + 4].copy_from_slice(&new.to_le_bytes());
        what += &format!("{old:#x} at {at} becomes {new:#x}; ");
    }
    seal(bytes, 0, HEAD - 4);
    seal(bytes, HEAD, NUMBERS + 48);
    seal(bytes, BLOCKS, end);
    what
}

/// Prepares the drive with the saved one in `folder`, and writes to it. Returns true if it was used.
fn play(system: &System, folder: &Path, writes: u32) -> bool {
    let (parts, streams) = (Parts::new(system, PayloadKind::None).expect("a drive"), Streams::new(1));
    let (store, prepared) =
        prepare(system, &parts, Preparation::Overwritten, &streams, Some(folder)).expect("a prepared drive");
    let (nand, ftl, _) = parts.mount(store, &streams).expect("a drive");
    let mut machine = Machine::new(&parts, ftl, nand);
    let (mut rng, units) = (Streams::new(2).stream("forged"), parts.user_bytes / 4096);
    fly(&mut machine, 4, writes, || Request::new(Op::Write, rng.below(units) * 4096, 4096));
    prepared.restored
}

#[test]
fn saved_drives_with_right_sums_and_wrong_contents_are_prepared_again_or_work() {
    let folder = Folder(std::env::temp_dir().join(format!("nandram-forged-caches-{}", std::process::id())));
    let (mut used, mut again, mut panics) = (0, 0, Vec::new());
    for more in [&[][..], &[("ftl.slc_cache.size", "4MiB"), ("flash.blocks", "80")], &[("ftl.map_cache.size", "16KiB")]]
    {
        let system = System::from_toml("drive", "title = \"drive\"", &[&SMALL[..], more].concat()).expect("a system");
        let _ = std::fs::remove_dir_all(&folder.0);
        assert!(!play(&system, &folder.0, 100) && play(&system, &folder.0, 100), "the drive is saved, then used");
        let file = std::fs::read_dir(&folder.0).expect("the folder").next().expect("a drive").expect("a drive").path();
        let whole = zstd::decode_all(std::fs::File::open(&file).expect("the drive")).expect("the drive");
        for seed in 0..60 {
            let mut bytes = whole.clone();
            let what = forge(&mut bytes, &mut Streams::new(seed).stream("mutant"));
            std::fs::write(&file, zstd::encode_all(&bytes[..], 1).expect("memory")).expect("a file");
            match catch_unwind(AssertUnwindSafe(|| play(&system, &folder.0, 3000))) {
                Ok(true) => used += 1,
                Ok(false) => again += 1,
                Err(panic) => {
                    let said = panic.downcast_ref::<String>().map_or("", |text| text);
                    panics.push(format!("{more:?} {seed}: {what}\n  {said}"));
                }
            }
        }
    }
    assert!(panics.is_empty(), "{} panic:\n{}", panics.len(), panics.join("\n"));
    assert!(used > 10 && again > 10, "{used} were used, {again} prepared again");
}
