//! Keys of limits, alignment, pauses and percentiles.

use media::SECTOR;
use sim::Time;

use super::key::{Given, KeyHelp};
use crate::fio::job::Job;
use crate::fio::rules::Service;
use crate::fio::value;

pub(super) const KEYS: &[KeyHelp] = &[
    KeyHelp {
        name: "offset_align",
        aliases: &[],
        form: "int",
        default: "the smallest block size",
        help: "Alignment to which an offset that is a percentage is rounded up, in whole sectors.",
        set: |job, given| {
            // Requests are whole sectors, and so is their alignment.
            job.offset_align = given.number(0, 1 << 40)?.next_multiple_of(SECTOR);
            Ok(())
        },
    },
    KeyHelp {
        name: "bs_is_seq_rand",
        aliases: &[],
        form: "bool",
        default: "0",
        help: "The first size of bs, bsrange and bssplit is that of sequential jobs, and the second that of random ones.",
        set: |job, given| {
            job.sizes_by_order = given.flag()?;
            Ok(())
        },
    },
    KeyHelp {
        name: "max_latency",
        aliases: &[],
        form: "time (us)[,time][,time]",
        default: "no limit",
        help: "A request of the job that takes longer ends the job with ETIMEDOUT.",
        set: max_latency,
    },
    KeyHelp {
        name: "thinktime_iotime",
        aliases: &[],
        form: "time (s)",
        default: "0",
        help: "Time between two pauses of thinktime. Without thinktime_blocks no number of requests causes a pause.",
        set: |job, given| {
            job.thinktime_iotime = given.time(Time::from_s(1))?;
            Ok(())
        },
    },
    KeyHelp {
        name: "thinktime_blocks_type",
        aliases: &[],
        form: "str",
        default: "complete",
        help: "Whether thinktime_blocks counts requests that are issued (issue) or complete. A pause begins once all \
               requests have completed, so that both have the same pauses.",
        set: |_, given| given.name(&[("complete", ()), ("issue", ())]),
    },
    KeyHelp {
        name: "rate_ignore_thinktime",
        aliases: &[],
        form: "bool",
        default: "0",
        help: "Only 0: after a pause of thinktime the job catches up with its rate.",
        set: |_, given| match given.flag()? {
            false => Ok(()),
            true => given.expected("0: after a pause the job catches up with its rate"),
        },
    },
    KeyHelp {
        name: "writefua",
        aliases: &[],
        form: "bool",
        default: "0",
        help: "Make each write durable before it completes, by forced unit access.",
        set: |job, given| {
            job.sync |= given.flag()?;
            Ok(())
        },
    },
    KeyHelp {
        name: "file_service_type",
        aliases: &[],
        form: "str[:int]",
        default: "roundrobin",
        help: "Drive of the next request of a job whose filename names several: roundrobin, random or sequential; a \
               number of requests per choice may follow.",
        set: service,
    },
    KeyHelp {
        name: "percentile_list",
        aliases: &[],
        form: "float[:float...]",
        default: "fio's list",
        help: "Percentiles of completion latencies in the summary, at most 20.",
        set: percentiles,
    },
];

/// Parses `max_latency`.
fn max_latency(job: &mut Job, given: &Given) -> Result<(), String> {
    match value::triple(given.text, |part| value::time(part, Time::from_us(1))) {
        // As in fio, 0 means no limit.
        Some(limits) => job.max_latency = limits.map(|limit| limit.filter(|limit| *limit > Time::ZERO)),
        None => return given.expected("a time such as 500us, or read,write,trim values"),
    }
    Ok(())
}

/// Parses `file_service_type`.
fn service(job: &mut Job, given: &Given) -> Result<(), String> {
    let (name, number) = given.text.split_once(':').unwrap_or((given.text, "1"));
    const WHY: &str = "drives are chosen one after another, at random or in sequence";
    job.without_effect.retain(|(_, why)| *why != WHY);
    if ["zipf", "pareto", "normal", "gauss"].contains(&name) {
        job.without_effect.push((format!("file_service_type={}", given.text), WHY));
        return Ok(());
    }
    let service = Given { text: name, kb: given.kb }.name(&[
        ("roundrobin", Service::RoundRobin),
        ("random", Service::Random),
        ("sequential", Service::Sequential),
    ])?;
    match value::number(number, given.kb).filter(|number| *number > 0) {
        Some(number) => job.service = (service, number),
        None => return given.expected("a number of requests after the colon, such as roundrobin:8"),
    }
    Ok(())
}

/// Checks `percentile_list`, which the summary reads from the job's options.
fn percentiles(_: &mut Job, given: &Given) -> Result<(), String> {
    match value::percentiles(given.text) {
        Some(_) => Ok(()),
        None => given.expected("up to 20 percentages above 0 and up to 100, separated by colons, such as 50:99:99.9"),
    }
}
