//! Numbers beyond the cache's tables: each call panics, in release builds too.

use dram_cache::{Actions, Config, Hybrid, Input, Keys, Prefetch, PrefetchKind, Purpose};
use media::line::{LineKind, LineRequest};
use testkit::refused;

const CONFIG: Config = Config {
    keys: Keys {
        size: 4 * 4 * 512,
        ways: 4,
        tag_buffer: 2,
        tag_reads: 2,
        fetches: 5,
        buffers: None,
        cold: 2,
        prefetch: Prefetch { kind: PrefetchKind::None, window: 1, fetches: 2 },
    },
    page_bytes: 512,
    pages: 96,
    buffers: 2,
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
