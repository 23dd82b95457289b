//! Every build must produce the same bytes: this one, in any test profile, and the release build of the Python module,
//! which is tested against the same hash (`tests/test_summary.py`). CHANGELOG.md explains every change of the hash.

use std::path::Path;

use sha2::{Digest, Sha256};
use storage::prepare::Preparation;
use storage::run::{RunOptions, run};
use storage::summary::summary;
use system::System;
use workload::Workload;

#[test]
fn a_summary_is_the_same_in_debug_and_release() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tests/data");
    let system = System::load(&data.join("tiny.toml").to_string_lossy(), &[]).expect("a system");
    let workload = Workload::open(&data.join("same-bytes.fio"), None).expect("a job");
    let options = RunOptions { preparation: Some(Preparation::Steady), ..RunOptions::default() };
    let outcome = run(&system, &workload, &options, &mut |_| true).expect("a run");
    // Without the system's hash, which follows every new key.
    let text = format!("{:#}\n", summary(&system, &outcome)).replace(&system.content_hash(), "");
    let hash: String = Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect();
    let pinned = std::fs::read_to_string(data.join("same-bytes.sha256")).expect("a pin");
    assert_eq!(hash, pinned.trim());
}
