//! The loop over events: requests go in, what happens is handed to the part that it happens to, ends come out.

use host::Completed;
use media::{Request, Tag};
use sim::Time;

use super::{Completion, Event, HostInterface, HostInterfaceView, Kind, Machine, NandView};

impl Machine {
    /// A request of `job`. `io` names it until it has ended: a dense number, free for reuse afterwards.
    pub fn submit(&mut self, now: Time, io: u32, job: u16, request: Request) {
        self.submit_alone(now, Time::ZERO, io, job, &request);
    }

    /// As [`submit`](Self::submit), by a caller that will not submit anything, nor look at anything, before `until` unless
    /// a request has ended. So events before that, if they come before all others, may be handled now.
    #[inline(always)]
    pub fn submit_alone(&mut self, now: Time, until: Time, io: u32, job: u16, request: &Request) {
        if self.world.timeline.is_some() {
            return self.submit_watched(now, io, job, request.by_field());
        }
        self.world.until = until;
        self.take_in(now, io, job, request);
    }

    /// A request of `job`, by a caller that does nothing else before a request has ended, as the first of which this
    /// returns: [`submit_alone`](Self::submit_alone) and [`next_end`](Self::next_end) in one, where no timeline is kept.
    #[inline(always)]
    pub fn serve(
        &mut self,
        now: Time,
        io: u32,
        job: u16,
        request: &Request,
        others: &mut Vec<Completion>,
    ) -> Option<Completion> {
        debug_assert!(self.world.timeline.is_none(), "a timeline is kept");
        self.world.until = Time::MAX;
        self.take_in(now, io, job, request);
        self.run::<false>(Time::MAX, others)
    }

    #[inline(always)]
    fn take_in(&mut self, now: Time, io: u32, job: u16, request: &Request) {
        let view = &mut HostInterfaceView::<false>(&mut self.world);
        if let Some((tag, at)) = self.host_interface.submit(now, io, job, request, view) {
            self.command::<false>(at, tag, io, request);
        }
    }

    /// With a timeline kept, queues are looked at after each point in time: none is passed over.
    #[cold]
    #[inline(never)]
    fn submit_watched(&mut self, now: Time, io: u32, job: u16, request: Request) {
        self.world.until = Time::ZERO;
        let at_once =
            self.host_interface.submit(now, io, job, &request, &mut HostInterfaceView::<true>(&mut self.world));
        debug_assert_eq!(at_once, None, "time has moved on");
    }

    /// When the next event comes.
    #[inline]
    pub fn next_event(&self) -> Option<Time> {
        self.world.queue.next_time()
    }

    /// Handles the events up to `until`, and stops after one that ended a request. True if it stopped there.
    pub fn advance(&mut self, until: Time, completions: &mut Vec<Completion>) -> bool {
        let mut others = Vec::new();
        let end = self.next_end(until, &mut others);
        completions.extend(end);
        completions.append(&mut others);
        end.is_some()
    }

    /// Handles the events up to `until`, and stops after one that ended a request, which is returned; if several ended
    /// together, those after the first are added to `others`, which is empty before.
    #[inline(always)]
    pub fn next_end(&mut self, until: Time, others: &mut Vec<Completion>) -> Option<Completion> {
        if self.world.timeline.is_some() {
            return self.next_end_watched(until, others);
        }
        self.world.until = until;
        self.run::<false>(until, others)
    }

    /// [`next_end`](Self::next_end), with `SPANS` noted on a timeline if one is kept.
    #[inline(always)]
    pub(super) fn run<const SPANS: bool>(&mut self, until: Time, others: &mut Vec<Completion>) -> Option<Completion> {
        debug_assert!(others.is_empty(), "requests that have ended and are not taken");
        while let Some((now, event)) = self.world.queue.pop_until(until) {
            // What every read has, each by itself, so that what handles it knows which it is. (Few enough for a comparison each:
            // a table of jumps costs more.)
            match event.kind {
                Kind::Array => {
                    if let Some(end) = self.flash_event::<SPANS>(now, nand::Event::Array(event.of as u16)) {
                        return Some(end);
                    }
                }
                Kind::Transfer => {
                    if let Some(end) = self.transferred::<SPANS>(now, event.of as usize) {
                        return Some(end);
                    }
                }
                Kind::Ended if matches!(self.host_interface, HostInterface::Nvme(_)) => {
                    if let Some(end) = self.ended::<SPANS>(now, event.of as u16) {
                        return Some(end);
                    }
                }
                _ => {
                    if let Some(end) = self.common_event::<SPANS>(now, event, others) {
                        return Some(end);
                    }
                }
            }
        }
        None
    }

    /// What happens to many a request, if not to each. Returns the first of the requests that have ended with it; the others
    /// are added to `others`.
    #[inline(never)]
    fn common_event<const SPANS: bool>(
        &mut self,
        now: Time,
        event: Event,
        others: &mut Vec<Completion>,
    ) -> Option<Completion> {
        match (event.kind, &self.host_interface) {
            (Kind::Wake, _) => {
                self.nand.woken(now, event.of as usize, &mut NandView::<SPANS>(&mut self.world));
                return None;
            }
            (Kind::Decoded, HostInterface::Nvme(_)) => {
                self.decoded::<SPANS>(now, event.of as u16);
                return None;
            }
            (Kind::Arrived, HostInterface::Nvme(_)) => {
                self.arrived(now, Tag(event.of));
                self.perform(now);
                return None;
            }
            (Kind::Reaped, HostInterface::Nvme(_)) => return self.reaped::<SPANS>(now, event.of),
            _ => self.other_event(now, event, others),
        }
        (!others.is_empty()).then(|| others.remove(0))
    }

    fn host_interface_event(&mut self, now: Time, event: host_interface::Event, completions: &mut Vec<Completion>) {
        match self.host_interface.handle(now, event, &mut HostInterfaceView::<true>(&mut self.world), &mut self.outputs)
        {
            Some(host_interface::Output::Completed { io, status, submitted }) => {
                completions.push(Completion { io, status, submitted, at: now });
            }
            Some(host_interface::Output::Command { tag, io, request }) => self.command::<true>(now, tag, io, &request),
            Some(output) => self.outputs.push(output),
            None => {}
        }
        if !self.outputs.is_empty() {
            self.outputs(now, completions);
        }
    }

    #[inline(always)]
    fn decoded<const SPANS: bool>(&mut self, now: Time, tag: u16) {
        let HostInterface::Nvme(path) = &mut self.host_interface else { unreachable!("an event of NVMe") };
        let (tag, io, request) = path.decoded(tag);
        self.command::<SPANS>(now, tag, io, &request);
    }

    #[inline(always)]
    fn ended<const SPANS: bool>(&mut self, now: Time, tag: u16) -> Option<Completion> {
        let HostInterface::Nvme(path) = &mut self.host_interface else { unreachable!("an event of NVMe") };
        path.ended(now, tag, &mut HostInterfaceView::<SPANS>(&mut self.world)).map(end)
    }

    #[inline(always)]
    fn reaped<const SPANS: bool>(&mut self, now: Time, of: u32) -> Option<Completion> {
        let HostInterface::Nvme(path) = &mut self.host_interface else { unreachable!("an event of NVMe") };
        let event = host::Event { queue: (of >> 16) as u16, cid: of as u16 };
        path.reaped(now, event, &mut HostInterfaceView::<SPANS>(&mut self.world)).map(|ended| end((ended, now)))
    }

    /// A command for the translation layer. Most are reads that it answers with a read of flash.
    #[inline(always)]
    pub(super) fn command<const SPANS: bool>(&mut self, now: Time, tag: Tag, io: u32, request: &Request) {
        if self.checker.is_some() {
            self.check_command(tag, io, request.by_field());
        }
        match self.ftl.command(now, tag, request, &mut self.out) {
            Some(read) => self.nand.submit_read(now, read, &mut NandView::<SPANS>(&mut self.world)),
            None => self.perform(now),
        }
    }

    /// The data of a read have left their die through a channel.
    #[inline(always)]
    fn transferred<const SPANS: bool>(&mut self, now: Time, channel: usize) -> Option<Completion> {
        let (id, status) = self.nand.transferred(now, channel, &mut NandView::<SPANS>(&mut self.world))?;
        self.read_done::<SPANS>(now, id, status)
    }

    #[inline(always)]
    fn flash_event<const SPANS: bool>(&mut self, now: Time, event: nand::Event) -> Option<Completion> {
        let done = self.nand.handle(now, event, &mut NandView::<SPANS>(&mut self.world))?;
        self.flash_done::<SPANS>(now, done)
    }

    /// An event that is rare, or is on a path that is. Adds the requests that it ended to `completions`.
    #[inline(never)]
    fn other_event(&mut self, now: Time, event: Event, completions: &mut Vec<Completion>) {
        if let Some(event) = event.of_flash() {
            completions.extend(self.flash_event::<true>(now, event));
        } else if event.kind == Kind::Timer {
            self.timer = Time::MAX;
            self.ftl.timer(now, &mut self.out);
            self.perform(now);
        } else {
            self.host_interface_event(now, event.of_host_interface(), completions);
        }
    }
}

/// The end of a request, and when.
#[inline(always)]
pub(super) fn end((Completed { io, status, submitted }, at): (Completed, Time)) -> Completion {
    Completion { io, status, submitted, at }
}
