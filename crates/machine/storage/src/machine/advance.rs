//! The event loop of a drive: accepts requests, passes each event to its part and collects completions.

use host::Completed;
use media::{OpId, Request, Status, Tag};
use nand::Done;
use sim::{Time, rarely};

use super::{Completion, Event, HostInterfaceView, Machine, NandView};
use host_interface::hmb::Switched;
use host_interface::{HostInterface, Output};

/// The consequences of an event.
struct Handled {
    /// The translation layer was involved, so that there may be actions to perform.
    acts: bool,
    /// Requests complete, at which the event loop stops.
    stops: bool,
}

impl Machine {
    /// Submits a request of `job`. `io` names it until its completion: a dense number that may be reused afterwards.
    pub fn submit(&mut self, now: Time, io: u32, job: u16, request: Request) {
        if let Some(trace) = self.trace() {
            trace.issued(now, io, request);
        }
        self.host_interface.submit(now, io, job, request, &mut HostInterfaceView(&mut self.world));
    }

    /// Returns the time of the next event.
    #[inline]
    pub fn next_event(&self) -> Option<Time> {
        self.world.queue.next_time()
    }

    /// Handles events up to `until`, stopping after the first one that completes requests. Appends the completions to
    /// `completions` and returns true if it stopped there.
    pub fn advance(&mut self, until: Time, completions: &mut Vec<Completion>) -> bool {
        self.go_on(None, until.saturating_add(Time::from_ps(1)), completions)
    }

    /// Performs all pending actions of the translation layer at `now`, outside the event loop.
    pub(super) fn perform(&mut self, now: Time) {
        self.go_on(Some(now), Time::ZERO, &mut Vec::new());
    }

    /// Handles events before `end`, like [`advance`](Self::advance), or performs the pending actions at the time
    /// `pending`. Both are one function because what performs actions is large: called from one place, it becomes a part
    /// of the loop.
    fn go_on(&mut self, pending: Option<Time>, end: Time, completions: &mut Vec<Completion>) -> bool {
        loop {
            let (now, Handled { acts, stops }) = if self.world.queue.is_before(end) {
                let (now, event) = self.world.queue.pop_due();
                (now, self.handle(now, event, completions))
            } else if let Some(now) = pending {
                (now, Handled { acts: true, stops: true })
            } else {
                return false;
            };
            if acts {
                self.perform_all(now);
            }
            if self.queue_tracks.is_some() && (stops || self.next_event() != Some(now)) {
                rarely(self, move |it| it.note_queues(now));
            }
            if stops {
                return true;
            }
        }
    }

    /// Handles an event.
    #[inline(always)]
    fn handle(&mut self, now: Time, event: Event, completions: &mut Vec<Completion>) -> Handled {
        // Reads of flash end in one place, so that what the translation layer does about them is a part of the loop.
        let (id, status) = match event {
            Event::HostInterface(event) => {
                let Machine { host_interface, world, outputs, .. } = self;
                let outcome = host_interface.outcome_of(now, event, &mut HostInterfaceView(world), outputs);
                return if let Some(completed) = outcome.completed {
                    complete(now, completed, completions);
                    Handled { acts: false, stops: true }
                } else if let Some((tag, request)) = outcome.command {
                    self.command(now, tag, |host_interface| host_interface.io(tag), &request);
                    Handled { acts: true, stops: false }
                } else if let Some(tag) = outcome.arrived {
                    self.arrived(now, tag);
                    Handled { acts: true, stops: false }
                } else if self.outputs.is_empty() {
                    Handled { acts: false, stops: false }
                } else {
                    self.outputs(now, completions)
                };
            }
            Event::Flash(event) => {
                let outcome = self.nand.outcome_of(now, event, &mut NandView(&mut self.world));
                if let Some(read) = outcome.read {
                    read
                } else if let Some((id, status)) = outcome.write {
                    let Done { id, status, kind } = self.nand.done(id, status);
                    self.write_done(id, status, kind);
                    return Handled { acts: true, stops: false };
                } else {
                    return Handled { acts: false, stops: false };
                }
            }
            Event::ReadAhead(id) => (id, Status::Ok),
            Event::Timer => {
                self.timer = Time::MAX;
                self.ftl.timer(now, &mut self.out);
                return Handled { acts: true, stops: false };
            }
        };
        self.ftl.done(id, status, self.nand.store(), &mut self.out);
        if !self.plain_reads {
            rarely(self, move |it| it.attend_read_end(now, id, status));
        }
        Handled { acts: true, stops: false }
    }

    /// Reports the end of an operation to the translation layer, outside the path of most reads.
    pub(super) fn end(&mut self, id: OpId, status: Status) {
        rarely(self, move |it| it.ftl.done(id, status, it.nand.store(), &mut it.out));
    }

    /// Acts on the listed outputs of the host interface.
    fn outputs(&mut self, now: Time, completions: &mut Vec<Completion>) -> Handled {
        let mut handled = Handled { acts: false, stops: false };
        for at in 0..self.outputs.len() {
            match self.outputs[at] {
                Output::Completed { io, status, submitted } => {
                    complete(now, Completed { io, status, submitted }, completions);
                    handled.stops = true;
                    continue;
                }
                Output::Command { tag, io, request } => self.command(now, tag, |_| io, &request),
                Output::Arrived { tag } => self.arrived(now, tag),
                rare => self.rare_output(now, rare),
            }
            handled.acts = true;
        }
        self.outputs.clear();
        handled
    }

    /// Passes a command to the translation layer. `io` returns the number of its request.
    #[inline(always)]
    fn command(&mut self, now: Time, tag: Tag, io: impl Fn(&HostInterface) -> u32, request: &Request) {
        if self.attended {
            // A copy, so that the request itself need not be in memory.
            let request = *request;
            rarely(self, move |it| it.attend_command(now, tag, io, &request));
        }
        self.ftl.command(now, tag, request, &mut self.out);
    }

    /// Acts on an output of the host interface that most requests do not have.
    fn rare_output(&mut self, now: Time, output: Output) {
        match output {
            Output::Completed { .. } | Output::Command { .. } | Output::Arrived { .. } => {
                unreachable!("{output:?} is no rare output")
            }
            Output::HostMemory { id, intact: true } => self.access_done(OpId(id), Status::Ok),
            Output::HostMemory { id, intact: false } => self.access_damaged(now, OpId(id)),
            Output::HostMemorySwitched(Switched::Enabled) => self.ftl.enable_host_memory(),
            Output::HostMemorySwitched(Switched::Releasing) => self.ftl.release_host_memory(&mut self.out),
            Output::Emptied { place } => {
                if let Some(checker) = &mut self.checker {
                    checker.read_from(place, self.host_interface.emptied());
                }
            }
        }
    }

    /// Handles the arrival of a write's data in the controller.
    fn arrived(&mut self, now: Time, tag: Tag) {
        if self.attended {
            rarely(self, move |it| it.attend_data(now, tag));
        }
        self.ftl.arrived(now, tag, &mut self.out);
    }

    /// Takes the data of a write that has arrived, if payload is kept.
    fn attend_data(&mut self, now: Time, tag: Tag) {
        if let Some(checker) = &mut self.checker {
            self.host_interface.take(tag, self.data.data_mut(tag));
            checker.arrived(tag, self.data.data(tag));
        } else if self.external {
            self.host_interface.take(tag, self.data.data_mut(tag));
        }
        if let Some(trace) = self.trace() {
            trace.arrived(now, tag);
        }
    }

    /// Handles the end of a program or an erase: applies its effect to the contents, then notifies the translation layer.
    #[inline(never)]
    fn write_done(&mut self, id: OpId, status: Status, kind: nand::OpKind) {
        if kind == nand::OpKind::Program
            && status.is_ok()
            && let Some(ftl) = self.ftl.plain(id)
        {
            let ((page, slc), sequence) = (self.nand.place_of(id), ftl.program_sequence(id));
            if let Some(spare) = self.nand.store_mut().program_plain(page, sequence, slc) {
                return ftl.program_done(id, Some(spare), &mut self.out);
            }
        }
        self.apply_write(Done { id, status, kind });
        self.end(id, status);
    }

    /// Applies a program or an erase to the contents.
    pub(super) fn apply_write(&mut self, done: Done) {
        let Done { id, status, kind } = done;
        let (page, slc) = self.nand.place_of(id);
        let store = self.nand.store_mut();
        match (kind, status) {
            (nand::OpKind::Program, Status::Ok) => crate::prepare::fast::apply_program(&self.ftl, store, id, page, slc),
            (nand::OpKind::Program, _) => store.tear(page, slc),
            (_, Status::Ok) => store.erase(page.block()),
            _ => store.tear_erase(page.block()),
        }
        self.mirror_write(kind, page);
    }

    /// Notes a new command: as a part of a stream if the drive reads ahead, in the trace if there is one, and opens its data
    /// if payload is kept. The data of a write are generated here.
    fn attend_command(&mut self, now: Time, tag: Tag, io: impl Fn(&HostInterface) -> u32, request: &Request) {
        self.note_read(request);
        if let Some(trace) = self.world.observer.as_mut().and_then(|observer| observer.trace.as_mut()) {
            trace.commanded(now, tag, io(&self.host_interface), request);
        }
        if let Some(checker) = &mut self.checker {
            let sectors = if request.op.has_data() { request.bytes / media::SECTOR } else { 0 };
            let data = self.data.open(tag, sectors as u32);
            checker.begin(tag, io(&self.host_interface), &self.ftl.placed(request), data);
            if request.op.writes() {
                self.host_interface.put(tag, data);
            }
        } else if self.external {
            self.open_external(tag, request);
        }
    }
}

/// Appends the completion of a request.
#[inline]
fn complete(now: Time, completed: Completed, completions: &mut Vec<Completion>) {
    let Completed { io, status, submitted } = completed;
    completions.push(Completion { io, status, submitted, at: now });
}

impl sim::Machine for Machine {
    /// The request's number, its job and the request itself.
    type Request = (u32, u16, Request);
    type Completion = Completion;

    fn submit(&mut self, now: Time, (io, job, request): (u32, u16, Request)) {
        Machine::submit(self, now, io, job, request);
    }

    fn next_event(&mut self) -> Option<Time> {
        Machine::next_event(self)
    }

    fn advance(&mut self, until: Time, completions: &mut Vec<Completion>) {
        Machine::advance(self, until, completions);
    }
}

/// Asserts at compile time that every part of the machine, and the machine itself, implements the contract.
const _: () = {
    use sim::contract::{assert_machine, assert_part};
    assert_part::<host::Nvme>();
    assert_part::<host::Ahci>();
    assert_part::<host::Ufshci>();
    assert_part::<device::Nvme>();
    assert_part::<device::Sata>();
    assert_part::<device::Ufs>();
    assert_part::<device::SharedBuffer>();
    assert_part::<host_interface::HostInterface>();
    assert_part::<system::parts::Translation>();
    assert_part::<nand::Nand>();
    assert_machine::<Machine>();
};
