//! Checks that request times are plausible. The unit tests of the engines cover the rest of their behavior.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use media::{Op, Request};
use probe::Target;
use probe::block::{Block, Found, Options, Roots};
use sim::Time;

use crate::kernel::Folder;

#[test]
fn the_queue_depth_is_never_exceeded() {
    let folder = Folder::new("depth");
    let file = folder.write("image", vec![7; 4 << 20]);
    let found = Found::inspect(file.to_str().expect("a plain path"), &Roots::default()).expect("a file of a drive");
    let options = Options { write: None, switch_hmb: false, seed: 1, stop: Arc::new(AtomicBool::new(false)) };
    let mut target = Block::open(&found, options).expect("it can be opened");
    let reads: Vec<Request> = (0..256).map(|n| Request::new(Op::Read, n * 16384, 16384)).collect();
    let mut timed = Vec::new();
    for depth in [1, 3, 16, target.facts().depth_max] {
        let took = target.run(&reads, depth, &mut timed).expect("reads work");
        // Starts and ends in time order; at equal times, ends first.
        let mut changes: Vec<(Time, i32)> = Vec::new();
        timed.iter().for_each(|each| changes.extend([(each.submitted, 1), (each.ended, -1)]));
        changes.sort_unstable();
        let most = changes.iter().scan(0, |under_way, (_, change)| {
            *under_way += change;
            Some(*under_way)
        });
        let most = most.max().expect("there are requests");
        assert!((1..=depth.cast_signed()).contains(&most), "{most} at depth {depth}");
        assert_eq!(timed.iter().map(|each| each.ended).max(), Some(took));
    }
    assert_eq!(target.run(&[], 1, &mut timed), Ok(Time::ZERO));
    assert!(timed.is_empty());
}
