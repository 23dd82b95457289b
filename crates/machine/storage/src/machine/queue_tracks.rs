//! Queue lengths on the timeline: in the host, in the controller and at each die.
//!
//! The parts do not report changes of their queues. The machine reads the lengths after each point in time with an
//! event, and only if it keeps a timeline.

use nand::Nand;
use sim::Time;
use sim::timeline::{Counter, Timeline};

use super::Machine;
use host_interface::HostInterface;

/// The queue counters on the timeline, and the last recorded length of each.
pub(super) struct QueueTracks {
    last: Vec<u32>,
    now: Vec<u32>,
}

impl QueueTracks {
    /// Adds a counter for each queue. All queues are empty.
    pub(super) fn new(interface: &HostInterface, nand: &Nand, timeline: &mut Timeline) -> QueueTracks {
        let dies = nand.config().geometry.all_dies();
        let names = interface
            .queues()
            .into_iter()
            .chain((0..dies).map(|d| ("flash dies".to_owned(), format!("queue of die {d}"))));
        let mut count = 0;
        for (part, name) in names {
            let counter = timeline.add_counter(&part, &name);
            assert_eq!(counter, Counter(count), "queues are the only counters");
            timeline.count(counter, Time::ZERO, 0);
            count += 1;
        }
        QueueTracks { last: vec![0; count as usize], now: Vec::with_capacity(count as usize) }
    }

    /// Records the queues whose length has changed.
    fn look(&mut self, at: Time, interface: &HostInterface, nand: &Nand, timeline: &mut Timeline) {
        self.now.clear();
        interface.queue_lengths(&mut self.now);
        self.now.extend((0..nand.config().geometry.all_dies()).map(|die| nand.die_load(die as u16)));
        assert_eq!(self.now.len(), self.last.len(), "every queue has a length");
        for (counter, (last, now)) in (0..).zip(self.last.iter_mut().zip(&self.now)) {
            if *last != *now {
                *last = *now;
                timeline.count(Counter(counter), at, *now);
            }
        }
    }
}

impl Machine {
    /// Records the queue lengths after the events at `now`.
    pub(super) fn note_queues(&mut self, now: Time) {
        let timeline = self.world.observer.as_mut().and_then(|observer| observer.timeline.as_mut());
        if let (Some(tracks), Some(timeline)) = (&mut self.queue_tracks, timeline) {
            tracks.look(now, &self.host_interface, &self.nand, timeline);
        }
    }
}
