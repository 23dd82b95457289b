//! The drives and jobs of the study.

use storage::prepare::Preparation;

/// A preset and its scale, 1/N.
pub type Drive = (&'static str, u32);

/// Drives of four kinds: a client and an enterprise-like NVMe drive, SATA, and one without DRAM.
pub const DRIVES: [Drive; 4] = [("nvme-client-tlc", 36), ("samsung-980-pro-1tb", 96), ("sata-mlc", 6), ("hmb-f", 128)];

/// A job: its name on the page, its fio keys, and the state of the drive.
pub struct Job {
    pub name: &'static str,
    pub keys: &'static str,
    pub preparation: Preparation,
    /// Whether the seed places the hot data, so that each seed is a job of its own.
    pub placed: bool,
}

const fn job(name: &'static str, keys: &'static str, preparation: Preparation) -> Job {
    Job { name, keys, preparation, placed: false }
}

/// Reads of a filled drive, and writes to a drive in steady state. Skewed writes are not among them: they move a drive to
/// another steady state, which a note reports.
pub const JOBS: [Job; 10] = [
    job("random read, depth 1", "rw=randread\nbs=4k\niodepth=1", Preparation::Filled),
    job("random read, depth 32", "rw=randread\nbs=4k\niodepth=32", Preparation::Filled),
    Job {
        placed: true,
        ..job(
            "Zipf read, depth 16",
            "rw=randread\nbs=4k\niodepth=16\nrandom_distribution=zipf:1.1",
            Preparation::Filled,
        )
    },
    job("sequential read, 128 KiB, depth 8", "rw=read\nbs=128k\niodepth=8", Preparation::Filled),
    job("reads of 4 to 64 KiB, depth 8", "rw=randread\nbssplit=4k/60:16k/30:64k/10\niodepth=8", Preparation::Steady),
    job("random write, depth 1", "rw=randwrite\nbs=4k\niodepth=1", Preparation::Steady),
    job("random write, depth 32", "rw=randwrite\nbs=4k\niodepth=32", Preparation::Steady),
    job("70 % reads, depth 32", "rw=randrw\nrwmixread=70\nbs=4k\niodepth=32", Preparation::Steady),
    job("half reads, depth 4", "rw=randrw\nrwmixread=50\nbs=4k\niodepth=4", Preparation::Steady),
    job(
        "Poisson arrivals, 80 % reads",
        "rw=randrw\nrwmixread=80\nbs=4k\niodepth=64\nrate_process=poisson\nrate_iops=3000,750",
        Preparation::Steady,
    ),
];
