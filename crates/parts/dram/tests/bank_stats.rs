//! The counters of banks, held against the log of commands.

use dram::{BankStats, Channel, CommandKind, Config, Device, RankKind, Ranks, Request, RequestKind};
use sim::{Streams, Time};

/// Reads and writes at random of two ranks: each bank counts its own commands, and the channel their sum.
#[test]
fn banks_count_the_commands_of_the_log() {
    let ranks = vec![Ranks { kind: RankKind::Dram, count: 2 }];
    let config = Config { ranks, ..Config::new(Device::preset("DDR4-2400").expect("a preset")) };
    let mut channel = Channel::new(&config).expect("a channel");
    channel.keep_log();
    let mut rng = Streams::new(1).stream("requests");
    let mut done = Vec::new();
    for id in 0..5000 {
        while let Some(next) = channel.next_event().filter(|next| *next < Time::from_ps(id * 20_000)) {
            channel.advance(next, &mut done);
        }
        let kind = if rng.below(3) == 0 { RequestKind::Write } else { RequestKind::Read };
        // Few rows, so that some are hit and some conflict.
        let address = rng.below(1 << 16) * 64 + (rng.below(2) << 30);
        channel.submit(Time::from_ps(id * 20_000), Request { id, address, bytes: 64, kind, ..Request::default() });
    }
    while let Some(next) = channel.next_event() {
        channel.advance(next, &mut done);
    }

    let banks = config.device.banks();
    let mut logged: Vec<BankStats> =
        (0..2).flat_map(|rank| (0..banks).map(move |bank| BankStats { rank, bank, ..BankStats::default() })).collect();
    for command in channel.take_log() {
        let number = u32::from(command.group) * config.device.banks_per_group + u32::from(command.bank);
        let bank = &mut logged[(u32::from(command.rank) * banks + number) as usize];
        match command.kind {
            CommandKind::Activate => bank.activates += 1,
            CommandKind::Read => bank.bursts[0] += 1,
            CommandKind::Write => bank.bursts[1] += 1,
            _ => {}
        }
    }
    let counted: Vec<BankStats> = channel.bank_stats().collect();
    let conflicts: Vec<u64> = counted.iter().map(|bank| bank.conflicts).collect();
    for (bank, conflicts) in logged.iter_mut().zip(&conflicts) {
        assert!(*conflicts < bank.activates, "{bank:?}: {conflicts} rows closed for another");
        bank.conflicts = *conflicts;
    }
    assert_eq!(counted, logged);
    let stats = channel.stats();
    assert_eq!(conflicts.iter().sum::<u64>(), stats.conflicts);
    assert_eq!(logged.iter().map(|bank| bank.activates).sum::<u64>(), stats.activates);
    assert!(stats.conflicts > 1000, "{stats:?}");
}
