//! Read-ahead between the translation layer and the flash.

use media::{Action, Class, Op, OpId, ReadOp, Request, Status};
use read_ahead::Served;
use sim::Time;

use super::{AHEAD, Event, Machine, NandView};

impl Machine {
    /// Notes a command of the host, whose stream may be read ahead.
    pub(super) fn note_read(&mut self, request: &Request) {
        if let Some(ahead) = &mut self.ahead
            && request.op == Op::Read
        {
            ahead.note(request.offset, request.bytes);
        }
    }

    /// Performs an action on flash of a drive that reads ahead. Returns false for other actions.
    pub(super) fn perform_with_read_ahead(&mut self, now: Time, action: Action) -> bool {
        let Some(ahead) = &mut self.ahead else { return false };
        match action {
            Action::Read(op) => {
                let served = if op.class == Class::Host { ahead.serve(&op) } else { Served::Not };
                match served {
                    Served::Now => self.world.queue.push(AHEAD, now + ahead.wait(), Event::ReadAhead(op.id)),
                    Served::Later => {}
                    Served::Not => self.nand.submit_read(now, op, &mut NandView(&mut self.world)),
                }
            }
            Action::Erase(op) => {
                ahead.erase(op.block);
                self.nand.submit_erase(now, op, &mut NandView(&mut self.world));
            }
            _ => return false,
        }
        true
    }

    /// Begins to read ahead what is due, behind the reads of the commands that made it due. Returns true if there may be
    /// actions to perform.
    pub(super) fn read_ahead(&mut self, now: Time) -> bool {
        let mut reads: Vec<ReadOp> = Vec::new();
        let Some(ahead) = &mut self.ahead else { return false };
        while let Some(units) = ahead.due() {
            self.ftl.read_ahead(units, &mut reads);
        }
        for op in &reads {
            match ahead.begin(*op) {
                Some(op) => self.nand.submit_read(now, op, &mut NandView(&mut self.world)),
                None => self.ftl.done(op.id, Status::Ok, self.nand.store(), &mut self.out),
            }
        }
        !reads.is_empty()
    }

    /// Reports the end of a read of flash to the translation layer, then those of the reads that waited for its pages.
    pub(super) fn read_done(&mut self, now: Time, id: OpId, status: Status) {
        if let Some(trace) = self.trace() {
            trace.read(now, id);
        }
        self.ftl.done(id, status, self.nand.store(), &mut self.out);
        let Some(ahead) = &mut self.ahead else { return };
        let Some(ended) = ahead.end(id, status.is_ok()) else { return };
        for id in ended.served {
            self.world.queue.push(AHEAD, now + ahead.wait(), Event::ReadAhead(id));
        }
        for op in ended.unserved {
            self.nand.submit_read(now, op, &mut NandView(&mut self.world));
        }
    }

    /// Reports the end of a read of a page that had been read ahead.
    pub(super) fn read_from_ahead(&mut self, now: Time, id: OpId) {
        if let Some(trace) = self.trace() {
            trace.read(now, id);
        }
        self.ftl.done(id, Status::Ok, self.nand.store(), &mut self.out);
    }
}
