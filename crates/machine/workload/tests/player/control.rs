//! Keys of order, pace and end conditions. Literal offsets are those that fio 3.33 logs for the same job.

use std::collections::BTreeMap;

use media::Op;
use sim::{Streams, Time};
use workload::{Options, Player, Workload};

use crate::harness::{Done, depth, play, play_jobs};

const MIB: u64 = 1 << 20;

fn blocks(done: &[Done]) -> Vec<u64> {
    done.iter().map(|d| d.io.request.offset / 4096).collect()
}

fn of(done: &[Done], job: u16) -> Vec<&Done> {
    done.iter().filter(|d| d.io.job == job).collect()
}

fn count(done: &[Done], op: Op) -> usize {
    done.iter().filter(|d| d.io.request.op == op).count()
}

#[test]
fn a_number_after_a_sequential_pattern_is_a_gap() {
    assert_eq!(blocks(&play_jobs("[a]\nrw=read:8k\nsize=100k\n", MIB)), [0, 3, 6, 9, 12, 15, 18, 21, 24]);
    let backwards: Vec<u64> = std::iter::once(0).chain((0..24).rev()).collect();
    assert_eq!(blocks(&play_jobs("[a]\nrw=read:-8k\nsize=100k\n", MIB)), backwards);
    assert_eq!(play_jobs("[a]\nrw=read:8k\nsize=100k\nio_size=100k\n", MIB).len(), 25, "io_size makes it wrap");
}

#[test]
fn a_number_after_a_random_pattern_makes_runs() {
    let runs = |sequencer: &str| {
        blocks(&play_jobs(
            &format!("[a]\nrw=randread:4\nrw_sequencer={sequencer}\nsize=16m\nnumber_ios=400\n"),
            16 * MIB,
        ))
    };
    for run in runs("sequential").chunks(4) {
        assert!(run.windows(2).all(|pair| pair[1] == pair[0] + 1 || pair[0] == 4095), "{run:?}");
    }
    assert!(runs("identical").chunks(4).all(|run| run.iter().all(|block| *block == run[0])));
}

#[test]
fn percentage_random_mixes_runs_into_a_random_job() {
    let done = blocks(&play_jobs(
        "[a]\nrw=randread\nnorandommap\npercentage_random=30\nsize=64m\nnumber_ios=4000\n",
        64 * MIB,
    ));
    let follows = done.windows(2).filter(|pair| pair[1] == pair[0] + 1).count();
    // 2,800 expected; the standard deviation is 29.
    assert!((2_680..2_920).contains(&follows), "{follows}");
}

#[test]
fn blockalign_spaces_offsets_and_disables_the_map() {
    let done = play_jobs("[a]\nrw=randread\nblockalign=16k\nsize=1m\n", MIB);
    assert!(done.iter().all(|d| d.io.request.offset % 16384 == 0 && d.io.request.bytes == 4096));
    assert_eq!(done.len(), 256);
    // Closer together than block sizes: the last block still fits.
    let done = play_jobs("[a]\nrw=randread\nbs=16k\nblockalign=4k\nsize=64k\nio_size=4m\n", MIB);
    assert_eq!(done.iter().map(|d| d.io.request.end()).max(), Some(65536));
}

#[test]
fn the_random_map_truncates_requests_of_mixed_sizes() {
    let done = play_jobs("[a]\nrw=randread\nbssplit=4k/50:16k/50\nsize=64m\n", 64 * MIB);
    let mut visits = vec![0; 16384];
    let mut sizes = BTreeMap::new();
    for request in done.iter().map(|d| d.io.request) {
        *sizes.entry(request.bytes / 4096).or_insert(0u32) += 1;
        visits[(request.offset / 4096) as usize..(request.end() / 4096) as usize].iter_mut().for_each(|n| *n += 1);
    }
    assert!(visits.iter().all(|n| *n == 1), "each block once");
    // fio 3.33 with another seed: 5089, 675, 463 and 2139 of 4, 8, 12 and 16 KiB.
    for (blocks, fio) in [(1, 5089), (2, 675), (3, 463), (4, 2139)] {
        let found = f64::from(sizes[&blocks]);
        assert!((found - f64::from(fio)).abs() < 0.12 * f64::from(fio), "{blocks} blocks: {found}, {fio} in fio");
    }
    let lfsr = play_jobs("[a]\nrw=randread\nbssplit=4k/50:16k/50\nsize=64m\nrandom_generator=lfsr\n", 64 * MIB);
    let large = lfsr.iter().filter(|d| d.io.request.bytes == 16384).count();
    assert!((large as f64 / lfsr.len() as f64 - 0.5).abs() < 0.02, "the lfsr lets requests overlap");
}

#[test]
fn bsrange_reaches_its_larger_size() {
    let done = play_jobs("[a]\nrw=randread\nnorandommap\nbsrange=4k-10k\nsize=64m\n", 64 * MIB);
    let mut sizes = BTreeMap::new();
    for d in &done {
        *sizes.entry(d.io.request.bytes).or_insert(0u32) += 1;
    }
    // Of 10,240 bytes, 4,096 each map to the first two sizes. fio 3.33: 3914, 3820 and 1932.
    let share = |bytes: u64| f64::from(sizes[&bytes]) / done.len() as f64;
    assert_eq!(sizes.keys().copied().collect::<Vec<_>>(), [4096, 8192, 10240]);
    assert!((share(4096) - 0.4).abs() < 0.02 && (share(10240) - 0.2).abs() < 0.02, "{sizes:?}");
}

#[test]
fn fsync_counts_writes_and_repeats_after_reads_as_fio_does() {
    let done = play_jobs("[a]\nrw=write\nfsync=4\nsize=64k\n", MIB);
    assert_eq!((count(&done, Op::Write), count(&done, Op::Flush)), (16, 3), "none after the last write");
    let done = play_jobs("[a]\nrw=randrw\nfsync=4\nsize=4m\n", 4 * MIB);
    let mut writes = 0;
    for pair in done.windows(2) {
        let (first, second) = (pair[0].io.request.op, pair[1].io.request.op);
        writes += usize::from(first == Op::Write);
        let due = first != Op::Flush && writes > 0 && writes.is_multiple_of(4);
        assert_eq!(second == Op::Flush, due);
    }
    let done = play_jobs("[a]\nrw=trimwrite\nfsync=4\nsize=64k\n", MIB);
    assert_eq!(count(&done, Op::Flush), 0);
}

#[test]
fn loops_repeat_the_job() {
    let done = play_jobs("[a]\nrw=randread\nsize=32k\nloops=3\n", MIB);
    assert_eq!(done.len(), 24);
    for pass in blocks(&done).chunks(8) {
        let mut pass = pass.to_vec();
        pass.sort_unstable();
        assert!(pass.into_iter().eq(0..8));
    }
    assert_eq!(play_jobs("[a]\nrw=randread\nsize=64k\nnumber_ios=5\nloops=2\n", MIB).len(), 10);
}

#[test]
fn io_size_in_percent_is_relative_to_size() {
    assert_eq!(play_jobs("[a]\nrw=read\nsize=256k\nio_size=50%\n", 64 * MIB).len(), 32);
}

#[test]
fn a_name_in_global_names_no_job() {
    let workload = Workload::parse_fio("a.fio", "[global]\nname=all\n[one]\n[two]\nname=own\n").unwrap();
    assert_eq!(workload.jobs().iter().map(|job| job.name.as_str()).collect::<Vec<_>>(), ["one", "own"]);
    assert_eq!(workload.globals(), [("name".to_owned(), "all".to_owned())]);
}

#[test]
fn groups_begin_at_new_group_and_stonewall() {
    let text = "[a]\nnumjobs=2\n[b]\nnew_group\n[c]\n[d]\nstonewall\n";
    let workload = Workload::parse_fio("a.fio", text).unwrap();
    assert_eq!(workload.jobs().iter().map(|job| job.group).collect::<Vec<_>>(), [0, 0, 1, 1, 2]);
    assert_eq!(
        workload.jobs().iter().map(|job| job.starts_later).collect::<Vec<_>>(),
        [false, false, false, false, true]
    );
}

#[test]
fn a_start_delay_counts_from_the_stage() {
    let done =
        play_jobs("[a]\nsize=16k\n[b]\nsize=4k\nstartdelay=5ms\n[c]\nstonewall\nstartdelay=1ms-2ms\nsize=4k\n", MIB);
    assert_eq!(of(&done, 1)[0].issued, Time::from_ms(5));
    let third = of(&done, 2)[0].issued - of(&done, 1)[0].completed;
    assert!((Time::from_ms(1)..=Time::from_ms(2)).contains(&third), "{third}");
}

#[test]
fn a_job_waits_for_all_clones_of_another() {
    let done = play_jobs("[a]\nsize=16k\nnumjobs=2\n[b]\nwait_for=a\nsize=4k\n[c]\nsize=4k\n", MIB);
    assert_eq!(of(&done, 2)[0].issued, Time::from_us(400));
    assert_eq!(of(&done, 3)[0].issued, Time::ZERO);
}

#[test]
fn exitall_ends_the_selected_jobs() {
    let jobs = |what: &str| {
        let text = format!(
            "[a]\nrw=randread\nnumber_ios=3\nexitall\nexit_what={what}\n[b]\nrw=randread\n[c]\nnew_group\nrw=randread\nthinktime=10ms\n\
             [d]\nstonewall\nsize=8k\n"
        );
        let done = play_jobs(&text, 4 * MIB);
        [0, 1, 2, 3].map(|job| of(&done, job).len())
    };
    let [first, second, third, fourth] = jobs("group");
    assert!((first, third, fourth) == (3, 1024, 2) && second <= 4, "{second}");
    let [first, second, third, fourth] = jobs("stonewall");
    assert!((first, third, fourth) == (3, 1, 2) && second <= 4, "{second}");
    assert_eq!(jobs("all")[3], 0);
}

#[test]
fn flow_keeps_jobs_in_proportion() {
    for sleep in ["", "flow_sleep=50\n"] {
        let text = format!(
            "[global]\nrw=randread\nnorandommap\ntime_based\nruntime=100ms\n{sleep}[a]\nflow=8\niodepth=16\n[b]\nflow=2\n"
        );
        let done = play_jobs(&text, 64 * MIB);
        let ratio = of(&done, 0).len() as f64 / of(&done, 1).len() as f64;
        assert!((ratio - 4.0).abs() < 0.1, "{ratio}");
    }
}

#[test]
fn batches_are_awaited_before_a_job_issues_again() {
    let done = play_jobs("[a]\nrw=randread\niodepth=16\niodepth_batch_complete=8\nsize=1m\n", MIB);
    assert_eq!(depth(&done), 16);
    let mut drives = play_with_order("[a]\nrw=randread\niodepth=16\niodepth_low=4\nsize=1m\n");
    // 16 at once, and more only when at most 4 are left.
    assert_eq!(drives.drain(..16).collect::<Vec<_>>(), (0..16).map(|i| i + 1).collect::<Vec<_>>());
    assert!(drives.iter().all(|outstanding| *outstanding >= 5), "{drives:?}");
    assert!(drives.contains(&5) && drives.contains(&16));
}

/// Returns the number of outstanding requests at each issue, on a drive with varying latencies.
fn play_with_order(text: &str) -> Vec<usize> {
    let workload = Workload::parse_fio("a.fio", text).unwrap();
    let mut player = Player::new(&workload, &Options::new(MIB), &Streams::new(1)).unwrap();
    let mut step = 0;
    let done = play(&mut player, |_| {
        step += 7;
        Time::from_us(100 + step % 31)
    })
    .unwrap();
    let open = |at: usize| done[..=at].iter().filter(|d| d.completed > done[at].issued).count();
    (0..done.len()).map(open).collect()
}

#[test]
fn poisson_intervals_have_equal_mean_and_deviation() {
    let done =
        play_jobs("[a]\nrw=randread\nrate_iops=1000\nrate_process=poisson\niodepth=64\nnumber_ios=8000\n", 64 * MIB);
    let gaps: Vec<f64> = done.windows(2).map(|pair| (pair[1].issued - pair[0].issued).secs_f64()).collect();
    let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
    let variance = gaps.iter().map(|gap| (gap - mean) * (gap - mean)).sum::<f64>() / gaps.len() as f64;
    // The mean of 8,000 exponential draws is within 4.5 % at four standard deviations.
    assert!((mean - 1e-3).abs() < 4.5e-5, "{mean}");
    assert!((variance.sqrt() / mean - 1.0).abs() < 0.06, "{}", variance.sqrt() / mean);
}

#[test]
fn sync_writes_are_durable_when_they_complete() {
    let done = play_jobs("[a]\nrw=randrw\nsync=1\nsize=1m\n", MIB);
    assert!(done.iter().all(|d| d.io.request.fua == (d.io.request.op == Op::Write)));
}

#[test]
fn end_fsync_flushes_once_after_the_writes() {
    for key in ["end_fsync", "fsync_on_close"] {
        let done = play_jobs(&format!("[a]\nrw=write\niodepth=4\nsize=64k\n{key}=1\n"), MIB);
        assert_eq!(done.len(), 17);
        assert_eq!(done[16].io.request.op, Op::Flush);
        assert!(done[..16].iter().all(|d| d.completed <= done[16].issued));
    }
    assert_eq!(count(&play_jobs("[a]\nrw=read\nsize=64k\nend_fsync=1\n", MIB), Op::Flush), 0);
}

#[test]
fn a_backlog_is_verified_before_further_writes() {
    let done = play_jobs("[a]\nrw=write\nverify=crc32c\nverify_backlog=4\nsize=32k\n", MIB);
    let ops: String = done
        .iter()
        .map(|d| match d.io.request.op {
            Op::Write => 'w',
            Op::Read => 'r',
            Op::Flush => 'f',
            _ => '?',
        })
        .collect();
    assert_eq!(ops, "wwwwrrrrwwwwfrrrr");
    assert!(done.iter().all(|d| d.io.verify == (d.io.request.op == Op::Read)));
    let without = play_jobs("[a]\nrw=write\nverify=crc32c\ndo_verify=0\nsize=32k\n", MIB);
    assert_eq!(without.len(), 8);
}

#[test]
fn trimmed_blocks_are_not_verified() {
    let keys = "trim_percentage=50\ntrim_backlog=16\n";
    let done = play_jobs(&format!("[a]\nrw=write\nverify=crc32c\n{keys}size=4m\n"), 4 * MIB);
    let of = |op: Op| done.iter().filter(|d| d.io.request.op == op).map(|d| d.io.request.offset).collect::<Vec<_>>();
    let (trimmed, read) = (of(Op::Trim), of(Op::Read));
    assert!((430..600).contains(&trimmed.len()), "{}", trimmed.len());
    assert_eq!(trimmed.len() + read.len(), 1024);
    assert!(read.iter().all(|offset| !trimmed.contains(offset)));
}

#[test]
fn a_latency_target_finds_its_depth() {
    // On a drive that takes 10 us per outstanding request, 1 ms allows a depth of 100.
    let text = "[a]\nrw=randread\nnorandommap\ntime_based\nruntime=60s\niodepth=512\nlatency_target=1000\nlatency_window=50000\n";
    let workload = Workload::parse_fio("a.fio", text).unwrap();
    let mut player = Player::new(&workload, &Options::new(64 * MIB), &Streams::new(1)).unwrap();
    let (mut now, mut queue) = (Time::ZERO, std::collections::VecDeque::new());
    loop {
        match player.next(now).unwrap() {
            workload::Next::Issue(io) => queue.push_back(io.id),
            workload::Next::Finished => break,
            workload::Next::At(_) | workload::Next::Blocked => {
                now += Time::from_us(10);
                player.complete(now, queue.pop_front().expect("an outstanding request"));
            }
        }
    }
    assert!((95..=100).contains(&player.depth(0)), "{}", player.depth(0));
    assert!(now < Time::from_s(5), "the job ends once the depth is found: {now}");
}

#[test]
fn a_steady_job_ends() {
    let text = "[a]\nrw=randread\ntime_based\nruntime=100s\nss=iops:5%\nss_dur=3s\nss_ramp=1s\n";
    let workload = Workload::parse_fio("a.fio", text).unwrap();
    let mut player = Player::new(&workload, &Options::new(MIB), &Streams::new(1)).unwrap();
    let mut slower = 0u64;
    let done = play(&mut player, |_| {
        // 1 ms per request; half of that in the first 3 s.
        slower += 1;
        Time::from_us(if slower < 6_000 { 500 } else { 1000 })
    })
    .unwrap();
    // 1 s of ramp, samples of 2,000 at 2 and 3 s; those at 4, 5 and 6 s are 1,000 each.
    assert_eq!((done.last().unwrap().completed.secs_f64() * 1e3).round(), 6_001.0);
}

#[test]
fn depths_are_counted_at_each_issue() {
    let workload = Workload::parse_fio("a.fio", "[a]\nrw=randread\niodepth=8\nsize=1m\n[b]\nsize=64k\n").unwrap();
    let mut player = Player::new(&workload, &Options::new(MIB), &Streams::new(1)).unwrap();
    let done = play(&mut player, |_| Time::from_us(100)).unwrap();
    assert_eq!(player.depths(1), [16, 0, 0, 0, 0, 0, 0]);
    let depths = player.depths(0);
    assert_eq!(depths.iter().sum::<u64>(), 256);
    assert_eq!(done.len(), 272);
    assert!(depths[3] >= 32 && depths[4..] == [0, 0, 0], "{depths:?}");
}

#[test]
fn the_written_iolog_replays_the_same_requests() {
    let folder = std::env::temp_dir().join(format!("nandram-iolog-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let name = folder.join("a.fio").display().to_string();
    let play_file = |text: &str| {
        let workload = Workload::parse_fio(&name, text).unwrap();
        let mut player = Player::new(&workload, &Options::new(MIB), &Streams::new(1)).unwrap();
        play(&mut player, |_| Time::from_us(100)).unwrap()
    };
    let wrote = play_file("[a]\nrw=randrw\nfsync=8\nsize=256k\nnumjobs=2\nwrite_iolog=log\n");
    let first: Vec<_> = wrote.iter().filter(|d| d.io.job == 0).map(|d| d.io.request).collect();
    let requests = |text: &str| play_file(text).iter().map(|d| d.io.request).collect::<Vec<_>>();
    assert_eq!(requests("[r]\nread_iolog=log\nreplay_no_stall=1\n"), first);
    assert!(folder.join("log.1").exists());
    let reads = requests("[r]\nread_iolog=log\nreplay_skip=write,sync\nreplay_scale=2\nreplay_align=8k\n");
    let expected: Vec<u64> =
        first.iter().filter(|r| r.op == Op::Read).map(|r| r.offset / 2 - r.offset / 2 % 8192).collect();
    assert_eq!(reads.iter().map(|r| r.offset).collect::<Vec<_>>(), expected);
    let slow = play_file("[r]\nread_iolog=log\nreplay_time_scale=300\n");
    let fast = play_file("[r]\nread_iolog=log\n");
    let span = |done: &[Done]| done.last().unwrap().issued.secs_f64();
    assert!((span(&slow) / span(&fast) - 3.0).abs() < 0.05);
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn keys_of_a_file_system_or_a_host_are_noted() {
    let text = "[global]\ndirectory=/data\ncpus_allowed=0-3\nioengine=rbd\nbuffered=1\n[a]\nfallocate=none\nsize=2m\n";
    let workload = Workload::parse_fio("a.fio", text).unwrap();
    assert_eq!(
        workload.notes(),
        [
            "a.fio: keys without effect: directory, fallocate: there are no files, only the drive",
            "a.fio: keys without effect: cpus_allowed: the host's processors, memory and processes are not part of the model",
            "a.fio: keys without effect: ioengine=rbd: the simulated drive replaces the storage that this engine accesses",
            "a.fio: keys without effect: buffered=1: there is no page cache: each request goes to the drive",
        ]
    );
    let player = Player::new(&workload, &Options::new(MIB), &Streams::new(1)).unwrap();
    assert_eq!(
        player.notes(),
        ["a.fio: job \"a\": size=2097152 is limited to 1048576 bytes by the end of the drive, as in fio"]
    );
}

#[test]
fn filesize_and_nrfiles_define_a_region() {
    assert_eq!(play_jobs("[a]\nrw=randread\nfilesize=64k\nnrfiles=3\n", MIB).len(), 48);
}

/// Returns the placement identifiers of the requests of `text` on a drive with eight reclaim unit handles.
fn placements(text: &str) -> Vec<(Op, u16)> {
    let workload = Workload::parse_fio("test.fio", text).expect("a valid job file");
    let options = Options { handles: 8, ..Options::new(MIB) };
    let mut player = Player::new(&workload, &options, &Streams::new(1)).expect("a workload that fits the drive");
    let done = play(&mut player, |_| Time::from_us(1)).expect("a workload that can be read");
    done.iter().map(|done| (done.io.request.op, done.io.request.placement)).collect()
}

#[test]
fn writes_carry_placement_identifiers_and_other_requests_none() {
    let writes = |identifiers: &[u16]| identifiers.iter().map(|of| (Op::Write, *of)).collect::<Vec<_>>();
    assert_eq!(placements("[a]\nrw=write\nnumber_ios=3\n"), writes(&[0, 0, 0]));
    assert_eq!(placements("[a]\nrw=write\nfdp=1\nplids=5\nnumber_ios=3\n"), writes(&[5, 5, 5]));
    assert_eq!(placements("[a]\nrw=write\nfdp=1\nfdp_pli=6,2\nnumber_ios=3\n"), writes(&[2, 6, 2]));
    let all = placements("[a]\nrw=write\ndataplacement=fdp\nnumber_ios=9\n");
    assert_eq!(all, writes(&[0, 1, 2, 3, 4, 5, 6, 7, 0]));
    let trimmed = placements("[a]\nrw=trimwrite\nfdp=1\nplids=3\nnumber_ios=2\n");
    assert!(trimmed.iter().all(|(op, of)| (*op, *of) == (Op::Trim, 0) || (*op, *of) == (Op::Write, 3)), "{trimmed:?}");
    let mixed = placements("[a]\nrw=randrw\nfdp=1\nplids=3\nnumber_ios=50\nnorandommap\n");
    assert!(mixed.iter().all(|(op, of)| (*op == Op::Write) == (*of == 3)), "{mixed:?}");
}

#[test]
fn random_choice_of_placement_identifiers_leaves_the_offsets_unchanged() {
    let job = |keys: &str| format!("[a]\nrw=randwrite\nfdp=1\nplids=1,4\nnumber_ios=200\nnorandommap\n{keys}");
    let drawn = placements(&job("plid_select=random\n"));
    let ones = drawn.iter().filter(|(_, of)| *of == 1).count();
    // 100 expected; the standard deviation is 7.
    assert!((70..130).contains(&ones) && drawn.iter().all(|(_, of)| [1, 4].contains(of)), "{ones}");
    let offsets = |text: &str| {
        let workload = Workload::parse_fio("test.fio", text).expect("a valid job file");
        let options = Options { handles: 8, ..Options::new(MIB) };
        let mut player = Player::new(&workload, &options, &Streams::new(1)).expect("a workload that fits the drive");
        blocks(&play(&mut player, |_| Time::from_us(1)).expect("a workload that can be read"))
    };
    assert_eq!(offsets(&job("")), offsets(&job("plid_select=random\n")));
}
