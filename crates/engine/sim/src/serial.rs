//! A resource that performs one operation at a time.

use crate::Time;

/// An interval of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Start of the interval.
    pub from: Time,
    /// End of the interval.
    pub to: Time,
}

/// One direction of a wire. It serves work in order of arrival, and the end of work is known as soon as it is accepted.
///
/// In addition to data, which is served first come first served, there are *urgent* packets: doorbells, queue entries,
/// interrupts. They are sent between the packets of the data and only wait for other urgent packets, and they are often
/// known before they are due (a fetch follows a doorbell that is still in flight). An urgent packet is therefore timed
/// by its due time, while its time on the wire is charged when it becomes known and delays the next data, unless the
/// wire has been idle meanwhile. In whatever order packets become known, the wire never exceeds its capacity, and
/// nothing waits for a later packet. The price is that an urgent packet delays the next data rather than data already
/// on the wire, an error of one short packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Serial {
    /// End of the accepted data.
    free: Time,
    /// End of the accepted urgent packets, computed as if there were no data.
    urgent_free: Time,
    /// Total time of data.
    data: Time,
    /// Total time of all other packets, and the part of it that has already delayed data.
    charged: Time,
    settled: Time,
}

impl Serial {
    /// Accepts data that takes `length`, after everything accepted before and not before `at`. If `at` is later than
    /// now, no later data may be due before it.
    #[inline]
    pub fn take(&mut self, at: Time, length: Time) -> Span {
        let from = at.max(self.all_free());
        let to = from + length;
        self.free = to;
        self.settled = self.charged;
        self.data += length;
        Span { from, to }
    }

    /// Returns the time at which everything accepted would be done if the wire had not been idle since its last data.
    /// The next data starts then, or later when it is due.
    #[inline]
    pub fn all_free(&self) -> Time {
        self.free + (self.charged - self.settled)
    }

    /// Returns the start of an urgent packet due at `at`, now or later; `residue` is its wait if data is on the wire.
    /// The caller must [charge](Self::charge_urgent) its time.
    #[inline]
    pub fn due(&self, at: Time, residue: Time) -> Time {
        let from = at.max(self.urgent_free);
        if self.free > from { from + residue } else { from }
    }

    /// Charges the time of urgent packets known at `now`.
    #[inline]
    pub fn charge_urgent(&mut self, now: Time, length: Time) {
        self.urgent_free = self.urgent_free.max(now) + length;
        self.charge(length);
    }

    /// Charges the time of packets that nothing waits for.
    #[inline]
    pub fn charge(&mut self, length: Time) {
        self.charged += length;
    }

    /// Returns the busy time until `now`, without work accepted for later.
    ///
    /// # Panics
    /// Panics if it exceeds the time passed, which means that the model is broken.
    pub fn busy(&self, now: Time) -> Time {
        let busy = (self.data + self.charged).saturating_sub(self.all_free().saturating_sub(now));
        assert!(busy <= now, "busy for {busy} in {now}");
        busy
    }

    /// Cancels work accepted for after `now`.
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
        // Urgent packets alone cannot exceed the wire's capacity either.
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
