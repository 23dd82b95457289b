//! Random jobs stay within their limits.

use media::Op;
use proptest::prelude::*;
use sim::{Streams, Time};
use workload::{Options, Player, Replay, Workload};

use crate::harness::{Done, depth, play};

const CAPACITY: u64 = 8 << 20;

fn key(name: &'static str, values: &'static [&'static str]) -> impl Strategy<Value = String> {
    prop::option::of(prop::sample::select(values))
        .prop_map(move |value| value.map_or_else(String::new, |value| format!("{name}={value}\n")))
}

fn job() -> impl Strategy<Value = String> {
    (
        (
            key(
                "rw",
                &[
                    "read",
                    "write",
                    "randread",
                    "randwrite",
                    "rw",
                    "randrw",
                    "trim",
                    "randtrim",
                    "trimwrite",
                    "randtrimwrite",
                ],
            ),
            key("bs", &["512", "4k", "8k,4k", "32k", "12k"]),
            key("bssplit", &["4k/50:16k/50", "512/10:8k/", "4k/70:6k/30,8k/100"]),
            key("iodepth", &["1", "2", "7", "32"]),
            key("offset", &["0", "1m", "10%"]),
            key("size", &["64k", "1m", "30%"]),
            key("norandommap", &["1"]),
        ),
        (
            key("random_distribution", &["zipf:1.1", "pareto:0.3", "normal:20", "zoned:50/10:50/90"]),
            key("fsync", &["1", "5"]),
            key("verify", &["md5"]),
            key("thinktime", &["30"]),
            key("rate_iops", &["20000", "30000,4000"]),
            key("rwmixread", &["0", "25", "100"]),
            key("number_ios", &["300"]),
            key("runtime", &["5ms"]),
        ),
    )
        .prop_map(|(a, b)| {
            format!(
                "[a]\n{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}",
                a.0, a.1, a.2, a.3, a.4, a.5, a.6, b.0, b.1, b.2, b.3, b.4, b.5, b.6, b.7
            )
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn a_job_ends_and_stays_within_its_bounds(text in job(), numjobs in 1u32..4, seed: u64) {
        let text = format!("{text}numjobs={numjobs}\n");
        let Ok(workload) = Workload::parse_fio("any.fio", &text) else { return Ok(()) };
        let mut rng = Streams::new(seed).stream("latency");
        let mut player = match Player::new(&workload, &Options::new(CAPACITY), &Streams::new(seed)) {
            Ok(player) => player,
            Err(error) => {
                prop_assert!(error.to_string().contains("zone 1 smaller than a block"), "{}", error);
                return Ok(());
            }
        };
        let done = play(&mut player, |_| Time::from_us(10 + rng.below(200))).expect("no trace");
        let option = |key: &str| workload.jobs()[0].options.iter().find(|(k, _)| k == key).map(|(_, v)| v.as_str());
        let start = match option("offset") { Some("1m") => 1 << 20, Some("10%") => CAPACITY / 10, _ => 0 };
        let bytes = match option("size") {
            Some("64k") => 64 << 10,
            Some("1m") => 1 << 20,
            Some(_) => CAPACITY * 3 / 10,
            None => CAPACITY,
        };
        for d in &done {
            let request = d.io.request;
            prop_assert!(request.offset % 512 == 0 && request.bytes % 512 == 0);
            if request.op != media::Op::Flush {
                prop_assert!(request.bytes > 0);
                // A start in percent is rounded up to a block.
                prop_assert!(request.offset >= start && request.end() <= (start + bytes + 65536).min(CAPACITY));
            }
        }
        let most: usize = option("iodepth").map_or(1, |depth| depth.parse().expect("a number"));
        for job in 0..numjobs as u16 {
            let own: Vec<_> = done.iter().filter(|d| d.io.job == job).copied().collect();
            prop_assert!(depth(&own) <= most);
        }
        let progress = player.progress();
        prop_assert_eq!(progress.completed as usize, done.len());
        prop_assert!(progress.total.is_none_or(|total| total as usize == done.len()), "{:?} of {}", progress, done.len());
        prop_assert!((progress.fraction - 1.0).abs() < 1e-9);
    }
}

/// Replays a trace of reads (0), writes (1) and syncs (2) with pauses in microseconds.
fn replayed(records: &[(u8, u64)], replay: Replay, seed: u64) -> Vec<Done> {
    let (mut text, mut at) = ("fio version 3 iolog\n0 f add\n0 f open\n".to_owned(), 0);
    for (i, (kind, pause)) in records.iter().enumerate() {
        at += pause;
        let what = match kind {
            0 => format!("read {} 512", i * 512),
            1 => format!("write {} 512", i * 512),
            _ => "datasync 0 0".to_owned(),
        };
        text += &format!("{at} f {what}\n");
    }
    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("random.iolog");
    std::fs::write(&path, text).expect("the test's folder can be written");
    let workload = Workload::open(&path, None).expect("a valid trace");
    let mut rng = Streams::new(seed).stream("latency");
    let options = Options { replay, ..Options::new(CAPACITY) };
    let mut player = Player::new(&workload, &options, &Streams::new(seed)).expect("it fits");
    play(&mut player, |_| Time::from_us(10 + rng.below(200))).expect("valid")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn a_flush_covers_the_writes_before_it(
        records in prop::collection::vec((0u8..3, 0u64..100), 1..60),
        seed: u64,
        depth_most in 1u32..6,
    ) {
        // Open loop: requests other than flushes are issued at their timestamps, in order; a flush is issued once the
        // writes before it are complete.
        let done = replayed(&records, Replay::OpenLoop, seed);
        prop_assert_eq!(done.len(), records.len());
        let mut times = Vec::new();
        let mut at = Time::ZERO;
        for (kind, pause) in &records {
            at += Time::from_us(*pause);
            times.push((*kind, at));
        }
        let start = times[0].1;
        let mut writes_end = Time::ZERO;
        let mut others = done.iter().filter(|d| d.io.request.op != Op::Flush);
        let mut flushes = done.iter().filter(|d| d.io.request.op == Op::Flush);
        for (kind, at) in times {
            let due = at - start;
            if kind == 2 {
                let flush = flushes.next().expect("a flush for each sync");
                prop_assert_eq!((flush.io.due, flush.issued), (due, due.max(writes_end)));
            } else {
                let other = others.next().expect("a request for each record");
                prop_assert_eq!((other.io.due, other.issued), (due, due));
                if kind == 1 {
                    writes_end = writes_end.max(other.completed);
                }
            }
        }

        // Closed loop: in order, within the depth, and without outstanding writes during a flush.
        let done = replayed(&records, Replay::ClosedLoop { depth: depth_most }, seed);
        prop_assert!(depth(&done) <= depth_most as usize);
        for (i, (d, (kind, _))) in done.iter().zip(&records).enumerate() {
            prop_assert_eq!(d.io.request.op, [Op::Read, Op::Write, Op::Flush][*kind as usize]);
            if *kind == 2 {
                prop_assert!(done[..i].iter().all(|e| e.io.request.op != Op::Write || e.completed <= d.issued));
                prop_assert!(done[i + 1..].iter().all(|e| e.issued >= d.completed));
            }
        }
    }
}
