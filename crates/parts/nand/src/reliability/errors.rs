//! Raw bit errors and their correction: one uniform draw per read, compared with precomputed tables.

use crate::config::{Ecc, Errors};

/// A function of an integer, tabulated with eight points per octave and linear in between.
struct Octaves {
    points: Vec<f64>,
}

impl Octaves {
    const PARTS: u32 = 8;

    fn new(f: impl Fn(f64) -> f64) -> Octaves {
        let count = (32 - 3) * Self::PARTS + Self::PARTS + 1;
        Octaves { points: (0..count).map(|i| f(Self::point(i))).collect() }
    }

    /// Returns the number at point `i`: 0 to 7 directly, then eight points per octave.
    fn point(i: u32) -> f64 {
        if i < Self::PARTS {
            return f64::from(i);
        }
        let (octave, part) = (i / Self::PARTS - 1, i % Self::PARTS);
        f64::from(Self::PARTS + part) * (1u64 << octave) as f64
    }

    #[inline]
    fn at(&self, x: u32) -> f64 {
        if x < Self::PARTS {
            return self.points[x as usize];
        }
        let octave = x.ilog2() - 3;
        let i = ((octave + 1) * Self::PARTS + (x >> octave) - Self::PARTS) as usize;
        let rest = f64::from(x & ((1 << octave) - 1)) / f64::from(1u32 << octave);
        self.points[i] + (self.points[i + 1] - self.points[i]) * rest
    }
}

/// The outcome of a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Outcome {
    /// Retry steps taken.
    pub retries: u8,
    /// The last step failed, too.
    pub lost: bool,
}

pub(crate) struct ErrorModel {
    fresh: Octaves,
    retention: Octaves,
    days: Octaves,
    disturb: Octaves,
    slc_factor: f64,
    /// `-ln` of the probability that a codeword is decoded, by raw bit error rate.
    failing: Failing,
    codeword_bytes: u32,
    retries_max: u8,
    retry_factor: f64,
    retry_floor: f64,
}

impl ErrorModel {
    pub(crate) fn new(errors: &Errors, ecc: &Ecc) -> ErrorModel {
        let e = *errors;
        let relative = move |cycles: f64| cycles / e.reference_cycles;
        ErrorModel {
            fresh: Octaves::new(|c| e.base + e.wear * libm::pow(relative(c), e.wear_exponent)),
            retention: Octaves::new(|c| e.retention * relative(c)),
            days: Octaves::new(|s| libm::pow(s / 86_400.0, e.retention_exponent)),
            disturb: Octaves::new(|c| e.disturb * libm::pow(relative(c), e.disturb_exponent)),
            slc_factor: e.slc_factor,
            failing: Failing::new(ecc),
            codeword_bytes: ecc.codeword_bytes,
            retries_max: ecc.retries_max,
            retry_factor: ecc.retry_factor,
            retry_floor: ecc.retry_floor,
        }
    }

    /// Returns the raw bit error rate of a block after `cycles`, `age_s` seconds since its program, and `reads`.
    pub(crate) fn rate(&self, cycles: u32, age_s: u32, reads: u32, slc: bool) -> f64 {
        let rate = self.fresh.at(cycles)
            + self.retention.at(cycles) * self.days.at(age_s)
            + self.disturb.at(cycles) * f64::from(reads);
        if slc { rate * self.slc_factor } else { rate }
    }

    /// Returns the outcome of a read of `bytes` at raw bit error rate `rate`, for the uniform draw `0 <= draw < 1`.
    #[inline]
    pub(crate) fn outcome(&self, rate: f64, bytes: u32, draw: f64) -> Outcome {
        let codewords = f64::from(bytes.div_ceil(self.codeword_bytes).max(1));
        // All codewords decode with probability exp(-x), which is at least 1 - x.
        let x = codewords * self.failing.at(rate);
        if draw >= x {
            return Outcome { retries: 0, lost: false };
        }
        self.retry(rate, codewords, draw)
    }

    #[cold]
    fn retry(&self, rate: f64, codewords: f64, draw: f64) -> Outcome {
        let patience = -libm::log1p(-draw);
        let (floor, mut rate) = (rate * self.retry_floor, rate);
        for retries in 0..=self.retries_max {
            if codewords * self.failing.at(rate) <= patience {
                return Outcome { retries, lost: false };
            }
            rate = (rate * self.retry_factor).max(floor);
        }
        Outcome { retries: self.retries_max, lost: true }
    }
}

/// `-ln P(at most t of n bits are wrong)` by bit error rate: 64 points per octave from 2^-40 up, linear in between.
struct Failing {
    points: Vec<f64>,
}

const OCTAVES: u64 = 40;
const MANTISSA: u32 = 52;
const FINE: u32 = 6;

impl Failing {
    fn new(ecc: &Ecc) -> Failing {
        let (n, t) = (f64::from(ecc.codeword_bytes) * 8.0, f64::from(ecc.correctable_bits));
        let point = |i: u64| f64::from_bits((Self::first() + i) << (MANTISSA - FINE));
        Failing { points: (0..=(OCTAVES << FINE)).map(|i| undecoded(n, t, point(i).min(0.5))).collect() }
    }

    /// The leading bits of 2^-40.
    const fn first() -> u64 {
        (1023 - OCTAVES) << FINE
    }

    #[inline]
    fn at(&self, rate: f64) -> f64 {
        let bits = rate.to_bits();
        let i = (bits >> (MANTISSA - FINE)).saturating_sub(Self::first());
        if i >= OCTAVES << FINE {
            return self.points[(OCTAVES << FINE) as usize];
        }
        let i = i as usize;
        if bits >> (MANTISSA - FINE) < Self::first() {
            return 0.0;
        }
        let rest = (bits & ((1 << (MANTISSA - FINE)) - 1)) as f64 / (1u64 << (MANTISSA - FINE)) as f64;
        self.points[i] + (self.points[i + 1] - self.points[i]) * rest
    }
}

/// `-ln P(X <= t)` of a binomial `X` of `n` bits with rate `p`.
fn undecoded(n: f64, t: f64, p: f64) -> f64 {
    let log_term = |k: f64| {
        libm::lgamma(n + 1.0) - libm::lgamma(k + 1.0) - libm::lgamma(n - k + 1.0)
            + k * libm::log(p)
            + (n - k) * libm::log1p(-p)
    };
    let odds = p / (1.0 - p);
    // Sum the shorter tail of the distribution, outwards from the mean, until nothing is added.
    if n * p <= t {
        let mut k = t + 1.0;
        let (first, mut term, mut sum) = (log_term(k), 1.0, 1.0);
        while k < n && term > 1e-17 * sum {
            term *= (n - k) / (k + 1.0) * odds;
            sum += term;
            k += 1.0;
        }
        return -libm::log1p(-(libm::exp(first) * sum).min(1.0 - 1e-16));
    }
    let mut k = t;
    let (first, mut term, mut sum) = (log_term(k), 1.0, 1.0);
    while k > 0.0 && term > 1e-17 * sum {
        term *= k / (n - k + 1.0) / odds;
        sum += term;
        k -= 1.0;
    }
    -(first + libm::log(sum))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::ErrorLaw;

    /// Of the order measured on 3D TLC of about 3,000 cycles.
    const TLC: Errors = Errors {
        law: ErrorLaw::PowerLaw,
        base: 1e-5,
        reference_cycles: 3000.0,
        wear: 2e-4,
        wear_exponent: 1.5,
        retention: 1e-4,
        retention_exponent: 0.6,
        disturb: 3e-9,
        disturb_exponent: 1.5,
        slc_factor: 0.01,
    };

    const ECC: Ecc = Ecc {
        codeword_bytes: 16,
        correctable_bits: 3,
        decode: sim::Time::ZERO,
        decoders: None,
        decode_bandwidth: None,
        encode_bandwidth: None,
        retries_max: 3,
        retry_factor: 0.5,
        retry_floor: 0.0,
    };

    /// The direct sum.
    fn binomial_at_most(n: u32, t: u32, p: f64) -> f64 {
        let mut term = (1.0 - p).powi(n as i32);
        let mut sum = term;
        for k in 0..t {
            term *= f64::from(n - k) / f64::from(k + 1) * p / (1.0 - p);
            sum += term;
        }
        sum
    }

    #[test]
    fn codewords_fail_as_the_binomial_says() {
        let failing = Failing::new(&ECC);
        for p in [1e-4, 3e-3, 0.01, 0.02, 0.024, 0.05, 0.1, 0.3] {
            let exact = -binomial_at_most(128, 3, p).ln();
            let table = failing.at(p);
            assert!((table / exact - 1.0).abs() < 2e-3, "{p}: {table} for {exact}");
        }
        assert_eq!(failing.at(0.0), 0.0);
        assert!(failing.at(0.9) > 10.0);
    }

    #[test]
    fn reads_fail_as_often_as_their_codewords() {
        let model = ErrorModel::new(&TLC, &ECC);
        let rate = 0.01;
        let draws = 100_000;
        let clean = (0..draws).filter(|i| {
            let draw = (f64::from(*i) + 0.5) / f64::from(draws);
            model.outcome(rate, 64, draw).retries == 0
        });
        let expected = binomial_at_most(128, 3, rate).powi(4);
        assert!((clean.count() as f64 / f64::from(draws) - expected).abs() < 1e-3);
    }

    #[test]
    fn retries_end_at_the_last_step() {
        let model = ErrorModel::new(&TLC, &ECC);
        let outcomes: Vec<Outcome> = (0..1000).map(|i| model.outcome(0.1, 16, f64::from(i) / 1000.0)).collect();
        assert!(outcomes.iter().all(|o| o.retries <= 3 && (!o.lost || o.retries == 3)));
        assert!(outcomes.iter().any(|o| o.retries == 1) && outcomes.iter().any(|o| o.retries == 2));
        assert!(model.outcome(0.5, 16, 0.001).lost);
    }

    #[test]
    fn retries_save_no_page_whose_errors_stay() {
        let patient = Ecc { retries_max: 30, ..ECC };
        let without = ErrorModel::new(&TLC, &patient);
        assert!(!without.outcome(0.5, 16, 0.5).lost, "thirty halvings save any page");
        let floor = ErrorModel::new(&TLC, &Ecc { retry_floor: 0.1, ..patient });
        assert!(floor.outcome(0.5, 16, 0.001).lost);
        // Above the floor, the steps are the same.
        for draw in [0.01, 0.5, 0.99] {
            assert_eq!(floor.outcome(0.02, 16, draw), without.outcome(0.02, 16, draw));
        }
    }

    /// Compares the rate of `e` with its declared sum.
    fn assert_is_declared_sum(e: &Errors) {
        let model = ErrorModel::new(e, &Ecc::default());
        let exact = |cycles: f64, days: f64, reads: f64| {
            let c = cycles / e.reference_cycles;
            e.base
                + e.wear * c.powf(e.wear_exponent)
                + e.retention * c * days.powf(e.retention_exponent)
                + e.disturb * c.powf(e.disturb_exponent) * reads
        };
        for (cycles, days, reads) in [(0, 0, 0), (1, 0, 9), (3000, 1, 0), (2999, 30, 100_000), (50_000, 365, 7)] {
            let table = model.rate(cycles, days * 86_400, reads, false);
            let wanted = exact(f64::from(cycles), f64::from(days), f64::from(reads));
            assert!((table / wanted - 1.0).abs() < 5e-3, "{cycles} {days} {reads}: {table} for {wanted}");
        }
        assert!(model.rate(u32::MAX, u32::MAX, u32::MAX, true).is_finite());
    }

    #[test]
    fn the_rate_is_the_declared_sum() {
        assert_is_declared_sum(&TLC);
    }

    #[test]
    fn each_term_of_the_rate_has_its_own_exponent() {
        assert_is_declared_sum(&Errors { wear_exponent: 1.2, disturb_exponent: 2.1, ..TLC });
        assert_is_declared_sum(&Errors { wear_exponent: 2.1, disturb_exponent: 1.2, ..TLC });
    }
}
