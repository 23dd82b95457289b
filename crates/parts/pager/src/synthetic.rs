//! Seeded page traces with the locality of code, for tests and measurements without a captured program.

use sim::Rng;

/// Models a program as a sequence of phases. A phase repeats a loop body, a fixed sequence of visits to pages of the
/// phase's working set; a visit is a run of requests for one page; occasionally a visit goes to some other page of the
/// program instead.
///
/// The parameters of the named localities are assumed: they span typical code behavior and do not represent any
/// program.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Locality {
    /// Pages of the program.
    pub pages: u32,
    /// Minimum and maximum size of a phase's working set in pages, drawn uniformly.
    pub working_set: (u32, u32),
    /// Minimum and maximum number of visits of a loop body; the first visits pass once through the working set.
    pub body: (u32, u32),
    /// Mean requests per visit (geometric, at least 1).
    pub run: f64,
    /// Mean iterations of a phase's loop (geometric, at least 1).
    pub iterations: f64,
    /// Probability that a visit goes to any page of the program.
    pub stray: f64,
}

/// Localities for testing policies, by name.
pub const LOCALITIES: &[(&str, Locality)] = &[
    // For speed measurements: djpeg's size, with runs, loops and strays chosen so that with 4 frames LRU, MIN and
    // PM-XIP(8,4) load and move about as often as in xip, Table 4. It represents that traffic, not djpeg.
    ("jpeg", Locality { pages: 148, working_set: (3, 9), body: (6, 16), run: 6.0, iterations: 200.0, stray: 0.005 }),
    ("loops of 5", Locality { pages: 40, working_set: (5, 5), body: (5, 5), run: 4.0, iterations: 400.0, stray: 0.0 }),
    ("loops of 9", Locality { pages: 40, working_set: (9, 9), body: (9, 9), run: 4.0, iterations: 400.0, stray: 0.0 }),
    (
        "loops of 33",
        Locality { pages: 60, working_set: (33, 33), body: (33, 33), run: 3.0, iterations: 400.0, stray: 0.0 },
    ),
    ("phases", Locality { pages: 120, working_set: (2, 16), body: (2, 20), run: 3.0, iterations: 40.0, stray: 0.0 }),
    (
        "hot and cold",
        Locality { pages: 120, working_set: (4, 4), body: (4, 8), run: 3.0, iterations: 1000.0, stray: 0.25 },
    ),
    (
        "two in turn",
        Locality { pages: 30, working_set: (2, 2), body: (2, 2), run: 1.5, iterations: 200.0, stray: 0.01 },
    ),
    ("calls", Locality { pages: 60, working_set: (6, 12), body: (30, 60), run: 2.0, iterations: 100.0, stray: 0.02 }),
    (
        "large set",
        Locality { pages: 32, working_set: (28, 32), body: (60, 90), run: 5.0, iterations: 300.0, stray: 0.0 },
    ),
    ("random", Locality { pages: 48, working_set: (48, 48), body: (48, 48), run: 1.0, iterations: 1.0, stray: 1.0 }),
    (
        "random runs",
        Locality { pages: 48, working_set: (48, 48), body: (48, 48), run: 8.0, iterations: 1.0, stray: 1.0 },
    ),
];

/// Returns the locality called `name`, if any.
pub fn locality(name: &str) -> Option<Locality> {
    LOCALITIES.iter().find(|(named, _)| *named == name).map(|(_, locality)| *locality)
}

/// Draws from a geometric distribution with mean `mean`, at least 1.
fn geometric(mean: f64, rng: &mut Rng) -> u64 {
    let mut draws = 1;
    while rng.chance(1.0 - 1.0 / mean) {
        draws += 1;
    }
    draws
}

fn between((fewest, most): (u32, u32), rng: &mut Rng) -> u32 {
    fewest + rng.below(u64::from(most - fewest + 1)) as u32
}

impl Locality {
    /// Generates a trace of `requests` pages in `0..self.pages`.
    ///
    /// # Panics
    /// If a range is empty, a working set is larger than the program, or a mean is below 1.
    pub fn trace(&self, requests: usize, rng: &mut Rng) -> Vec<u32> {
        let &Locality { pages, working_set, body, run, iterations, stray } = self;
        assert!(working_set.0 >= 1 && working_set.1 <= pages && body.0 >= 1, "invalid working set: {self:?}");
        assert!(run >= 1.0 && iterations >= 1.0, "means below 1: {self:?}");
        let mut trace = Vec::with_capacity(requests);
        let mut program: Vec<u32> = (0..pages).collect();
        while trace.len() < requests {
            let set = between(working_set, rng) as usize;
            for i in 0..set {
                let other = i + rng.below((program.len() - i) as u64) as usize;
                program.swap(i, other);
            }
            let visits: Vec<u32> = (0..between(body, rng) as usize)
                .map(|visit| program[if visit < set { visit } else { rng.below(set as u64) as usize }])
                .collect();
            for _ in 0..geometric(iterations, rng) {
                for &page in &visits {
                    let page = if rng.chance(stray) { rng.below(u64::from(pages)) as u32 } else { page };
                    for _ in 0..geometric(run, rng).min((requests - trace.len()) as u64) {
                        trace.push(page);
                    }
                }
                if trace.len() == requests {
                    break;
                }
            }
        }
        trace
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sim::Streams;

    #[test]
    fn traces_have_the_requested_length_and_locality() {
        for (name, locality) in LOCALITIES {
            let trace = locality.trace(20_000, &mut Streams::new(1).stream(name));
            assert_eq!(trace.len(), 20_000, "{name}");
            assert!(trace.iter().all(|&page| page < locality.pages), "{name}");
            let changes = trace.windows(2).filter(|pair| pair[0] != pair[1]).count() as f64;
            let run = trace.len() as f64 / changes;
            // Adjacent visits may be to the same page, so runs may be a little longer than specified, but hardly
            // shorter.
            assert!(run > 0.9 * locality.run && run < 2.0 * locality.run, "{name}: runs of {run:.2}");
        }
        assert_eq!(locality("jpeg").map(|locality| locality.pages), Some(148));
        assert_eq!(locality("jpg"), None);
    }
}
