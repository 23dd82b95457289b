//! Notification of a driver about completions.

use keys::{Kind, TIME, assumed, given, section, words};
use sim::Time;

const POLL_PAPER: &str = "an interrupt costs about 2 us before the completion (similar to Yang, Minturn and Hady, When \
    poll is better than interrupt, FAST 2012)";

words! {
    /// Detection of completions by the host.
    Detection {
        /// The device interrupts a core, which suspends its current work.
        Interrupt = "interrupt",
        /// Cores poll for completions whenever they have no other work: there are no interrupts and no idle cores.
        Polling = "polling",
    }
}

section! {
    /// Notification of a driver about completions.
    #[derive(Copy, Eq)]
    Completion {
        "host.completion" by: Detection = Kind::words(Detection::WORDS),
            given("interrupt", "the default of the Linux NVMe, AHCI and UFS drivers"),
            "How the host detects completions.";
        "host.poll" poll: Time = TIME,
            assumed("100ns", "polling a queue entry that the device has just written costs one cache miss"),
            "Time from an entry reaching memory until the polling core sees it.",
            when "host.completion" is "polling";
        "host.interrupt.delivery" delivery: Time = TIME,
            assumed("800ns", POLL_PAPER),
            "Time from the interrupt's arrival at the host to the first instruction of its handler.",
            when "host.completion" is "interrupt";
        "host.interrupt.handler" handler: Time = TIME,
            assumed("1us", POLL_PAPER),
            "CPU time to enter and leave the handler, without handling completions.",
            when "host.completion" is "interrupt";
    }
}

impl Completion {
    /// Returns the notification by interrupts that take `delivery` to arrive and `handler` to enter and leave.
    pub const fn interrupts(delivery: Time, handler: Time) -> Completion {
        Completion { by: Detection::Interrupt, poll: Time::ZERO, delivery, handler }
    }

    /// Returns the notification by polls that see an entry after `delay`.
    pub const fn polling(delay: Time) -> Completion {
        Completion { by: Detection::Polling, poll: delay, delivery: Time::ZERO, handler: Time::ZERO }
    }

    /// Returns true if cores poll for completions.
    #[inline]
    pub const fn is_polling(&self) -> bool {
        matches!(self.by, Detection::Polling)
    }
}

impl Default for Completion {
    /// The defaults of the keys where `link.type` is `pcie`.
    fn default() -> Completion {
        crate::config::default_where("pcie")
    }
}
