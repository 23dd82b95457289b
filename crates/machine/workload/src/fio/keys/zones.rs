//! Keys of zones.

use super::key::{Given, KeyHelp};
use crate::fio::rules::ZoneMode;
use crate::fio::value::{self, Amount};

/// Maximum of `max_open_zones`, as in fio.
const OPEN_MAX: u64 = 4096;

pub(super) const KEYS: &[KeyHelp] = &[
    KeyHelp {
        name: "zonemode",
        aliases: &[],
        form: "str",
        default: "none",
        help: "none, strided: a sequential job transfers zonesize bytes, then skips zoneskip bytes after the zonerange, \
               or zbd: writes go to the write pointers of zones, which are reset before they are written again, and \
               reads stay below these pointers.",
        set: |job, given| {
            job.zone_mode =
                given.name(&[("none", ZoneMode::None), ("strided", ZoneMode::Strided), ("zbd", ZoneMode::Zbd)])?;
            Ok(())
        },
    },
    KeyHelp {
        name: "zonesize",
        aliases: &[],
        form: "int",
        default: "the drive's",
        help: "Bytes to transfer per zone of zonemode=strided. With zonemode=zbd, the size of a zone: that of the \
               drive's zones, or of emulated ones on a drive without.",
        set: |job, given| {
            job.zones.size = given.number(512, u64::MAX)?;
            Ok(())
        },
    },
    KeyHelp {
        name: "zonerange",
        aliases: &[],
        form: "int",
        default: "zonesize",
        help: "Size of a zone of zonemode=strided, in bytes. As in fio, zonemode=zbd ignores it.",
        set: |job, given| {
            job.zones.range = Some(given.number(512, u64::MAX)?);
            Ok(())
        },
    },
    KeyHelp {
        name: "zoneskip",
        aliases: &[],
        form: "int",
        default: "0",
        help: "Bytes skipped between two zones, or zones, such as 2z, by a sequential job.",
        set: |job, given| {
            job.zones.skip = match value::amount(given.text, given.kb) {
                Some(skip @ (Amount::Bytes(_) | Amount::Zones(_))) => skip,
                _ => return given.expected("a whole number of bytes, or of zones such as 2z"),
            };
            Ok(())
        },
    },
    KeyHelp {
        name: "zonecapacity",
        aliases: &[],
        form: "int",
        default: "zonesize",
        help: "With zonemode=zbd, writable bytes of the zones emulated on a drive without zones.",
        set: |job, given| {
            job.zbd.capacity = given.number(512, u64::MAX)?;
            Ok(())
        },
    },
    KeyHelp {
        name: "read_beyond_wp",
        aliases: &[],
        form: "bool",
        default: "0",
        help: "With zonemode=zbd, read at any offset and not only below the write pointers.",
        set: |job, given| {
            job.zbd.reads_beyond = given.flag()?;
            Ok(())
        },
    },
    KeyHelp {
        name: "max_open_zones",
        aliases: &[],
        form: "int",
        default: "the drive's",
        help: "With zonemode=zbd, maximum number of zones that all jobs write at the same time; 0 is the default.",
        set: |job, given| {
            job.zbd.open_max = given.number(0, OPEN_MAX)? as u32;
            Ok(())
        },
    },
    KeyHelp {
        name: "job_max_open_zones",
        aliases: &[],
        form: "int",
        default: "0",
        help: "With zonemode=zbd, maximum number of zones that the job writes at the same time; 0 for no limit.",
        set: |job, given| {
            job.zbd.job_open_max = given.number(0, OPEN_MAX)? as u32;
            Ok(())
        },
    },
    KeyHelp {
        name: "ignore_zone_limits",
        aliases: &[],
        form: "bool",
        default: "0",
        help: "With zonemode=zbd, allow a max_open_zones above the drive's limit, and no limit if max_open_zones is 0.",
        set: |job, given| {
            job.zbd.ignores_limits = given.flag()?;
            Ok(())
        },
    },
    KeyHelp {
        name: "zone_reset_threshold",
        aliases: &[],
        form: "float",
        default: "0",
        help: "With zonemode=zbd, written part of the job's region, from 0 to 1, from which on zone_reset_frequency \
               applies.",
        set: |job, given| {
            job.zbd.reset_threshold = given.share()?;
            Ok(())
        },
    },
    KeyHelp {
        name: "zone_reset_frequency",
        aliases: &[],
        form: "float",
        default: "0",
        help: "With zonemode=zbd, resets per write, from 0 to 1, above zone_reset_threshold: a zone is reset before \
               it is written.",
        set: |job, given| {
            job.zbd.reset_frequency = given.share()?;
            Ok(())
        },
    },
    KeyHelp {
        name: "write_zone_remainder",
        aliases: &[],
        form: "bool",
        default: "0",
        help: "With zonemode=zbd, fill the end of a zone that has no space for a request by a smaller one, instead of \
               finishing the zone.",
        set: |job, given| {
            job.zbd.fills_ends = given.flag()?;
            Ok(())
        },
    },
    KeyHelp {
        name: "recover_zbd_write_error",
        aliases: &[],
        form: "bool",
        default: "0",
        help: "With zonemode=zbd and continue_on_error. No effect: a failed write leaves the write pointer where the \
               job expects it, or the zone can no longer be written.",
        set: |_, given| given.flag().map(|_| ()),
    },
];

impl Given<'_> {
    /// Parses a number from 0 to 1.
    fn share(&self) -> Result<f64, String> {
        match value::decimal(self.text).filter(|share| (0.0..=1.0).contains(share)) {
            Some(share) => Ok(share),
            None => self.expected("a number from 0 to 1, such as 0.1"),
        }
    }
}
