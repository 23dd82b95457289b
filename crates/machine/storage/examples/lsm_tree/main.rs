//! An LSM tree's files on three drives of the same flash: with one address space, with a reclaim unit handle for each
//! level, and with zones. Prints `docs/lsm-tree.md` (`make lsm-tree`).

mod blocks;
mod measure;
mod tree;
mod zones;

use measure::{CLASSES, UNIT, ZONE, measure, record};

/// Keys of the tree.
const COUNT: u32 = 400_000;
/// Flash over the most that the files ever take.
const SPARE: [f64; 5] = [1.1, 1.2, 1.28, 1.35, 1.5];

fn main() {
    let recorded = record(COUNT, 3);
    print!("{}", include_str!("page.md"));
    for spare in SPARE {
        let found = measure(&recorded, spare);
        let [mixed, handles, zones] = found.map(|drive| format!("{:.2}", drive.amplification()));
        println!("| {spare} | {mixed} | {handles} | {zones} |");
    }
    print!("{}", include_str!("end.md"));
    println!(
        "\nThe tree itself writes {:.1} times the bytes of the keys and values that it gets, and the drive multiplies that. Its \
         files take up to {} MiB.",
        recorded.amplification,
        (recorded.peak * u64::from(tree::FILE) * UNIT) >> 20
    );
}
