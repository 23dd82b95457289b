//! Keeps a trace of where the time of each request goes.

use media::OpId;
use sim::Time;

use super::Machine;
use crate::trace::{Trace, Traced};

impl Machine {
    /// Records from now on where the time of each request goes: of those submitted afterwards.
    ///
    /// # Panics
    /// If the host is outside the simulation, or requests are in progress.
    pub fn keep_trace(&mut self) {
        assert!(!self.external, "requests of a host outside the simulation");
        assert!(self.next_event().is_none() || self.now() == Time::ZERO, "requests are in progress");
        let channels = self.nand.config().geometry.channels;
        let trace = Trace::new(
            &self.host_interface.tracks(),
            channels,
            (self.ftl.map_cache_use().is_some(), self.host_interface.has_single_buffer()),
        );
        self.world.observer.get_or_insert_default().trace = Some(trace);
        (self.attended, self.plain_reads) = (true, false);
    }

    /// Returns where the time of request `io` went, which has completed at `now` and whose number is not in use again;
    /// `None` without a trace.
    #[inline]
    pub fn traced(&mut self, now: Time, io: u32) -> Option<Traced<'_>> {
        Some(self.trace()?.completed(now, io))
    }

    /// Notes the end of a read of flash, or of pages that were read ahead, in the trace if there is one.
    pub(super) fn trace_read_end(&mut self, now: Time, id: OpId) {
        if let Some(trace) = self.trace() {
            trace.read(now, id);
        }
    }

    #[inline]
    pub(super) fn trace(&mut self) -> Option<&mut Trace> {
        self.world.observer.as_mut()?.trace.as_mut()
    }
}
