//! Rent or buy with four competing prices: gains from reading in place, without losing where SRAM suffices.

use crate::costs::Weights;
use crate::lists::Lists;
use crate::memory::Memory;
use crate::policy::Policy;

/// No page.
const NONE: u32 = u32::MAX;

/// Rent or buy. A page that is read in place pays *rent*: a load each time it must be fetched again, and slower reads.
/// It is moved into SRAM when the rent paid *while the least recently requested page in SRAM was idle* reaches the
/// price; a request for that page in between resets the account. While SRAM has a free frame, pages are moved
/// immediately.
///
/// The best price depends on the program, so there are `N` prices (four by default): 0, 1, 3 and 9 loads. Price 0 is
/// LRU. All prices are simulated on page numbers alone, for the same requests, and the real memory follows one of them,
/// the leader. Another price becomes the leader once it has been cheaper than the current one by twice the cost of
/// filling SRAM, counted since the last change of leader and from the point at which it was furthest behind. The real
/// memory adapts to a new leader as pages are requested: a page that the leader has in SRAM is moved there and replaces
/// one that the leader has not.
///
/// This policy was developed in this project. It owes the comparison of a page's recency with that of the oldest
/// resident page to LIRS (Jiang, Zhang, SIGMETRICS 2002), the account to ski rental (Karlin, Manasse, Rudolph, Sleator,
/// 1988), and the simulation of several policies while following one to Blum and Burch (COLT 1997). The prices and the
/// decisive lead are assumed; they were selected on synthetic traces and the page traces of some programs, and half of
/// either works nearly as well. On forty builds of four programs that were not used for the selection
/// (`docs/paging.md`), twenty of them for ARM, the policy takes at most 1.034 times as long as the better of LRU and
/// PM-XIP(8,4) with 2 to 64 KB of SRAM.
///
/// *Reasoning.* In a loop over more pages than fit, every page in SRAM is requested between two requests for any other
/// page: no rent accumulates, the frames keep their pages, and the rest of the loop is read in place, whereas LRU
/// misses on every page. The weakness of PM-XIP, pages that alternate in the buffers indefinitely while frames are
/// idle, cannot persist: each such load is rent, and the owner of an idle frame does not defend it. Where references
/// are nearly random, a high price is right; in a program that changes phase often, it is not. The competition between
/// prices decides.
///
/// *Guarantee*, for any trace and against any price `i`, with F and M the cost of a load and of a move, S frames and B
/// buffers: cost <= cost of price `i` alone + (changes of leader + 1) * (2 S (F + M) + S (3 F + M) + B F + F + M). The
/// first term: between two changes no price is cheaper than the leader, over any interval up to the change, by more
/// than the decisive lead plus one fault. The rest is the cost of adapting to a leader: a load and a move for each page
/// that the leader had in SRAM and the real memory had not, a load for each page thereby evicted from the buffers, a
/// load for each page that only the real memory had in SRAM and that the leader may have had in a buffer when it is
/// given up, and the contents of the buffers. With price 0 among the prices this bounds the loss against LRU;
/// `tests/rent_or_buy.rs` checks it on random traces.
///
/// *Cost.* All prices and the real memory share one recency list: a request moves its page to the front, and does
/// further work only for prices under which the page is not in SRAM. The oldest page under each price is tracked by a
/// hand that passes each page at most once per request (as LIRS prunes its stack), so O(N) amortized, regardless of the
/// number of frames; a fault inspects the B buffers, and after a change of leader a victim is searched among the
/// frames. About 240 instructions per request, compared with 20 for LRU and 53 for PM-XIP (`examples/pages.rs`). State:
/// 24 bytes per page, plus 8 per page and price.
///
/// *When not to use it.* In short traces of ten or thirty thousand requests: the first change of leader requires a lead
/// of twice the cost of filling SRAM, and if reading in place could have avoided all faults, that delay accounts for
/// most of the run time (of random synthetic programs of this length, 3 % took more than 1.05 times as long as the
/// better of LRU and PM-XIP(8,4), the worst 1.5 times; with 100,000 requests, 1 %, the worst 1.11 times). A smaller
/// first lead solves this, but loses to LRU elsewhere. Also not where counters can be kept only at faults instead of at
/// every request (which PM-XIP needs too), and not where pages are never read in place, since LRU or
/// [`Arc`](crate::policy::Arc) then achieves the same at a lower cost.
#[derive(Clone, Debug)]
pub struct RentOrBuy<const N: usize = 4> {
    frames: u32,
    buffers: usize,
    /// Costs of a load, of a move, and of a read in place instead of in SRAM, in the units to be minimized.
    load: u64,
    moved: u64,
    slower_read: u64,
    /// The rent at which each price is reached.
    prices: [u64; N],
    now: u64,
    pages: Vec<Page>,
    /// Rent that page `p` has paid under price `i`, at index `N * p + i`.
    rents: Vec<u64>,
    recent: Lists<1>,
    /// The simulated memories and, at index `N`, the real one.
    sides: Vec<Side>,
    leader: usize,
    /// Lead of each price over the leader since the last change; never below 0.
    ahead: [u64; N],
    /// The lead at which the leader changes.
    decisive: u64,
    changes: u64,
}

#[derive(Clone, Copy, Debug)]
struct Page {
    /// Time of the last request, from 1; 0 if none.
    last: u64,
    /// Bit mask of the memories that have it in SRAM.
    in_sram: u32,
    /// Bit mask of the memories that have it in a buffer.
    in_buffer: u32,
}

/// State of one memory beyond the bits in [`Page`].
#[derive(Clone, Debug)]
struct Side {
    resident: u32,
    /// The least recently requested page in SRAM, [`NONE`] if SRAM is empty.
    oldest: u32,
    buffers: Vec<u32>,
}

/// The prices of [`RentOrBuy::new`], in loads.
const LOADS: [u32; 4] = [0, 1, 3, 9];

impl RentOrBuy<4> {
    /// Creates an empty SRAM of `frames` pages and `buffers` empty buffers, minimizing the costs `weights`: time or
    /// energy.
    ///
    /// # Panics
    /// If `frames` or `buffers` is zero.
    pub fn new(frames: u32, buffers: u32, weights: &Weights) -> RentOrBuy<4> {
        RentOrBuy::with_prices(frames, buffers, weights, LOADS)
    }
}

impl<const N: usize> RentOrBuy<N> {
    /// Like [`RentOrBuy::new`], with custom prices in loads (in moves if a move costs more than a load). With a single
    /// price there is no competition.
    ///
    /// # Panics
    /// If `frames` or `buffers` is zero, or there are no prices or more than 31.
    pub fn with_prices(frames: u32, buffers: u32, weights: &Weights, prices: [u32; N]) -> RentOrBuy<N> {
        assert!(
            frames > 0 && buffers > 0,
            "found {frames} frames and {buffers} buffers, expected at least 1 of each for rent-or-buy"
        );
        assert!((1..32).contains(&N), "found {N} prices, expected 1 to 31");
        let &Weights { load, moved, buffer_read, sram_read } = weights;
        let side = Side { resident: 0, oldest: NONE, buffers: Vec::with_capacity(buffers as usize) };
        RentOrBuy {
            frames,
            buffers: buffers as usize,
            load,
            moved,
            slower_read: buffer_read.saturating_sub(sram_read),
            prices: prices.map(|price| u64::from(price) * load.max(moved)),
            now: 0,
            pages: Vec::new(),
            rents: Vec::new(),
            recent: Lists::new(),
            sides: vec![side; N + 1],
            leader: 0,
            ahead: [0; N],
            decisive: 2 * u64::from(frames) * (load + moved),
            changes: 0,
        }
    }

    /// Returns the number of changes of leader.
    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// Moves `page` to the front of the recency list. A hand at this page advances to the next page of its memory.
    fn bring_forward(&mut self, page: u32, previous: u64, in_sram: u32) {
        let mut sides = in_sram;
        while sides != 0 {
            let side = sides.trailing_zeros() as usize;
            sides &= sides - 1;
            if self.sides[side].oldest == page && self.sides[side].resident > 1 {
                self.sides[side].oldest = self.next_in_front(page, side);
            }
        }
        if previous > 0 {
            self.recent.move_to_front(0, page);
        } else {
            self.recent.push_front(0, page);
        }
    }

    /// Returns the least recently requested SRAM page of memory `side` among those in front of `page`.
    fn next_in_front(&self, page: u32, side: usize) -> u32 {
        let mut at = page;
        loop {
            at = self.recent.before(at).expect("a side with more pages has one in front of its oldest");
            if self.pages[at as usize].in_sram >> side & 1 == 1 {
                return at;
            }
        }
    }

    /// Adds `page`, which was just requested and is at the front, to the SRAM of memory `side`, which must have room.
    fn enter(&mut self, page: u32, side: usize) {
        self.pages[page as usize].in_sram |= 1 << side;
        let state = &mut self.sides[side];
        state.resident += 1;
        if state.resident == 1 {
            state.oldest = page;
        }
        if self.pages[page as usize].in_buffer >> side & 1 == 1 {
            self.pages[page as usize].in_buffer &= !(1 << side);
            state.buffers.retain(|&other| other != page);
        }
    }

    /// Removes `victim` from the SRAM of memory `side`.
    fn leave(&mut self, victim: u32, side: usize) {
        self.pages[victim as usize].in_sram &= !(1 << side);
        self.sides[side].resident -= 1;
        if self.sides[side].resident == 0 {
            self.sides[side].oldest = NONE;
        } else if self.sides[side].oldest == victim {
            self.sides[side].oldest = self.next_in_front(victim, side);
        }
    }

    /// Loads `page` into a buffer of memory `side`; returns the evicted page, if any.
    fn load_into_buffer(&mut self, page: u32, side: usize) -> Option<u32> {
        let mut victim = None;
        if self.sides[side].buffers.len() == self.buffers {
            let held = &self.sides[side].buffers;
            let slot = (0..held.len()).min_by_key(|&slot| self.pages[held[slot] as usize].last);
            let left = self.sides[side].buffers.swap_remove(slot.expect("there are buffers"));
            self.pages[left as usize].in_buffer &= !(1 << side);
            victim = Some(left);
        }
        self.sides[side].buffers.push(page);
        self.pages[page as usize].in_buffer |= 1 << side;
        victim
    }

    /// Simulates a request for `page`, which is not in the SRAM of memory `side` and was last requested at `previous`.
    /// Returns its cost beyond a read from SRAM.
    fn play(&mut self, page: u32, previous: u64, side: usize) -> u64 {
        let full = self.sides[side].resident == self.frames;
        let oldest = self.sides[side].oldest;
        // Whether the page was requested after the page that it would replace.
        let idle = previous > 0 && (!full || previous > self.pages[oldest as usize].last);
        let rent = &mut self.rents[N * page as usize + side];
        if !idle {
            *rent = 0;
        }
        let mut cost = 0;
        if self.pages[page as usize].in_buffer >> side & 1 == 1 {
            *rent += self.slower_read;
            cost += self.slower_read;
        } else {
            *rent += if idle { self.load } else { 0 };
            cost += self.load;
            self.load_into_buffer(page, side);
        }
        let rent = &mut self.rents[N * page as usize + side];
        if !full || *rent >= self.prices[side] {
            *rent = 0;
            if full {
                self.leave(oldest, side);
            }
            self.enter(page, side);
            cost += self.moved;
        } else if cost >= self.load {
            cost += self.slower_read;
        }
        cost
    }

    /// Simulates the first request of a run for `page` under the prices that do not have it in SRAM.
    fn play_all(&mut self, page: u32, previous: u64, in_sram: u32) -> [u64; N] {
        let mut costs = [0; N];
        for (side, cost) in costs.iter_mut().enumerate() {
            if in_sram >> side & 1 == 0 {
                *cost = self.play(page, previous, side);
            }
        }
        costs
    }

    /// Simulates a further request of a run for `page` under the prices that have it in a buffer. Like [`Self::play`],
    /// given that this page was requested last and thus after any other page.
    fn play_on(&mut self, page: u32, in_sram: u32) -> [u64; N] {
        let rents: &mut [u64; N] = self.rents[N * page as usize..].first_chunk_mut().expect("every page has its rents");
        let mut costs = [0; N];
        let mut reached = 0u32;
        for side in 0..N {
            if in_sram >> side & 1 == 0 {
                costs[side] = self.slower_read;
                rents[side] += self.slower_read;
                reached |= u32::from(rents[side] >= self.prices[side]) << side;
            }
        }
        while reached != 0 {
            let side = reached.trailing_zeros() as usize;
            reached &= reached - 1;
            self.rents[N * page as usize + side] = 0;
            // While a frame is free no page stays in a buffer.
            debug_assert_eq!(self.sides[side].resident, self.frames);
            self.leave(self.sides[side].oldest, side);
            self.enter(page, side);
            costs[side] += self.moved;
        }
        costs
    }

    /// Accounts for the cost under each price, and changes the leader if another price has a decisive lead.
    fn compare(&mut self, costs: [u64; N]) {
        let paid = costs[self.leader];
        let mut best = self.leader;
        for (price, cost) in costs.into_iter().enumerate() {
            self.ahead[price] = (self.ahead[price] + paid).saturating_sub(cost);
            if self.ahead[price] > self.ahead[best] {
                best = price;
            }
        }
        if self.ahead[best] > self.decisive {
            self.leader = best;
            self.ahead = [0; N];
            self.changes += 1;
        }
    }

    /// Returns the page to evict from the real SRAM: the least recently requested of those that the leader does not
    /// have.
    fn victim(&self) -> u32 {
        let mut at = self.sides[N].oldest;
        while self.pages[at as usize].in_sram >> self.leader & 1 == 1 {
            at = self.next_in_front(at, N);
        }
        at
    }

    /// Serves a page that is not in the real SRAM.
    fn serve<M: Memory>(&mut self, page: u32, memory: &mut M) {
        let buffered = self.pages[page as usize].in_buffer >> N & 1 == 1;
        if buffered {
            memory.read_buffer(page);
        } else {
            if let Some(victim) = self.load_into_buffer(page, N) {
                memory.discard_from_buffer(victim);
            }
            memory.load(page);
        }
        let moves = self.pages[page as usize].in_sram >> self.leader & 1 == 1;
        if moves {
            if self.sides[N].resident == self.frames {
                // The leader has this page and at most as many pages in total, so it lacks one of the real memory's
                // pages.
                let victim = self.victim();
                self.leave(victim, N);
                memory.discard_from_sram(victim);
            }
            memory.move_to_sram(page);
            self.enter(page, N);
        }
        match (buffered, moves) {
            (true, _) => {}
            (false, true) => memory.read_sram(page),
            (false, false) => memory.read_buffer(page),
        }
    }
}

impl<const N: usize> Policy for RentOrBuy<N> {
    type Request = u32;

    fn grow(&mut self, pages: u32) {
        self.recent.grow(pages);
        let pages = self.pages.len().max(pages as usize);
        self.pages.resize(pages, Page { last: 0, in_sram: 0, in_buffer: 0 });
        self.rents.resize(N * pages, 0);
    }

    fn request<M: Memory>(&mut self, page: u32, memory: &mut M) {
        self.now += 1;
        let previous = std::mem::replace(&mut self.pages[page as usize].last, self.now);
        let in_sram = self.pages[page as usize].in_sram;
        let again = self.recent.front(0) == Some(page);
        if !again {
            self.bring_forward(page, previous, in_sram);
        }
        let played = (1u32 << N) - 1;
        if in_sram & played != played {
            let costs = if again { self.play_on(page, in_sram) } else { self.play_all(page, previous, in_sram) };
            self.compare(costs);
        }
        if in_sram >> N & 1 == 1 {
            memory.read_sram(page);
        } else {
            self.serve(page, memory);
        }
    }
}
