//! Asynchronous events (section 5.2).

use std::collections::VecDeque;

use sim::{Schedule, Time};

use super::queues::Completed;
use super::{Controller, Event};
use crate::entry::Status;

/// Maximum number of outstanding Asynchronous Event Requests (AERL + 1).
pub(super) const REQUESTS_MAX: usize = 4;

/// An event to report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Notice {
    /// Error status: a doorbell of a queue that does not exist.
    InvalidDoorbellRegister,
    /// Error status: a doorbell value outside the queue.
    InvalidDoorbellValue,
    /// Notice: the attributes of a namespace have changed.
    NamespaceChanged,
    /// I/O command set specific status: a sanitize operation has ended.
    SanitizeCompleted,
}

impl Notice {
    /// Returns the type, information and log page of the event.
    const fn fields(self) -> (u8, u8, u8) {
        match self {
            Notice::InvalidDoorbellRegister => (0, 0, 0x01),
            Notice::InvalidDoorbellValue => (0, 1, 0x01),
            Notice::NamespaceChanged => (2, 0, 0x04),
            Notice::SanitizeCompleted => (6, 1, 0x81),
        }
    }
}

/// Requests of the host, and events that wait for one.
#[derive(Clone, Debug, Default)]
pub(super) struct Events {
    /// Command identifiers of outstanding requests.
    requests: VecDeque<u16>,
    pending: VecDeque<Notice>,
    /// Event types that were reported, a bit each. No more of a type follow until the host reads its log page.
    masked: u8,
}

impl Controller {
    /// Returns true if no more requests fit.
    pub(super) fn is_full_of_requests(&self) -> bool {
        self.events.requests.len() >= REQUESTS_MAX
    }

    /// Takes a request.
    pub(super) fn request_event(&mut self, now: Time, cid: u16, s: &mut dyn Schedule<Event>) {
        self.events.requests.push_back(cid);
        self.send_events(now, s);
    }

    /// Aborts an outstanding request. Returns false if there is none with this identifier.
    pub(super) fn abort_request(&mut self, now: Time, cid: u16, s: &mut dyn Schedule<Event>) -> bool {
        let Some(at) = self.events.requests.iter().position(|request| *request == cid) else { return false };
        if !self.device.has_room(0) {
            return false;
        }
        self.events.requests.remove(at);
        self.deliver(now, now, 0, Completed { queue: 0, cid, status: Status::ABORT_REQUESTED, result: 0 }, true, s);
        true
    }

    /// Reports an event, now or as soon as the host requests one.
    pub(super) fn notice(&mut self, now: Time, notice: Notice, s: &mut dyn Schedule<Event>) {
        let enabled = notice != Notice::NamespaceChanged || self.features.reports_namespaces();
        if enabled && !self.events.pending.contains(&notice) {
            self.events.pending.push_back(notice);
            self.send_events(now, s);
        }
    }

    /// Completes requests with the events that wait.
    pub(super) fn send_events(&mut self, now: Time, s: &mut dyn Schedule<Event>) {
        while !self.events.requests.is_empty() && self.device.has_room(0) && self.queues.completion(0).is_some() {
            let masked = self.events.masked;
            let free = |notice: &Notice| masked >> notice.fields().0 & 1 == 0;
            let Some(at) = self.events.pending.iter().position(free) else { return };
            let (Some(notice), Some(cid)) = (self.events.pending.remove(at), self.events.requests.pop_front()) else {
                return;
            };
            let (kind, information, log) = notice.fields();
            self.events.masked |= 1 << kind;
            let result = u64::from(kind) | u64::from(information) << 8 | u64::from(log) << 16;
            self.deliver(now, now, 0, Completed { queue: 0, cid, status: Status::SUCCESS, result }, true, s);
        }
    }

    /// Records that the host has read a log page, which clears the events that refer to it.
    pub(super) fn clear_events(&mut self, now: Time, log: u8, s: &mut dyn Schedule<Event>) {
        let kind = match log {
            0x01 => 0,
            0x02 => 1,
            0x04 => 2,
            0x81 => 6,
            _ => return,
        };
        self.events.masked &= !(1 << kind);
        self.send_events(now, s);
    }
}
