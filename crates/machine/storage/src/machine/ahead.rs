//! Read-ahead between the translation layer and the flash.

use media::{Action, Class, Op, OpId, ReadOp, Request, Status};
use nand::PageSpan;
use read_ahead::Served;
use sim::{Time, rarely};

use super::{AHEAD, Event, Machine, NandView};

impl Machine {
    /// Notes a command of the host, whose stream may be read ahead.
    pub(super) fn note_read(&mut self, request: &Request) {
        if let Some(ahead) = &mut self.ahead
            && request.op == Op::Read
        {
            ahead.note(request.offset, request.bytes);
            self.later = true;
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
                    Served::Not => self.submit_read(now, op),
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

    /// Submits a read of flash, outside the path of most reads.
    pub(super) fn submit_read(&mut self, now: Time, op: ReadOp) {
        rarely(self, move |it| match it.nand.config().span {
            PageSpan::ONE => it.nand.submit_read(now, op, &mut NandView(&mut it.world)),
            _ => it.nand.submit_part(now, op, it.ftl.read_from(op.id), &mut NandView(&mut it.world)),
        });
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
            match self.ahead.as_mut().and_then(|ahead| ahead.begin(*op)) {
                Some(op) => self.submit_read(now, op),
                None => self.end(op.id, Status::Ok),
            }
        }
        !reads.is_empty()
    }

    /// Notes the end of a read of a machine with read-ahead or a trace.
    pub(super) fn attend_read_end(&mut self, now: Time, id: OpId, status: Status) {
        self.trace_read_end(now, id);
        self.end_read_ahead(now, id, status);
    }

    /// Notes the end of a read of flash, and ends or submits the reads that waited for its pages. A read served from
    /// pages that had been read ahead was none of flash, and changes nothing.
    pub(super) fn end_read_ahead(&mut self, now: Time, id: OpId, status: Status) {
        let Some(ahead) = &mut self.ahead else { return };
        let Some(ended) = ahead.end(id, status.is_ok()) else { return };
        for id in ended.served {
            self.world.queue.push(AHEAD, now + ahead.wait(), Event::ReadAhead(id));
        }
        for op in ended.unserved {
            self.submit_read(now, op);
        }
    }
}
