//! The files of an LSM tree (`make lsm-tree`), at a quarter of the size.

#[path = "../examples/lsm_tree/blocks.rs"]
mod blocks;
#[path = "../examples/lsm_tree/measure.rs"]
mod measure;
#[path = "../examples/lsm_tree/tree.rs"]
mod tree;
#[path = "../examples/lsm_tree/zones.rs"]
mod zones;

use measure::{CLASSES, UNIT, ZONE, measure, record};

#[test]
fn levels_apart_cost_few_copies_and_mixed_ones_many() {
    let recorded = record(100_000, 2);
    assert!((10.0..20.0).contains(&recorded.amplification), "{} times", recorded.amplification);
    let [mixed, handles, zones] = measure(&recorded, 1.25);
    assert!(mixed.files == handles.files && mixed.files == zones.files);
    let found = [mixed, handles, zones].map(|drive| drive.amplification());
    println!("one address space, a handle for each level, zones: {found:.3?}");
    assert!(found[0] > 1.3 && (1.0..1.03).contains(&found[1]) && (1.0..1.1).contains(&found[2]), "{found:?}");
}
