//! Jobs of `zonemode=zbd`: every request is checked by an obvious second implementation of the rules of zones.

use std::collections::BTreeSet;

use media::Op;
use proptest::prelude::*;
use sim::{Streams, Time};
use workload::{DriveZones, Io, Options, Player, Workload};

use super::harness::{Done, play};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

/// Zones as a drive has them, told of every request in the order of its start and its end.
struct Obvious {
    drive: DriveZones,
    /// Maximum number of zones that may be partly written.
    open: u32,
    /// Written bytes of each zone.
    written: Vec<u64>,
    /// Outstanding requests: job, zone, and whether it is a write that fills the zone.
    outstanding: Vec<(u32, u16, u64, bool)>,
    reads_beyond: bool,
    resets: u64,
    finishes: u64,
}

impl Obvious {
    fn new(drive: DriveZones, open: u32, written: Vec<u64>) -> Obvious {
        let (outstanding, reads_beyond) = (Vec::new(), false);
        Obvious { drive, open, written, outstanding, reads_beyond, resets: 0, finishes: 0 }
    }

    /// Checks and performs a request that starts.
    fn start(&mut self, id: u32, io: &Io) {
        let (size, request) = (self.drive.size, io.request);
        if request.op == Op::Flush {
            return;
        }
        let zone = request.offset / size;
        let (from, index) = (request.offset - zone * size, zone as usize);
        let holders: BTreeSet<u16> = self.outstanding.iter().filter(|o| o.2 == zone).map(|o| o.1).collect();
        if request.op != Op::Read || !self.reads_beyond {
            assert!(holders.iter().all(|job| *job == io.job), "zone {zone} is in use by {holders:?}, not {}", io.job);
        }
        let mut fills = false;
        match request.op {
            Op::Write => {
                assert_eq!(from, self.written[index], "a write to zone {zone} away from its write pointer");
                self.written[index] += request.bytes;
                assert!(self.written[index] <= self.drive.capacity, "a write beyond the capacity of zone {zone}");
                fills = self.written[index] == self.drive.capacity;
            }
            Op::Read if self.reads_beyond => {}
            Op::Read => {
                assert!(from + request.bytes <= self.written[index], "a read beyond the write pointer of {zone}")
            }
            Op::ZoneReset | Op::ZoneFinish => {
                assert_eq!((from, request.bytes), (0, size));
                assert!(self.outstanding.iter().all(|o| o.1 != io.job || io.measured), "the job did not wait");
                self.resets += u64::from(request.op == Op::ZoneReset);
                self.finishes += u64::from(request.op == Op::ZoneFinish);
                self.written[index] = if request.op == Op::ZoneReset { 0 } else { self.drive.capacity };
            }
            other => panic!("{other:?}"),
        }
        if request.op != Op::Read || !self.reads_beyond {
            self.outstanding.push((id, io.job, zone, fills));
        }
        let filling: BTreeSet<u64> = self.outstanding.iter().filter(|o| o.3).map(|o| o.2).collect();
        let partly = (0..self.written.len() as u64).filter(|zone| {
            let written = self.written[*zone as usize];
            filling.contains(zone) || (written > 0 && written < self.drive.capacity)
        });
        let partly: Vec<u64> = partly.collect();
        assert!(partly.len() <= self.open as usize, "zones {partly:?} are open, at most {} may be", self.open);
    }

    fn end(&mut self, id: u32) {
        self.outstanding.retain(|o| o.0 != id);
    }

    /// Checks all requests of a run: ends come before starts at the same time, as the player sees them.
    fn check(&mut self, done: &[Done]) {
        let starts = (0u32..).zip(done).map(|(index, d)| (d.issued, 1, index));
        let ends = (0u32..).zip(done).map(|(index, d)| (d.completed, 0, index));
        let mut events: Vec<(Time, u8, u32)> = starts.chain(ends).collect();
        events.sort_unstable();
        for (_, kind, index) in events {
            if kind == 0 { self.end(index) } else { self.start(index, &done[index as usize].io) }
        }
        assert!(self.outstanding.is_empty());
    }
}

/// Plays jobs on a drive of `count` zones, the first `full` of which are full.
fn run(text: &str, drive: DriveZones, count: u64, full: u64, seed: u64) -> (Vec<Done>, Vec<String>) {
    let workload = Workload::parse_fio("z.fio", text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let options = Options { zones: Some(drive), ..Options::new(count * drive.size) };
    let mut player = Player::new(&workload, &options, &Streams::new(seed)).unwrap_or_else(|e| panic!("{e}\n{text}"));
    assert!(player.uses_zones());
    player.report_zones(|zone| if u64::from(zone) < full { drive.capacity } else { 0 });
    let mut latencies = Streams::new(seed).stream("latencies");
    let done = play(&mut player, |_| Time::from_us(10 + latencies.below(200))).unwrap_or_else(|e| panic!("{e}"));
    let notes = player.notes().iter().cloned().chain(player.zone_notes(&workload)).collect();
    (done, notes)
}

const DRIVE: DriveZones = DriveZones { size: MIB, capacity: 768 * KIB, open: Some(3) };

/// Returns operation, offset and bytes of each request in KiB.
fn requests(done: &[Done]) -> Vec<(Op, u64, u64)> {
    done.iter().map(|d| (d.io.request.op, d.io.request.offset / KIB, d.io.request.bytes / KIB)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn requests_keep_to_the_rules_of_zones(
        jobs in prop::collection::vec(
            (0usize..6, prop::sample::select(vec![16u64, 48, 64, 100, 128, 256]), 1u32..9, 0u32..3, 1u64..40), 1..4),
        capacity in prop::sample::select(vec![512u64, 640, 768, 1000, 1024]),
        open in 1u32..5,
        limit in prop::option::of(1u32..5),
        full in 0u64..8,
        beyond in prop::bool::weighted(0.1),
        extra in prop::sample::select(vec!["", "zone_reset_frequency=0.2\n", "time_based=1\nruntime=20ms\n", "zoneskip=1z\n",
            "verify=crc32c\n", "write_zone_remainder=1\n", "percentage_random=50\n", "thinktime=50us\n"]),
        seed in 0u64..1000,
    ) {
        let drive = DriveZones { size: MIB, capacity: capacity * KIB, open: Some(open) };
        let most = limit.map_or(open, |limit| limit.min(open));
        let mut text = format!("[global]\nzonemode=zbd\nmax_open_zones={most}\nread_beyond_wp={}\n{extra}", u8::from(beyond));
        if extra.starts_with("write_zone") {
            text.push_str("norandommap=1\n");
        }
        let mut writes = Vec::new();
        for (kind, bs, depth, own, size) in &jobs {
            let rw = ["write", "randwrite", "rw", "randrw", "read", "randread"][*kind];
            writes.push((*kind < 2, size * 128 * KIB));
            let name = writes.len();
            text.push_str(&format!("[j{name}]\nrw={rw}\nbs={bs}k\niodepth={depth}\nio_size={}k\n", size * 128));
            if *kind < 4 && *own > 0 {
                text.push_str(&format!("job_max_open_zones={own}\n"));
            }
            if name == 2 {
                text.push_str("offset=2z\nsize=4z\n");
            }
        }
        let (done, _) = run(&text, drive, 8, full, seed);
        let mut obvious = Obvious::new(drive, most, (0..8).map(|zone| if zone < full { drive.capacity } else { 0 }).collect());
        obvious.reads_beyond = beyond;
        if extra.starts_with("verify") {
            // Verification reads the job's data, even if another job has the zone by then.
            obvious.reads_beyond = true;
        }
        obvious.check(&done);
        for (job, (only_writes, bytes)) in writes.iter().enumerate() {
            let own = done.iter().filter(|d| usize::from(d.io.job) == job && d.io.request.op == Op::Write);
            let written: u64 = own.map(|d| d.io.request.bytes).sum();
            // A single job always finds a zone, unless it may reset none, or leaves one without filling it.
            let bounded = ["verify", "time", "zoneskip"].iter().any(|key| extra.starts_with(key));
            if *only_writes && jobs.len() == 1 && !bounded {
                prop_assert!((*bytes..bytes + 256 * KIB).contains(&written), "{written} of {bytes} bytes in {text}");
            }
        }
    }
}

#[test]
fn sequential_writes_fill_zones_in_order_and_skip_what_no_zone_holds() {
    let (done, notes) = run("[a]\nzonemode=zbd\nrw=write\nbs=256k\noffset=2z\nsize=2z\n", DRIVE, 8, 0, 1);
    let expected = [2048, 2304, 2560, 3072, 3328, 3584].map(|at| (Op::Write, at, 256));
    assert_eq!((requests(&done), notes), (expected.to_vec(), vec![]));
}

#[test]
fn full_zones_are_reset_before_they_are_written_again() {
    let (done, notes) = run("[a]\nzonemode=zbd\nrw=write\nbs=384k\nsize=2z\niodepth=4\n", DRIVE, 8, 1, 1);
    let found: Vec<(Op, u64)> = requests(&done).iter().map(|(op, at, _)| (*op, *at)).collect();
    let expected =
        [(Op::ZoneReset, 0), (Op::Write, 0), (Op::Write, 384), (Op::Write, 1024), (Op::Write, 1408)].to_vec();
    assert_eq!(found, expected);
    assert_eq!((done[0].io.measured, done[1].issued), (false, done[0].completed));
    assert_eq!(notes, ["z.fio: job \"a\": 1 zone was reset before it was written again"]);
}

#[test]
fn a_job_that_may_reset_nothing_empties_its_zones_first() {
    let (done, _) = run("[a]\nzonemode=zbd\nrw=write\nbs=384k\nsize=2z\nverify=md5\n", DRIVE, 8, 8, 1);
    let found: Vec<Op> = done.iter().map(|d| d.io.request.op).collect();
    let expected = [vec![Op::ZoneReset; 2], vec![Op::Write; 4], vec![Op::Flush], vec![Op::Read; 4]].concat();
    assert_eq!(found, expected);
}

#[test]
fn data_behind_that_of_another_job_is_verified_where_it_is() {
    let text =
        "[global]\nzonemode=zbd\nmax_open_zones=1\nverify=md5\nrw=write\nio_size=128k\n[a]\nbs=16k\n[b]\nbs=64k\n";
    let (done, _) = run(text, DRIVE, 8, 0, 1);
    let of = |op: Op| {
        let of_b = done.iter().filter(|d| d.io.job == 1 && d.io.request.op == op);
        of_b.map(|d| (d.io.request.offset / KIB, d.io.request.bytes / KIB)).collect::<Vec<_>>()
    };
    assert_eq!((of(Op::Write), of(Op::Read)), (vec![(0, 64), (80, 64)], vec![(0, 64), (80, 64)]));
}

#[test]
fn a_zone_whose_end_is_too_small_is_finished() {
    let (done, _) = run("[a]\nzonemode=zbd\nrw=write\nbs=320k\nsize=2z\n", DRIVE, 8, 0, 1);
    let found: Vec<(Op, u64)> = requests(&done).iter().map(|(op, at, _)| (*op, *at)).collect();
    let first = [(Op::Write, 0), (Op::Write, 320), (Op::ZoneFinish, 0), (Op::Write, 1024), (Op::Write, 1344)];
    let last = [(Op::ZoneFinish, 1024)];
    assert_eq!(found, [&first[..], &last[..]].concat());
    let text = "[a]\nzonemode=zbd\nrw=write\nbs=320k\nsize=2z\nwrite_zone_remainder=1\n";
    let found = requests(&run(text, DRIVE, 8, 0, 1).0);
    let expected = [(0, 320), (320, 320), (640, 128), (1024, 320), (1344, 320), (1664, 128)];
    assert_eq!(found, expected.map(|(at, bytes)| (Op::Write, at, bytes)));
}

#[test]
fn reads_stay_below_the_write_pointers() {
    let reads = |keys: &str, full: u64| {
        let text = format!("[a]\nzonemode=zbd\nbs=128k\nsize=4z\n{keys}\n");
        let (done, notes) = run(&text, DRIVE, 8, full, 1);
        let zones: BTreeSet<u64> = done.iter().map(|d| d.io.request.offset / MIB).collect();
        (done.len(), zones.into_iter().collect::<Vec<_>>(), notes)
    };
    assert_eq!(reads("rw=read", 2), (12, vec![0, 1], vec![]));
    assert_eq!(reads("rw=randread", 2), (32, vec![0, 1], vec![]));
    assert_eq!(reads("rw=read\nread_beyond_wp=1", 2), (32, vec![0, 1, 2, 3], vec![]));
    assert_eq!(reads("rw=read\noffset=1z\nsize=1z\nnumjobs=2", 2).0, 12);
    assert_eq!(
        reads("rw=randread", 0),
        (0, vec![], vec!["z.fio: job \"a\": no zone holds data for it to access".to_owned()])
    );
    // The first request of a job that reads and writes is a write, as in fio.
    let (done, _) = run("[a]\nzonemode=zbd\nrw=randrw\nrwmixread=99\nbs=128k\nsize=4z\n", DRIVE, 8, 0, 1);
    assert_eq!(done[0].io.request.op, Op::Write);
    assert!(done.iter().filter(|d| d.io.request.op == Op::Read).count() > 20);
}

#[test]
fn trims_reset_zones_with_data() {
    let (done, notes) =
        run("[a]\nzonemode=zbd\nrw=randtrim\nbs=1z\nsize=4z\n".replace("1z", "1m").as_str(), DRIVE, 8, 3, 1);
    let zones: BTreeSet<u64> = done.iter().map(|d| d.io.request.offset / MIB).collect();
    assert!(done.iter().all(|d| d.io.request.op == Op::ZoneReset && d.io.measured));
    assert_eq!((done.len(), zones.len(), notes.len()), (3, 3, 0));
}

#[test]
fn resets_follow_the_threshold_and_the_frequency() {
    let resets = |keys: &str| {
        let text = format!("[a]\nzonemode=zbd\nrw=randwrite\nbs=64k\nsize=4z\nio_size=6m\n{keys}\n");
        let (done, _) = run(&text, DRIVE, 8, 0, 1);
        let mut obvious = Obvious::new(DRIVE, 3, vec![0; 8]);
        obvious.check(&done);
        obvious.resets
    };
    let own = resets("");
    // 96 writes, a reset for every tenth, or for those above the threshold.
    assert!(resets("zone_reset_frequency=0.1") >= 9);
    assert!((own..9).contains(&resets("zone_reset_frequency=0.1\nzone_reset_threshold=0.7")));
}

#[test]
fn zones_are_emulated_on_a_drive_without_them() {
    let text = "[a]\nzonemode=zbd\nzonesize=1m\nzonecapacity=768k\nrw=write\nbs=384k\nsize=2z\nio_size=2304k\n";
    let workload = Workload::parse_fio("z.fio", text).expect("valid");
    let mut player = Player::new(&workload, &Options::new(8 * MIB), &Streams::new(1)).expect("it fits");
    assert!(!player.uses_zones());
    let note = "z.fio: zonemode=zbd: the drive has no zones; as in fio, zones of 1048576 bytes are emulated, which begin \
                empty and are reset without a command";
    assert_eq!(player.notes(), [note]);
    let done = play(&mut player, |_| Time::from_us(100)).expect("valid");
    let expected = [0, 384, 1024, 1408, 0, 384].map(|at| (Op::Write, at, 384));
    assert_eq!(requests(&done), expected);
    assert_eq!(player.zone_notes(&workload), ["z.fio: job \"a\": 1 zone was reset before it was written again"]);
}

#[test]
fn mistakes_are_one_line() {
    let message = |keys: &str, zones: Option<DriveZones>| {
        let text = format!("[a]\nrw=write\nbs=64k\nzonemode=zbd\n{keys}\n");
        let workload = match Workload::parse_fio("z.fio", &text) {
            Ok(workload) => workload,
            Err(error) => return error.to_string(),
        };
        let options = Options { zones, ..Options::new(8 * MIB) };
        Player::new(&workload, &options, &Streams::new(1)).err().map_or(String::new(), |error| error.to_string())
    };
    let table = [
        (
            "zonesize=2m",
            "z.fio:5: zonesize: found 2097152, expected 1048576, the size of the drive's zones, or no zonesize",
        ),
        (
            "max_open_zones=4",
            "z.fio:5: max_open_zones: found 4, expected at most the drive's 3 open zones, or ignore_zone_limits=1 as well",
        ),
        ("size=512k", "z.fio:5: size: found a region of 524288 bytes, expected at least one zone of 1048576"),
        ("zoneskip=64k", "z.fio:5: zoneskip: found 65536, expected a multiple of a zone's 1048576 bytes"),
        ("bs=1m", "z.fio:5: bs: found writes of 1048576 bytes, expected at most a zone's 786432"),
        ("rw=trim", "z.fio:3: bs: found trims of 65536 bytes, expected those of a zone, 1048576"),
        (
            "rw=randtrimwrite",
            "z.fio:4: zonemode: found zbd on a job that trims and writes, expected one that does only one of both",
        ),
        (
            "zone_reset_threshold=2",
            "z.fio:5: zone_reset_threshold: found \"2\", expected a number from 0 to 1, such as 0.1",
        ),
        (
            "zone_reset_threshold=0.5\n[b]\nrw=write\nzonemode=zbd\nzone_reset_threshold=0.5\nsize=2z",
            "z.fio:9: zone_reset_threshold: found with jobs that write different zones, expected the same offset and size for all",
        ),
        (
            "max_open_zones=2\n[b]\nrw=write\nzonemode=zbd\nmax_open_zones=3",
            "z.fio:9: max_open_zones: found 3, expected the 2 of other jobs",
        ),
        (
            "ignore_zone_limits=1\njob_max_open_zones=1",
            "z.fio:6: job_max_open_zones: found on a drive without a limit of open zones, expected max_open_zones as well",
        ),
        (
            "recover_zbd_write_error=1",
            "z.fio:5: recover_zbd_write_error: found without continue_on_error, expected that key as well",
        ),
        ("zonemode=none\nsize=2z", "z.fio:6: size: found a number of zones, expected zonemode=zbd as well"),
    ];
    for (keys, expected) in table {
        assert_eq!(message(keys, Some(DRIVE)), expected, "{keys}");
    }
    assert_eq!(
        message(
            "ignore_zone_limits=1\nmax_open_zones=4\nrecover_zbd_write_error=1\ncontinue_on_error=write",
            Some(DRIVE)
        ),
        ""
    );
    let table = [
        (
            "",
            "z.fio:4: zonemode: found zbd without zonesize on a drive without zones, expected a drive with zones, such as the preset wd-zn540, or zonesize=BYTES for zones that are emulated as in fio",
        ),
        (
            "zonesize=1m\nzonecapacity=2m",
            "z.fio:6: zonecapacity: found 2097152, expected at most the zonesize of 1048576 bytes",
        ),
        (
            "zonesize=1m\n[b]\nrw=write\nzonemode=zbd\nzonesize=2m",
            "z.fio:9: zonesize: found 2097152, expected the 1048576 of other jobs",
        ),
    ];
    for (keys, expected) in table {
        assert_eq!(message(keys, None), expected, "{keys}");
    }
}
