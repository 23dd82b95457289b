//! The order in which waiting requests are served.

use media::Tag;

use crate::durability::progress::Cause;
use crate::request::{Error, Request};
use crate::{Actions, Nvmm, Tried};

impl Nvmm {
    /// Serves the waiting requests that can be served, in order. No request overtakes another for the same page, nor a
    /// request that commits (sync, rollback, drop, end).
    pub(crate) fn run_queue(&mut self, out: &mut Actions) {
        let mut at = 0;
        while let Some(tag) = self.requests.waiting(at) {
            let request = self.requests.request(tag);
            let cause = match request {
                Request::Sync => Some(Cause::Sync(tag)),
                Request::Flush => Some(Cause::Flush(tag)),
                Request::Replace { token } => Some(Cause::Replace(tag, token)),
                Request::Rollback { token } => Some(Cause::Rollback(tag, token)),
                Request::Drop { token } => Some(Cause::Drop(tag, token)),
                Request::End => Some(Cause::End(tag)),
                _ => None,
            };
            if let Some(cause) = cause {
                let writing = self.writes.any_below(self.config.tags);
                if at > 0 || writing || !self.durable.is_idle() || self.must_not_commit() {
                    return;
                }
                self.requests.stop_waiting(at);
                if self.worn_out && !matches!(cause, Cause::End(_)) {
                    self.refuse(tag, Error::WornOut, out);
                } else {
                    self.begin_commit(cause);
                }
            } else if self.requests.is_behind_its_page(at) || self.try_request(tag, request, out) == Tried::Wait {
                at += 1;
            } else {
                self.requests.stop_waiting(at);
            }
        }
    }

    fn try_request(&mut self, tag: Tag, request: Request, out: &mut Actions) -> Tried {
        match request {
            Request::Read { address, segments } => self.try_read(tag, address, segments, out),
            Request::Write { address, segments } => self.try_write(tag, address, segments, out),
            Request::Alloc { permissions, .. } => self.try_alloc(tag, permissions, out),
            Request::Delete { address } => self.try_delete(tag, address, out),
            Request::SetPermissions { address, permissions } => self.try_set(tag, address, permissions, out),
            Request::Sync
            | Request::Flush
            | Request::Replace { .. }
            | Request::Rollback { .. }
            | Request::Drop { .. }
            | Request::End => {
                unreachable!("{request:?} commits")
            }
        }
    }
}
