//! Equal seeds give equal requests, on any machine and in any build.

use sim::Streams;
use workload::{Next, Options, Player, Workload};

use crate::harness::play_workload;

const GIB: u64 = 1 << 30;

/// Returns the FNV-1a hash of the first requests of a job file.
fn checksum(text: &str, requests: u32, seed: u64) -> u64 {
    let workload = Workload::parse_fio("test.fio", text).expect("a valid job file");
    let mut player = Player::new(&workload, &Options::new(GIB), &Streams::new(seed)).expect("it fits the drive");
    let mut hash = 0xcbf2_9ce4_8422_2325u64;
    for i in 0..requests {
        let now = sim::Time::from_us(u64::from(i));
        let Ok(Next::Issue(io)) = player.next(now) else { panic!("{text}: ends after {i} requests") };
        for value in [io.request.offset, io.request.bytes, io.request.op as u64] {
            hash = (hash ^ value).wrapping_mul(0x0000_0100_0000_01b3);
        }
        player.complete(now, io.id);
    }
    hash
}

#[test]
fn draws_are_pinned() {
    // Change these values only together with an intended change of a pattern's draws, and record it in the change log.
    let table = [
        ("rw=randread", 0xa02b_d01a_faea_4ae5),
        ("rw=randread\nnorandommap", 0x65b0_adec_c91e_7ae5),
        ("rw=randrw\nrwmixread=30", 0x5efe_9ea1_130f_82d3),
        ("rw=randread\nrandom_distribution=zipf:1.2", 0x18ae_8c76_214d_cae5),
        ("rw=randread\nrandom_distribution=pareto:0.2", 0x85c5_224a_9318_0ae5),
        ("rw=randread\nrandom_distribution=normal:10", 0x6756_f150_f006_3ae5),
        ("rw=randread\nrandom_distribution=zoned:80/20:20/80", 0x6c83_81d3_370d_1ae5),
        ("rw=randwrite\nbssplit=4k/50:64k/50", 0xf006_c448_1e28_db35),
        ("rw=randwrite\nbsrange=4k-64k", 0x7c33_e08e_f9f4_0b35),
    ];
    let found = table.map(|(keys, _)| (keys, checksum(&format!("[a]\n{keys}\n"), 10_000, 1)));
    assert_eq!(found, table);
}

#[test]
fn draws_depend_on_seed_and_name() {
    let job = |seed: u64, text: &str| checksum(text, 100, seed);
    let text = "[a]\nrw=randread\n";
    assert_eq!(job(1, text), job(1, text));
    assert_ne!(job(1, text), job(2, text));
    assert_ne!(job(1, text), job(1, "[b]\nrw=randread\n"));
    let seeded = "[a]\nrw=randread\nrandseed=2\n";
    assert_eq!(job(1, seeded), job(2, text));
}

#[test]
fn adding_a_job_does_not_change_the_draws_of_others() {
    let draws = |text: &str, name: &str| {
        let workload = Workload::parse_fio("test.fio", text).expect("valid");
        let done = play_workload(&workload, &Options::new(GIB), 1).expect("fits");
        let job = workload.jobs().iter().position(|job| job.name == name).expect("the job") as u16;
        done.iter().filter(|d| d.io.job == job).map(|d| d.io.request.offset).collect::<Vec<_>>()
    };
    let alone = draws("[b]\nrw=randread\nsize=1m\n", "b");
    let beside = draws("[a]\nrw=randwrite\nsize=1m\n[b]\nrw=randread\nsize=1m\n", "b");
    assert_eq!(alone, beside);
}
