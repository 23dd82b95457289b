//! Pages beyond a policy's tables: each call panics or finds nothing, in release builds too.

use pager::Numbering;
use pager::future::{Backwards, foresee};
use pager::policy::{Arc, Clock, Fifo, Lru, S3Fifo, TwoQ, count};
use pager::sweep::StackDistances;
use testkit::refused;

const PAGES: u32 = 4;

#[test]
fn policies_refuse_pages() {
    for page in [PAGES, 1_000_000_000] {
        refused!(trace = [page];
            count(Arc::new(2), PAGES, &trace),
            count(Clock::new(2), PAGES, &trace),
            count(Fifo::new(2), PAGES, &trace),
            count(Lru::new(2), PAGES, &trace),
            count(S3Fifo::new(2), PAGES, &trace),
            count(TwoQ::new(2), PAGES, &trace),
            foresee(PAGES, &trace),
            Backwards::new(PAGES).step(page),
            StackDistances::new(PAGES).request(page),
        );
    }
    assert_eq!(Numbering::default().name(0), None);
}
