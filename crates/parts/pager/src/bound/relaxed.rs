//! A lower bound by Lagrangian prices on memory places.

use crate::costs::Weights;

/// The cost of an impossible state.
const NEVER: u64 = u64::MAX / 2;

/// Returns a cost, in the units of `weights`, that no schedule can beat: the best bound found in `rounds` of raising
/// and lowering prices. `known` is the cost of some known schedule; it only sets the step size of the prices, and any
/// value is safe.
///
/// *The bound.* A run of requests for one page is a *visit*; its moment is its last request. Let nonnegative prices
/// `m(t)` and `n(t)` be charged for each page that is in a buffer, or in SRAM, at moment `t`. A schedule that respects
/// the capacities is charged at most `C = sum over t of (buffers * m(t) + frames * n(t))` in total. Its cost is
/// therefore at least its cost with charges, minus C. The cost with charges is a sum over pages, and each page's share
/// is at least the minimum that this page would pay alone, without capacity limits. That minimum is computed page by
/// page, from visit to visit.
///
/// *A single page.* Consider how a schedule treats one page between two of its visits, at moments `i` and `j`.
///
/// * It does not load the page after `i`. If the page is in a buffer at `j`, it was there throughout. If it is in SRAM
///   at `j`, it was there throughout, or it was copied at some moment from the buffer, where it lay from `i` until then
///   or longer. So the page was in the buffer, in SRAM, in both, or first in the buffer and then in SRAM after a move
///   at the cheapest moment. If the buffer keeps the page after the copy, copying it at `j` costs no more.
/// * It loads the page, and pays for that. If the page is in SRAM at `j` and was not there throughout, it also pays a
///   move. It costs no more to hold the page nowhere until `j`, and to load (and copy) it at that moment. If the page
///   was in SRAM throughout, it costs no more to hold it only there, and to load it at `j` if it is in a buffer then.
///
/// At a visit of `r` requests that ends with the page in SRAM, the reads cost at least `r` times the cheaper read. If
/// it ends with the page only in a buffer, either all reads were made there, or the page was in SRAM during the visit,
/// from before or after a move. `cheapest` takes the minimum of all these cases, so no schedule pays less.
///
/// *Quality.* Prices rise where more pages want to stay than there are places (a subgradient step of the length
/// proposed by Polyak), towards the optimal prices, which yield the linear relaxation of the packing problem. The
/// relaxation is exact for one kind of place, but not necessarily for two, and `rounds` is finite: on the traces tried,
/// 200 rounds come within 2 % of 1000, while 25 are too few. Prices are integers, so rounding cannot invalidate the
/// bound. Time: rounds times visits, times the logarithm of a short stack. Memory: about 150 bytes per visit, which
/// limits the length of a trace.
///
/// # Panics
/// If the trace contains a page beyond `pages`.
pub fn lower_bound(
    pages: u32,
    trace: &[u32],
    frames: u32,
    buffers: u32,
    weights: &Weights,
    known: u64,
    rounds: u32,
) -> u64 {
    let mut problem = Problem::new(pages, trace, *weights);
    let moments = problem.visits.len();
    let mut prices = Prices { buffer: vec![0; moments], sram: vec![0; moments] };
    let (places_buffer, places_sram) = (i64::from(buffers), i64::from(frames));
    let charges = |prices: &Prices| -> u128 {
        let all = |prices: &[u64], places: u32| {
            prices.iter().map(|&price| u128::from(price)).sum::<u128>() * u128::from(places)
        };
        all(&prices.buffer, buffers) + all(&prices.sram, frames)
    };
    // Start from the best uniform price.
    let mut best = 0;
    for shift in 1..16 {
        let price = weights.load >> shift;
        let uniform = Prices { buffer: vec![price; moments], sram: vec![price; moments] };
        let bound = u128::from(problem.cheapest(&uniform)).saturating_sub(charges(&uniform)) as u64;
        if bound > best {
            best = bound;
            prices = uniform;
        }
    }
    let mut best_prices = prices.clone();
    let mut use_buffer = vec![0i64; moments + 1];
    let mut use_sram = vec![0i64; moments + 1];
    // Directions are averaged over rounds, so that prices do not oscillate between two alternatives.
    let mut direction = vec![[0.0f64; 2]; moments];
    let mut reach = 1.0;
    let mut stale = 0;
    for _ in 0..rounds {
        let charged = problem.cheapest(&prices);
        let bound = u128::from(charged).saturating_sub(charges(&prices)) as u64;
        if bound > best {
            best = bound;
            best_prices = prices.clone();
            stale = 0;
        } else {
            stale += 1;
            if stale == 12 {
                // The steps are too long: return to the best prices and shorten the steps.
                stale = 0;
                reach *= 0.6;
                prices = best_prices.clone();
                direction.fill([0.0; 2]);
                problem.cheapest(&prices);
            }
        }
        use_buffer.fill(0);
        use_sram.fill(0);
        problem.occupancy(&mut use_buffer, &mut use_sram);
        let mut length = 0.0;
        let (mut in_buffers, mut in_sram) = (0, 0);
        for t in 0..moments {
            in_buffers += use_buffer[t];
            in_sram += use_sram[t];
            for (way, over, price) in
                [(0, in_buffers - places_buffer, prices.buffer[t]), (1, in_sram - places_sram, prices.sram[t])]
            {
                let way = &mut direction[t][way];
                *way = 0.7 * *way + 0.3 * over as f64;
                // A price of zero cannot fall.
                if price == 0 && *way < 0.0 {
                    *way = 0.0;
                }
                length += *way * *way;
            }
        }
        if length == 0.0 {
            break;
        }
        let step = reach * (known.saturating_sub(bound).max(1)) as f64 / length;
        for (t, way) in direction.iter().enumerate() {
            let moved = |price: u64, way: f64| (price as i64).saturating_add((step * way) as i64).max(0) as u64;
            // No place is worth more than loading a page again and moving it.
            let most = weights.load + weights.moved + weights.buffer_read.max(weights.sram_read);
            prices.buffer[t] = moved(prices.buffer[t], way[0]).min(most);
            prices.sram[t] = moved(prices.sram[t], way[1]).min(most);
        }
    }
    best
}

#[derive(Clone)]
struct Prices {
    buffer: Vec<u64>,
    sram: Vec<u64>,
}

/// A run of requests for one page.
#[derive(Clone, Copy)]
struct Visit {
    page: u32,
    requests: u64,
    /// The previous visit to the page, [`FIRST`] if none.
    before: u32,
}

const FIRST: u32 = u32::MAX;

/// Locations of a page between visits and, with the same numbers, at a visit.
const NOWHERE: usize = 0;
const BUFFER: usize = 1;
const SRAM: usize = 2;
const BOTH: usize = 3;
/// Only for arrivals: first in the buffer, then in SRAM.
const COPIED: usize = 4;

/// The cheapest paths to a visit.
#[derive(Clone, Copy, Default)]
struct Ways {
    /// Cost with charges when leaving in each state.
    costs: [u64; 4],
    /// Location of the page at the visit, for each state it leaves in.
    at: [u8; 4],
    /// Arrival state, for each location at the visit.
    arrived: [u8; 4],
    /// For [`COPIED`]: the moment from which the page is in SRAM.
    copied: u32,
}

struct Problem {
    weights: Weights,
    visits: Vec<Visit>,
    ways: Vec<Ways>,
    /// The last visit of each page.
    last: Vec<u32>,
    /// Prefix sums of the prices.
    buffer_before: Vec<u64>,
    sram_before: Vec<u64>,
    /// Moments with a smaller difference of prefix sums than all later ones.
    minima: Vec<u32>,
}

fn least<const N: usize>(ways: [(u64, usize); N]) -> (u64, u8) {
    let (cost, how) = ways.into_iter().min_by_key(|way| way.0).expect("there are ways");
    (cost.min(NEVER), how as u8)
}

impl Problem {
    fn new(pages: u32, trace: &[u32], weights: Weights) -> Problem {
        let mut last = vec![FIRST; pages as usize];
        let mut visits: Vec<Visit> = Vec::new();
        for &page in trace {
            match visits.last_mut() {
                Some(visit) if visit.page == page => visit.requests += 1,
                _ => {
                    assert!(visits.len() < FIRST as usize, "found a trace of 2^32 visits, expected fewer");
                    let before = std::mem::replace(&mut last[page as usize], visits.len() as u32);
                    visits.push(Visit { page, requests: 1, before });
                }
            }
        }
        Problem {
            weights,
            ways: vec![Ways::default(); visits.len()],
            buffer_before: vec![0; visits.len() + 1],
            sram_before: vec![0; visits.len() + 1],
            minima: Vec::new(),
            visits,
            last,
        }
    }

    /// Returns the moment in `from..=to` at which moving from a buffer to SRAM is cheapest, where `to` is the current
    /// moment.
    fn best_copy(&self, from: u32) -> u32 {
        self.minima[self.minima.partition_point(|&moment| moment < from)]
    }

    /// Returns the relative saving of SRAM from `moment` on.
    fn saved(&self, moment: u32) -> i128 {
        i128::from(self.buffer_before[moment as usize]) - i128::from(self.sram_before[moment as usize])
    }

    /// Computes the minimum cost with charges, as the sum over all pages taken individually.
    fn cheapest(&mut self, prices: &Prices) -> u64 {
        for t in 0..self.visits.len() {
            self.buffer_before[t + 1] = self.buffer_before[t] + prices.buffer[t];
            self.sram_before[t + 1] = self.sram_before[t] + prices.sram[t];
        }
        self.minima.clear();
        let Weights { load, moved, buffer_read, sram_read } = self.weights;
        for t in 0..self.visits.len() {
            let now = self.saved(t as u32);
            while self.minima.last().is_some_and(|&moment| self.saved(moment) >= now) {
                self.minima.pop();
            }
            self.minima.push(t as u32);
            let Visit { requests, before, .. } = self.visits[t];
            let quick = requests * sram_read.min(buffer_read);
            let slow = (requests * buffer_read).min(moved + quick);
            // Cost of each arrival state, including charges for the moments strictly in between.
            let mut arrive = [NEVER; 5];
            let mut copied = 0;
            if before == FIRST {
                arrive[NOWHERE] = 0;
            } else {
                let costs = &self.ways[before as usize].costs;
                let from = before + 1;
                let charge = |sums: &[u64], from: u32, to: u32| sums[to as usize] - sums[from as usize];
                let to = t as u32;
                let in_buffer = charge(&self.buffer_before, from, to);
                let in_sram = charge(&self.sram_before, from, to);
                copied = self.best_copy(from);
                arrive[NOWHERE] = costs[NOWHERE];
                arrive[BUFFER] = costs[BUFFER] + in_buffer;
                arrive[SRAM] = costs[SRAM] + in_sram;
                arrive[BOTH] = costs[BOTH] + in_buffer + in_sram;
                arrive[COPIED] = costs[BUFFER]
                    + charge(&self.buffer_before, from, copied)
                    + charge(&self.sram_before, copied, to)
                    + moved;
            }
            let (buffer, buffer_from) = least([
                (arrive[NOWHERE] + load + slow, NOWHERE),
                (arrive[BUFFER] + slow, BUFFER),
                (arrive[BOTH] + quick, BOTH),
                (arrive[SRAM] + load + quick, SRAM),
            ]);
            let (sram, sram_from) = least([
                (arrive[NOWHERE] + load + moved + quick, NOWHERE),
                (arrive[SRAM] + quick, SRAM),
                (arrive[BOTH] + quick, BOTH),
                (arrive[COPIED] + quick, COPIED),
            ]);
            let (both, both_from) = least([
                (arrive[NOWHERE] + load + moved + quick, NOWHERE),
                (arrive[BUFFER] + moved + quick, BUFFER),
                (arrive[BOTH] + quick, BOTH),
                (arrive[SRAM] + load + quick, SRAM),
            ]);
            let buffer = buffer + prices.buffer[t];
            let sram = sram + prices.sram[t];
            let both = both + prices.buffer[t] + prices.sram[t];
            let leave = [
                least([(buffer, BUFFER), (sram, SRAM), (both, BOTH)]),
                least([(buffer, BUFFER), (both, BOTH)]),
                least([(sram, SRAM), (both, BOTH)]),
                (both, BOTH as u8),
            ];
            self.ways[t] = Ways {
                costs: leave.map(|way| way.0),
                at: leave.map(|way| way.1),
                arrived: [NOWHERE as u8, buffer_from, sram_from, both_from],
                copied,
            };
        }
        let ends = self.last.iter().filter(|&&last| last != FIRST);
        ends.map(|&last| self.ways[last as usize].costs[NOWHERE]).sum()
    }

    /// Adds the locations of pages on the cheapest paths to `use_buffer` and `use_sram`, as differences between
    /// moments.
    fn occupancy(&self, use_buffer: &mut [i64], use_sram: &mut [i64]) {
        let mut add = |place: usize, from: u32, to: u32| {
            let places: &mut [&mut [i64]] = match place {
                BUFFER => &mut [&mut *use_buffer],
                SRAM => &mut [&mut *use_sram],
                BOTH => &mut [&mut *use_buffer, &mut *use_sram],
                _ => &mut [],
            };
            for place in places {
                place[from as usize] += 1;
                place[to as usize] -= 1;
            }
        };
        for &last in self.last.iter().filter(|&&last| last != FIRST) {
            let (mut t, mut state) = (last, NOWHERE);
            loop {
                let ways = &self.ways[t as usize];
                let at = ways.at[state] as usize;
                add(at, t, t + 1);
                let before = self.visits[t as usize].before;
                if before == FIRST {
                    break;
                }
                let arrived = ways.arrived[at] as usize;
                if arrived == COPIED {
                    add(BUFFER, before + 1, ways.copied);
                    add(SRAM, ways.copied, t);
                    state = BUFFER;
                } else {
                    add(arrived, before + 1, t);
                    state = arrived;
                }
                t = before;
            }
        }
    }
}
