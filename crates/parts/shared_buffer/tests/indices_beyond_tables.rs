//! Numbers beyond a shared buffer: each call panics, in release builds too.

use std::cell::Cell;

use shared_buffer::{Buddy, Config, DeviceQueue, DeviceQueues, Extent, HostQueue, Layout, Region};
use testkit::refused;

const CONFIG: Config = Config { queue_pairs: 2, sq_entries: 8, cq_entries: 16, extents_max: 1, db_sectors: 64 };

fn layout() -> Layout {
    Layout::new(CONFIG).expect("a layout")
}

#[test]
fn a_layout_refuses_queue_pairs_and_sectors() {
    refused!(layout = layout();
        layout.doorbell(2),
        layout.cq_head(2),
        layout.status(2),
        layout.sq_entry(2, 0),
        layout.cq_entry(2, 0),
        layout.db_sector(65),
    );
}

#[test]
fn queues_refuse_queue_pairs() {
    refused!(layout = layout();
        DeviceQueue::new(&layout, 2).in_progress(),
        HostQueue::new(&layout, 2).outstanding(),
        DeviceQueues::new(&layout).pair(2).in_progress(),
    );
}

#[test]
fn a_region_refuses_words() {
    refused!(region = vec![Cell::new(0u64); 8];
        region.as_slice().load(8, std::sync::atomic::Ordering::Relaxed),
        region.as_slice().store(8, 1, std::sync::atomic::Ordering::Relaxed),
        region.as_slice().write(7, &[0; 16]),
        region.as_slice().read(7, &mut [0; 16]),
    );
}

#[test]
fn a_buddy_refuses_runs() {
    refused!(buddy = Buddy::new(64);
        buddy.release(Extent { index: 64, sectors: 1 }),
        buddy.release(Extent { index: 0, sectors: 1 }),
    );
    assert_eq!(Buddy::new(64).allocate(65), None);
}
