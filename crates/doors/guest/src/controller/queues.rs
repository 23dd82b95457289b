//! Submission and completion queues in guest memory: creation, deletion, and the entries that cross.

use std::collections::VecDeque;

use sim::{Schedule, Time};

use super::{Controller, DevicePart, Event, QUEUES, Step};
use crate::entry::{Entry, Status};

/// Maximum entries of a queue (CAP.MQES + 1). Assumed: drives offer 1,024 to 65,536.
pub const QUEUE_ENTRIES_MAX: u16 = 4096;
/// Bytes of a completion queue entry.
pub(super) const COMPLETION: u64 = 16;

/// A submission queue.
#[derive(Clone, Debug)]
pub(super) struct SubmissionQueue {
    address: u64,
    pub completion: u16,
    /// Commands fetched and not completed.
    in_flight: u32,
    /// The tag of the command that deletes it.
    deleted_by: Option<u16>,
}

/// A completion queue.
#[derive(Clone, Debug)]
pub(super) struct CompletionQueue {
    address: u64,
    /// Interrupt vector, if interrupts are enabled.
    vector: Option<u16>,
    /// Commands that wait for a free entry, with the time at which they ended.
    waiting: VecDeque<(u16, Time)>,
    /// Time at which the last entry becomes visible.
    last: Time,
}

/// A completion queue entry on its way to guest memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Delivery {
    address: u64,
    bytes: [u8; COMPLETION as usize],
}

/// Content of a completion queue entry besides its position.
#[derive(Clone, Copy, Debug)]
pub(super) struct Completed {
    /// The submission queue.
    pub queue: u16,
    pub cid: u16,
    pub status: Status,
    /// Dwords 0 and 1.
    pub result: u64,
}

/// All queues, by identifier; zero are the admin queues.
#[derive(Clone, Debug)]
pub(super) struct Queues {
    pub submission: Vec<Option<SubmissionQueue>>,
    pub completion: Vec<Option<CompletionQueue>>,
    /// Entries on their way to guest memory, and the free places among them.
    deliveries: Vec<Delivery>,
    free: Vec<u32>,
    /// Doorbells on their way to the controller.
    pub ringing: u32,
}

impl Queues {
    pub fn new() -> Queues {
        let none = usize::from(QUEUES);
        Queues {
            submission: vec![None; none],
            completion: vec![None; none],
            deliveries: Vec::new(),
            free: Vec::new(),
            ringing: 0,
        }
    }

    fn deliver(&mut self, delivery: Delivery) -> u32 {
        match self.free.pop() {
            Some(place) => {
                self.deliveries[place as usize] = delivery;
                place
            }
            None => {
                self.deliveries.push(delivery);
                self.deliveries.len() as u32 - 1
            }
        }
    }

    pub fn completion(&self, queue: u16) -> Option<&CompletionQueue> {
        self.completion.get(usize::from(queue))?.as_ref()
    }

    pub fn submission(&self, queue: u16) -> Option<&SubmissionQueue> {
        self.submission.get(usize::from(queue))?.as_ref()
    }
}

impl Controller {
    /// Creates the admin queues at the addresses and with the entries given.
    pub(super) fn create_admin_queues(&mut self, (asq, submission): (u64, u16), (acq, completion): (u64, u16)) {
        self.create_completion(0, acq, completion, Some(0));
        self.create_submission(0, asq, submission, 0);
    }

    pub(super) fn create_completion(&mut self, queue: u16, address: u64, entries: u16, vector: Option<u16>) {
        self.device.create_completion_queue(queue, entries);
        let empty = CompletionQueue { address, vector, waiting: VecDeque::new(), last: Time::ZERO };
        self.queues.completion[usize::from(queue)] = Some(empty);
    }

    pub(super) fn create_submission(&mut self, queue: u16, address: u64, entries: u16, completion: u16) {
        self.device.create_submission_queue(queue, entries);
        let empty = SubmissionQueue { address, completion, in_flight: 0, deleted_by: None };
        self.queues.submission[usize::from(queue)] = Some(empty);
    }

    /// Returns true if submission queues post to the completion queue.
    pub(super) fn is_completion_used(&self, queue: u16) -> bool {
        self.queues.submission.iter().flatten().any(|submission| submission.completion == queue)
    }

    /// Starts to delete a submission queue for the command `tag`. Returns true if it is deleted now; otherwise its
    /// commands in progress are completed first.
    pub(super) fn delete_submission(&mut self, queue: u16, tag: u16) -> bool {
        self.device.delete_submission_queue(queue);
        self.pairs.queue_deleted(queue);
        let Some(submission) = &mut self.queues.submission[usize::from(queue)] else { return true };
        if submission.in_flight > 0 {
            submission.deleted_by = Some(tag);
            return false;
        }
        self.queues.submission[usize::from(queue)] = None;
        true
    }

    /// Returns true if the submission queue is being deleted.
    pub(super) fn is_being_deleted(&self, queue: u16) -> bool {
        self.queues.submission(queue).is_some_and(|queue| queue.deleted_by.is_some())
    }

    /// Fetches the waiting entries that the controller has room for.
    pub(super) fn fetch(&mut self, now: Time, s: &mut dyn Schedule<Event>) {
        while !self.registers.fatal {
            let Some(fetch) = self.next_fetch() else { return };
            let arrives = self.link.fetch(now, u32::from(fetch.count) * Entry::BYTES as u32);
            self.admit(now, fetch, arrives, s);
        }
    }

    /// Admits fetched entries, which arrive at `arrives`. Guest memory is read now: the host has handed the entries over.
    pub(super) fn admit(&mut self, now: Time, fetch: device::Fetch, arrives: Time, s: &mut dyn Schedule<Event>) {
        let (queue, depth) = (fetch.queue, self.device.submission_entries(fetch.queue));
        let Some(submission) = &mut self.queues.submission[usize::from(queue)] else { return self.fail() };
        submission.in_flight += u32::from(fetch.count);
        self.logs.is_busy(now, true);
        let mut entries: Vec<Entry> = Vec::with_capacity(usize::from(fetch.count));
        let mut index = fetch.index;
        for _ in 0..fetch.count {
            let entry = self.read_entry(queue, index).unwrap_or_else(|| {
                // The host has put its queue outside its memory.
                self.fail();
                Entry::from_bytes(&[0; Entry::BYTES as usize])
            });
            entries.push(entry);
            index = if index + 1 == depth { 0 } else { index + 1 };
        }
        let admitted = self.open_all(now, queue, &entries);
        let at = |index: u16| {
            usize::from(if index >= fetch.index { index - fetch.index } else { index + depth - fetch.index })
        };
        self.device.admit(fetch, (arrives, false), |index| admitted[at(index)], &mut DevicePart(s));
    }

    /// Reads the entry at `index` of a submission queue, if that is in guest memory.
    pub(super) fn read_entry(&self, queue: u16, index: u16) -> Option<Entry> {
        let mut bytes = [0; Entry::BYTES as usize];
        let address = self.queues.submission(queue)?.address + u64::from(index) * Entry::BYTES;
        self.memory.read(address, &mut bytes).ok()?;
        Some(Entry::from_bytes(&bytes))
    }

    /// Posts the completion of the command `tag`, which ends at `at`, or keeps it until the completion queue has room.
    pub(super) fn post(&mut self, now: Time, at: Time, tag: u16, s: &mut dyn Schedule<Event>) {
        let command = self.commands.of_tag(tag);
        let (queue, completed) = (command.queue, command.completed());
        let Some(to) = self.queues.submission(queue).map(|queue| queue.completion) else { return self.fail() };
        let has_room = self.device.has_room(to);
        let Some(completion) = &mut self.queues.completion[usize::from(to)] else { return self.fail() };
        if !has_room || !completion.waiting.is_empty() {
            return completion.waiting.push_back((tag, at));
        }
        let coalesces = completion.vector.is_some_and(|vector| to != 0 && self.features.coalesces(vector));
        // A completion that waited for room ends now.
        let at = at.max(now);
        let ended = self.device.release_in(at, tag, to, coalesces, &mut DevicePart(s));
        let arrives = self.deliver(now, at, to, completed, ended.interrupt, s);
        self.record(tag, arrives);
        self.close(now, tag);
        self.left(now, queue, s);
        if self.device.waits() {
            self.fetch(now, s);
        }
    }

    /// Sends an entry to completion queue `to`, followed by an interrupt if one is due. Returns when the host sees it.
    pub(super) fn deliver(
        &mut self,
        now: Time,
        at: Time,
        to: u16,
        completed: Completed,
        interrupt: bool,
        s: &mut dyn Schedule<Event>,
    ) -> Time {
        let Some(completion) = &mut self.queues.completion[usize::from(to)] else { return at };
        let vector = completion.vector.filter(|_| interrupt);
        let (visible, message) = self.link.completion(now, at, vector.is_some());
        let visible = visible.max(completion.last);
        completion.last = visible;
        let (index, entry) = self.device.post_in(completed.queue, to, completed.cid);
        let words = [
            completed.result as u32,
            (completed.result >> 32) as u32,
            u32::from(entry.sq_head) | u32::from(completed.queue) << 16,
            u32::from(entry.cid) | u32::from(completed.status.0 << 1 | u16::from(entry.phase)) << 16,
        ];
        let mut bytes = [0; COMPLETION as usize];
        for (to, word) in bytes.chunks_exact_mut(4).zip(words) {
            to.copy_from_slice(&word.to_le_bytes());
        }
        let address = completion.address + u64::from(index) * COMPLETION;
        let place = self.queues.deliver(Delivery { address, bytes });
        Step::Posted.at(visible, place, s);
        let Some(vector) = vector else { return visible };
        let arrives = message.max(visible);
        Step::Raise.at(arrives, u32::from(vector), s);
        arrives
    }

    /// Counts the command `tag`, whose completion reaches the host at `arrives`.
    fn record(&mut self, tag: u16, arrives: Time) {
        let command = self.commands.of_tag(tag);
        if command.queue == 0 {
            self.statistics.admin += 1;
            return;
        }
        let failed = command.status != Status::SUCCESS;
        self.statistics.record(
            crate::entry::class(command.entry.opcode()),
            command.bytes,
            arrives - command.fetched,
            failed,
        );
    }

    /// Writes the entry at `place` of the deliveries to guest memory.
    pub(super) fn posted(&mut self, place: u32) {
        let Delivery { address, bytes } = self.queues.deliveries[place as usize];
        self.queues.free.push(place);
        if self.memory.write(address, &bytes).is_err() {
            self.fail();
        }
    }

    /// Posts the completions that wait for room in a completion queue.
    pub(super) fn post_waiting(&mut self, now: Time, queue: u16, s: &mut dyn Schedule<Event>) {
        while self.device.has_room(queue) {
            let Some(completion) = &mut self.queues.completion[usize::from(queue)] else { return };
            let mut waiting = std::mem::take(&mut completion.waiting);
            let Some((tag, at)) = waiting.pop_front() else { break };
            self.post(now, at, tag, s);
            let Some(completion) = &mut self.queues.completion[usize::from(queue)] else { return };
            waiting.append(&mut completion.waiting);
            completion.waiting = waiting;
        }
        if queue == 0 {
            self.send_events(now, s);
        }
    }

    /// Records that a command of the submission queue has ended, and ends the queue's deletion after the last.
    pub(super) fn left(&mut self, now: Time, queue: u16, s: &mut dyn Schedule<Event>) {
        let Some(submission) = &mut self.queues.submission[usize::from(queue)] else { return };
        submission.in_flight -= 1;
        if submission.in_flight == 0
            && let Some(tag) = submission.deleted_by
        {
            self.queues.submission[usize::from(queue)] = None;
            self.finish(now, tag, s);
        }
    }

    /// Sends the interrupt that a coalescing queue owes.
    pub(super) fn interrupt_queue(&mut self, now: Time, queue: u16, s: &mut dyn Schedule<Event>) {
        if let Some(vector) = self.queues.completion(queue).and_then(|queue| queue.vector) {
            Step::Raise.at(self.link.interrupt(now), u32::from(vector), s);
        }
    }
}
