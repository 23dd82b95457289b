//! Directive Receive and Directive Send (5.1.6 and 5.1.7). The only directive besides Identify is data placement, which
//! is always enabled and has no operations of its own (8.1.8.4).

use sim::Time;

use super::super::Controller;
use super::super::admin::{Course, Outcome};
use super::DATA_PLACEMENT;
use crate::entry::{Entry, Status};

/// Type of the Identify directive, and its operation Return Parameters.
const IDENTIFY: u32 = 0;
const RETURN_PARAMETERS: u32 = 1;
/// Bytes of the parameters.
const PARAMETERS: usize = 4096;

/// Returns the fields DOPER and DTYPE.
const fn operation(entry: &Entry) -> (u32, u32) {
    (entry.dword(11) & 0xff, entry.dword(11) >> 8 & 0xff)
}

impl Controller {
    /// Performs Directive Receive.
    pub(in super::super) fn directive_receive(&mut self, now: Time, tag: u16, entry: &Entry) -> Outcome {
        if self.placement.is_none() {
            return Err(Status::INVALID_OPCODE);
        }
        self.namespaces.get(entry.namespace()).ok_or(Status::INVALID_NAMESPACE)?;
        let bytes = (u64::from(entry.dword(10)) + 1) * 4;
        if operation(entry) != (RETURN_PARAMETERS, IDENTIFY) || bytes > self.transfer_max {
            return Err(Status::INVALID_FIELD);
        }
        let mut parameters = vec![0; PARAMETERS];
        // Bit vectors: supported, enabled, and enabled across resets.
        for vector in [0, 32] {
            parameters[vector] = 1 << IDENTIFY | 1 << DATA_PLACEMENT;
        }
        parameters[64] = 1 << DATA_PLACEMENT;
        parameters.resize(bytes as usize, 0);
        self.send(now, tag, &parameters)?;
        Ok(Course::Ends(0))
    }

    /// Performs Directive Send: no directive can be enabled or disabled.
    pub(in super::super) fn directive_send(&self, entry: &Entry) -> Outcome {
        if self.placement.is_none() {
            return Err(Status::INVALID_OPCODE);
        }
        self.namespaces.get(entry.namespace()).ok_or(Status::INVALID_NAMESPACE)?;
        Err(Status::INVALID_FIELD)
    }
}
