//! Rent or buy, with four patiences in a duel: keeps what reading in place wins, and does not lose where SRAM suffices.

use crate::costs::Weights;
use crate::lists::Lists;
use crate::memory::Memory;
use crate::policy::Policy;

/// No page.
const NONE: u32 = u32::MAX;

/// Rent or buy. A page that is read in place pays *rent*: the load each time it must be fetched again, and the slower
/// reads. It is moved into SRAM when what it has paid, *while the least recently requested page there lay idle*,
/// reaches the price; a request for that page in between resets the account. As long as SRAM has a free frame, pages
/// are moved at once.
///
/// How high the price should be depends on the program, so there are `N` (four by default): 0, 1, 3 and 9 loads. 0 is
/// LRU. Each price is played through on page numbers alone, all four on the same requests, and the memory follows one
/// of them, the leader. When another has been cheaper than the leader by twice the price of filling SRAM, since the
/// last change of leader and counted from the moment when it was furthest behind, it becomes the leader. The memory
/// takes after a new leader as pages are asked for: a page that the leader has in SRAM is moved there, in place of one
/// that the leader has not.
///
/// This is a policy of this project. It owes the comparison of a page's recency with that of the oldest resident page
/// to LIRS (Jiang, Zhang, SIGMETRICS 2002), the account to ski rental (Karlin, Manasse, Rudolph, Sleator, 1988), and
/// playing several policies through while following one to Blum and Burch (COLT 1997). The prices and the lead that
/// decides are assumed, and were chosen among several by synthetic traces and some programs' page traces: half of
/// either works nearly as well. On forty builds of four programs that it met afterwards (`docs/paging.md`), twenty of
/// them for ARM, it takes at most 1.034 times the better of LRU and PM-XIP(8,4) with 2 to 64 KB of SRAM.
///
/// *Reasoning.* In a loop over more pages than fit, every page in SRAM is requested between two requests of any other:
/// nobody's rent adds up, the frames stay with their pages, and the rest of the loop is read in place, where LRU misses
/// everything. PM-XIP's fault, pages that take turns in the buffers for ever while frames lie idle, cannot last: each
/// such load is rent, and an idle frame's owner does not defend it. Where references are nearly random, patience is
/// right; in a program that changes phase often, it is not; that is what the duel finds out.
///
/// *Guarantee*, for any trace and against any of the prices `i`, with F and M the cost of a load and of a move, S
/// frames and B buffers: cost <= cost of price `i` alone + (changes of leader + 1) * (2 S (F + M) + S (3 F + M) + B F +
/// F + M). The first term: between two changes no price is, over any stretch up to the change, cheaper than the leader
/// by more than what is decisive, and one fault. The rest is the price of taking after a leader: a load and a move for
/// each page that it had in SRAM and we had not, a load for what each of these pushed out of the buffers, a load for
/// each page that only we had in SRAM and that it may have had in a buffer when we give it up, and what the buffers
/// held. With price 0 among them this bounds the loss against LRU; `tests/rent_or_buy.rs` holds random traces to it.
///
/// *Cost.* One recency list for all prices and the memory: a request moves its page to the front, and does more only
/// for prices under which the page is not in SRAM. The oldest page under each price is found by a hand that moves over
/// each page at most once a request (as LIRS prunes its stack), so O(N) amortised, whatever the number of frames; a
/// fault looks at the B buffers, and after a change of leader a victim is looked for among the frames. About 240
/// instructions a request where LRU takes 20 and PM-XIP 53 (`examples/pages.rs`). State: 24 bytes a page, and 8 for
/// each price.
///
/// *When not to use it.* In short traces, of ten or thirty thousand requests: the first change of leader waits for a
/// lead of twice the price of filling SRAM, and if reading in place would have done without faults altogether, that
/// wait is most of what the program takes (of random synthetic programs that short, 3 % took more than 1.05 times the
/// better of LRU and PM-XIP(8,4), the worst 1.5 times; of 100,000 requests, 1 %, the worst 1.11). A smaller first lead
/// mends that, and loses to LRU elsewhere. Where the counters cannot be kept at every request (PM-XIP needs the same),
/// only at faults; where pages are never read in place, since then LRU or [`Arc`](crate::policy::Arc) does the same for
/// less.
#[derive(Clone, Debug)]
pub struct RentOrBuy<const N: usize = 4> {
    frames: u32,
    buffers: usize,
    /// What a load, a move, and a read in place instead of in SRAM cost, in the units of what is to be kept low.
    load: u64,
    moved: u64,
    slower_read: u64,
    /// Rent from which on each price is reached.
    prices: [u64; N],
    now: u64,
    pages: Vec<Page>,
    /// Rent that page `p` has paid under price `i`, at `N * p + i`.
    rents: Vec<u64>,
    recent: Lists<1>,
    /// The memories played through, and at `N` the real one's.
    sides: Vec<Side>,
    leader: usize,
    /// How much cheaper each price has been than the leader: since the last change, and never below 0.
    ahead: [u64; N],
    /// Lead from which on the leader changes.
    decisive: u64,
    changes: u64,
}

#[derive(Clone, Copy, Debug)]
struct Page {
    /// When it was last requested, from 1; 0 never.
    last: u64,
    /// Sides (bits) that have it in SRAM.
    in_sram: u32,
    /// Sides that have it in a buffer.
    in_buffer: u32,
}

/// One memory: what is not in the pages' bits.
#[derive(Clone, Debug)]
struct Side {
    resident: u32,
    /// The least recently requested page in SRAM, [`NONE`] while there is no page.
    oldest: u32,
    buffers: Vec<u32>,
}

/// The prices of [`RentOrBuy::new`], in loads.
const LOADS: [u32; 4] = [0, 1, 3, 9];

impl RentOrBuy<4> {
    /// An empty SRAM of `frames` pages and `buffers` empty buffers, to keep what `weights` count low: time or energy.
    ///
    /// # Panics
    /// If there is no frame or no buffer.
    pub fn new(frames: u32, buffers: u32, weights: &Weights) -> RentOrBuy<4> {
        RentOrBuy::with_prices(frames, buffers, weights, LOADS)
    }
}

impl<const N: usize> RentOrBuy<N> {
    /// The same with prices of its own, each a number of loads (of moves, should a move cost more than a load). With
    /// one price there is no duel.
    ///
    /// # Panics
    /// If there is no frame, no buffer, no price, or more than 31 prices.
    pub fn with_prices(frames: u32, buffers: u32, weights: &Weights, prices: [u32; N]) -> RentOrBuy<N> {
        assert!(frames > 0 && buffers > 0, "rent or buy with {frames} frames and {buffers} buffers");
        assert!((1..32).contains(&N), "rent or buy with {N} prices");
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

    /// How often the leader has changed.
    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// Brings `page` to the front of the recency list. Hands that are at it go on to the next page of their side.
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

    /// The least recently requested page of `side` in front of `page`.
    fn next_in_front(&self, page: u32, side: usize) -> u32 {
        let mut at = page;
        loop {
            at = self.recent.before(at).expect("a side with more pages has one in front of its oldest");
            if self.pages[at as usize].in_sram >> side & 1 == 1 {
                return at;
            }
        }
    }

    /// `page`, just requested and at the front, enters the SRAM of `side`, where there is room.
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

    /// `victim` leaves the SRAM of `side`.
    fn leave(&mut self, victim: u32, side: usize) {
        self.pages[victim as usize].in_sram &= !(1 << side);
        self.sides[side].resident -= 1;
        if self.sides[side].resident == 0 {
            self.sides[side].oldest = NONE;
        } else if self.sides[side].oldest == victim {
            self.sides[side].oldest = self.next_in_front(victim, side);
        }
    }

    /// Loads `page` into a buffer of `side`; returns the page that had to leave one.
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

    /// Plays the request for `page`, which is not in the SRAM of `side` and was last requested at `previous`; returns
    /// what it cost beyond a read of SRAM.
    fn play(&mut self, page: u32, previous: u64, side: usize) -> u64 {
        let full = self.sides[side].resident == self.frames;
        let oldest = self.sides[side].oldest;
        // Whether the page was requested since the one that it would replace.
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

    /// Plays the first request of a run for `page` under the prices that do not have it in SRAM.
    fn play_all(&mut self, page: u32, previous: u64, in_sram: u32) -> [u64; N] {
        let mut costs = [0; N];
        for (side, cost) in costs.iter_mut().enumerate() {
            if in_sram >> side & 1 == 0 {
                *cost = self.play(page, previous, side);
            }
        }
        costs
    }

    /// Plays one more request of a run for `page`, under the prices that have it in a buffer: what [`Self::play`] would
    /// do, knowing that it was requested last, and so since any other page.
    #[inline]
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
            // Where a frame is free no page stays in a buffer.
            debug_assert_eq!(self.sides[side].resident, self.frames);
            self.leave(self.sides[side].oldest, side);
            self.enter(page, side);
            costs[side] += self.moved;
        }
        costs
    }

    /// Accounts for what each price paid, and changes the leader if one has a decisive lead.
    #[inline]
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

    /// The page that leaves the real SRAM: of those that the leader has not, the least recently requested.
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
                // The leader has this page and no more than as many, so one of ours it has not.
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

    #[inline]
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
