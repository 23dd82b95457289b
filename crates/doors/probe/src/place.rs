//! Infers the location of a cache from its behavior with and without host memory, and from its speed.

use crate::report::{Estimate, Finding, Place, Verdict};

/// Time of a second read relative to the first: below `MEMORY` the data come from memory, above `FLASH` from flash; in
/// between the location is left open.
pub const MEMORY: f64 = 0.36;
const FLASH: f64 = 0.42;

/// Returns the interval in which the size lies; zero if the cache is absent, `None` if unknown.
fn interval(finding: &Finding) -> Option<(f64, f64)> {
    match finding.verdict {
        Verdict::Supported => finding.size.map(|Estimate { low, high, .. }| (low, high)),
        Verdict::Refuted => Some((0.0, 0.0)),
        Verdict::Inconclusive => None,
    }
}

/// Sets the location of the caches found `with` and `without` the host memory buffer. Sizes differ if their intervals
/// are disjoint.
pub fn compare(with: &mut Finding, without: &mut Finding) {
    let (Some(here), Some(there)) = (interval(with), interval(without)) else { return };
    if with.verdict != Verdict::Supported {
        return;
    }
    if there.1 < here.0 {
        let part = if there.1 > 0.0 { "the rest" } else { "it" };
        with.place = Some(Place::HostMemory);
        with.evidence +=
            &format!("; without host memory {:.0} of {:.0} remain: {part} is in host memory", there.0, here.0);
    } else if there.0 <= here.1 && without.verdict == Verdict::Supported {
        let place = in_drive(with);
        (with.place, without.place) = (place, place);
        with.evidence += "; without host memory it is the same: it is in the drive";
    }
}

/// Sets the location of a cache on a target without a switch.
pub fn alone(finding: &mut Finding) {
    if finding.verdict == Verdict::Supported {
        finding.place = match in_drive(finding) {
            Some(Place::Controller) => Some(Place::Memory),
            place => place,
        };
    }
}

/// Distinguishes flash from memory by the time of a second read.
fn in_drive(finding: &Finding) -> Option<Place> {
    if finding.about != "read_cache" {
        return Some(Place::Controller);
    }
    let part = finding.numbers["again_us"] / finding.numbers["first_us"];
    match () {
        () if part < MEMORY => Some(Place::Controller),
        () if part > FLASH => Some(Place::Slc),
        () => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(low: f64, high: f64) -> Finding {
        let size = Some(Estimate { value: low, low, high, unit: "sections" });
        Finding { size, ..Finding::new("mapping_cache", Verdict::Supported, String::new()) }
    }

    fn place(with: &Finding, without: &Finding) -> Option<Place> {
        let (mut with, mut without) = (with.clone(), without.clone());
        compare(&mut with, &mut without);
        with.place
    }

    #[test]
    fn sizes_differ_if_their_intervals_are_disjoint() {
        let found = map(2528.0, 2560.0);
        assert_eq!(place(&found, &map(2048.0, 2080.0)), Some(Place::HostMemory), "four fifths remain");
        assert_eq!(place(&found, &map(2500.0, 2540.0)), Some(Place::Controller));
        assert_eq!(place(&found, &map(2496.0, 2528.0)), Some(Place::Controller), "neighbors");
        assert_eq!(place(&found, &map(3000.0, 3100.0)), None, "host memory does not make a cache smaller");
        let absent = Finding::new("mapping_cache", Verdict::Refuted, String::new());
        assert_eq!(place(&found, &absent), Some(Place::HostMemory));
    }
}
