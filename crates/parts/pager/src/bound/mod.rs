//! What no schedule can beat in the two-level memory where pages may be read in place.
//!
//! MIN is not it: it moves every page that it misses, and reading in place beats it. A *schedule* here is anything that
//! serves the requests in their order: it may know the future, load pages before they are asked for, and go on using
//! the copy in a buffer after the page was copied into SRAM. It pays a [`load`](crate::Weights::load) for each page
//! from the flash array into a buffer, a [`move`](crate::Weights::moved) for each copy from a buffer into SRAM, and for
//! each request a read of where the page lies. At any moment `frames` pages are in SRAM and `buffers` in buffers, at
//! most.
//!
//! * [`optimum`] is the least cost of all schedules, exactly, by dynamic programming over what is where. The states are
//!   all pairs of sets of pages, so that it is for a few pages: it is what the bound is checked against.
//! * [`lower_bound`] is a bound for traces of any size. Which pages to keep where is a choice for each interval between
//!   two requests for a page, with two capacities over time: packing intervals on machines of two kinds, which is
//!   hard in general (Arkin and Silverberg, 1987), hence a bound and not the optimum.

mod exact;
mod relaxed;

pub use exact::optimum;
pub use relaxed::lower_bound;
