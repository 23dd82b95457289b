//! Numbers beyond the cache's tables: each call panics, in release builds too.

use dram_cache::{Actions, Config, Hybrid, Input, Prefetch, Purpose};
use media::line::{LineKind, LineRequest};
use testkit::refused;

const CONFIG: Config = Config {
    sets: 4,
    ways: 4,
    page_bytes: 512,
    pages: 96,
    tag_buffer: 2,
    tag_reads: 2,
    fetches: 5,
    prefetches: 2,
    buffers: 2,
    cold: 2,
    prefetch: Prefetch::None,
    moves: true,
};

fn line(address: u64) -> LineRequest {
    LineRequest { id: 1, address, kind: LineKind::Fill }
}

#[test]
fn a_cache_refuses_lines_fetches_and_buffers() {
    let mut out = Actions::default();
    refused!(cache = Hybrid::new(&CONFIG);
        cache.request(line(96 * 512), &mut out),
        cache.handle(Input::Line(line(u64::MAX)), &mut out),
        cache.fetched(5, &mut out),
        cache.fetched(1_000_000_000, &mut out),
        cache.handle(Input::Fetched(u32::MAX), &mut out),
        cache.written(2, &mut out),
        cache.written(1_000_000_000, &mut out),
        cache.handle(Input::Written(u32::MAX), &mut out),
        cache.dram_done(Purpose::Tags(1_000_000_000), &mut out),
        cache.dram_done(Purpose::Store(1_000_000_000), &mut out),
        cache.dram_done(Purpose::ReadOut(1_000_000_000), &mut out),
        cache.handle(Input::Dram(Purpose::Tags(2)), &mut out),
    );
}
