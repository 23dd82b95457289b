//! How long the queues are, on the timeline: at the host, in the controller, at each die.
//!
//! The parts do not tell of their queues: they are looked at after each point in time at which something happened, and
//! only where a timeline is kept.

use nand::Nand;
use sim::Time;
use sim::timeline::{Counter, Timeline};

use super::{Completion, Machine};
use host_interface::HostInterface;

/// The queues' counters on the timeline, and how long each was when it was last looked at.
pub(super) struct QueueTracks {
    last: Vec<u32>,
    now: Vec<u32>,
}

impl QueueTracks {
    /// Adds a counter for each queue, none of which anything is in yet.
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

    /// Notes the queues whose length has changed.
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
    /// [`next_end`](Machine::next_end), and a look at the queues after each point in time.
    #[cold]
    pub(super) fn next_end_watched(&mut self, until: Time, others: &mut Vec<Completion>) -> Option<Completion> {
        let mut tracks = self.queue_tracks.take().expect("the queues are watched");
        let end = loop {
            let Some(at) = self.next_event().filter(|at| *at <= until) else { break None };
            self.world.until = at;
            let end = self.run::<true>(at, others);
            let timeline = self.world.timeline.as_deref_mut().expect("a timeline is kept");
            tracks.look(at, &self.host_interface, &self.nand, timeline);
            if end.is_some() {
                break end;
            }
        };
        self.queue_tracks = Some(tracks);
        end
    }
}
