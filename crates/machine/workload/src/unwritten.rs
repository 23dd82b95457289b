//! Whether a workload reads what it has not written: on an empty drive such reads take no access to the flash.

use std::ops::Range;

use media::Op;

use crate::extents::Extents;
use crate::fio::{Job, READ, ReadWriteKind, TRIM, WRITE, ZoneMode};
use crate::player::{Options, Region};
use crate::trace::RecordOp;
use crate::workload::{PlanSource, Workload};

impl Workload {
    /// Returns the ranges of bytes that jobs may write or trim on `drive`; `None` if a trace is replayed. Jobs that reset
    /// zones before they write them (`zonemode=zbd`) do not count.
    pub fn written(&self, drive: &Options) -> Option<Vec<Range<u64>>> {
        let mut found = Vec::new();
        for plan in &self.plans {
            let PlanSource::Generate(job, clone) = &plan.source else { return None };
            if (job.rw.has(WRITE) || job.rw.has(TRIM)) && job.zone_mode != ZoneMode::Zbd {
                // A region that does not fit is reported when the job is fitted to the drive.
                let Ok(region) = Region::new(&self.file, job, *clone, drive) else { continue };
                for number in &job.on {
                    let Region { start, bytes, .. } = region.on(job, *number, drive.capacity);
                    found.push(start..start + bytes);
                }
            }
        }
        Some(found)
    }

    /// Returns true if some job or trace may read data on `drive` that no earlier stage of the workload has written in
    /// full. Reads that only verify a job's own writes do not count, nor do those below the write pointers of zones that
    /// the same job writes.
    pub fn reads_unwritten(&self, drive: &Options) -> bool {
        let mut written = Extents::default();
        let mut stage: Vec<(u64, u64)> = Vec::new();
        let mut number = 0;
        for plan in &self.plans {
            if plan.stage > number {
                number = plan.stage;
                stage.drain(..).for_each(|(start, bytes)| written.insert(start, bytes));
            }
            match &plan.source {
                PlanSource::Replay(trace, _) if trace.reads_unwritten => return true,
                PlanSource::Replay(..) => {}
                PlanSource::Generate(job, clone) => {
                    // A region that does not fit is reported when the job is fitted to the drive.
                    let Ok(region) = Region::new(&self.file, job, *clone, drive) else { continue };
                    let below = job.zone_mode == ZoneMode::Zbd && job.rw.has(WRITE) && !job.zbd.reads_beyond;
                    for number in &job.on {
                        let Region { start, bytes, .. } = region.on(job, *number, drive.capacity);
                        if job.rw.has(READ) && !below && !written.covers(start, bytes) {
                            return true;
                        }
                        if writes_all(job) {
                            stage.push((start, bytes));
                        }
                    }
                }
            }
        }
        false
    }
}

/// Returns true if `job` writes every byte of its region before it ends, or makes known what it has written by write
/// pointers.
fn writes_all(job: &Job) -> bool {
    if job.zone_mode == ZoneMode::Zbd && job.rw.has(WRITE) {
        return true;
    }
    let strided = job.zone_mode == ZoneMode::Strided;
    let whole = job.number_ios.is_none() && job.io_size.is_none() && job.runtime.is_none() && !strided;
    let order = if job.rw.random { job.random_map && !job.lfsr } else { job.gap == 0 };
    job.rw.kind == ReadWriteKind::Only(Op::Write) && whole && order
}

/// The reads of a trace so far: whether one read what no earlier request had written.
#[derive(Debug, Default)]
pub(crate) struct UnwrittenReads {
    /// Written ranges by device.
    written: Vec<Extents>,
    found: bool,
}

impl UnwrittenReads {
    /// Adds a request of `bytes` bytes at `offset` of `device`.
    pub fn add(&mut self, op: RecordOp, device: u32, offset: u64, bytes: u64) {
        let writes = match op {
            _ if self.found => return,
            RecordOp::Read => false,
            RecordOp::Write | RecordOp::Append => true,
            _ => return,
        };
        let device = device as usize;
        if device >= self.written.len() {
            self.written.resize_with(device + 1, Extents::default);
        }
        if writes {
            self.written[device].insert(offset, bytes);
        } else {
            self.found = !self.written[device].covers(offset, bytes);
        }
    }

    /// Returns true if a read was of data that no earlier request had written.
    pub fn found(&self) -> bool {
        self.found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reads_unwritten(jobs: &str) -> bool {
        let workload = Workload::parse_fio("job.fio", jobs).unwrap_or_else(|error| panic!("{error}"));
        workload.reads_unwritten(&Options::new(1 << 20))
    }

    #[test]
    fn a_job_that_reads_reads_what_it_has_not_written() {
        assert!(reads_unwritten("[a]\nrw=randread\n"));
        assert!(reads_unwritten("[a]\nrw=randrw\n"));
        assert!(!reads_unwritten("[a]\nrw=randwrite\n"));
        assert!(!reads_unwritten("[a]\nrw=write\nverify=crc32c\n"));
        assert!(!reads_unwritten("[a]\nrw=trim\n"));
        assert!(!reads_unwritten("[a]\nrw=randrw\nzonemode=zbd\nzonesize=64k\n"));
        assert!(reads_unwritten("[a]\nrw=randrw\nzonemode=zbd\nzonesize=64k\nread_beyond_wp=1\n"));
        assert!(reads_unwritten("[a]\nrw=randread\nzonemode=zbd\nzonesize=64k\n"));
    }

    #[test]
    fn data_of_an_earlier_stage_is_written() {
        let written = |keys: &str, then: &str| {
            reads_unwritten(&format!("[a]\nrw=write\nsize=512k\n{keys}\n[b]\nstonewall\nrw=read\nsize=512k\n{then}"))
        };
        assert!(!written("", ""));
        assert!(!written("rw=randwrite", ""));
        assert!(written("", "offset=4k"), "a part lies beyond");
        assert!(written("number_ios=3", ""), "the writes end early");
        assert!(written("rw=randwrite\nnorandommap", ""), "random writes may miss some");
        // Without the wall both run at once.
        assert!(reads_unwritten("[a]\nrw=write\n[b]\nrw=read\n"));
    }

    #[test]
    fn a_trace_reads_what_it_wrote_on_the_same_device() {
        let mut reads = UnwrittenReads::default();
        reads.add(RecordOp::Write, 1, 0, 8192);
        reads.add(RecordOp::Read, 1, 4096, 4096);
        assert!(!reads.found());
        reads.add(RecordOp::Read, 0, 4096, 4096);
        assert!(reads.found());
    }
}
