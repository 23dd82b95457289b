//! Log pages and lists of placement: configurations (5.1.12.1.28), use of the handles (5.1.12.1.29), statistics
//! (5.1.12.1.30), features supported (5.1.12.1.18), and the endurance group (5.1.12.1.10).

use sim::{Schedule, Time};
use storage::PlacementBytes;

use super::super::admin::{Course, Outcome};
use super::super::{Controller, Event, Need};
use super::{ENDURANCE_GROUP, Placement, PlacementState, features};
use crate::entry::{Entry, Status};

/// Log identifiers.
pub(in super::super) const ENDURANCE_GROUP_LOG: u8 = 0x09;
const FEATURES: u8 = 0x12;
const CONFIGURATIONS: u8 = 0x20;
const USAGE: u8 = 0x21;
const STATISTICS: u8 = 0x22;
const EVENTS: u8 = 0x23;

/// Bytes of the header of the configurations log, and of a configuration without its handles.
const HEADER: usize = 16;
const CONFIGURATION: usize = 64;

impl Placement {
    /// Returns the FDP Configurations log page: the one configuration.
    fn configurations(&self, unit_bytes: u64, namespaces: u32, write_cache: bool) -> Vec<u8> {
        let handles = usize::from(self.config.handles);
        let bytes = (CONFIGURATION + 4 * handles).next_multiple_of(8);
        let mut page = vec![0; HEADER + bytes];
        page[4..8].copy_from_slice(&((HEADER + bytes) as u32).to_le_bytes());
        let of = &mut page[HEADER..];
        of[..2].copy_from_slice(&(bytes as u16).to_le_bytes());
        of[2] = 1 << 7 | u8::from(write_cache) << 4; // FDPA: valid, volatile write cache; no bits of a reclaim group
        of[4..8].copy_from_slice(&1u32.to_le_bytes()); // NRG
        of[8..10].copy_from_slice(&self.config.handles.to_le_bytes()); // NRUH
        of[10..12].copy_from_slice(&(self.config.handles - 1).to_le_bytes()); // MAXPIDS
        of[12..16].copy_from_slice(&namespaces.to_le_bytes()); // NNS
        of[16..24].copy_from_slice(&unit_bytes.to_le_bytes()); // RUNS
        for descriptor in of[CONFIGURATION..CONFIGURATION + 4 * handles].chunks_exact_mut(4) {
            descriptor[0] = if self.config.persistent { 2 } else { 1 }; // RUHT
        }
        page
    }

    /// Returns the Reclaim Unit Handle Usage log page. The system file has given all handles to all namespaces, so
    /// they count as specified by the host.
    fn usage(&self) -> Vec<u8> {
        let handles = usize::from(self.config.handles);
        let mut page = vec![0; 8 + 8 * handles];
        page[..2].copy_from_slice(&self.config.handles.to_le_bytes());
        page[8..].chunks_exact_mut(8).for_each(|descriptor| descriptor[0] = 1);
        page
    }
}

/// Returns the FDP Statistics log page.
fn statistics(bytes: PlacementBytes) -> Vec<u8> {
    let mut page = vec![0; 64];
    for (to, field) in page.chunks_exact_mut(16).zip([bytes.host, bytes.media, bytes.erased]) {
        to[..8].copy_from_slice(&field.to_le_bytes());
    }
    page
}

/// Returns the Feature Identifiers Supported and Effects log page.
fn supported_features(is_known: impl Fn(u8) -> bool) -> Vec<u8> {
    // FSUPP, and the scope: controller, reclaim unit handle by its namespace, or endurance group.
    const SUPPORTED: u32 = 1;
    let scope = |feature: u8| match feature {
        features::PLACEMENT => 1 << 23,
        features::EVENTS => 1 << 20,
        _ => 1 << 21,
    };
    let known = |feature: u8| matches!(feature, features::PLACEMENT | features::EVENTS) || is_known(feature);
    let entry = |feature: u8| if known(feature) { SUPPORTED | scope(feature) } else { 0 };
    (0..=u8::MAX).flat_map(|feature| entry(feature).to_le_bytes()).collect()
}

/// Fills in the fields of Identify Controller.
pub(in super::super) fn put_controller(page: &mut [u8]) {
    let set = |page: &mut [u8], bit: usize| page[bit / 8] |= 1 << (bit % 8);
    set(page, 8 * 96 + 4); // CTRATT: endurance groups
    set(page, 8 * 96 + 19); // CTRATT: Flexible Data Placement
    set(page, 8 * 256 + 5); // OACS: directives
    page[340..342].copy_from_slice(&ENDURANCE_GROUP.to_le_bytes()); // ENDGIDMAX
}

/// Fills in the fields of Identify Namespace.
pub(in super::super) fn put_namespace(page: &mut [u8]) {
    page[102..104].copy_from_slice(&ENDURANCE_GROUP.to_le_bytes()); // ENDGID
}

impl Controller {
    /// Returns the list of endurance groups from `first` on (Identify, CNS 19h).
    pub(in super::super) fn list_endurance_groups(&self, first: u16) -> Vec<u8> {
        let mut list = vec![0; 4096];
        if first <= ENDURANCE_GROUP {
            list[..2].copy_from_slice(&1u16.to_le_bytes());
            list[2..4].copy_from_slice(&ENDURANCE_GROUP.to_le_bytes());
        }
        list
    }

    /// Performs Get Log Page for the log pages that only a drive with placement has.
    pub(in super::super) fn get_placement_log(
        &mut self,
        now: Time,
        tag: u16,
        entry: &Entry,
        s: &mut dyn Schedule<Event>,
    ) -> Outcome {
        let Some(placement) = &self.placement else { return Err(Status::INVALID_LOG) };
        let log = entry.dword(10) as u8;
        let is_of_group = (entry.dword(11) >> 16) as u16 == ENDURANCE_GROUP;
        if matches!(log, ENDURANCE_GROUP_LOG | CONFIGURATIONS..=EVENTS) && !is_of_group {
            return Err(Status::INVALID_FIELD);
        }
        let page = match log {
            FEATURES => supported_features(|feature| self.feature_capabilities(feature).is_ok()),
            USAGE => placement.usage(),
            EVENTS => placement.events.page(entry.dword(10) >> 8 & 1 == 1),
            ENDURANCE_GROUP_LOG => {
                self.needs.push(Need::Health(tag));
                return Ok(Course::Waits);
            }
            CONFIGURATIONS | STATISTICS => {
                self.needs.push(Need::Placement(tag));
                return Ok(Course::Waits);
            }
            _ => return Err(Status::INVALID_LOG),
        };
        self.send_log(now, tag, &page, s)?;
        Ok(Course::Ends(0))
    }

    /// Answers a request for the configurations, the statistics or the status of reclaim unit handles with the state of
    /// the translation layer.
    pub fn placement_state(&mut self, now: Time, tag: u16, state: &PlacementState, s: &mut dyn Schedule<Event>) {
        let Some(placement) = &self.placement else { unreachable!("command {tag} is refused without placement") };
        let command = self.commands.of_tag(tag);
        let sent = match (command.queue, command.entry.dword(10) as u8) {
            (0, CONFIGURATIONS) => {
                let page = placement.configurations(state.unit_bytes, self.namespaces.count(), self.has_write_cache);
                self.send_log(now, tag, &page, s)
            }
            (0, _) => self.send_log(now, tag, &statistics(placement.total(state.bytes)), s),
            _ => self.send_status(now, tag, &state.left),
        };
        match sent {
            Ok(()) => self.finish(now, tag, s),
            Err(status) => self.end(now, tag, status, s),
        }
    }
}
