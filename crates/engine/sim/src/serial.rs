//! A resource that does one thing at a time.

use crate::Time;

/// A stretch of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Its start.
    pub from: Time,
    /// Its end.
    pub to: Time,
}

/// One direction of a wire: work in order of arrival, its end known as soon as it is accepted.
///
/// Beside the data, which is served first come first served, there are *urgent* packets: a doorbell, a queue entry, an
/// interrupt. They are sent between the packets of the data and wait for other urgent ones only, and they are often
/// known before they are due (a fetch follows a doorbell that is still on its way). So an urgent packet is timed by
/// when it is due, while the wire's time that it takes is accounted for when it becomes known, and taken from the next
/// data, as far as the wire has not been idle meanwhile. Whatever the order in which things become known, the wire
/// never carries more than it can, and nothing waits for what comes later. The price is that data already on the wire
/// is not slowed down, the next is: an error of a short packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Serial {
    /// When the accepted data is through.
    free: Time,
    /// When the accepted urgent packets would be through without data.
    urgent_free: Time,
    /// Time of all data.
    data: Time,
    /// Time of all other packets, and of those of them that data has made way for.
    charged: Time,
    settled: Time,
}

impl Serial {
    /// Data that takes `length`, after all that was accepted before and not before `at`. If `at` is later than now,
    /// whoever comes after must not be due before it.
    #[inline]
    pub fn take(&mut self, at: Time, length: Time) -> Span {
        let from = at.max(self.all_free());
        let to = from + length;
        self.free = to;
        self.settled = self.charged;
        self.data += length;
        Span { from, to }
    }

    /// When all that is accepted would be through, had the wire not been idle since it has carried data: the next data
    /// starts then, or when it is due if that is later.
    #[inline]
    pub fn all_free(&self) -> Time {
        self.free + (self.charged - self.settled)
    }

    /// When an urgent packet goes that is due at `at`, now or later; `residue` is what it waits where data is on the
    /// wire. Its time is to be [`charged`](Self::charge_urgent).
    #[inline]
    pub fn due(&self, at: Time, residue: Time) -> Time {
        let from = at.max(self.urgent_free);
        if self.free > from { from + residue } else { from }
    }

    /// The time of urgent packets, known now.
    #[inline]
    pub fn charge_urgent(&mut self, now: Time, length: Time) {
        self.urgent_free = self.urgent_free.max(now) + length;
        self.charge(length);
    }

    /// The time of packets that nothing waits for.
    #[inline]
    pub fn charge(&mut self, length: Time) {
        self.charged += length;
    }

    /// Busy time until `now`; what is accepted for later is not in it.
    ///
    /// # Panics
    /// If that is more than has passed: the model is broken.
    pub fn busy(&self, now: Time) -> Time {
        let busy = (self.data + self.charged).saturating_sub(self.all_free().saturating_sub(now));
        assert!(busy <= now, "busy for {busy} in {now}");
        busy
    }

    /// Forgets what is accepted for later than `now`.
    pub fn power_cut(&mut self, now: Time) {
        let done = self.busy(now);
        *self = Serial { free: now, urgent_free: now, data: done, charged: Time::ZERO, settled: Time::ZERO };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ns(n: u64) -> Time {
        Time::from_ns(n)
    }

    #[test]
    fn data_is_served_in_order() {
        let mut wire = Serial::default();
        assert_eq!(wire.take(ns(10), ns(5)), Span { from: ns(10), to: ns(15) });
        assert_eq!(wire.take(ns(12), ns(5)), Span { from: ns(15), to: ns(20) });
        assert_eq!(wire.take(ns(30), ns(1)), Span { from: ns(30), to: ns(31) });
        assert_eq!(wire.busy(ns(31)), ns(11));
    }

    #[test]
    fn an_urgent_packet_passes_data_and_takes_its_time_from_what_follows() {
        let mut wire = Serial::default();
        wire.take(ns(0), ns(100));
        assert_eq!(wire.due(ns(10), ns(1)), ns(11));
        wire.charge_urgent(ns(10), ns(2));
        assert_eq!(wire.take(ns(20), ns(8)), Span { from: ns(102), to: ns(110) });
        // Due when the wire is free again: no residue.
        assert_eq!(wire.due(ns(200), ns(1)), ns(200));
    }

    #[test]
    fn what_is_due_later_delays_nothing_that_is_due_sooner() {
        let mut wire = Serial::default();
        assert_eq!(wire.due(ns(50), ns(0)), ns(50));
        wire.charge_urgent(ns(0), ns(2));
        assert_eq!(wire.take(ns(3), ns(10)).to, ns(13));
        // But urgent packets alone cannot exceed the wire either.
        for n in 1..=50 {
            wire.charge_urgent(ns(3), ns(2));
            assert!(wire.due(ns(3), ns(0)) >= ns(3 + 2 * n));
        }
        assert!(wire.busy(ns(20)) <= ns(20));
        wire.power_cut(ns(20));
        assert_eq!(wire.take(ns(20), ns(1)).to, ns(21));
        assert!(wire.busy(ns(21)) <= ns(21));
    }
}
