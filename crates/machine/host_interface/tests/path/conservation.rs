//! For any requests and any timing of the translation layer, every request must end once, completely and with the right
//! status.

use std::collections::BTreeMap;

use device::Buffering;
use host::shared_buffer::Transfer;
use link::shared_buffer::Channel;
use media::{Op, Request, Status};
use proptest::prelude::*;
use sim::Time;

use crate::bridges;
use crate::support::{Asked, Back, Bench, ns, plain, sata, shared_buffer, ufs};
use host_interface::Config;

fn request() -> impl Strategy<Value = Request> {
    (0u8..10, any::<bool>(), 0u64..1000, 1u64..300).prop_map(|(op, fua, at, sectors)| {
        let op = match op {
            0..4 => Op::Read,
            4..8 => Op::Write,
            8 => Op::Trim,
            _ => return Request::flush(),
        };
        Request { fua: fua && op == Op::Write, ..Request::new(op, at * 512, sectors * 512) }
    })
}

fn requests() -> impl Strategy<Value = Vec<Asked>> {
    // Requests come in bursts, so that queues fill up.
    let one = (0u64..40, 0u16..6, request());
    prop::collection::vec(one, 1..150).prop_map(|list| {
        list.into_iter().map(|(at, job, request)| (Time::from_us(at / 4 * 20), job, request)).collect()
    })
}

fn back() -> impl Strategy<Value = Back> {
    (0u64..20, 0u64..200, 1u64..20, prop::option::of(2u64..10)).prop_map(|(least, more, piece, failing)| Back {
        latency: (Time::from_us(least), Time::from_us(least + more)),
        piece: piece * 1024,
        failing,
    })
}

fn nvme() -> impl Strategy<Value = Config> {
    let host = (1u32..5, 1u32..5, 2u32..20, any::<bool>(), 1u64..64);
    let device = (1u32..12, 1u32..6, 0u32..5, any::<bool>(), 0u64..3, 0u8..3, any::<bool>());
    (host, device).prop_map(|((cores, pairs, depth, polling, max), device)| {
        let (commands, fetch, burst, weighted, complete, coalescing, dram) = device;
        let mut config = plain();
        config.link = link::Config::Pcie(link::PcieConfig { generation: 3, lanes: 1, ..Default::default() });
        (config.host.cores, config.host.queue_pairs, config.host.queue_depth) = (cores, Some(pairs), depth);
        config.host.max_transfer = max * 1024;
        if polling {
            config.host.completion = host::Completion::polling(ns(100));
        }
        config.device.max_commands = commands;
        config.device.fetch_burst = fetch;
        config.device.arbitration_burst = (burst < 4).then_some(1 << burst);
        if weighted {
            config.device.arbitration = device::Arbitration::WeightedRoundRobin;
            config.device.weights = device::Weights { high: 4, medium: 2, low: 1 };
            use device::Priority::{High, Low, Medium, Urgent};
            config.device.priorities = vec![Low, Urgent, High, Medium];
        }
        config.device.firmware.complete = ns(complete * 300);
        config.device.coalescing = match coalescing {
            0 => device::Coalescing::OFF,
            _ => device::Coalescing { threshold: 4, time: Time::from_us(100) },
        };
        config.device.dram_bandwidth = dram.then_some(2_000_000_000);
        config
    })
}

fn ahci() -> impl Strategy<Value = Config> {
    (1u32..4, 1u32..33, 1u64..64, any::<bool>(), any::<bool>()).prop_map(|(cores, slots, max, queued_trim, polling)| {
        let mut config = sata();
        (config.host.cores, config.host.queue_depth, config.host.max_transfer) = (cores, slots, max * 1024);
        config.host.ahci.queued_trim = queued_trim;
        if polling {
            config.host.completion = host::Completion::polling(ns(100));
        }
        config
    })
}

fn ufshci() -> impl Strategy<Value = Config> {
    let link = (1u8..4, 1u8..3, 1u32..8);
    let host = (1u32..4, 1u32..33, 1u64..64, 0u8..5, 1u32..31);
    (link, host, 1u32..6, 1u32..33).prop_map(|((gear, lanes, frames), host, calls, sectors)| {
        let (cores, slots, max, completion, threshold) = host;
        let mut config = ufs();
        let credits = frames * 288;
        config.link = link::Config::Ufs(link::UfsConfig { gear, lanes, credits, ..Default::default() });
        (config.host.cores, config.host.queue_depth, config.host.max_transfer) = (cores, slots, max * 1024);
        match completion {
            0 => config.host.completion = host::Completion::polling(ns(100)),
            1 => config.host.ufshci.aggregation = host::Aggregation { threshold, time: Time::from_us(40) },
            2 => {}
            queues => {
                // Queues hold up to seven commands more than a register.
                config.host.ufshci.queues = u32::from(queues) - 2;
                config.host.queue_depth += 7;
                config.device.max_commands = 39;
            }
        }
        config.device.utp = device::Utp { segment: sectors * 512, ready_to_transfers: calls };
        config
    })
}

fn bridged() -> impl Strategy<Value = Config> {
    (ahci(), bridges::chipset(), bridges::any_link_config(), any::<bool>()).prop_map(
        |(mut config, chipset, link, single)| {
            (config.link, config.host.chipset) = (link, chipset);
            config.device.buffering = if single { Buffering::Single } else { Buffering::Streamed };
            config
        },
    )
}

fn shared() -> impl Strategy<Value = Config> {
    let host = (1u32..4, 1u32..4, 0u32..6, 1u64..128, any::<bool>(), any::<bool>());
    let mover = (1u8..4, prop::option::of(1u32..9), 1u64..17, any::<bool>());
    (host, mover, 1u64..400, 1u32..33, 0u64..20).prop_map(|(host, mover, sectors, commands, boot)| {
        let (cores, pairs, depth, split, polling, on_one) = host;
        let (extents, shrink, piece, copy) = mover;
        let mut config = shared_buffer();
        let channel = if on_one { Channel::Shared } else { Channel::Own };
        let link = link::SharedBufferConfig { data_buffer: sectors * 512, channel, ..Default::default() };
        config.link = link::Config::SharedBuffer(link);
        (config.host.cores, config.host.queue_pairs, config.host.queue_depth) = (cores, Some(pairs), 1 << depth);
        config.host.max_transfer = split * 1024;
        if polling {
            config.host.completion = host::Completion::polling(ns(100));
        }
        let own = &mut config.host.shared_buffer;
        (own.extents, own.shrink) = (extents, shrink.map(|sectors: u32| u64::from(sectors) * 512));
        own.boot = (boot > 0).then_some(boot * 5120);
        if copy {
            (own.transfer, own.word) = (Transfer::Copy, 8);
        } else {
            own.dma.piece = piece * 4096;
        }
        config.device.max_commands = commands;
        config
    })
}

fn check(bench: &Bench, asked: &[Asked], config: &Config, failing: bool) -> Result<(), TestCaseError> {
    // Every command is a part of its request; parts do not overlap and together cover the request.
    let mut parts: BTreeMap<u32, Vec<Request>> = BTreeMap::new();
    for (_, io, request) in &bench.commands {
        parts.entry(*io).or_default().push(*request);
    }
    for (io, (_, _, request)) in asked.iter().enumerate() {
        let mut parts = parts.remove(&(io as u32)).unwrap_or_default();
        parts.sort_by_key(|part| part.offset);
        let mut next = request.offset;
        for part in &parts {
            prop_assert_eq!((part.op, part.fua, part.offset), (request.op, request.fua, next));
            let moves = matches!(part.op, Op::Read | Op::Write);
            prop_assert!(!moves || part.bytes <= config.host.max_transfer);
            next = part.end();
        }
        let end = bench.ends[io].expect("every request ends");
        let boots = matches!(config.link, link::Config::SharedBuffer(_)) && request.op == Op::Read;
        if boots && request.end() <= config.host.shared_buffer.boot_bytes() && end.status != Status::Ok {
            // In boot mode, nothing beyond a failed read is requested.
            prop_assert!(next > request.offset && next <= request.end());
        } else {
            prop_assert_eq!(next, request.end());
        }
        prop_assert!(failing || end.status == Status::Ok);
    }
    prop_assert!(parts.is_empty());
    // No resource was busier than time allows.
    for used in bench.front.utilization(bench.now()) {
        prop_assert!(used.busy <= used.elapsed, "{:?}", used);
    }
    Ok(())
}

/// Returns the bytes of all requests with operation `op`.
fn data(asked: &[Asked], op: Op) -> u64 {
    asked.iter().filter(|(_, _, request)| request.op == op).map(|(_, _, request)| request.bytes).sum()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn over_nvme(config in nvme(), asked in requests(), back in back()) {
        let mut bench = Bench::new(&config, back.clone());
        bench.run(&asked);
        check(&bench, &asked, &config, back.failing.is_some())?;
        prop_assert!(bench.most <= config.device.max_commands as usize);
        if back.failing.is_none() {
            let commands = bench.commands.len() as u64;
            let lists = asked.len() as u64 * 4096;
            let [down, up] = bench.front.link(bench.now());
            let interrupts = bench.front.interrupts() * 4;
            prop_assert_eq!(up.payload, data(&asked, Op::Read) + commands * 16 + interrupts);
            let least = data(&asked, Op::Write) + commands * (64 + 4);
            prop_assert!((least..=least + commands * 4 + lists).contains(&down.payload), "{:?}", down);
        }
    }

    #[test]
    fn over_ahci(config in ahci(), asked in requests(), back in back()) {
        let mut bench = Bench::new(&config, back.clone());
        bench.run(&asked);
        check(&bench, &asked, &config, back.failing.is_some())?;
        prop_assert!(bench.most <= config.host.queue_depth as usize);
        // A command that is not queued has the drive to itself.
        let mut running: Vec<(Time, Time, Op)> = Vec::new();
        for (at, io, request) in &bench.commands {
            running.push((*at, bench.ends[*io as usize].unwrap().at, request.op));
        }
        let alone = |op| op == Op::Flush || (op == Op::Trim && !config.host.ahci.queued_trim);
        for (i, (from, to, op)) in running.iter().enumerate() {
            for (later, _, other) in &running[i + 1..] {
                prop_assert!(!alone(*op) && !alone(*other) || later >= to, "{op:?} {from}..{to}, {other:?} {later}");
            }
        }
        // The wire's rows of the timeline never overlap.
        let tracks = bench.front.tracks();
        let wire = |track: u32| tracks[track as usize].0 == "link";
        let mut spans: Vec<_> = bench.spans().iter().filter(|s| wire(s.0)).map(|s| (s.2, s.3)).collect();
        spans.sort();
        for pair in spans.windows(2) {
            prop_assert!(pair[0].1 <= pair[1].0, "both ways at once: {pair:?}");
        }
    }

    #[test]
    fn over_ufs(config in ufshci(), asked in requests(), back in back()) {
        let mut bench = Bench::new(&config, back.clone());
        bench.run(&asked);
        check(&bench, &asked, &config, back.failing.is_some())?;
        prop_assert!(bench.most <= config.host.queue_depth as usize);
        if back.failing.is_none() {
            // Commands and their parts: one UPIU of 32 bytes each, plus their data.
            let (segment, piece) = (u64::from(config.device.utp.segment), back.piece);
            let units = |bytes: u64| bytes.div_ceil(segment);
            let of = |op| bench.commands.iter().filter(move |(.., r)| r.op == op).map(|(.., r)| r.bytes);
            let [commands, trims] = [bench.commands.len() as u64, of(Op::Trim).count() as u64];
            let calls = of(Op::Write).map(units).sum::<u64>() + trims;
            let ins: u64 = of(Op::Read).map(|r| r / piece * units(piece) + units(r % piece)).sum();
            let [down, up] = bench.front.link(bench.now());
            prop_assert_eq!(down.payload, 32 * (commands + calls) + data(&asked, Op::Write) + 24 * trims);
            prop_assert_eq!(up.payload, 32 * (commands + calls + ins) + data(&asked, Op::Read));
            let polls = config.host.completion.is_polling();
            let aggregates = config.host.ufshci.aggregation.threshold > 1;
            let interrupts = bench.front.interrupts();
            prop_assert!(interrupts <= commands && (interrupts == 0) == polls);
            prop_assert!(polls || aggregates || interrupts == commands);
        }
        // Spans of a wire or a memory channel never overlap.
        let tracks = bench.front.tracks();
        for (track, (part, name)) in tracks.iter().enumerate() {
            if part == "link" || name.starts_with("memory") {
                let mut spans: Vec<_> =
                    bench.spans().iter().filter(|s| s.0 == track as u32).map(|s| (s.2, s.3)).collect();
                spans.sort();
                prop_assert!(spans.windows(2).all(|pair| pair[0].1 <= pair[1].0), "{} {}", part, name);
            }
        }
    }

    #[test]
    fn over_bridges(config in bridged(), asked in requests(), back in back()) {
        let mut bench = Bench::new(&config, back.clone());
        bench.run(&asked);
        check(&bench, &asked, &config, back.failing.is_some())?;
        let most = if config.device.buffering == Buffering::Single { 1 } else { config.host.queue_depth as usize };
        prop_assert!(bench.most <= most);
        if back.failing.is_none() {
            let (commands, trims) = (bench.commands.len() as u64, bench.commands.len() as u64 * 2048);
            let [down, up] = bench.front.link(bench.now());
            let least = data(&asked, Op::Write) + commands * 20;
            prop_assert!((least..=least + trims).contains(&down.payload), "{:?}", down);
            // To the host: the data read and, for each command, its acceptance, its status and some bytes per fragment.
            prop_assert!(up.payload >= data(&asked, Op::Read) + commands * 8, "{:?}", up);
        }
    }

    #[test]
    fn over_a_shared_buffer(config in shared(), asked in requests(), back in back()) {
        let mut bench = Bench::new(&config, back.clone());
        bench.run(&asked);
        check(&bench, &asked, &config, back.failing.is_some())?;
        let report = bench.front.shared_buffer(bench.now(), 0, 0).expect("it is one");
        if back.failing.is_none() {
            let [down, up] = bench.front.link(bench.now());
            let copies = config.host.shared_buffer.transfer == Transfer::Copy;
            let (read, written) = (data(&asked, Op::Read), data(&asked, Op::Write));
            // Data goes by DMA or as words of the processor; entries and registers come on top.
            prop_assert!(down.payload >= written && up.payload >= read);
            prop_assert_eq!(report.host.bytes + report.host.booted, read + written);
            let commands = report.host.commands;
            prop_assert!(report.host.words >= 5 * commands, "{} words of {commands} commands", report.host.words);
            if !copies && report.host.booted == 0 {
                prop_assert_eq!(down.payload + up.payload, read + written + 8 * report.host.words);
            }
        }
        prop_assert!(bench.most <= config.device.max_commands as usize);
        for used in bench.front.utilization(bench.now()) {
            prop_assert!(used.busy <= bench.now());
        }
    }

    /// A power cut at any time empties everything, and later requests are served normally.
    #[test]
    fn power_cuts(
        config in prop_oneof![nvme(), ahci(), ufshci(), bridged(), shared()],
        asked in requests(),
        back in back(),
        cut in 0u64..400,
    ) {
        let mut bench = Bench::new(&config, back);
        let cut = Time::from_us(cut);
        let before: Vec<Asked> = asked.iter().copied().filter(|(at, ..)| *at <= cut).collect();
        bench.run_until(&before, cut);
        let open: Vec<u32> = (0..before.len() as u32).filter(|io| bench.ends[*io as usize].is_none()).collect();
        prop_assert_eq!(bench.power_cut(cut), open);
        for used in bench.front.utilization(cut) {
            prop_assert!(used.busy <= cut);
        }
        let again: Vec<Asked> = asked.iter().map(|(at, job, request)| (cut + *at, *job, *request)).collect();
        bench.run(&again);
        prop_assert!(bench.ends[before.len()..].iter().all(|end| end.is_some()));
    }
}
