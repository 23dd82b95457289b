//! Paging policies, which decide the location of each page. One file per policy.

mod arc;
mod clock;
mod config;
mod fifo;
mod lru;
mod min;
mod named;
mod pm_xip;
mod rent_or_buy;
mod s3_fifo;
mod two_q;

pub use arc::Arc;
pub use clock::Clock;
pub use config::{Kind, Lines, PagingConfig};
pub use fifo::Fifo;
pub use lru::Lru;
pub use min::{Foreseen, Min};
pub use named::{NAMES, Name, Online, UnknownPolicy};
pub use pm_xip::{Comparison, PmXip, Promotion, Reading, Test, Window};
pub use rent_or_buy::RentOrBuy;
pub use s3_fifo::S3Fifo;
pub use two_q::TwoQ;

use crate::memory::{Counts, Memory};

/// A page-replacement policy over densely numbered pages ([`Numbering`](crate::Numbering)).
///
/// A policy keeps no counts: it reports its operations to a [`Memory`] whose type is known at compile time, so counting
/// costs only one addition per operation.
pub trait Policy {
    /// The input for each request: the page (`u32`) and, for an offline policy, its knowledge of the future.
    type Request: Copy;

    /// Makes room for pages `0..pages`. The only method that allocates; may be called again when a trace contains new
    /// pages.
    fn grow(&mut self, pages: u32);

    /// Serves one request: the necessary loads and moves, and one read.
    ///
    /// # Panics
    /// If the page is beyond the range of [`Policy::grow`].
    fn request<M: Memory>(&mut self, request: Self::Request, memory: &mut M);
}

/// Serves `requests` in order. A long trace is served chunk by chunk with the same `policy` and `counts`.
pub fn serve<P: Policy>(policy: &mut P, requests: &[P::Request], counts: &mut Counts) {
    // A local copy, so that the counters can stay in registers.
    let mut running = *counts;
    for &request in requests {
        policy.request(request, &mut running);
    }
    *counts = running;
}

/// Returns the counts of a new `policy` on a whole trace of pages `0..pages`.
pub fn count<P: Policy>(mut policy: P, pages: u32, requests: &[P::Request]) -> Counts {
    let mut counts = Counts::default();
    policy.grow(pages);
    serve(&mut policy, requests, &mut counts);
    counts
}

/// Serves a miss of conventional demand paging: through a buffer into a frame.
fn bring_in<M: Memory>(page: u32, memory: &mut M) {
    memory.load(page);
    memory.move_to_sram(page);
}
