//! Infers the location of a cache from its behavior with and without host memory, and from its speed.

use crate::report::{Estimate, Finding, Place, Verdict};

/// Time of a second read relative to the first: below `MEMORY` the data come from memory, above `FLASH` from flash; in
/// between the location is left open.
pub const MEMORY: f64 = 0.36;
const FLASH: f64 = 0.42;

/// Returns the size found; zero if the cache is absent, `None` if unknown.
fn bytes(finding: &Finding) -> Option<f64> {
    match finding.verdict {
        Verdict::Supported => finding.size.map(|Estimate { value, .. }| value),
        Verdict::Refuted => Some(0.0),
        Verdict::Inconclusive => None,
    }
}

/// Sets the location of the caches found `with` and `without` the host memory buffer.
pub fn compare(with: &mut Finding, without: &mut Finding) {
    let (Some(here), Some(there)) = (bytes(with), bytes(without)) else { return };
    if with.verdict != Verdict::Supported {
        return;
    }
    if there < 0.8 * here {
        with.place = Some(Place::HostMemory);
        with.evidence += &format!("; without host memory {there:.0} of {here:.0} remain: it is in host memory");
    } else if there <= 1.25 * here && without.verdict == Verdict::Supported {
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
