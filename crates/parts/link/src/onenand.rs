//! The bus of a OneNAND, whose buffers are read like memory. The `device` crate times its bursts.

use keys::{POWER, TIME, given, section};
use sim::Time;

const BURST: &str = "xip: Table 3, a 16-byte line takes 220 ns, which is eight transfers plus this; likewise a 1 KiB \
    page, with its writes to SRAM, takes 12.86 us";
const BURST_POWER: &str = "xip: Table 3, the two powers that reproduce the energy of a line (15.24 nJ) and of a page \
    (1056.21 nJ, with writes to SRAM at the power of reads)";

section! {
    /// Configuration of a OneNAND's bus.
    #[derive(Eq)]
    OneNandConfig {
        "link.width" word_bytes: u64;
        "link.rate" words_per_s: u64;
        "link.burst_latency" burst_latency: Time = TIME,
            given("60ns", BURST),
            "Time from the address to the first word of a burst from a OneNAND's buffer.",
            when "link.type" is "onenand";
        "link.latency_power" latency_uw: u64 = POWER,
            given("8.917mW", BURST_POWER),
            "Power of a OneNAND's bus and buffer during a burst's latency.",
            when "link.type" is "onenand";
        "link.transfer_power" transfer_uw: u64 = POWER,
            given("91.906mW", BURST_POWER),
            "Power of a OneNAND's bus and buffer during transfers.",
            when "link.type" is "onenand";
    }
}
