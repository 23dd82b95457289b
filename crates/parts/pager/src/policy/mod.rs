//! Policies: which page is where. One file a policy.

mod arc;
mod clock;
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
pub use fifo::Fifo;
pub use lru::Lru;
pub use min::{Foreseen, Min};
pub use named::{NAMES, Name, Online, UnknownPolicy};
pub use pm_xip::{PmXip, Promotion, Reading, Test, Window};
pub use rent_or_buy::RentOrBuy;
pub use s3_fifo::S3Fifo;
pub use two_q::TwoQ;

use crate::memory::{Counts, Memory};

/// A page-replacement policy over densely numbered pages ([`Numbering`](crate::Numbering)).
///
/// It keeps no counts: it tells a [`Memory`] what it does, which is known at compile time, so that counting costs an
/// addition and nothing else.
pub trait Policy {
    /// What it is given for each request: the page (`u32`), and for an off-line policy what it must know of the future.
    type Request: Copy;

    /// Makes room for pages `0..pages`. The only call that allocates; may be made again as a trace shows new pages.
    fn grow(&mut self, pages: u32);

    /// Serves one request: whatever loads and moves it takes, and one read.
    ///
    /// # Panics
    /// If the page is beyond what [`Policy::grow`] made room for.
    fn request<M: Memory>(&mut self, request: Self::Request, memory: &mut M);
}

/// Serves `requests` one after another. A long trace is served chunk by chunk, with the same `policy` and `counts`.
pub fn serve<P: Policy>(policy: &mut P, requests: &[P::Request], counts: &mut Counts) {
    // A copy of its own, so that the counters can stay in registers.
    let mut running = *counts;
    for &request in requests {
        policy.request(request, &mut running);
    }
    *counts = running;
}

/// The counts of `policy`, new, on a whole trace of pages `0..pages`.
pub fn count<P: Policy>(mut policy: P, pages: u32, requests: &[P::Request]) -> Counts {
    let mut counts = Counts::default();
    policy.grow(pages);
    serve(&mut policy, requests, &mut counts);
    counts
}

/// A miss of conventional demand paging: through a buffer into a frame.
#[inline]
fn bring_in<M: Memory>(page: u32, memory: &mut M) {
    memory.load(page);
    memory.move_to_sram(page);
}
