//! Features of placement: Flexible Data Placement (5.1.25.1.20) and its events (5.1.25.1.21).

use sim::Time;

use super::super::Controller;
use super::super::admin::{Course, Outcome};
use super::{ENDURANCE_GROUP, events};
use crate::entry::{Entry, Status};

/// Feature identifiers.
pub(super) const PLACEMENT: u8 = 0x1d;
pub(super) const EVENTS: u8 = 0x1e;

/// Value of the feature: enabled (FDPE), configuration 0.
const ENABLED: u32 = 1;
/// Capabilities of both features: they can be changed.
const CHANGEABLE: u32 = 1 << 2;

impl Controller {
    /// Performs Set Features for a feature of placement; `None` if it is another's.
    pub(in super::super) fn set_placement_feature(&mut self, now: Time, tag: u16, entry: &Entry) -> Option<Outcome> {
        self.placement.as_ref()?;
        match entry.dword(10) as u8 {
            // The endurance group always has namespaces.
            PLACEMENT if entry.dword(11) as u16 == ENDURANCE_GROUP => Some(Err(Status::SEQUENCE_ERROR)),
            PLACEMENT => Some(Err(Status::INVALID_FIELD)),
            EVENTS if entry.dword(10) >> 31 == 1 => Some(Err(Status::NOT_SAVEABLE)),
            EVENTS => Some(self.enable_events(now, tag, entry)),
            _ => None,
        }
    }

    /// Enables or disables types of events for a placement handle.
    fn enable_events(&mut self, now: Time, tag: u16, entry: &Entry) -> Outcome {
        let (handle, count) = self.events_fields(entry)?;
        let mut types = vec![0; count];
        self.receive(now, tag, &mut types)?;
        let Some(placement) = &mut self.placement else { return Err(Status::INVALID_FIELD) };
        placement.events.enable(handle, &types, entry.dword(12) & 1 == 1).ok_or(Status::INVALID_FIELD)?;
        Ok(Course::Ends(0))
    }

    /// Performs Get Features for a feature of placement; `None` if it is another's.
    pub(in super::super) fn get_placement_feature(&mut self, now: Time, tag: u16, entry: &Entry) -> Option<Outcome> {
        self.placement.as_ref()?;
        match (entry.dword(10) as u8, entry.dword(10) >> 8 & 7) {
            (PLACEMENT | EVENTS, 3) => Some(Ok(Course::Ends(CHANGEABLE))),
            (PLACEMENT | EVENTS, 4..) => Some(Err(Status::INVALID_FIELD)),
            (PLACEMENT, _) if entry.dword(11) as u16 == ENDURANCE_GROUP => Some(Ok(Course::Ends(ENABLED))),
            (PLACEMENT, _) => Some(Err(Status::INVALID_FIELD)),
            (EVENTS, select) => Some(self.get_events(now, tag, entry, select == 0)),
            _ => None,
        }
    }

    /// Sends the supported types of events, and whether they are enabled: at present (`current`), or by default.
    fn get_events(&mut self, now: Time, tag: u16, entry: &Entry, current: bool) -> Outcome {
        let (handle, count) = self.events_fields(entry)?;
        let Some(placement) = &self.placement else { return Err(Status::INVALID_FIELD) };
        let mut list: Vec<u8> = placement.events.list(handle, current).into_iter().flatten().collect();
        list.resize(2 * count, 0);
        self.send(now, tag, &list)?;
        Ok(Course::Ends(events::TYPES.len() as u32))
    }

    /// Returns the handle (PHNDL) and the number of types (NOET) in dword 11.
    fn events_fields(&self, entry: &Entry) -> Result<(u16, usize), Status> {
        self.namespaces.get(entry.namespace()).ok_or(Status::INVALID_NAMESPACE)?;
        let (handle, count) = (entry.dword(11) as u16, entry.dword(11) >> 16 & 0xff);
        let handles = self.placement.as_ref().map_or(0, |placement| placement.config.handles);
        if handle < handles { Ok((handle, count as usize)) } else { Err(Status::INVALID_FIELD) }
    }
}
