//! Cost bounds for any schedule in a two-level memory whose pages may be read in place.
//!
//! MIN is not such a bound: it moves every page that it misses, so reading in place can beat it. A *schedule* here is
//! anything that serves the requests in order. It may know the future, load pages before they are requested, and keep
//! using the copy in a buffer after copying the page into SRAM. It pays a [`load`](crate::Weights::load) for each page
//! transferred from the flash array into a buffer, a [`move`](crate::Weights::moved) for each copy from a buffer into
//! SRAM, and for each request a read from the location of the page. At most `frames` pages are in SRAM and `buffers`
//! pages in buffers at any time.
//!
//! * [`optimum`] computes the exact minimum cost over all schedules by dynamic programming. Its states are all pairs of
//!   page sets, so it is feasible only for a few pages; it serves to check the bound.
//! * [`lower_bound`] computes a bound for traces of any size. Deciding which pages to keep where, for each interval
//!   between two requests for a page and with two capacities, is interval packing on two kinds of machines, which is
//!   hard in general (Arkin and Silverberg, 1987). Hence a bound rather than the optimum.

mod exact;
mod relaxed;

pub use exact::optimum;
pub use relaxed::lower_bound;
