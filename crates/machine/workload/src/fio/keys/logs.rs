//! Keys of logs of latency, bandwidth and IOPS.

use sim::Time;

use super::key::{Given, KeyHelp};
use crate::fio::job::Job;

pub(super) const KEYS: &[KeyHelp] = &[
    KeyHelp {
        name: "write_lat_log",
        aliases: &[],
        form: "[str]",
        default: "",
        help: "Write latencies in ns to NAME_slat.N.log, NAME_clat.N.log and NAME_lat.N.log, in fio's format and relative to \
               the job file's folder. N counts the jobs from 1; without a value NAME is the job's name.",
        set: |job, given| {
            job.logs.latency = Some(named(given));
            Ok(())
        },
    },
    KeyHelp {
        name: "write_bw_log",
        aliases: &[],
        form: "[str]",
        default: "",
        help: "Write bandwidths in KiB/s (without log_avg_msec, in KB/s of each request) to NAME_bw.N.log, like write_lat_log.",
        set: |job, given| {
            job.logs.bandwidth = Some(named(given));
            Ok(())
        },
    },
    KeyHelp {
        name: "write_iops_log",
        aliases: &[],
        form: "[str]",
        default: "",
        help: "Write IOPS (without log_avg_msec, 1 for each request) to NAME_iops.N.log, like write_lat_log.",
        set: |job, given| {
            job.logs.iops = Some(named(given));
            Ok(())
        },
    },
    KeyHelp {
        name: "log_avg_msec",
        aliases: &[],
        form: "int",
        default: "0",
        help: "Average each log over intervals of this many milliseconds; 0 writes a line per request.",
        set: |job, given| {
            job.logs.average = Time::from_ms(given.number(0, u64::from(u32::MAX))?);
            Ok(())
        },
    },
    KeyHelp {
        name: "log_max_value",
        aliases: &[],
        form: "bool",
        default: "0",
        help: "Write the maximum latency of each interval of log_avg_msec instead of the mean.",
        set: |job, given| {
            job.logs.maximum = given.flag()?;
            Ok(())
        },
    },
    KeyHelp {
        name: "log_offset",
        aliases: &[],
        form: "bool",
        default: "0",
        help: "Write each request's offset into the logs.",
        set: |job, given| {
            job.logs.offset = given.flag()?;
            Ok(())
        },
    },
    KeyHelp {
        name: "log_prio",
        aliases: &[],
        form: "bool",
        default: "0",
        help: "Write priorities into the logs as hexadecimal numbers; requests have none, so that all are 0.",
        set: |job, given| {
            job.logs.priority = if given.flag()? { "0x0000" } else { "0" };
            Ok(())
        },
    },
    KeyHelp {
        name: "per_job_logs",
        aliases: &[],
        form: "bool",
        default: "1",
        help: "Write a log per job; 0 leaves out the number, so that jobs with one name share a file.",
        set: |job, given| {
            job.logs.per_job = given.flag()?;
            Ok(())
        },
    },
];

/// Returns the name in a value, which is empty for that of the job.
fn named(given: &Given) -> String {
    given.text.to_owned()
}

/// The `…_log` keys of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LogKeys {
    /// Names of the logs, if there are any; empty for the job's name.
    pub latency: Option<String>,
    pub bandwidth: Option<String>,
    pub iops: Option<String>,
    /// Length of an interval; zero for a line per request.
    pub average: Time,
    pub maximum: bool,
    pub offset: bool,
    /// Priority of every request in a log.
    pub priority: &'static str,
    pub per_job: bool,
}

impl Default for LogKeys {
    fn default() -> LogKeys {
        LogKeys {
            latency: None,
            bandwidth: None,
            iops: None,
            average: Time::ZERO,
            maximum: false,
            offset: false,
            priority: "0",
            per_job: true,
        }
    }
}

impl Job {
    /// Returns true if the job writes a log of latency, bandwidth or IOPS.
    pub(crate) fn has_logs(&self) -> bool {
        self.logs.latency.is_some() || self.logs.bandwidth.is_some() || self.logs.iops.is_some()
    }
}
