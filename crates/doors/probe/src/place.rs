//! Where a cache is, from what it does when the drive has host memory and when it has none, and from how fast it is.

use crate::report::{Estimate, Finding, Place, Verdict};

/// Parts of the time of a first reading that a second takes: below the first it is from memory, above the second from
/// flash; between them it is not said.
pub const MEMORY: f64 = 0.36;
const FLASH: f64 = 0.42;

/// The size that was found; zero where there is nothing; none where that is not known.
fn bytes(finding: &Finding) -> Option<f64> {
    match finding.verdict {
        Verdict::Supported => finding.size.map(|Estimate { value, .. }| value),
        Verdict::Refuted => Some(0.0),
        Verdict::Inconclusive => None,
    }
}

/// Sets the places of what was found `with` the host memory buffer, having looked again `without` it.
pub fn compare(with: &mut Finding, without: &mut Finding) {
    let (Some(here), Some(there)) = (bytes(with), bytes(without)) else { return };
    if with.verdict != Verdict::Supported {
        return;
    }
    if there < 0.8 * here {
        with.place = Some(Place::HostMemory);
        with.evidence += &format!("; without host memory {there:.0} of {here:.0} remain: it is there");
    } else if there <= 1.25 * here && without.verdict == Verdict::Supported {
        let place = in_drive(with);
        (with.place, without.place) = (place, place);
        with.evidence += "; without host memory it is the same: it is in the drive";
    }
}

/// Sets the place of what was found where there is no switch to compare with.
pub fn alone(finding: &mut Finding) {
    if finding.verdict == Verdict::Supported {
        finding.place = match in_drive(finding) {
            Some(Place::Controller) => Some(Place::Memory),
            place => place,
        };
    }
}

/// Flash or memory, by the time of a second reading.
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
