//! Detection of a run's warm-up by the rule MSER-5 (White, 1997).
//!
//! The rule finds the cut that minimizes the standard error of the remaining series, and trusts it only in the first
//! half. A minimum in the second half means that the series is still changing, so that no cut is valid.

use sim::Time;

use crate::run::record::Point;

/// Minimum number of intervals with requests.
const LEAST: usize = 20;
/// Minimum number of intervals left after a cut: White's batch size.
const BATCH: usize = 5;
/// A cut in the second half counts as a sign of change only if it reduces the standard error by this factor. The error
/// of a few intervals may be small by chance.
const CLEARLY: f64 = 0.5;

/// Verdict on the beginning of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Steadiness {
    /// The run is steady from here on.
    From(Time),
    /// The run ends before it is steady, or is too short to judge. It needs to take at least this long.
    TooShort(Time),
}

/// Finds the warm-up of a run from its intervals. The last interval may be incomplete and is ignored.
pub fn detect(points: &[Point]) -> Steadiness {
    let Some((last, points)) = points.split_last() else { return Steadiness::From(Time::ZERO) };
    let (start, end) = (points.first().unwrap_or(last).at - last.span, last.at);
    let busy: Vec<&Point> = points.iter().filter(|p| p.ios > 0).collect();
    let count = busy.len();
    if count < LEAST {
        // The time in which the minimum number of intervals with requests would occur at the observed rate.
        let intervals = ((LEAST + 1) * points.len().max(1)).div_ceil(count.max(1));
        return Steadiness::TooShort(last.span * intervals as u64);
    }
    let error = |cut: usize| {
        let rest = &busy[cut..];
        let mean = rest.iter().map(|p| p.mean_ns).sum::<f64>() / rest.len() as f64;
        rest.iter().map(|p| (p.mean_ns - mean).powi(2)).sum::<f64>() / (rest.len() * rest.len()) as f64
    };
    let least = |range: std::ops::Range<usize>| range.min_by(|a, b| error(*a).total_cmp(&error(*b)));
    let half = count / 2;
    let best = least(0..half).expect("there are intervals");
    let late = least(half..count - BATCH).expect("there are intervals");
    let cut_at = |cut: usize| if cut == 0 { start } else { busy[cut - 1].at };
    let before = |cut: usize| busy[..cut].iter().map(|p| p.ios).sum::<u64>();
    let all = before(count);
    if error(late) < CLEARLY * error(best) {
        return Steadiness::TooShort(at_least(cut_at(late) - start, end - start, before(late), all));
    }
    if 2 * before(best) > all {
        return Steadiness::TooShort(at_least(cut_at(best) - start, end - start, before(best), all));
    }
    Steadiness::From(if best == 0 { Time::ZERO } else { cut_at(best) })
}

/// Returns the length of the shortest run in which a warm-up of `cut` with `before` of `all` requests is at most half,
/// both in time and in requests, if the rate after the warm-up stays the same.
fn at_least(cut: Time, run: Time, before: u64, all: u64) -> Time {
    let after = (all - before).max(1) as f64;
    let as_many = Time::from_ps(((run - cut).ps() as f64 * before as f64 / after) as u64);
    cut + cut.max(as_many)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns intervals of one millisecond with these requests and mean latencies, and a short one at the end.
    fn points(of: impl Iterator<Item = (u64, f64)>) -> Vec<Point> {
        let span = Time::from_ms(1);
        let point = |(i, (ios, mean_ns)): (u64, (u64, f64))| Point {
            at: span * (i + 1),
            span,
            ios,
            mean_ns,
            ..Point::default()
        };
        (0..).zip(of.chain([(1, 1.0)])).map(point).collect()
    }

    fn noise(i: usize) -> f64 {
        ((i * 7919) % 101) as f64 / 10.0
    }

    #[test]
    fn a_transient_in_the_first_half_is_cut() {
        let found = detect(&points((0..50).map(|i| (10, noise(i) + if i < 12 { 400.0 } else { 100.0 }))));
        assert_eq!(found, Steadiness::From(Time::from_ms(12)));
    }

    #[test]
    fn a_warm_up_of_more_than_half_is_not_cut() {
        // The mean changes after 30 of 50 ms, behind every cut that is considered: these lie in the first half.
        let found = detect(&points((0..50).map(|i| (10, noise(i) + if i < 30 { 400.0 } else { 100.0 }))));
        let Steadiness::TooShort(least) = found else { panic!("{found:?}") };
        assert!(least >= Time::from_ms(60) && least < Time::from_ms(62), "{least}");
        // A constant slope is never steady.
        let Steadiness::TooShort(least) = detect(&points((0..50).map(|i| (10, 10.0 * i as f64)))) else {
            panic!("a slope was judged steady")
        };
        assert!(least > Time::from_ms(51), "{least}");
    }

    #[test]
    fn a_short_warm_up_with_most_of_the_requests_is_not_cut() {
        // An SLC cache that takes 100 requests per millisecond for 12 ms, then 10.
        let found = detect(&points((0..50).map(|i| if i < 12 { (100, noise(i)) } else { (10, 100.0 + noise(i)) })));
        // After the cache, 1200 requests take 39 ms / 380 * 1200.
        let Steadiness::TooShort(least) = found else { panic!("{found:?}") };
        assert!(least > Time::from_ms(135) && least < Time::from_ms(136), "{least}");
    }

    #[test]
    fn intervals_without_requests_do_not_count_as_fast() {
        let found = detect(&points((0..60).map(|i| if i % 2 == 1 { (0, 0.0) } else { (10, 100.0 + noise(i)) })));
        assert!(matches!(found, Steadiness::From(cut) if cut < Time::from_ms(10)), "{found:?}");
    }

    #[test]
    fn few_intervals_do_not_tell() {
        let found = detect(&points((0..10).map(|i| (10, noise(i)))));
        assert_eq!(found, Steadiness::TooShort(Time::from_ms(21)));
    }
}
