//! Keys of order, pace and end conditions.

use sim::Time;

use super::key::{Given, KeyHelp};
use super::parse::{block_align, latency_percentile, percentage_random, placement_indices, replay_skip, steady_state};
use crate::fio::job::Job;
use crate::fio::rules::{ContinueOnError, ExitAll, LatencyTarget};

pub(super) const KEYS: &[KeyHelp] = &[
    KeyHelp {
        name: "rw_sequencer",
        aliases: &[],
        form: "str",
        default: "sequential",
        help: "Requests that follow a random one under rw=randread:N: sequential continues after it, identical \
               repeats its offset.",
        set: |job, given| {
            job.identical = given.name(&[("sequential", false), ("identical", true)])?;
            Ok(())
        },
    },
    KeyHelp {
        name: "percentage_random",
        aliases: &[],
        form: "int[,int][,int]",
        default: "100",
        help: "Percentage of a random job's requests that are random; the others continue after the previous \
               request.",
        set: percentage_random,
    },
    KeyHelp {
        name: "blockalign",
        aliases: &["ba"],
        form: "int[,int][,int]",
        default: "the smallest block size",
        help: "Alignment of random offsets. As in fio, this disables the random map.",
        set: block_align,
    },
    KeyHelp {
        name: "random_generator",
        aliases: &[],
        form: "str",
        default: "tausworthe",
        help: "With mixed block sizes, tausworthe and tausworthe64 truncate a request at blocks that the random map \
               has visited; lfsr visits each start block once and lets requests overlap.",
        set: |job, given| {
            job.lfsr = given.name(&[("tausworthe", false), ("tausworthe64", false), ("lfsr", true)])?;
            Ok(())
        },
    },
    KeyHelp {
        name: "dataplacement",
        aliases: &["data_placement"],
        form: "str",
        default: "none",
        help: "Writes carry placement identifiers: none, or those of Flexible Data Placement (fdp), on a drive with \
               ftl.placement.",
        set: |job, given| {
            job.placement.on = given.name(&[("none", false), ("fdp", true)])?;
            Ok(())
        },
    },
    KeyHelp {
        name: "fdp",
        aliases: &[],
        form: "bool",
        default: "0",
        help: "Like dataplacement=fdp.",
        set: |job, given| {
            job.placement.on = given.flag()?;
            Ok(())
        },
    },
    KeyHelp {
        name: "plids",
        aliases: &["fdp_pli"],
        form: "int[,int...]",
        default: "all",
        help: "Indices of the placement identifiers that the job's writes use, sorted as in fio.",
        set: placement_indices,
    },
    KeyHelp {
        name: "plid_select",
        aliases: &["fdp_pli_select"],
        form: "str",
        default: "roundrobin",
        help: "Choice of the next placement identifier: one after another (roundrobin), or at random (random).",
        set: |job, given| {
            job.placement.random = given.name(&[("roundrobin", false), ("random", true)])?;
            Ok(())
        },
    },
    KeyHelp {
        name: "loops",
        aliases: &[],
        form: "int",
        default: "1",
        help: "Number of times the job runs, verification included.",
        set: |job, given| {
            job.loops = given.number(1, u64::MAX)?;
            Ok(())
        },
    },
    KeyHelp {
        name: "startdelay",
        aliases: &[],
        form: "time (s), or a range of times",
        default: "0",
        help: "Delay between the group's start and the job's; each clone draws its delay from a range.",
        set: |job, given| {
            job.start_delay = given.time_range(Time::from_s(1))?;
            Ok(())
        },
    },
    KeyHelp {
        name: "wait_for",
        aliases: &[],
        form: "str",
        default: "",
        help: "The job starts when all clones of the named job, defined earlier in the file, have ended.",
        set: |job, given| {
            job.wait_for = Some(given.text.to_owned());
            Ok(())
        },
    },
    KeyHelp {
        name: "new_group",
        aliases: &[],
        form: "",
        default: "off",
        help: "The job and those below it form a new group in the results.",
        set: |job, given| {
            job.new_group = given.flag()?;
            Ok(())
        },
    },
    KeyHelp {
        name: "exitall",
        aliases: &[],
        form: "",
        default: "off",
        help: "When the job ends, the jobs selected by exit_what end too.",
        set: |job, given| {
            job.exit_all = given.flag()?.then_some(job.exit_what);
            Ok(())
        },
    },
    KeyHelp {
        name: "exit_what",
        aliases: &[],
        form: "str",
        default: "group",
        help: "Jobs that end with a job that has exitall: its group, the jobs up to the next stonewall (stonewall), \
               or all.",
        set: |job, given| {
            let what =
                given.name(&[("group", ExitAll::Group), ("stonewall", ExitAll::Stonewall), ("all", ExitAll::All)])?;
            job.exit_what = what;
            job.exit_all = job.exit_all.map(|_| what);
            Ok(())
        },
    },
    KeyHelp {
        name: "exitall_on_error",
        aliases: &[],
        form: "",
        default: "off",
        help: "When the job ends with an error, the jobs selected by exit_what end too.",
        set: |job, given| {
            job.exit_all_on_error = given.flag()?;
            Ok(())
        },
    },
    KeyHelp {
        name: "continue_on_error",
        aliases: &[],
        form: "str",
        default: "none",
        help: "Errors that are counted without ending the job: of reads (read), of all other requests (write), of \
               both (io, all), or none.",
        set: |job, given| {
            job.continue_on_error = Some(given.name(&ContinueOnError::NAMES)?);
            Ok(())
        },
    },
    KeyHelp {
        name: "flow",
        aliases: &[],
        form: "int",
        default: "0",
        help: "Weight of the job: jobs with the same flow_id issue requests in proportion to their flow.",
        set: |job, given| {
            job.flow = given.number(0, 1000)?;
            Ok(())
        },
    },
    KeyHelp {
        name: "flow_id",
        aliases: &[],
        form: "int",
        default: "0",
        help: "Identifies the jobs that share a flow.",
        set: |job, given| {
            job.flow_id = given.number(0, u64::MAX)?;
            Ok(())
        },
    },
    KeyHelp {
        name: "flow_sleep",
        aliases: &[],
        form: "time (us)",
        default: "0",
        help: "Time for which a job that is ahead of its share of the flow waits before it checks again.",
        set: |job, given| {
            job.flow_sleep = given.time(Time::from_us(1))?;
            Ok(())
        },
    },
    KeyHelp {
        name: "rate_process",
        aliases: &[],
        form: "str",
        default: "linear",
        help: "Arrival of rate-limited requests: evenly spaced (linear), or a Poisson process (poisson).",
        set: |job, given| {
            job.poisson = given.name(&[("linear", false), ("poisson", true)])?;
            Ok(())
        },
    },
    KeyHelp {
        name: "iodepth_batch_submit",
        aliases: &["iodepth_batch"],
        form: "int",
        default: "1",
        help: "Requests issued together: a job at its depth issues again after this many have completed.",
        set: |job, given| {
            job.batch_submit = given.number(0, 1 << 20)?.max(1) as u32;
            Ok(())
        },
    },
    KeyHelp {
        name: "iodepth_batch_complete_min",
        aliases: &["iodepth_batch_complete"],
        form: "int",
        default: "1",
        help: "Number of completions that a job at its depth awaits before it issues again.",
        set: |job, given| {
            job.batch_complete = given.number(0, 1 << 20)?.max(1) as u32;
            Ok(())
        },
    },
    KeyHelp {
        name: "iodepth_low",
        aliases: &[],
        form: "int",
        default: "iodepth",
        help: "A job that has reached its iodepth issues again once at most this many requests are outstanding.",
        set: |job, given| {
            job.depth_low = Some(given.number(0, 1 << 20)? as u32);
            Ok(())
        },
    },
    KeyHelp {
        name: "sync",
        aliases: &[],
        form: "str",
        default: "none",
        help: "sync and dsync (or 1) make each write durable before it completes, by forced unit access.",
        set: |job, given| {
            job.sync = given.name(&[("none", false), ("0", false), ("sync", true), ("dsync", true), ("1", true)])?;
            Ok(())
        },
    },
    KeyHelp {
        name: "end_fsync",
        aliases: &["fsync_on_close"],
        form: "bool",
        default: "0",
        help: "Flush the drive at the end of a job that writes.",
        set: |job, given| {
            job.end_fsync |= given.flag()?;
            Ok(())
        },
    },
    KeyHelp {
        name: "do_verify",
        aliases: &[],
        form: "bool",
        default: "1",
        help: "With verify, read back the written data; 0 only writes it.",
        set: |job, given| {
            job.do_verify = given.flag()?;
            Ok(())
        },
    },
    KeyHelp {
        name: "verify_backlog",
        aliases: &[],
        form: "int",
        default: "0",
        help: "Verify written data each time this many writes have been issued, not only at the end.",
        set: |job, given| {
            job.verify_backlog = given.number(0, u64::MAX)?;
            Ok(())
        },
    },
    KeyHelp {
        name: "trim_percentage",
        aliases: &[],
        form: "int",
        default: "0",
        help: "Percentage of a verifying job's written blocks that trim_backlog trims.",
        set: |job, given| {
            job.trims.percentage = given.number(0, 100)?;
            Ok(())
        },
    },
    KeyHelp {
        name: "trim_backlog",
        aliases: &[],
        form: "int",
        default: "0",
        help: "Trim written blocks each time this many writes have been issued.",
        set: |job, given| {
            job.trims.backlog = given.number(0, 1 << 24)?;
            Ok(())
        },
    },
    KeyHelp {
        name: "trim_backlog_batch",
        aliases: &[],
        form: "int",
        default: "trim_backlog",
        help: "Number of trims per batch.",
        set: |job, given| {
            job.trims.batch = given.number(0, 1 << 24)?;
            Ok(())
        },
    },
    KeyHelp {
        name: "latency_target",
        aliases: &[],
        form: "time (us)",
        default: "",
        help: "Search for the largest depth, up to iodepth, that meets this latency; the job ends when it is found.",
        set: |job, given| {
            let target = given.time(Time::from_us(1))?;
            latency(job, |latency| latency.target = target);
            Ok(())
        },
    },
    KeyHelp {
        name: "latency_window",
        aliases: &[],
        form: "time (us)",
        default: "",
        help: "Duration of latency_target's measurement of one depth.",
        set: |job, given| {
            let window = given.time(Time::from_us(1))?;
            latency(job, |latency| latency.window = window);
            Ok(())
        },
    },
    KeyHelp {
        name: "latency_percentile",
        aliases: &[],
        form: "float",
        default: "100",
        help: "Percentage of a window's requests that must meet latency_target.",
        set: latency_percentile,
    },
    KeyHelp {
        name: "latency_run",
        aliases: &[],
        form: "bool",
        default: "0",
        help: "Continue at the depth that latency_target has found, for the rest of the runtime.",
        set: |job, given| {
            let run = given.flag()?;
            latency(job, |latency| latency.run = run);
            Ok(())
        },
    },
    KeyHelp {
        name: "steadystate",
        aliases: &["ss"],
        form: "str:float[%]",
        default: "",
        help: "End the job in a steady state: iops:L or bw:L limits the largest deviation of per-second figures \
               from their mean, iops_slope:L and bw_slope:L the slope per second of a line fitted to them; L may be \
               a percentage of the mean.",
        set: steady_state,
    },
    KeyHelp {
        name: "steadystate_duration",
        aliases: &["ss_dur"],
        form: "time (s)",
        default: "",
        help: "Duration for which steadystate must hold.",
        set: |job, given| {
            let duration = given.time(Time::from_s(1))?;
            job.steady.get_or_insert_default().duration = duration;
            Ok(())
        },
    },
    KeyHelp {
        name: "steadystate_ramp_time",
        aliases: &["ss_ramp"],
        form: "time (s)",
        default: "0",
        help: "Time before steadystate takes its first sample.",
        set: |job, given| {
            let ramp = given.time(Time::from_s(1))?;
            job.steady.get_or_insert_default().ramp = ramp;
            Ok(())
        },
    },
    KeyHelp {
        name: "filesize",
        aliases: &[],
        form: "int",
        default: "",
        help: "Size of a file in bytes: without size, the job's region is nrfiles times filesize.",
        set: |job, given| {
            job.file_size = Some(given.number(1, u64::MAX)?);
            Ok(())
        },
    },
    KeyHelp {
        name: "nrfiles",
        aliases: &["nr_files"],
        form: "int",
        default: "1",
        help: "Number of files of filesize bytes. They are laid out one after another and used as one region.",
        set: |job, given| {
            job.files = given.number(1, u64::MAX)?;
            Ok(())
        },
    },
    KeyHelp {
        name: "write_iolog",
        aliases: &[],
        form: "file",
        default: "",
        help: "Write the requests to this file as a fio iolog of version 3, relative to the job file's folder. \
               Files of further clones end in .1, .2 and so on.",
        set: |job, given| {
            job.write_iolog = Some(job.folder.join(given.text));
            Ok(())
        },
    },
    KeyHelp {
        name: "replay_no_stall",
        aliases: &[],
        form: "bool",
        default: "0",
        help: "Ignore the trace's timestamps and replay as fast as iodepth allows.",
        set: |job, given| {
            job.replay.no_stall = given.flag()?;
            Ok(())
        },
    },
    KeyHelp {
        name: "replay_time_scale",
        aliases: &[],
        form: "int",
        default: "100",
        help: "Percentage of the trace's intervals: 50 replays twice as fast.",
        set: |job, given| {
            job.replay.time_scale = given.number(1, 10_000)?;
            Ok(())
        },
    },
    KeyHelp {
        name: "replay_scale",
        aliases: &[],
        form: "int",
        default: "1",
        help: "Divisor of a trace's offsets.",
        set: |job, given| {
            job.replay.scale = given.number(1, u64::MAX)?;
            Ok(())
        },
    },
    KeyHelp {
        name: "replay_align",
        aliases: &[],
        form: "int",
        default: "0",
        help: "Alignment to which a trace's offsets are rounded down; a power of two.",
        set: |job, given| {
            let align = given.number(0, 1 << 62)?;
            if align != 0 && !align.is_power_of_two() {
                return given.expected("a power of two");
            }
            job.replay.align = align;
            Ok(())
        },
    },
    KeyHelp {
        name: "replay_skip",
        aliases: &[],
        form: "str[,str]…",
        default: "",
        help: "Requests of a trace to skip: read, write, trim, sync.",
        set: replay_skip,
    },
];

fn latency(job: &mut Job, set: impl FnOnce(&mut LatencyTarget)) {
    set(job.latency.get_or_insert_default());
}

impl Given<'_> {
    /// Parses a time, or a range of times.
    fn time_range(&self, unit: Time) -> Result<(Time, Time), String> {
        let Some((first, last)) = self.text.split_once('-') else {
            let time = self.time(unit)?;
            return Ok((time, time));
        };
        let part = |text| Given { text, kb: self.kb }.time(unit);
        match (part(first), part(last)) {
            (Ok(first), Ok(last)) if first <= last => Ok((first, last)),
            _ => self.expected("a time such as 30s or 200ms, or an ascending range such as 1s-5s"),
        }
    }
}
