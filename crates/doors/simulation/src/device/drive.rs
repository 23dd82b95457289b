//! A drive behind its host's driver.

use std::path::Path;

use ftl::{Headroom, MountReport};
use media::Op as StorageOp;
use nand::PayloadKind;
use sim::{Streams, Time};
use storage::prepare::{Preparation, PrepareError, Prepared, prepare};
use storage::{Completion, Machine};
use system::System;
use system::parts::Parts;

use crate::request::{Op, Request};

/// A drive, as a run would prepare it.
pub(crate) struct Drive {
    pub machine: Machine,
    pub prepared: Prepared,
    pub mounted: MountReport,
    /// Headroom of the drive at the start.
    pub headroom: Headroom,
    pub capacity: u64,
}

impl Drive {
    pub fn new(
        system: &System,
        preparation: Preparation,
        streams: &Streams,
        cache: Option<&Path>,
    ) -> Result<Drive, PrepareError> {
        let parts = Parts::new(system, PayloadKind::None)?;
        let (store, prepared) = prepare(system, &parts, preparation, streams, cache)?;
        let (nand, ftl, mounted) = parts.mount(store, streams)?;
        let machine = Machine::new(&parts, ftl, nand);
        let headroom = machine.ftl().headroom();
        Ok(Drive { machine, prepared, mounted, headroom, capacity: parts.user_bytes })
    }

    #[inline]
    pub fn submit(&mut self, now: Time, slot: u32, request: &Request) {
        let Request { op, fua, thread, address: offset, bytes, .. } = *request;
        let op = storage_op(op);
        self.machine.submit(now, slot, thread, media::Request { op, fua, offset, bytes, placement: 0 });
    }

    /// Advances to the first completions, at most to `until`. Returns whether there are any.
    #[inline]
    pub fn advance(&mut self, until: Time, done: &mut Vec<Completion>) -> bool {
        self.machine.advance(until, done)
    }
}

/// Returns the operation of storage, in whose terms the measurements of all devices are.
pub(crate) fn storage_op(op: Op) -> StorageOp {
    match op {
        Op::Read => StorageOp::Read,
        Op::Write => StorageOp::Write,
        Op::Flush | Op::Rollback => StorageOp::Flush,
        Op::Trim => StorageOp::Trim,
    }
}
