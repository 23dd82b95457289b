//! The cost of calls in bytes and pages, not in time: a sync writes little more than the dirty data, and a rollback
//! processes only changed pages.

mod support;

use memory::{Memory, Options};
use sim::Streams;
use support::place::TempFile;

/// Creates a memory of `bytes` bytes and writes all of it.
fn filled(name: &str, bytes: u64) -> (TempFile, Memory, u64) {
    let place = TempFile::new(name);
    let options = Options { capacity: Some(bytes), dram: 16 << 20, ..Options::default() };
    let mut memory = Memory::create(&place.0, &options).unwrap_or_else(|error| panic!("{error}"));
    let at = memory.alloc(bytes, false).expect("enough space");
    let chunk = vec![1; 1 << 20];
    for offset in (0..bytes).step_by(1 << 20) {
        memory.write(at + offset, &chunk).expect("written");
    }
    (place, memory, at)
}

/// Averages many syncs of 1 % of the segments, including table checkpoints and garbage collection.
#[test]
fn a_sync_writes_at_most_1_3_times_the_dirty_data() {
    let bytes = 64u64 << 20;
    let (_place, mut memory, at) = filled("sync", bytes);
    let mut last = memory.sync(None).expect("synced");
    let mut rng = Streams::new(1).stream("test.costs");
    let (before, mut dirty, rounds) = (memory.stats(), 0, 12);
    for round in 0..rounds {
        for _ in 0..bytes / 4096 / 100 {
            let place = rng.below(bytes / 4096) * 4096 + rng.below(4088);
            memory.write(at + place, &(round + 1u64).to_le_bytes()).expect("written");
        }
        dirty += memory.stats().dirty;
        let token = memory.sync(None).expect("synced");
        memory.drop_token(last).expect("live");
        last = token;
    }
    let after = memory.stats();
    // 1 % of 64 MiB is little, so the fixed cost of a commit weighs in; each drop is a commit too.
    let (written, due) = (after.written_bytes - before.written_bytes, dirty * 4096);
    eprintln!("{written} bytes for {due}: {:.3}", written as f64 / due as f64);
    assert!(written * 10 <= due * 13, "{written} bytes for {due}");
    assert!(after.controller.commits > before.controller.commits + 20);
}

#[test]
fn a_rollback_processes_only_changed_pages() {
    let bytes = 16u64 << 20;
    let (_place, mut memory, at) = filled("rollback", bytes);
    let token = memory.sync(None).expect("synced");
    for pages in [1, 10, 100] {
        let before = memory.stats();
        for page in 0..pages {
            memory.write(at + page * 65536 + 7, b"changed").expect("written");
        }
        memory.sync(None).expect("synced");
        memory.rollback(token).expect("live");
        let after = memory.stats();
        assert_eq!(after.controller.rolled_back - before.controller.rolled_back, pages);
        let mut found = [0; 7];
        memory.read(at + 7, &mut found).expect("read");
        assert_eq!(found, [1; 7]);
    }
}
