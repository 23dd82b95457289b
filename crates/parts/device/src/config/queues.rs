//! Configuration of NVMe queues: arbitration among submission queues, and coalescing of interrupts.

use keys::{COUNT, Conflict, TIME, Why, assumed, expect, given, section, words};
use sim::Time;

words! {
    /// Selection of the next submission queue (NVM Express Base Specification 2.0, 3.4.4).
    Arbitration {
        /// All queues in turn.
        RoundRobin = "round-robin",
        /// Urgent queues first, then the other classes by weight; queues of one class in turn.
        WeightedRoundRobin = "weighted-round-robin",
    }
}

words! {
    /// Class of a submission queue under weighted round robin, set by the host at its creation (QPRIO).
    #[derive(PartialOrd, Ord)]
    Priority {
        /// Served before all others.
        Urgent = "urgent",
        /// Served by the weight of its class.
        High = "high",
        /// Served by the weight of its class.
        Medium = "medium",
        /// Served by the weight of its class.
        Low = "low",
    }
}

section! {
    /// Weights of the queue classes: commands per round (Arbitration feature, HPW + 1 and the like).
    #[derive(Copy, Eq)]
    Weights {
        "device.weights.high" high: u32 = COUNT.within(1.0, 256.0),
            assumed("8", "each class has twice the turns of the next"),
            "Weight of the class high.",
            when "device.arbitration" is "weighted-round-robin";
        "device.weights.medium" medium: u32 = COUNT.within(1.0, 256.0),
            assumed("4", "each class has twice the turns of the next"),
            "Weight of the class medium.",
            when "device.arbitration" is "weighted-round-robin";
        "device.weights.low" low: u32 = COUNT.within(1.0, 256.0),
            assumed("2", "each class has twice the turns of the next"),
            "Weight of the class low.",
            when "device.arbitration" is "weighted-round-robin";
    }
}

section! {
    /// Interrupt coalescing for each interrupt vector (NVM Express Base Specification 2.0, Feature 08h): an interrupt waits
    /// for a number of completions (the feature's THR + 1) or a time (TIME x 100 us).
    #[derive(Copy, Eq)]
    Coalescing {
        "device.coalescing.threshold" threshold: u32 = COUNT.within(1.0, 256.0),
            given("1", "NVMe Base Specification: the default of Feature 08h is none"),
            "Number of completions that an interrupt waits for; 1: none.",
            when "link.type" is "pcie";
        "device.coalescing.time" time: Time = TIME.within(0.0, 25.5e9),
            given("0s", "NVMe Base Specification: the default of Feature 08h is none"),
            "Maximum time for which an interrupt waits, a multiple of 100us.",
            when "link.type" is "pcie";

        check both;
    }
}

impl Coalescing {
    /// Each completion interrupts, the state after a reset.
    pub const OFF: Coalescing = Coalescing { threshold: 1, time: Time::ZERO };

    /// Returns true if an interrupt waits for several completions.
    pub const fn is_on(&self) -> bool {
        self.threshold > 1
    }

    fn both(&self) -> Result<(), Conflict> {
        let (threshold, time) = ("device.coalescing.threshold", "device.coalescing.time");
        let waits = self.time > Time::ZERO;
        expect(self.time.ps().is_multiple_of(100_000_000), &[time], "a multiple of 100us")?;
        match (self.is_on(), waits) {
            (true, false) => Err(Conflict { keys: vec![threshold, time], why: Why::And("a time too") }),
            (false, true) => Err(Conflict { keys: vec![time, threshold], why: Why::And("a threshold of at least 2") }),
            (true, true) | (false, false) => Ok(()),
        }
    }
}
