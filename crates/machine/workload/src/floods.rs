//! Whether a workload writes as fast as the drive accepts writes, so that in the long run the write cache has no room.

use sim::Time;

use crate::fio::{Job, READ, TRIM, WRITE};
use crate::workload::{PlanSource, Workload};

impl Workload {
    /// Returns true if a job that starts with the run only writes, without a limit of its own and without waiting for
    /// durability.
    pub fn floods(&self) -> bool {
        self.plans.iter().any(|plan| match &plan.source {
            PlanSource::Generate(job, _) => plan.stage == 0 && plan.waits_for.is_empty() && floods(job),
            PlanSource::Replay(..) => false,
        })
    }
}

fn floods(job: &Job) -> bool {
    let only_writes = job.rw.has(WRITE) && !job.rw.has(READ) && !job.rw.has(TRIM);
    let waits = job.sync || job.fsync > 0 || job.fdatasync > 0;
    let limits = [job.rate, job.rate_iops].into_iter().flatten().any(|limit| limit.is_some());
    let pauses = job.thinktime > Time::ZERO || job.flow > 0 || job.latency.is_some() || job.start_delay.0 > Time::ZERO;
    only_writes && !(waits || limits || pauses)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_floods_if_nothing_but_the_drive_slows_its_writes() {
        let floods = |keys: &str| {
            let text = format!("[a]\nnumber_ios=10\nbs=4k\n{keys}\n");
            Workload::parse_fio("a.fio", &text).expect("a job").floods()
        };
        for keys in ["rw=randwrite\niodepth=32", "rw=write", "rw=randread\n[b]\nrw=randwrite\nbs=4k\nnumber_ios=5"] {
            assert!(floods(keys), "{keys}");
        }
        for keys in [
            "rw=randread",
            "rw=randrw",
            "rw=randtrim",
            "rw=randwrite\nrate_iops=1000",
            "rw=randwrite\nrate=1m",
            "rw=randwrite\nthinktime=1ms",
            "rw=randwrite\nfsync=1",
            "rw=randwrite\nsync=1",
            "rw=randwrite\nstartdelay=1",
            "rw=randread\n[b]\nstonewall\nrw=randwrite\nbs=4k\nnumber_ios=5",
        ] {
            assert!(!floods(keys), "{keys}");
        }
    }
}
