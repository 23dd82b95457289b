//! The main table of keys.

use sim::Time;

use super::key::KeyHelp;
use super::parse::{blocks, distribution, engine, ignored, ignored_flag, pattern, ranges, rates, splits, unbuffered};
use crate::fio::JOBS_MAX;
use crate::fio::drives;
use crate::fio::value::KbBase;

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
               randrw, trimwrite and randtrimwrite (each block trimmed, then written). After a random pattern, :N \
               draws an offset once for every N requests; after a sequential pattern, it skips N bytes between two \
               requests, or goes backwards if N is negative.",
        set: pattern,
    },
    KeyHelp {
        name: "bs",
        aliases: &["blocksize"],
        form: "int[,int][,int]",
        default: "4k",
        help: "Request size in bytes, for reads, writes and trims. Addresses are aligned to it, relative to the \
               region's start.",
        set: blocks,
    },
    KeyHelp {
        name: "bsrange",
        aliases: &["blocksize_range"],
        form: "irange[,irange][,irange]",
        default: "",
        help: "Range of request sizes: drawn uniformly, rounded up to a multiple of the smaller size or to the \
               larger size.",
        set: ranges,
    },
    KeyHelp {
        name: "bssplit",
        aliases: &[],
        form: "bs/percent:bs/percent…[,…][,…]",
        default: "",
        help: "Request sizes and their percentages, such as 4k/60:64k/40. Blank percentages share the remainder \
               evenly.",
        set: splits,
    },
    KeyHelp {
        name: "iodepth",
        aliases: &[],
        form: "int",
        default: "1",
        help: "Number of requests that the job keeps outstanding. A synchronous ioengine caps it at 1. In a replay: \
               maximum number of outstanding requests of the trace; unlimited by default.",
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
        help: "Number of clones of the job. They run concurrently, each with its own random stream.",
        set: |job, given| {
            job.clones = given.number(1, JOBS_MAX)? as u32;
            Ok(())
        },
    },
    KeyHelp {
        name: "size",
        aliases: &[],
        form: "int or percent",
        default: "the drive from offset on",
        help: "Size of the job's region, and of its I/O unless io_size is set; a percentage refers to the drive, and \
               2z are two zones. Limited by the end of the drive. 0 is the default.",
        set: |job, given| {
            // As in fio, 0 means that no size is set.
            job.size = Some(given.amount(false)?).filter(|size| !size.is_zero());
            Ok(())
        },
    },
    KeyHelp {
        name: "io_size",
        aliases: &["io_limit"],
        form: "int or percent",
        default: "size",
        help: "Bytes to read, write or trim within the region, in several passes if they exceed it; a percentage \
               refers to size.",
        set: |job, given| {
            job.io_size = match given.amount(false)? {
                amount if amount.is_zero() => return given.expected("a size greater than 0"),
                amount => Some(amount),
            };
            Ok(())
        },
    },
    KeyHelp {
        name: "offset",
        aliases: &["fileoffset"],
        form: "int or percent",
        default: "0",
        help: "Start of the region: bytes, or a percentage of the drive, rounded up to a block.",
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
        help: "Added to the offset once per preceding clone (numjobs).",
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
        help: "The job ends after this many requests (not counting ramp_time), unless it ends earlier for another \
               reason.",
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
        help: "Percentage of reads in a mixed job; drawn independently for each request.",
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
        help: "Percentage of writes in a mixed job. The later of rwmixread and rwmixwrite applies.",
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
        help: "Distribution of random addresses: random, zipf:THETA[:CENTER], pareto:H[:CENTER], \
               normal:DEVIATION[:CENTER] (percent of the region, truncated at its ends), zoned:ACCESS/SIZE:… in \
               percent, or zoned_abs:ACCESS/BYTES:…. Hot blocks of zipf, pareto and normal are scattered; CENTER is \
               the position of the hottest block, as a fraction of the region. Only random uses the random map.",
        set: distribution,
    },
    KeyHelp {
        name: "norandommap",
        aliases: &[],
        form: "",
        default: "off",
        help: "Draw random addresses independently, instead of visiting every block once per pass.",
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
        help: "Seed of the job's random streams, in place of the run's seed.",
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
        help: "Maximum bytes per second, for reads, writes and trims, counted from the job's start: a job that \
               falls behind catches up.",
        set: |job, given| {
            job.rate = rates(given, "bytes per second, or read,write,trim values, such as 10m or ,500k")?;
            Ok(())
        },
    },
    KeyHelp {
        name: "rate_iops",
        aliases: &[],
        form: "int[,int][,int]",
        default: "no limit",
        help: "Maximum requests per second, for reads, writes and trims.",
        set: |job, given| {
            job.rate_iops = rates(given, "requests per second, or read,write,trim values, such as 1000 or ,500")?;
            Ok(())
        },
    },
    KeyHelp {
        name: "thinktime",
        aliases: &[],
        form: "time (us)",
        default: "0",
        help: "Pause after every thinktime_blocks requests, once they have completed.",
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
        help: "Number of requests between two pauses of thinktime.",
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
        help: "The job stops issuing requests after this time, which starts after ramp_time.",
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
        help: "Run for the whole runtime, with repeated passes over the region.",
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
        help: "Requests issued within this time of the job's start are excluded from statistics; runtime starts \
               after it.",
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
        help: "Whenever the number of writes is a multiple of this, wait for all writes, flush the drive, and wait \
               for the flush. In a mixed job, as in fio, repeat this after each read until the next write. Does not \
               apply after the last request.",
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
        help: "Same as fsync, because a drive has no file metadata.",
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
        help: "Verify data that is read back. A flush and a read of each written block follow the writes of a job; \
               a job that only reads has its reads verified. Payload stamps replace all of fio's checksums.",
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
        help: "Replay this fio iolog, relative to the job file's folder, instead of a generated pattern. Of several, \
               separated by colons, each clone of numjobs replays the next.",
        set: |job, given| {
            // A colon that belongs to a name is escaped.
            let names = given.text.replace("\\:", "\0");
            let path = |name: &str| job.folder.join(name.replace('\0', ":"));
            job.iologs = names.split(':').filter(|name| !name.is_empty()).map(path).collect();
            match job.iologs.is_empty() {
                true => given.expected("the name of an iolog"),
                false => Ok(()),
            }
        },
    },
    KeyHelp {
        name: "ioengine",
        aliases: &[],
        form: "str",
        default: "asynchronous",
        help: "All asynchronous engines select the simulated driver; the synchronous ones (sync, psync, vsync, \
               pvsync, pvsync2) cap iodepth at 1, as in fio. Engines for ranges of other storage (rbd, nfs, libpmem \
               and similar) are accepted with a note: the simulated drive replaces that storage.",
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
        help: "Meaning of suffixes. 1024: k is 1024 and kib is 1000 (fio's compatibility mode); 1000: the opposite.",
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
        help: "Text that is copied to the results.",
        set: ignored,
    },
    KeyHelp {
        name: "filename",
        aliases: &[],
        form: "file",
        default: "the drive",
        help: "Accepted: the simulated drive stands for the drive, or for the files on it. Several drives are an error.",
        set: |job, given| {
            job.drives = drives::of(given.text);
            Ok(())
        },
    },
    KeyHelp {
        name: "group_reporting",
        aliases: &[],
        form: "",
        default: "off",
        help: "Accepted: results list every job and can be grouped by their reader.",
        set: ignored_flag,
    },
    KeyHelp {
        name: "thread",
        aliases: &[],
        form: "",
        default: "off",
        help: "Accepted without effect: simulated jobs are neither threads nor processes.",
        set: ignored_flag,
    },
    KeyHelp {
        name: "randrepeat",
        aliases: &[],
        form: "bool",
        default: "1",
        help: "Accepted without effect: the run's seed determines whether a simulation repeats.",
        set: ignored_flag,
    },
    KeyHelp {
        name: "gtod_reduce",
        aliases: &[],
        form: "bool",
        default: "0",
        help: "Accepted without effect: reading a simulated clock takes no time.",
        set: ignored_flag,
    },
    KeyHelp {
        name: "invalidate",
        aliases: &[],
        form: "bool",
        default: "1",
        help: "Accepted without effect: there is no page cache to invalidate.",
        set: ignored_flag,
    },
];
