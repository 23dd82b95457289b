//! The table.

use sim::Time;

use super::KeyHelp;
use super::parse::{blocks, distribution, engine, ignored, ignored_flag, pattern, ranges, rates, splits, unbuffered};
use crate::fio::value::{Amount, KbBase};

const ENGINES: [(&str, bool); 14] = [
    ("libaio", false),
    ("io_uring", false),
    ("io_uring_cmd", false),
    ("posixaio", false),
    ("solarisaio", false),
    ("windowsaio", false),
    ("sg", false),
    ("xnvme", false),
    ("libblkio", false),
    ("sync", true),
    ("psync", true),
    ("vsync", true),
    ("pvsync", true),
    ("pvsync2", true),
];

const SUMS: [(&str, bool); 20] = [
    ("md5", true),
    ("crc64", true),
    ("crc32c", true),
    ("crc32c-intel", true),
    ("crc32", true),
    ("crc16", true),
    ("crc7", true),
    ("xxhash", true),
    ("sha512", true),
    ("sha256", true),
    ("sha1", true),
    ("sha3-224", true),
    ("sha3-256", true),
    ("sha3-384", true),
    ("sha3-512", true),
    ("meta", true),
    ("pattern", true),
    ("pattern_hdr", true),
    ("null", true),
    ("0", false),
];

pub(super) const KEYS: &[KeyHelp] = &[
    KeyHelp {
        name: "rw",
        aliases: &["readwrite"],
        form: "str[:N]",
        default: "read",
        help: "The I/O pattern: read, write, trim, randread, randwrite, randtrim, rw or readwrite (sequential mix), \
               randrw, trimwrite and randtrimwrite (each block trimmed, then written). :N behind a random one draws an \
               offset for every N requests; behind a sequential one it leaves N bytes out between two requests, or goes \
               backwards if it is below zero.",
        set: pattern,
    },
    KeyHelp {
        name: "bs",
        aliases: &["blocksize"],
        form: "int[,int][,int]",
        default: "4k",
        help: "Bytes of a request, for reads, writes and trims. Addresses are multiples of it, from the region's start.",
        set: blocks,
    },
    KeyHelp {
        name: "bsrange",
        aliases: &["blocksize_range"],
        form: "irange[,irange][,irange]",
        default: "",
        help: "Request sizes drawn evenly up to the larger, and rounded up to a multiple of the smaller or to the larger.",
        set: ranges,
    },
    KeyHelp {
        name: "bssplit",
        aliases: &[],
        form: "bs/percent:bs/percent…[,…][,…]",
        default: "",
        help: "Request sizes with their shares, such as 4k/60:64k/40. Blank percentages share the rest evenly.",
        set: splits,
    },
    KeyHelp {
        name: "iodepth",
        aliases: &[],
        form: "int",
        default: "1",
        help: "Requests that the job keeps outstanding. A synchronous ioengine caps it at 1. For a replay: at most so many \
               of the trace's requests are outstanding; unbounded without it.",
        set: |job, given| {
            job.depth = Some(given.number(1, 1 << 20)? as u32);
            Ok(())
        },
    },
    KeyHelp {
        name: "numjobs",
        aliases: &[],
        form: "int",
        default: "1",
        help: "Clones of the job, which run side by side with random streams of their own.",
        set: |job, given| {
            job.clones = given.number(1, u64::from(u16::MAX))? as u32;
            Ok(())
        },
    },
    KeyHelp {
        name: "size",
        aliases: &[],
        form: "int or percent",
        default: "the drive from offset on",
        help: "Bytes of the job's region, and of the I/O it does if io_size does not say otherwise; a percentage is of the \
               drive, but not beyond its end.",
        set: |job, given| {
            job.size = match given.amount(false)? {
                Amount::Bytes(0) | Amount::Percent(0) => return given.expected("a size of more than 0"),
                amount => Some(amount),
            };
            Ok(())
        },
    },
    KeyHelp {
        name: "io_size",
        aliases: &["io_limit"],
        form: "int or percent",
        default: "size",
        help: "Bytes to read, write or trim within the region, in several passes if they are more than it holds; a \
               percentage is of size.",
        set: |job, given| {
            job.io_size = match given.amount(false)? {
                Amount::Bytes(0) | Amount::Percent(0) => return given.expected("a size of more than 0"),
                amount => Some(amount),
            };
            Ok(())
        },
    },
    KeyHelp {
        name: "offset",
        aliases: &[],
        form: "int or percent",
        default: "0",
        help: "Where the region starts: bytes, or percent of the drive rounded up to a block.",
        set: |job, given| {
            job.offset = given.amount(true)?;
            Ok(())
        },
    },
    KeyHelp {
        name: "offset_increment",
        aliases: &[],
        form: "int or percent",
        default: "0",
        help: "Added to the offset once for each clone before this one (numjobs).",
        set: |job, given| {
            job.offset_increment = given.amount(true)?;
            Ok(())
        },
    },
    KeyHelp {
        name: "number_ios",
        aliases: &[],
        form: "int",
        default: "no limit",
        help: "The job ends after so many requests (after ramp_time), if nothing else ends it before.",
        set: |job, given| {
            job.number_ios = Some(given.number(0, u64::MAX)?).filter(|n| *n > 0);
            Ok(())
        },
    },
    KeyHelp {
        name: "rwmixread",
        aliases: &[],
        form: "int",
        default: "50",
        help: "Percent of a mix's requests that read; each is drawn by itself.",
        set: |job, given| {
            job.reads = given.number(0, 100)?;
            Ok(())
        },
    },
    KeyHelp {
        name: "rwmixwrite",
        aliases: &[],
        form: "int",
        default: "50",
        help: "Percent of a mix's requests that write. Of rwmixread and rwmixwrite the later holds.",
        set: |job, given| {
            job.reads = 100 - given.number(0, 100)?;
            Ok(())
        },
    },
    KeyHelp {
        name: "random_distribution",
        aliases: &[],
        form: "str",
        default: "random",
        help: "How random addresses fall: random, zipf:THETA[:CENTER], pareto:H[:CENTER], normal:DEVIATION[:CENTER] \
               (percent of the region, cut off at the ends), zoned:ACCESS/SIZE:… in percent, or \
               zoned_abs:ACCESS/BYTES:…. Hot blocks of zipf, pareto and normal lie scattered; CENTER is where the hottest lies, as \
               a share of the region. All but random do without the random map.",
        set: distribution,
    },
    KeyHelp {
        name: "norandommap",
        aliases: &[],
        form: "",
        default: "off",
        help: "Draw each random address afresh, instead of visiting every block once a pass.",
        set: |job, given| {
            job.random_map = !given.flag()?;
            Ok(())
        },
    },
    KeyHelp {
        name: "randseed",
        aliases: &[],
        form: "int",
        default: "the run's seed",
        help: "Seed of the job's random streams, whatever the run's seed is.",
        set: |job, given| {
            job.seed = Some(given.number(0, u64::MAX)?);
            Ok(())
        },
    },
    KeyHelp {
        name: "rate",
        aliases: &[],
        form: "int[,int][,int]",
        default: "no limit",
        help: "Bytes a second at most, for reads, writes and trims, counted from the job's start: what was missed is \
               caught up with.",
        set: |job, given| {
            job.rate = rates(given, "bytes a second, or read,write,trim of them, such as 10m or ,500k")?;
            Ok(())
        },
    },
    KeyHelp {
        name: "rate_iops",
        aliases: &[],
        form: "int[,int][,int]",
        default: "no limit",
        help: "Requests a second at most, for reads, writes and trims.",
        set: |job, given| {
            job.rate_iops = rates(given, "requests a second, or read,write,trim of them, such as 1000 or ,500")?;
            Ok(())
        },
    },
    KeyHelp {
        name: "thinktime",
        aliases: &[],
        form: "time (us)",
        default: "0",
        help: "Pause after every thinktime_blocks requests, which are waited for first.",
        set: |job, given| {
            job.thinktime = given.time(Time::from_us(1))?;
            Ok(())
        },
    },
    KeyHelp {
        name: "thinktime_blocks",
        aliases: &[],
        form: "int",
        default: "1",
        help: "Requests between two pauses of thinktime.",
        set: |job, given| {
            job.thinktime_blocks = given.number(1, u64::MAX)?;
            Ok(())
        },
    },
    KeyHelp {
        name: "runtime",
        aliases: &["timeout"],
        form: "time (s)",
        default: "no limit",
        help: "The job issues nothing more after this time (and ramp_time before it).",
        set: |job, given| {
            job.runtime = Some(given.time(Time::from_s(1))?).filter(|time| *time > Time::ZERO);
            Ok(())
        },
    },
    KeyHelp {
        name: "time_based",
        aliases: &[],
        form: "",
        default: "off",
        help: "Run for the whole runtime, in as many passes over the region as that takes.",
        set: |job, given| {
            job.time_based = given.flag()?;
            Ok(())
        },
    },
    KeyHelp {
        name: "ramp_time",
        aliases: &[],
        form: "time (s)",
        default: "0",
        help: "Requests issued this long after the job's start are left out of the statistics; runtime begins behind it.",
        set: |job, given| {
            job.ramp_time = given.time(Time::from_s(1))?;
            Ok(())
        },
    },
    KeyHelp {
        name: "fsync",
        aliases: &[],
        form: "int",
        default: "0",
        help: "Whenever the number of writes is a multiple of this, wait for them all, flush the drive, and wait for that: \
               in a mix once more after each read up to the next write, as in fio. Not after the last request.",
        set: |job, given| {
            job.fsync = given.number(0, u64::MAX)?;
            Ok(())
        },
    },
    KeyHelp {
        name: "fdatasync",
        aliases: &[],
        form: "int",
        default: "0",
        help: "The same as fsync: a drive knows no metadata.",
        set: |job, given| {
            job.fdatasync = given.number(0, u64::MAX)?;
            Ok(())
        },
    },
    KeyHelp {
        name: "verify",
        aliases: &[],
        form: "str",
        default: "0",
        help: "Check what is read back. After a job's writes come a flush and a read of each block written; a job that only \
               reads has its reads checked. Payload stamps stand for every sum that fio knows.",
        set: |job, given| {
            job.verify = given.name(&SUMS)?;
            Ok(())
        },
    },
    KeyHelp {
        name: "stonewall",
        aliases: &["wait_for_previous"],
        form: "",
        default: "off",
        help: "Start when all jobs above have ended. The jobs below start together with this one.",
        set: |job, given| {
            job.stonewall = given.flag()?;
            Ok(())
        },
    },
    KeyHelp {
        name: "read_iolog",
        aliases: &[],
        form: "file",
        default: "",
        help: "Replay this fio iolog, relative to the job file's folder, instead of a generated pattern.",
        set: |job, given| {
            job.iolog = Some(job.folder.join(given.text));
            Ok(())
        },
    },
    KeyHelp {
        name: "ioengine",
        aliases: &[],
        form: "str",
        default: "asynchronous",
        help: "Any asynchronous engine is the simulated driver; the synchronous ones (sync, psync, vsync, pvsync, pvsync2) \
               cap iodepth at 1, as in fio. Engines that read and write ranges of another store (rbd, nfs, libpmem and the \
               like) are accepted with a note: the simulated drive takes its place.",
        set: |job, given| engine(job, given, &ENGINES),
    },
    KeyHelp {
        name: "direct",
        aliases: &[],
        form: "bool",
        default: "1",
        help: "I/O is always direct; 0 is accepted with a note.",
        set: |job, given| unbuffered(job, given, true, "direct"),
    },
    KeyHelp {
        name: "buffered",
        aliases: &[],
        form: "bool",
        default: "0",
        help: "I/O is always direct; 1 is accepted with a note.",
        set: |job, given| unbuffered(job, given, false, "buffered"),
    },
    KeyHelp {
        name: "kb_base",
        aliases: &[],
        form: "1000 or 1024",
        default: "1024",
        help: "What suffixes mean. 1024: k is 1024 and kib is 1000 (fio's compatibility mode); 1000: the other way round.",
        set: |job, given| {
            job.kb = given.name(&[("1024", KbBase::Compatible), ("1000", KbBase::Si)])?;
            Ok(())
        },
    },
    KeyHelp {
        name: "name",
        aliases: &[],
        form: "str",
        default: "the section's name",
        help: "The job's name in the results. In [global] it names no job.",
        set: |job, given| {
            given.text.clone_into(&mut job.name);
            Ok(())
        },
    },
    KeyHelp {
        name: "description",
        aliases: &[],
        form: "str",
        default: "",
        help: "Text that is passed on to the results.",
        set: ignored,
    },
    KeyHelp {
        name: "filename",
        aliases: &[],
        form: "file",
        default: "the drive",
        help: "Accepted: the one file is the simulated drive, whatever its name.",
        set: |_, given| {
            if given.text.replace("\\:", "").contains(':') {
                return given.expected("one file: there is one drive");
            }
            Ok(())
        },
    },
    KeyHelp {
        name: "group_reporting",
        aliases: &[],
        form: "",
        default: "off",
        help: "Accepted: how results are grouped is the reader's choice.",
        set: ignored_flag,
    },
    KeyHelp {
        name: "thread",
        aliases: &[],
        form: "",
        default: "off",
        help: "Accepted: simulated jobs are neither threads nor processes.",
        set: ignored_flag,
    },
    KeyHelp {
        name: "randrepeat",
        aliases: &[],
        form: "bool",
        default: "1",
        help: "Accepted: a simulation repeats exactly for the same seed, and differs for another.",
        set: ignored_flag,
    },
    KeyHelp {
        name: "gtod_reduce",
        aliases: &[],
        form: "bool",
        default: "0",
        help: "Accepted: simulated clocks cost nothing.",
        set: ignored_flag,
    },
    KeyHelp {
        name: "invalidate",
        aliases: &[],
        form: "bool",
        default: "1",
        help: "Accepted: there is no page cache to invalidate.",
        set: ignored_flag,
    },
];
