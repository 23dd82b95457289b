//! Semantics of fio's keys, one by one.

use std::collections::BTreeMap;

use media::Op;
use sim::Time;

use crate::harness::{Done, depth, play_jobs};

const MIB: u64 = 1 << 20;

fn offsets(done: &[Done]) -> Vec<u64> {
    done.iter().map(|d| d.io.request.offset).collect()
}

fn ops(done: &[Done], op: Op) -> Vec<&Done> {
    done.iter().filter(|d| d.io.request.op == op).collect()
}

#[test]
fn the_random_map_visits_every_block_once() {
    let done = play_jobs("[a]\nrw=randread\nbs=8k\niodepth=16\noffset=1m\nsize=4m\n", 16 * MIB);
    let mut offsets = offsets(&done);
    assert!(offsets.windows(2).any(|pair| pair[0] > pair[1]), "not in order");
    offsets.sort_unstable();
    assert!(offsets.into_iter().eq((0..512).map(|i| MIB + i * 8192)));
    assert_eq!(depth(&done), 16);
    assert!(done.iter().all(|d| d.io.request.bytes == 8192 && d.io.measured && !d.io.verify && d.io.due == d.issued));
}

#[test]
fn io_size_beyond_the_region_causes_further_passes() {
    let done = play_jobs("[a]\nrw=randwrite\nbs=4k\nsize=64k\nio_size=192k\n", MIB);
    let mut counts = BTreeMap::new();
    for offset in offsets(&done) {
        *counts.entry(offset).or_insert(0) += 1;
    }
    assert_eq!(counts.len(), 16);
    assert!(counts.values().all(|count| *count == 3));
    let sequential = play_jobs("[a]\nrw=write\nbs=4k\nsize=12k\nio_size=20k\n", MIB);
    assert_eq!(offsets(&sequential), [0, 4096, 8192, 0, 4096]);
}

#[test]
fn norandommap_draws_independently() {
    let done = play_jobs("[a]\nrw=randread\nnorandommap\nsize=1m\n", MIB);
    let mut offsets = offsets(&done);
    assert_eq!(offsets.len(), 256);
    offsets.sort_unstable();
    offsets.dedup();
    // The expected fraction of visited blocks is 1 - 1/e: 162 of 256.
    assert!((145..180).contains(&offsets.len()), "{}", offsets.len());
}

#[test]
fn time_based_sequential_jobs_wrap() {
    let done = play_jobs("[a]\nrw=read\nbs=64k\nsize=160k\ntime_based\nruntime=1ms\n", MIB);
    // 100 us per request, one at a time: 10 in 1 ms. The last 32 KiB of the region do not hold a block.
    assert_eq!(offsets(&done), [0, 65536, 0, 65536, 0, 65536, 0, 65536, 0, 65536]);
}

#[test]
fn runtime_and_size_both_end_a_job() {
    assert_eq!(play_jobs("[a]\nrw=randread\nruntime=1ms\n", 64 * MIB).len(), 10);
    assert_eq!(play_jobs("[a]\nrw=randread\nsize=16k\nruntime=1s\n", MIB).len(), 4);
    assert_eq!(play_jobs("[a]\nrw=randread\nnumber_ios=7\n", MIB).len(), 7);
}

#[test]
fn a_mix_has_the_given_shares() {
    let done = play_jobs("[a]\nrw=randrw\nrwmixread=70\niodepth=8\nsize=64m\n", 64 * MIB);
    let reads = ops(&done, Op::Read).len();
    assert_eq!(done.len(), 16384);
    // 11,469 expected; the standard deviation is 59.
    assert!((11_200..11_750).contains(&reads), "{reads}");
    // Both directions share one random map.
    let mut offsets = offsets(&done);
    offsets.sort_unstable();
    offsets.dedup();
    assert_eq!(offsets.len(), 16384);
}

#[test]
fn a_sequential_mix_has_a_position_for_each_direction() {
    let done = play_jobs("[a]\nrw=rw\nsize=1m\n", MIB);
    for op in [Op::Read, Op::Write] {
        assert!(ops(&done, op).iter().enumerate().all(|(i, d)| d.io.request.offset == i as u64 * 4096));
    }
    assert_eq!(done.len(), 256);
}

#[test]
fn directions_may_have_different_block_sizes() {
    let done = play_jobs("[a]\nrw=randrw\nbs=4k,16k\nsize=16m\niodepth=4\n", 16 * MIB);
    for d in &done {
        let bytes = if d.io.request.op == Op::Read { 4096 } else { 16384 };
        assert_eq!((d.io.request.bytes, d.io.request.offset % bytes), (bytes, 0));
    }
    let bytes: u64 = done.iter().map(|d| d.io.request.bytes).sum();
    assert!((16 * MIB..16 * MIB + 16384).contains(&bytes));
}

#[test]
fn bssplit_has_the_given_shares() {
    let done = play_jobs("[a]\nrw=randread\nnorandommap\nbssplit=4k/60:16k/30:64k/\nsize=256m\niodepth=8\n", 256 * MIB);
    let mut counts = BTreeMap::new();
    for d in &done {
        *counts.entry(d.io.request.bytes).or_insert(0u32) += 1;
        assert_eq!(d.io.request.offset % 4096, 0);
        assert!(d.io.request.end() <= 256 * MIB);
    }
    let share = |bytes: u64| f64::from(counts[&bytes]) / done.len() as f64;
    assert_eq!(counts.len(), 3);
    assert!((share(4096) - 0.6).abs() < 0.02 && (share(16384) - 0.3).abs() < 0.02, "{counts:?}");
}

#[test]
fn bsrange_draws_multiples_of_the_smaller_size() {
    let done = play_jobs("[a]\nrw=randwrite\nnorandommap\nbsrange=4k-16k\nsize=64m\n", 64 * MIB);
    let mut counts = BTreeMap::new();
    for d in &done {
        *counts.entry(d.io.request.bytes).or_insert(0u32) += 1;
    }
    assert_eq!(counts.keys().copied().collect::<Vec<_>>(), [4096, 8192, 12288, 16384]);
    assert!(counts.values().all(|count| f64::from(*count) / done.len() as f64 > 0.23), "{counts:?}");
}

#[test]
fn a_rate_counts_from_the_start() {
    // 4 MiB/s is one request per 0.9765625 ms; the first is issued immediately.
    let done = play_jobs("[a]\nrw=randread\nrate=4m\niodepth=4\nruntime=100ms\n", 64 * MIB);
    assert_eq!(done.len(), 103);
    assert!(done.iter().enumerate().all(|(i, d)| d.issued == Time::from_ps(976_562_500 * i as u64)));
    let done = play_jobs("[a]\nrw=read\nrate_iops=500\nnumber_ios=5\n", MIB);
    assert!(done.iter().enumerate().all(|(i, d)| d.issued == Time::from_ms(2 * i as u64)));
}

#[test]
fn a_write_rate_does_not_limit_reads() {
    let done = play_jobs("[a]\nrw=randrw\nrate_iops=,100\niodepth=2\nruntime=100ms\n", 64 * MIB);
    let (reads, writes) = (ops(&done, Op::Read).len(), ops(&done, Op::Write).len());
    assert!((9..=10).contains(&writes), "{writes}");
    // Two at a time, 100 us each, for 100 ms.
    assert!((1980..=2000).contains(&(reads + writes)), "{reads}");
}

#[test]
fn thinktime_waits_for_outstanding_requests() {
    let done = play_jobs("[a]\nrw=read\niodepth=8\nthinktime=250\nthinktime_blocks=3\nnumber_ios=9\n", MIB);
    let issued: Vec<u64> = done.iter().map(|d| d.issued.ns() / 1000).collect();
    assert_eq!(issued, [0, 0, 0, 350, 350, 350, 700, 700, 700]);
}

#[test]
fn fsync_waits_for_writes_and_delays_later_requests() {
    let done = play_jobs("[a]\nrw=write\niodepth=8\nfsync=3\nsize=28k\n", MIB);
    let what: Vec<(Op, u64)> = done.iter().map(|d| (d.io.request.op, d.issued.ns() / 1000)).collect();
    let (w, f) = (Op::Write, Op::Flush);
    assert_eq!(what, [(w, 0), (w, 0), (w, 0), (f, 100), (w, 200), (w, 200), (w, 200), (f, 300), (w, 400)]);
}

#[test]
fn fsync_does_not_wait_for_reads() {
    let done = play_jobs("[a]\nrw=randrw\niodepth=4\nfdatasync=1\nsize=1m\n", MIB);
    for (i, flush) in done.iter().enumerate().filter(|(_, d)| d.io.request.op == Op::Flush) {
        let write = done[..i].iter().rev().find(|d| d.io.request.op == Op::Write).expect("a write before its flush");
        assert!(flush.issued >= write.completed);
        assert!(done[i - 1].io.request.op != Op::Write || flush.issued == write.completed);
        assert!(done[i + 1..].iter().all(|later| later.issued >= flush.completed));
    }
}

#[test]
fn stonewalls_divide_the_jobs_into_groups() {
    let text = "[a]\nsize=16k\n[b]\nsize=8k\n[c]\nstonewall\nsize=8k\n[d]\nsize=4k\n[e]\nwait_for_previous\nsize=4k\n";
    let done = play_jobs(text, MIB);
    let span = |job: u16| {
        let of = || done.iter().filter(move |d| d.io.job == job);
        (of().map(|d| d.issued).min().expect("issued"), of().map(|d| d.completed).max().expect("completed"))
    };
    let us = Time::from_us;
    assert_eq!(
        [0, 1, 2, 3, 4].map(span),
        [(us(0), us(400)), (us(0), us(200)), (us(400), us(600)), (us(400), us(500)), (us(600), us(700))]
    );
}

#[test]
fn clones_have_separate_regions_and_streams() {
    let done = play_jobs("[a]\nrw=randread\nnumjobs=3\noffset=64k\noffset_increment=1m\nsize=1m\n", 4 * MIB);
    let of = |job: u16| -> Vec<u64> {
        let start = 65536 + u64::from(job) * MIB;
        done.iter().filter(|d| d.io.job == job).map(|d| d.io.request.offset - start).collect()
    };
    for job in 0..3 {
        assert_eq!(of(job).len(), 256);
        assert!(of(job).iter().all(|offset| *offset < MIB));
    }
    assert!(of(0) != of(1) && of(1) != of(2));
}

#[test]
fn percentages_are_relative_to_the_drive() {
    let done = play_jobs("[a]\nrw=read\noffset=50%\nsize=25%\nbs=64k\n", MIB);
    assert_eq!(offsets(&done), [524_288, 589_824, 655_360, 720_896]);
    // The end is limited to the drive, and the start is rounded up to a block.
    let done = play_jobs("[a]\nrw=read\noffset=90%\nsize=50%\nbs=64k\n", MIB);
    assert_eq!(offsets(&done), [983_040]);
}

#[test]
fn ramp_time_is_not_measured() {
    let done = play_jobs("[a]\nrw=randread\ntime_based\nramp_time=1ms\nruntime=2ms\n", 64 * MIB);
    assert_eq!(done.len(), 30);
    assert!(done.iter().all(|d| d.io.measured == (d.issued >= Time::from_ms(1))));
    let done = play_jobs("[a]\nrw=randread\nramp_time=1ms\nnumber_ios=7\n", 64 * MIB);
    assert_eq!(done.len(), 17, "number_ios counts after the ramp");
}

#[test]
fn verify_reads_each_written_block_once() {
    for keys in ["rw=randwrite", "rw=write", "rw=randwrite\nnorandommap", "rw=randrw", "rw=randtrimwrite"] {
        let done = play_jobs(&format!("[a]\n{keys}\nverify=crc32c\niodepth=8\nsize=1m\n"), MIB);
        let flush = done.iter().position(|d| d.io.request.op == Op::Flush).expect("a flush");
        let (run, verification) = (&done[..flush], &done[flush + 1..]);
        assert!(run.iter().all(|d| d.completed <= done[flush].issued && !d.io.verify));
        assert!(verification.iter().all(|d| d.issued >= done[flush].completed && d.io.verify));
        let mut written: Vec<u64> = ops(run, Op::Write).iter().map(|d| d.io.request.offset).collect();
        written.sort_unstable();
        written.dedup();
        assert_eq!(offsets(verification), written, "{keys}");
        assert!(verification.iter().all(|d| d.io.request.op == Op::Read && d.io.request.bytes == 4096));
        assert_eq!(depth(verification), 8);
    }
}

#[test]
fn verify_checks_the_reads_of_a_job_that_only_reads() {
    let done = play_jobs("[a]\nrw=randread\nverify=md5\nsize=64k\n", MIB);
    assert_eq!(done.len(), 16);
    assert!(done.iter().all(|d| d.io.verify));
}

#[test]
fn verification_survives_the_runtime() {
    let done = play_jobs("[a]\nrw=randwrite\nverify=md5\nruntime=1ms\n", 64 * MIB);
    assert_eq!((ops(&done, Op::Write).len(), ops(&done, Op::Read).len()), (10, 10));
}

#[test]
fn trimwrite_trims_each_block_before_writing_it() {
    for rw in ["trimwrite", "randtrimwrite"] {
        let done = play_jobs(&format!("[a]\nrw={rw}\nsize=64k\n"), MIB);
        assert_eq!(done.len(), 32);
        for pair in done.chunks(2) {
            assert_eq!((pair[0].io.request.op, pair[1].io.request.op), (Op::Trim, Op::Write));
            assert_eq!(pair[0].io.request.offset, pair[1].io.request.offset);
        }
    }
}

#[test]
fn global_sections_apply_to_the_jobs_below() {
    let text = "# a comment\n[global]\nbs=8k ; eight\nsize=16k\n[a]\n[global]\nbs=4k\n[b]\nrw=write\n";
    let done = play_jobs(text, MIB);
    let sizes = |job: u16| done.iter().filter(|d| d.io.job == job).map(|d| d.io.request.bytes).collect::<Vec<_>>();
    assert_eq!((sizes(0), sizes(1)), (vec![8192, 8192], vec![4096; 4]));
}

#[test]
fn a_job_may_use_all_whole_blocks_of_the_drive() {
    let done = play_jobs("[a]\nrw=randread\n", MIB + 5000);
    assert_eq!(done.len(), 257);
}
