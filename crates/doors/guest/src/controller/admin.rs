//! Admin commands (section 5).

use device::nvme::MEMORY_PAGE;
use host_interface::Output;
use link::Direction;
use media::{Request, Tag};
use sim::{Schedule, Time};

use super::doorbells::DoorbellBuffer;
use super::{Controller, DevicePart, Event, Need, QUEUE_ENTRIES_MAX, QUEUES};
use crate::entry::{Entry, Status};
use crate::pointers;

/// Opcodes of admin commands.
pub(super) mod opcode {
    pub const DELETE_SUBMISSION_QUEUE: u8 = 0x00;
    pub const CREATE_SUBMISSION_QUEUE: u8 = 0x01;
    pub const GET_LOG_PAGE: u8 = 0x02;
    pub const DELETE_COMPLETION_QUEUE: u8 = 0x04;
    pub const CREATE_COMPLETION_QUEUE: u8 = 0x05;
    pub const IDENTIFY: u8 = 0x06;
    pub const ABORT: u8 = 0x08;
    pub const SET_FEATURES: u8 = 0x09;
    pub const GET_FEATURES: u8 = 0x0a;
    pub const ASYNCHRONOUS_EVENT_REQUEST: u8 = 0x0c;
    pub const NAMESPACE_MANAGEMENT: u8 = 0x0d;
    pub const NAMESPACE_ATTACHMENT: u8 = 0x15;
    pub const DIRECTIVE_SEND: u8 = 0x19;
    pub const DIRECTIVE_RECEIVE: u8 = 0x1a;
    pub const DOORBELL_BUFFER_CONFIG: u8 = 0x7c;
    pub const FORMAT: u8 = 0x80;
    pub const SANITIZE: u8 = 0x84;
}

/// Course of a command that does not fail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Course {
    /// It ends with this dword 0.
    Ends(u32),
    /// It ends later.
    Waits,
    /// It ends after these requests to the translation layer.
    Requests(Vec<Request>),
}

/// The outcome of an admin command, or its error status.
pub(super) type Outcome = Result<Course, Status>;

impl Controller {
    /// Performs a decoded admin command.
    pub(super) fn run_admin(&mut self, now: Time, tag: u16, s: &mut dyn Schedule<Event>, out: &mut Vec<Output>) {
        let entry = self.commands.of_tag(tag).entry;
        match self.admin(now, tag, &entry, s, out) {
            Ok(Course::Ends(result)) => {
                self.commands.of_tag_mut(tag).result = u64::from(result);
                self.finish(now, tag, s);
            }
            Ok(Course::Waits) => {}
            Ok(Course::Requests(plan)) => {
                self.commands.of_tag_mut(tag).plan = plan.into();
                self.next_request(now, tag, s, out);
            }
            Err(status) => self.end(now, tag, status, s),
        }
    }

    fn admin(
        &mut self,
        now: Time,
        tag: u16,
        entry: &Entry,
        s: &mut dyn Schedule<Event>,
        out: &mut Vec<Output>,
    ) -> Outcome {
        // Admin commands use PRPs on PCI Express, and are never fused.
        if entry.pointer_kind() != 0 || entry.fused() != 0 {
            return Err(Status::INVALID_FIELD);
        }
        if self.background.is_sanitizing() && matches!(entry.opcode(), opcode::FORMAT | opcode::NAMESPACE_MANAGEMENT) {
            return Err(Status::SANITIZE_IN_PROGRESS);
        }
        if self.host_memory.is_unsettled() && needs_drive(entry.opcode()) {
            self.needs.push(Need::LoseHostMemory(tag));
            return Ok(Course::Waits);
        }
        match entry.opcode() {
            opcode::DELETE_SUBMISSION_QUEUE => self.delete_submission_queue(entry, tag),
            opcode::CREATE_SUBMISSION_QUEUE => self.create_submission_queue(entry),
            opcode::DELETE_COMPLETION_QUEUE => self.delete_completion_queue(entry),
            opcode::CREATE_COMPLETION_QUEUE => self.create_completion_queue(entry),
            opcode::IDENTIFY => self.identify(now, tag, entry),
            opcode::GET_LOG_PAGE => self.get_log_page(now, tag, entry, s),
            opcode::SET_FEATURES => self.set_features(now, tag, entry, out),
            opcode::GET_FEATURES => self.get_features(now, tag, entry),
            opcode::ABORT => Ok(self.abort(now, entry, s)),
            opcode::ASYNCHRONOUS_EVENT_REQUEST => self.asynchronous_event_request(now, tag, entry, s),
            opcode::NAMESPACE_MANAGEMENT => self.manage_namespaces(now, tag, entry),
            opcode::NAMESPACE_ATTACHMENT => self.attach_namespace(now, tag, entry, s),
            opcode::DIRECTIVE_SEND => self.directive_send(entry),
            opcode::DIRECTIVE_RECEIVE => self.directive_receive(now, tag, entry),
            opcode::DOORBELL_BUFFER_CONFIG => self.set_doorbell_buffer(entry),
            opcode::FORMAT => self.format(now, entry, s).map(|plan| Course::Requests(plan.into())),
            opcode::SANITIZE => self.sanitize(now, entry, s),
            _ => Err(Status::INVALID_OPCODE),
        }
    }

    /// Returns the identifier of an I/O queue in dword 10, and its entries.
    fn queue_fields(entry: &Entry) -> Result<(u16, u16), Status> {
        let (queue, size) = (entry.dword(10) as u16, entry.dword(10) >> 16);
        if queue == 0 || queue >= QUEUES {
            return Err(Status::INVALID_QUEUE);
        }
        if size == 0 || size >= u32::from(QUEUE_ENTRIES_MAX) {
            return Err(Status::INVALID_QUEUE_SIZE);
        }
        Ok((queue, size as u16 + 1))
    }

    /// Checks that a queue is contiguous and aligned. Returns its address.
    fn queue_address(&self, entry: &Entry) -> Result<u64, Status> {
        if !self.has_entry_sizes() {
            return Err(Status::INVALID_QUEUE_SIZE);
        }
        if entry.dword(11) & 1 == 0 {
            return Err(Status::INVALID_FIELD);
        }
        if !entry.pointer1().is_multiple_of(MEMORY_PAGE) {
            return Err(Status::INVALID_PRP_OFFSET);
        }
        Ok(entry.pointer1())
    }

    /// Create I/O Completion Queue (5.3).
    fn create_completion_queue(&mut self, entry: &Entry) -> Outcome {
        let (queue, entries) = Controller::queue_fields(entry)?;
        if self.queues.completion(queue).is_some() {
            return Err(Status::INVALID_QUEUE);
        }
        let address = self.queue_address(entry)?;
        let (vector, interrupts) = ((entry.dword(11) >> 16) as u16, entry.dword(11) >> 1 & 1 == 1);
        if interrupts && vector >= QUEUES {
            return Err(Status::INVALID_VECTOR);
        }
        self.create_completion(queue, address, entries, interrupts.then_some(vector));
        Ok(Course::Ends(0))
    }

    /// Create I/O Submission Queue (5.4).
    fn create_submission_queue(&mut self, entry: &Entry) -> Outcome {
        let (queue, entries) = Controller::queue_fields(entry)?;
        if self.queues.submission(queue).is_some() {
            return Err(Status::INVALID_QUEUE);
        }
        let completion = (entry.dword(11) >> 16) as u16;
        if completion == 0 || self.queues.completion(completion).is_none() {
            return Err(Status::INVALID_COMPLETION_QUEUE);
        }
        let address = self.queue_address(entry)?;
        self.create_submission(queue, address, entries, completion);
        Ok(Course::Ends(0))
    }

    /// Delete I/O Submission Queue (5.6).
    fn delete_submission_queue(&mut self, entry: &Entry, tag: u16) -> Outcome {
        let queue = entry.dword(10) as u16;
        if queue == 0 || self.queues.submission(queue).is_none() || self.is_being_deleted(queue) {
            return Err(Status::INVALID_QUEUE);
        }
        Ok(if self.delete_submission(queue, tag) { Course::Ends(0) } else { Course::Waits })
    }

    /// Delete I/O Completion Queue (5.5).
    fn delete_completion_queue(&mut self, entry: &Entry) -> Outcome {
        let queue = entry.dword(10) as u16;
        if queue == 0 || self.queues.completion(queue).is_none() {
            return Err(Status::INVALID_QUEUE);
        }
        if self.is_completion_used(queue) {
            return Err(Status::INVALID_DELETION);
        }
        self.queues.completion[usize::from(queue)] = None;
        Ok(Course::Ends(0))
    }

    /// Abort (5.1). Outstanding event requests are aborted; other commands run to their end, which the specification
    /// allows (bit 0 of dword 0: not aborted).
    fn abort(&mut self, now: Time, entry: &Entry, s: &mut dyn Schedule<Event>) -> Course {
        let (queue, cid) = (entry.dword(10) as u16, (entry.dword(10) >> 16) as u16);
        let aborted = queue == 0 && self.abort_request(now, cid, s);
        Course::Ends(u32::from(!aborted))
    }

    /// Asynchronous Event Request (5.2): it leaves the command slots and waits for an event.
    fn asynchronous_event_request(
        &mut self,
        now: Time,
        tag: u16,
        entry: &Entry,
        s: &mut dyn Schedule<Event>,
    ) -> Outcome {
        if self.is_full_of_requests() {
            return Err(Status::EVENT_LIMIT);
        }
        self.device.withdraw(now, Tag(u32::from(tag)), &mut DevicePart(s));
        self.close(now, tag);
        self.left(now, 0, s);
        self.request_event(now, entry.cid(), s);
        // No completion follows whose end would fetch the next commands.
        self.fetch(now, s);
        Ok(Course::Waits)
    }

    /// Doorbell Buffer Config (5.7).
    fn set_doorbell_buffer(&mut self, entry: &Entry) -> Outcome {
        let (shadow, event_index) = (entry.pointer1(), entry.pointer2());
        if !shadow.is_multiple_of(MEMORY_PAGE) || !event_index.is_multiple_of(MEMORY_PAGE) {
            return Err(Status::INVALID_FIELD);
        }
        if !self.memory.contains(shadow, MEMORY_PAGE) || !self.memory.contains(event_index, MEMORY_PAGE) {
            return Err(Status::INVALID_FIELD);
        }
        self.doorbell_buffer = Some(DoorbellBuffer { shadow, event_index });
        Ok(Course::Ends(0))
    }

    /// Sends `data` to the buffer of an admin command, whose completion follows the data.
    pub(super) fn send(&mut self, now: Time, tag: u16, data: &[u8]) -> Result<(), Status> {
        let entry = self.commands.of_tag(tag).entry;
        let segments = pointers::segments(&*self.memory, &entry, data.len() as u64, MEMORY_PAGE)?;
        if !pointers::scatter(&mut *self.memory, &segments, data) {
            return Err(Status::DATA_TRANSFER_ERROR);
        }
        let sent = self.transfer(now, Direction::ToHost, data.len() as u64).sent;
        self.device.sent(tag, sent);
        Ok(())
    }

    /// Reads the buffer of an admin command into `data`; its completion follows the data.
    pub(super) fn receive(&mut self, now: Time, tag: u16, data: &mut [u8]) -> Result<(), Status> {
        let entry = self.commands.of_tag(tag).entry;
        let segments = pointers::segments(&*self.memory, &entry, data.len() as u64, MEMORY_PAGE)?;
        if !pointers::gather(&*self.memory, &segments, data) {
            return Err(Status::DATA_TRANSFER_ERROR);
        }
        let arrives = self.transfer(now, Direction::ToDevice, data.len() as u64).arrives;
        self.device.sent(tag, arrives);
        Ok(())
    }
}

/// Returns true if the command makes the translation layer work, so that the fate of the Host Memory Buffer after a
/// reset must be known: the host returns it before it creates I/O queues, or not at all.
const fn needs_drive(opcode: u8) -> bool {
    matches!(opcode, opcode::CREATE_SUBMISSION_QUEUE | opcode::NAMESPACE_MANAGEMENT | opcode::FORMAT | opcode::SANITIZE)
}
