//! The data of Zone Management Receive: a report of zones.

use zones::{Descriptor, Filter, ZoneState, Zones};

use crate::entry::{Entry, Status};

/// Bytes of a report's head, and of a zone descriptor.
const HEAD: u64 = 64;
const DESCRIPTOR: u64 = 64;
/// Zone Receive Action (ZRA): report of zones without descriptor extensions.
const REPORT: u32 = 0x00;
/// Type of a zone: writes are sequential.
const SEQUENTIAL: u8 = 0x02;

/// Returns the bytes of the host's buffer.
pub(super) fn bytes(entry: &Entry) -> u64 {
    (u64::from(entry.dword(12)) + 1) * 4
}

/// Returns the zones to report (ZRASF).
fn filter(entry: &Entry) -> Option<Filter> {
    let state = match entry.dword(13) >> 8 & 0xff {
        0 => return Some(Filter::All),
        1 => ZoneState::Empty,
        2 => ZoneState::ImplicitlyOpen,
        3 => ZoneState::ExplicitlyOpen,
        4 => ZoneState::Closed,
        5 => ZoneState::Full,
        6 => ZoneState::ReadOnly,
        7 => ZoneState::Offline,
        _ => return None,
    };
    Some(Filter::State(state))
}

/// Checks the fields of a report.
///
/// # Errors
/// Fails with the status of the command. An extended report is refused, because zones have no descriptor extensions.
pub(super) fn check(entry: &Entry) -> Result<(), Status> {
    let is_report = entry.dword(13) & 0xff == REPORT;
    if is_report && filter(entry).is_some() && bytes(entry) >= HEAD { Ok(()) } else { Err(Status::INVALID_FIELD) }
}

/// Returns the report of a command whose fields were checked: of the zones from the one that holds its first block on.
pub(super) fn page(zones: &Zones, entry: &Entry) -> Vec<u8> {
    let first = zones.zone_of(entry.lba()).unwrap_or(0);
    let room = (bytes(entry) - HEAD) / DESCRIPTOR;
    let is_partial = entry.dword(13) >> 16 & 1 == 1;
    let mut page = vec![0; HEAD as usize];
    let mut count = 0u64;
    for zone in zones.report(first, filter(entry).unwrap_or(Filter::All)) {
        if count < room {
            page.extend(descriptor(&zone));
        } else if is_partial {
            break;
        }
        count += 1;
    }
    page[..8].copy_from_slice(&count.to_le_bytes());
    page.resize(bytes(entry) as usize, 0);
    page
}

fn descriptor(zone: &Descriptor) -> [u8; DESCRIPTOR as usize] {
    let mut bytes = [0; DESCRIPTOR as usize];
    (bytes[0], bytes[1]) = (SEQUENTIAL, zone.state.code() << 4);
    // A zone that cannot be written has no write pointer: all ones.
    let fields = [zone.capacity, zone.start, zone.write_pointer.unwrap_or(u64::MAX)];
    for (to, field) in bytes[8..32].chunks_exact_mut(8).zip(fields) {
        to.copy_from_slice(&field.to_le_bytes());
    }
    bytes
}
