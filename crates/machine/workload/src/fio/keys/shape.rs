//! Keys of order, pace and end: what else changes a block workload.

use sim::Time;

use super::parse::{aligned, latency_percentile, sequence_of_steady, shares_of_random, skipped};
use super::{Given, KeyHelp};
use crate::fio::job::Job;
use crate::fio::rules::{ContinueOnError, ExitAll, LatencyTarget};

pub(super) const KEYS: &[KeyHelp] = &[
    KeyHelp {
        name: "rw_sequencer",
        aliases: &[],
        form: "str",
        default: "sequential",
        help: "What rw=randread:N does with the requests behind a random one: sequential goes on from it, identical \
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
        help: "Percent of a random job's requests that are random; the others follow the request before.",
        set: shares_of_random,
    },
    KeyHelp {
        name: "blockalign",
        aliases: &["ba"],
        form: "int[,int][,int]",
        default: "the smallest block size",
        help: "What random offsets are multiples of. As in fio, it turns the random map off.",
        set: aligned,
    },
    KeyHelp {
        name: "random_generator",
        aliases: &[],
        form: "str",
        default: "tausworthe",
        help: "Of mixed block sizes, tausworthe and tausworthe64 cut a request where the random map has blocks that were \
               visited, lfsr visits each start block once and lets requests overlap.",
        set: |job, given| {
            job.lfsr = given.name(&[("tausworthe", false), ("tausworthe64", false), ("lfsr", true)])?;
            Ok(())
        },
    },
    KeyHelp {
        name: "zonemode",
        aliases: &[],
        form: "str",
        default: "none",
        help: "none, or strided: a sequential job transfers zonesize bytes and skips zoneskip bytes behind the zonerange.",
        set: |job, given| {
            job.strided = given.name(&[("none", false), ("strided", true)])?;
            Ok(())
        },
    },
    KeyHelp {
        name: "zonesize",
        aliases: &[],
        form: "int",
        default: "",
        help: "Bytes to transfer in a zone of zonemode=strided.",
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
        help: "Bytes of a zone of zonemode=strided.",
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
        help: "Bytes between two zones of zonemode=strided.",
        set: |job, given| {
            job.zones.skip = given.number(0, u64::MAX)?;
            Ok(())
        },
    },
    KeyHelp {
        name: "loops",
        aliases: &[],
        form: "int",
        default: "1",
        help: "Times that the job is done, its verification included.",
        set: |job, given| {
            job.loops = given.number(1, u64::MAX)?;
            Ok(())
        },
    },
    KeyHelp {
        name: "startdelay",
        aliases: &[],
        form: "time (s), or a range of them",
        default: "0",
        help: "The job starts so long after its group; of a range, each clone draws a time.",
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
        help: "The job starts when all clones of this job, which stands above, have ended.",
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
        help: "The job and those below are a group of their own in the results.",
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
        help: "When the job ends, those that exit_what names end too.",
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
        help: "What ends with a job that has exitall: its group, the jobs up to the next stonewall (stonewall), or all.",
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
        help: "When the job ends by an error, those that exit_what names end too.",
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
        help: "Errors that are counted and do not end the job: of reads (read), of all other requests (write), of both (io, \
               all), or none.",
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
        help: "The job's share: jobs of one flow_id keep their requests in proportion to their flow.",
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
        help: "Which jobs share a flow.",
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
        help: "How long a job that is ahead of its share of the flow waits before it looks again.",
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
        help: "Requests of a rate come at even distances (linear), or as a Poisson process (poisson).",
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
        help: "Requests issued together: so many have to have ended before a job at its depth issues again.",
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
        help: "Completions that a job at its depth waits for before it issues again.",
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
        help: "A job that has reached its iodepth issues again when no more than this are outstanding.",
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
        help: "sync and dsync (or 1) make each write durable before it completes: it goes with forced unit access.",
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
        help: "Flush the drive when a job that writes has done so.",
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
        help: "Read back what was written, under verify; 0 only writes it.",
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
        help: "Verify what was written each time that so many writes have been issued, and not at the end alone.",
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
        help: "Percent of the blocks that a verifying job has written which trim_backlog trims.",
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
        help: "Trim written blocks each time that so many writes have been issued.",
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
        help: "Trims of one batch.",
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
        help: "Search for the largest depth, up to iodepth, at which latencies keep to this; the job ends when it is found.",
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
        help: "The time in which latency_target judges a depth.",
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
        help: "Percent of a window's requests that must keep to latency_target.",
        set: latency_percentile,
    },
    KeyHelp {
        name: "latency_run",
        aliases: &[],
        form: "bool",
        default: "0",
        help: "Go on at the depth that latency_target has found, for the rest of the runtime.",
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
        help: "End the job when it is steady: iops:L or bw:L limits the largest deviation of a second's figure from the \
               mean, iops_slope:L and bw_slope:L the slope of a line through them a second; L may be percent of the mean.",
        set: sequence_of_steady,
    },
    KeyHelp {
        name: "steadystate_duration",
        aliases: &["ss_dur"],
        form: "time (s)",
        default: "",
        help: "How long steadystate must hold.",
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
        help: "Time before steadystate looks.",
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
        help: "Bytes of a file: the job's region is nrfiles of them, if size gives none.",
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
        help: "Files of filesize. They lie one behind the other and are used as one.",
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
        help: "Write the requests to this file as a fio iolog of version 3, relative to the job file's folder. Of several \
               clones, the later ones' files end in .1, .2 and so on.",
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
        help: "Replay without the trace's times: as fast as iodepth allows.",
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
        help: "Percent of the trace's times: 50 is twice as fast.",
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
        help: "What a trace's offsets are divided by.",
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
        help: "What a trace's offsets are rounded down to a multiple of, a power of two.",
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
        help: "Requests of a trace that are left out: read, write, trim, sync.",
        set: skipped,
    },
];

fn latency(job: &mut Job, set: impl FnOnce(&mut LatencyTarget)) {
    set(job.latency.get_or_insert_default());
}

impl Given<'_> {
    /// A time, or a range of times.
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
