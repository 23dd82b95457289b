//! Work of the controller that no command in its slots waits for: sanitize (section 5.24) and shutdown (7.6.2).

use std::collections::VecDeque;

use host_interface::Output;
use media::{Request, Tag};
use sim::{Schedule, Time};

use super::admin::{Course, Outcome};
use super::events::Notice;
use super::registers::Shutdown;
use super::{Controller, Event, Need, Step};
use crate::entry::{Entry, Status};

/// Sanitize actions (SANACT).
const EXIT_FAILURE_MODE: u32 = 1;
const BLOCK_ERASE: u32 = 2;
const CRYPTO_ERASE: u32 = 4;

/// Purpose of the work in progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    Sanitize,
    Shutdown,
}

/// State of the work.
#[derive(Clone, Debug, Default)]
pub(super) struct Background {
    purpose: Option<Purpose>,
    plan: VecDeque<Request>,
    /// The first request of the plan is in the translation layer.
    issued: bool,
    /// Requests of the whole sanitize operation.
    total: usize,
    /// A shutdown waits for the end of a sanitize operation.
    shutdown_waits: bool,
    /// Dword 10 of the last sanitize command, if there was one.
    sanitized: Option<u32>,
}

impl Background {
    pub fn is_sanitizing(&self) -> bool {
        self.purpose == Some(Purpose::Sanitize)
    }

    /// Returns the Sanitize Status log page.
    pub fn sanitize_status(&self) -> Vec<u8> {
        let mut page = vec![0; 512];
        let done = (self.total - self.plan.len().min(self.total)) << 16;
        let progress = if self.is_sanitizing() { (done / self.total.max(1)).min(0xffff) as u16 } else { 0xffff };
        let state: u16 = match (self.sanitized, self.is_sanitizing()) {
            (None, _) => 0,
            (Some(_), true) => 2,
            (Some(_), false) => 1,
        };
        page[..2].copy_from_slice(&progress.to_le_bytes());
        page[2..4].copy_from_slice(&state.to_le_bytes());
        page[4..8].copy_from_slice(&self.sanitized.unwrap_or(0).to_le_bytes());
        // Estimated times are not reported.
        page[8..32].fill(0xff);
        page
    }
}

impl Controller {
    /// Performs Sanitize: starts the operation, which goes on after the command completes and across resets.
    pub(super) fn sanitize(&mut self, now: Time, entry: &Entry, s: &mut dyn Schedule<Event>) -> Outcome {
        let action = entry.dword(10) & 7;
        if self.background.is_sanitizing() {
            return Err(Status::SANITIZE_IN_PROGRESS);
        }
        if action == EXIT_FAILURE_MODE {
            return Ok(Course::Ends(0));
        }
        if !matches!(action, BLOCK_ERASE | CRYPTO_ERASE) {
            return Err(Status::INVALID_FIELD);
        }
        if self.background.purpose.is_some() {
            return Err(Status::SEQUENCE_ERROR);
        }
        let mut plan: VecDeque<Request> = self.namespaces.iter().flat_map(|each| self.erasure(each)).collect();
        plan.extend(self.flushes());
        let sanitized = Some(entry.dword(10));
        let total = plan.len();
        self.background = Background {
            purpose: Some(Purpose::Sanitize),
            plan,
            issued: false,
            total,
            shutdown_waits: false,
            sanitized,
        };
        Step::Background.at(now, 0, s);
        Ok(Course::Ends(0))
    }

    /// Shuts down: makes all data durable. CSTS.SHST reports the end.
    pub(super) fn shut_down(&mut self, now: Time, s: &mut dyn Schedule<Event>) {
        if self.background.purpose.is_some() {
            self.background.shutdown_waits = true;
            return;
        }
        self.background.purpose = Some(Purpose::Shutdown);
        self.background.plan = self.flushes();
        if self.host_memory.is_unsettled() {
            self.needs.push(Need::LoseHostMemory(self.background_tag));
        } else {
            Step::Background.at(now, 0, s);
        }
    }

    /// Continues with the next request.
    pub(super) fn go_on_in_background(&mut self, now: Time, s: &mut dyn Schedule<Event>, out: &mut Vec<Output>) {
        if let Some(request) = self.background.plan.front() {
            self.background.issued = true;
            return out.push(Output::Command { tag: Tag(u32::from(self.background_tag)), io: 0, request: *request });
        }
        match self.background.purpose.take() {
            Some(Purpose::Sanitize) => self.notice(now, Notice::SanitizeCompleted, s),
            Some(Purpose::Shutdown) => {
                self.registers.shutdown = Shutdown::Complete;
                self.needs.push(Need::SaveState);
            }
            None => {}
        }
        if std::mem::take(&mut self.background.shutdown_waits) {
            self.shut_down(now, s);
        }
    }

    /// Handles the end of a background request. One that failed, because the drive is read-only, is not repeated.
    pub(super) fn background_done(&mut self, now: Time, s: &mut dyn Schedule<Event>) {
        self.background.plan.pop_front();
        self.background.issued = false;
        Step::Background.at(now, 0, s);
    }

    /// Issues the request in progress again after the translation layer has dropped its commands.
    pub(super) fn repeat_in_background(&mut self, now: Time, s: &mut dyn Schedule<Event>) {
        if std::mem::take(&mut self.background.issued) {
            Step::Background.at(now, 0, s);
        }
    }

    /// Resumes after a reset, which drops a shutdown but not a sanitize operation.
    pub(super) fn resume_background(&mut self, now: Time, s: &mut dyn Schedule<Event>) {
        (self.background.shutdown_waits, self.background.issued) = (false, false);
        match self.background.purpose {
            Some(Purpose::Sanitize) => Step::Background.at(now, 0, s),
            Some(Purpose::Shutdown) => {
                self.background.purpose = None;
                self.background.plan.clear();
            }
            None => {}
        }
    }
}
