//! `[device.read_ahead]`: what a drive reads before the host asks for it.

use keys::{COUNT, SIZE, TIME, assumed, section};
use sim::Time;

section! {
    /// Read-ahead of sequential streams.
    #[derive(Copy, Eq)]
    ReadAhead {
        "device.read_ahead.size" size: u64 = SIZE,
            assumed("0B", "a preset turns it on where the drive that it describes is known to read ahead"),
            "Memory of the controller for pages that are read before the host asks for them; 0B: no read-ahead. Each \
             stream is read ahead by half of its share of it.";
        "device.read_ahead.streams" streams: u32 = COUNT.within(1.0, 256.0),
            assumed("8", "as many as programs on a client read at once; 1 to 64 are plausible"),
            "Maximum number of sequential streams that are followed at the same time.";
        "device.read_ahead.wait" wait: Time = TIME,
            assumed("0s", "the firmware's time to accept a read covers the search; a fitted drive took 5us"),
            "Time from the decoding of a read to its data, if these were read ahead, in addition to their way to the host.";
        "device.read_ahead.after" after: u32 = COUNT.within(2.0, 64.0),
            assumed("2", "the fewest requests that can be in sequence; up to 8 are plausible"),
            "Number of reads in sequence after which a stream is read ahead.";
    }
}
