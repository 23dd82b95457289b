//! Command costs other than processor time: waits that occupy no processor, staging paths for data, and extra work after a write that does not continue an earlier one.
//!
//! Everything is off unless configured. These costs describe measured behavior, not its cause inside a drive.

use keys::{BOOL, RATE, TIME, assumed, section};
use media::{Op, Request};
use sim::Time;

use crate::pool::{Pool, Taken};

section! {
    /// Command costs other than processor time; all off by default. A request counts every mapping unit that it touches.
    #[derive(Copy, Eq)]
    Handling {
        "ftl.unit" unit: u64;
        "device.firmware.jump" jump: Time = TIME,
            assumed("0s", "no effect unless a measured drive shows one"),
            "Core time after a write that continues none of the last 16 sequential streams; the write itself does not \
             wait for it.",
            when "link.type" is "pcie" | "sata" | "ufs" | "ddr";
        "device.firmware.partial" partial: Time = TIME,
            assumed("0s", "no effect unless a measured drive shows one"),
            "Core time of a write for each ftl.unit that it covers in part, which is merged with what the unit held.",
            when "link.type" is "pcie" | "sata" | "ufs" | "ddr";
        "device.staging.read" staging_read: Option<u64> = RATE.or("unlimited"),
            assumed("unlimited", "no effect unless a measured drive shows one"),
            "Bytes per second of the staging path for reads.",
            when "link.type" is "pcie" | "sata" | "ufs" | "ddr";
        "device.staging.write" staging_write: Option<u64> = RATE.or("unlimited"),
            assumed("unlimited", "no effect unless a measured drive shows one"),
            "Bytes per second of the staging path for writes.",
            when "link.type" is "pcie" | "sata" | "ufs" | "ddr";

        "device.staging.single_units" staging_single_units: bool = BOOL,
            assumed("true", "data of any size has one way through a controller, unless a measured drive shows another"),
            "Whether requests of one ftl.unit take the staging paths as well; false: they pass by.",
            when "link.type" is "pcie" | "sata" | "ufs" | "ddr";

        /// Waits that occupy no processor.
        table waits: Waits;
    }
}

section! {
    /// Waits that occupy no processor, between a command's decoding and its start.
    #[derive(Copy, Eq)]
    Waits {
        "device.firmware.wait.read" read: Time = TIME,
            assumed("0s", "no effect unless a measured drive shows one"),
            "Wait of a read.",
            when "link.type" is "pcie" | "sata" | "ufs" | "ddr";
        "device.firmware.wait.write" write: Time = TIME,
            assumed("0s", "no effect unless a measured drive shows one"),
            "Wait of a write.",
            when "link.type" is "pcie" | "sata" | "ufs" | "ddr";
        "device.firmware.wait.trim" trim: Time = TIME,
            assumed("0s", "no effect unless a measured drive shows one"),
            "Wait of a trim.",
            when "link.type" is "pcie" | "sata" | "ufs" | "ddr";
        "device.firmware.wait.flush" flush: Time = TIME,
            assumed("0s", "no effect unless a measured drive shows one"),
            "Wait of a flush.",
            when "link.type" is "pcie" | "sata" | "ufs" | "ddr";
        "device.firmware.wait.append" append: Time = TIME,
            assumed("0s", "no effect unless a measured drive shows one"),
            "Wait of a zone append.",
            when "device.namespace" is "zoned";
        "device.firmware.wait.split" split: Time = TIME,
            assumed("0s", "no effect unless a measured drive shows one"),
            "Additional wait of a read or write that touches more than one ftl.unit.",
            when "link.type" is "pcie" | "sata" | "ufs" | "ddr";
        "device.firmware.wait.unit" unit: Time = TIME,
            assumed("0s", "no effect unless a measured drive shows one"),
            "Additional wait for each ftl.unit beyond the first that a read or write touches.",
            when "link.type" is "pcie" | "sata" | "ufs" | "ddr";
    }
}

/// Number of sequential write streams that are tracked.
pub const STREAMS: usize = 16;

impl Handling {
    /// No costs.
    const OFF: Handling = Handling {
        unit: 0,
        jump: Time::ZERO,
        partial: Time::ZERO,
        staging_read: None,
        staging_write: None,
        staging_single_units: true,
        waits: Waits {
            read: Time::ZERO,
            write: Time::ZERO,
            trim: Time::ZERO,
            flush: Time::ZERO,
            append: Time::ZERO,
            split: Time::ZERO,
            unit: Time::ZERO,
        },
    };
}

/// State of the costs configured by [`Handling`].
#[derive(Clone, Debug)]
pub(crate) struct Handler {
    config: Handling,
    /// Staging paths for the data of reads and of writes.
    staging: [Option<(Pool, u64)>; 2],
    /// End offset of each stream, and the entry that the next new stream replaces.
    ends: [u64; STREAMS],
    next: usize,
}

impl Handler {
    /// Creates the state, or returns `None` if every cost is off.
    pub(crate) fn new(config: &Handling) -> Option<Handler> {
        if *config == (Handling { unit: config.unit, ..Handling::OFF }) {
            return None;
        }
        assert!(config.unit > 0, "a mapping unit of no bytes");
        let path = |rate: Option<u64>| rate.map(|rate| (Pool::new(1), rate));
        Some(Handler {
            config: *config,
            staging: [path(config.staging_read), path(config.staging_write)],
            ends: [u64::MAX; STREAMS],
            next: 0,
        })
    }

    /// Returns the number of mapping units that a read or write touches.
    fn units(&self, request: &Request) -> u64 {
        let unit = self.config.unit;
        request.end().div_ceil(unit) - request.offset / unit
    }

    /// Returns the processor time to merge the units that a write covers in part.
    pub(crate) fn merging(&self, request: &Request) -> Time {
        if request.op != Op::Write {
            return Time::ZERO;
        }
        let unit = self.config.unit;
        let (begins_within, ends_within) = (!request.offset.is_multiple_of(unit), !request.end().is_multiple_of(unit));
        let parts = (u64::from(begins_within) + u64::from(ends_within)).min(self.units(request));
        self.config.partial * parts
    }

    /// Returns the wait of the command after its decoding.
    pub(crate) fn wait(&self, request: &Request) -> Time {
        let waits = &self.config.waits;
        let kind = match request.op {
            Op::Read => waits.read,
            Op::Write => waits.write,
            Op::Trim => return waits.trim,
            Op::Flush => return waits.flush,
            Op::Append => waits.append,
            Op::ZoneOpen | Op::ZoneClose | Op::ZoneFinish | Op::ZoneReset => return Time::ZERO,
        };
        match self.units(request) {
            1 => kind,
            units => kind + waits.split + waits.unit * (units - 1),
        }
    }

    /// Returns the extra processor time after the decoding of the command.
    pub(crate) fn behind(&mut self, request: &Request) -> Time {
        if request.op != Op::Write || self.config.jump == Time::ZERO {
            return Time::ZERO;
        }
        if let Some(end) = self.ends.iter_mut().find(|end| **end == request.offset) {
            *end = request.end();
            return Time::ZERO;
        }
        self.ends[self.next] = request.end();
        self.next = (self.next + 1) % STREAMS;
        self.config.jump
    }

    /// Sends `bytes` of the request's data through its staging path, if it takes one. Returns the path's track and the time
    /// taken.
    pub(crate) fn stage(&mut self, now: Time, request: &Request, bytes: u64) -> Option<(u32, Taken)> {
        let track = usize::from(request.op.writes());
        if self.units(request) <= 1 && !self.config.staging_single_units {
            return None;
        }
        let (port, rate) = self.staging[track].as_mut()?;
        Some((track as u32, port.take(now, Time::of_transfer(bytes, *rate))))
    }

    /// Returns true if a read may end later than its data could leave.
    pub(crate) fn delays_reads(&self) -> bool {
        self.staging[0].is_some()
    }

    /// Returns the names and busy times of both paths until `now`.
    pub(crate) fn busy(&self, now: Time) -> [(&'static str, Time); 2] {
        let of = |path: &Option<(Pool, u64)>| path.as_ref().and_then(|(port, _)| port.busy(now).next());
        let [read, write] = &self.staging;
        [("staging of reads", of(read).unwrap_or_default()), ("staging of writes", of(write).unwrap_or_default())]
    }

    /// Cuts the power.
    pub(crate) fn power_cut(&mut self, now: Time) {
        for (port, _) in self.staging.iter_mut().flatten() {
            port.power_cut(now);
        }
        (self.ends, self.next) = ([u64::MAX; STREAMS], 0);
    }
}
