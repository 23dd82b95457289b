//! Numbers beyond a table or a queue: each call panics, in release builds too.

use sim::timeline::Counter;
use sim::{Dense, EventQueue, Lane, Permutation, Streams, Time, Timeline, Track};
use testkit::refused;

const NOW: Time = Time::from_us(1);

#[test]
fn a_table_refuses_them() {
    refused!(table = Dense::<u32>::new(vec![1, 2]);
        table[2],
        table[usize::MAX],
        table[2] = 3,
        table.part(1, 2)[0],
        table.part(usize::MAX, 2)[0],
        table.part_mut(1, 2)[0],
        table.part_mut(1, usize::MAX)[0],
    );
}

/// A queue with an event, so that its next one goes to a lane.
fn queue() -> EventQueue<u32> {
    let mut queue = EventQueue::new(1);
    queue.push(Lane(0), NOW, 0);
    queue
}

#[test]
fn an_event_queue_refuses_lanes() {
    refused!(queue = queue();
        EventQueue::<u32>::new(63),
        queue.push(Lane(63), NOW, 1),
        queue.push(Lane(64), NOW, 1),
        queue.push(Lane(255), NOW, 1),
    );
}

#[test]
fn an_empty_event_queue_has_no_next_event() {
    refused!(queue = EventQueue::<u32>::new(1); queue.pop_due());
    assert_eq!(EventQueue::<u32>::new(1).pop(), None);
}

#[test]
fn a_timeline_refuses_tracks_and_counters() {
    let timeline = || {
        let mut timeline = Timeline::new(100);
        timeline.add_track("part", "track");
        timeline.add_counter("part", "counter");
        timeline
    };
    refused!(timeline = timeline();
        {
            timeline.span(Track(1), "name", NOW, NOW + NOW);
            timeline.write(&mut Vec::new())
        },
        {
            timeline.count(Counter(1), NOW, 1);
            timeline.write(&mut Vec::new())
        },
    );
}

#[test]
fn a_permutation_refuses_numbers() {
    refused!(permutation = Permutation::new(10, &mut Streams::new(1).stream("indices"));
        permutation.at(10),
        permutation.index_of(10),
    );
}
