//! Times computed by hand. 4 KiB are 40.96 us on the channel, a read's command 1 us and its array 50 us.

mod support;

use media::{Class, Status};
use nand::{Cell, Done, OpKind, Policy, Step, Torn};
use sim::{EventQueue, Time};
use support::{Spans, World, config, page};

const ZERO: Time = Time::ZERO;

fn us(us: u64) -> Time {
    Time::from_us(us)
}

fn ns(ns: u64) -> Time {
    Time::from_ns(ns)
}

#[test]
fn one_read_is_command_array_transfer_and_two_events() {
    let mut w = World::new(&config());
    w.read(ZERO, 0, page(0, 1, 0, 0), 4096, Class::Host);
    w.run();
    assert_eq!(w.end(0), us(1) + us(50) + ns(40_960));
    assert_eq!(w.events, 2);
    assert_eq!(w.done[0].1, Done { id: media::OpId(0), status: Status::Ok, kind: OpKind::Read });
}

#[test]
fn fewer_bytes_leave_sooner() {
    let mut w = World::new(&config());
    w.read(ZERO, 0, page(0, 1, 0, 0), 1024, Class::Host);
    w.run();
    assert_eq!(w.end(0), us(51) + ns(10_240));
}

#[test]
fn one_program_is_command_and_data_then_array_and_one_event() {
    let mut w = World::new(&config());
    w.program(ZERO, 0, page(0, 1, 0, 0), false);
    w.run();
    assert_eq!(w.end(0), us(2) + ns(40_960) + us(500));
    assert_eq!(w.events, 1);
}

#[test]
fn one_erase_is_command_and_array() {
    let mut w = World::new(&config());
    w.erase(ZERO, 0, 0, 1, 0);
    w.run();
    assert_eq!(w.end(0), us(3003));
    assert_eq!(w.events, 1);
}

#[test]
fn without_cache_reads_a_die_holds_its_register() {
    let mut w = World::new(&config());
    w.read(ZERO, 0, page(0, 1, 0, 0), 4096, Class::Host);
    w.read(ZERO, 1, page(0, 2, 0, 0), 4096, Class::Host);
    w.run();
    assert_eq!(w.end(0), us(51) + ns(40_960));
    assert_eq!(w.end(1), (us(51) + ns(40_960)) * 2);
    let stats = w.nand.die_stats(w.end(1), 0);
    assert_eq!((stats.reads, stats.reading, stats.holding), (2, us(100), ns(81_920)));
}

#[test]
fn with_cache_reads_the_array_works_while_data_leave() {
    let mut config = config();
    config.scheduling.cache_read = true;
    let mut w = World::new(&config);
    for id in 0..3 {
        w.read(ZERO, id, page(0, 1, 0, id), 4096, Class::Host);
    }
    w.run();
    // The array ends at 51; the next command goes ahead of the data: 51 to 52, data 52 to 92.96. The array ends its
    // second read at 102, when the cache register is empty: command 102 to 103, data until 143.96, and so on.
    assert_eq!(w.end(0), us(52) + ns(40_960));
    assert_eq!(w.end(1), us(103) + ns(40_960));
    assert_eq!(w.end(2), us(153) + ns(40_960));
}

/// Collection reads pages in sequence. From the second on, the command for the next page arrives while the array reads.
#[test]
fn a_sequence_of_cache_reads_waits_for_no_command() {
    let mut config = config();
    config.scheduling.cache_read = true;
    let mut w = World::new(&config);
    for id in 0..4 {
        w.read(ZERO, id, page(0, 1, 0, id), 4096, Class::Collection);
    }
    w.run();
    // As above up to the data of the first, 52 to 92.96. Then the cache register is empty: the third command 92.96 to
    // 93.96, and the array continues at 102 and at 152.
    assert_eq!(w.end(0), us(52) + ns(40_960));
    assert_eq!(w.end(1), us(102) + ns(40_960));
    assert_eq!(w.end(2), us(152) + ns(40_960));
    assert_eq!(w.end(3), us(202) + ns(40_960));
    assert_eq!(w.nand.die_stats(w.end(3), 0).reading, us(200));
}

/// A read of the host that arrives meanwhile waits for at most the page whose command the die has.
#[test]
fn a_read_of_the_host_goes_before_the_rest_of_a_sequence() {
    let mut config = config();
    config.scheduling.cache_read = true;
    let mut w = World::new(&config);
    for id in 0..6 {
        w.read(ZERO, id, page(0, 1, 0, id), 4096, Class::Collection);
    }
    w.run_until(us(97));
    w.read(us(97), 6, page(0, 2, 0, 0), 4096, Class::Host);
    w.run();
    // The third page's command arrived at 93.96; it is in the array from 102 to 152. Then the host's read, after its
    // command, until 203; the fourth page's command arrived meanwhile.
    assert_eq!(w.end(2), us(153) + ns(40_960));
    assert_eq!(w.end(6), us(203) + ns(40_960));
}

#[test]
fn with_cache_reads_a_full_cache_register_holds_the_array() {
    let mut config = config();
    config.scheduling.cache_read = true;
    config.timing.read = [us(10); Cell::BITS_MAX];
    let mut w = World::new(&config);
    for id in 0..3 {
        w.read(ZERO, id, page(0, 1, 0, id), 4096, Class::Host);
    }
    w.run();
    // Array 1..11, command 11..12, data 12..52.96; the second read is in the array at 12..22 and holds its register
    // until 52.96; then the third command 52.96..53.96, data of the second 53.96..94.92; the third's array is done at
    // 63.96 and waits.
    assert_eq!(w.end(0), ns(52_960));
    assert_eq!(w.end(1), ns(94_920));
    assert_eq!(w.end(2), ns(135_880));
}

#[test]
fn two_dies_of_a_channel_share_the_bus() {
    let mut w = World::new(&config());
    w.read(ZERO, 0, page(0, 1, 0, 0), 4096, Class::Host);
    w.read(ZERO, 1, page(1, 1, 0, 0), 4096, Class::Host);
    // Dies 2 and 3 are on the other channel.
    w.read(ZERO, 2, page(2, 1, 0, 0), 4096, Class::Host);
    w.run();
    // Commands 0..1 and 1..2; data 51..91.96 and then at once ..132.92.
    assert_eq!(w.end(0), ns(91_960));
    assert_eq!(w.end(1), ns(132_920));
    assert_eq!(w.end(2), ns(91_960));
    let stats = w.nand.channel_stats(w.end(1), 0);
    assert_eq!((stats.busy, stats.data), (us(2) + ns(81_920), ns(81_920)));
    assert_eq!((stats.bytes_out, stats.bytes_in), (8192, 0));
}

#[test]
fn a_command_goes_ahead_of_waiting_data() {
    let mut config = config();
    config.geometry.chips = 3;
    let mut w = World::new(&config);
    w.read(ZERO, 0, page(0, 1, 0, 0), 4096, Class::Host);
    w.read(ZERO, 1, page(1, 1, 0, 0), 4096, Class::Host);
    w.run_until(us(60));
    // The first's data are on the channel until 91.96, the second's wait; a third's command arrives last, goes first.
    w.read(us(60), 2, page(2, 1, 0, 0), 4096, Class::Host);
    w.run();
    assert_eq!(w.end(0), ns(91_960));
    assert_eq!(w.end(1), ns(91_960 + 1_000 + 40_960));
    assert_eq!(w.end(2), ns(91_960 + 1_000 + 50_000 + 40_960));
}

#[test]
fn data_that_the_host_waits_for_go_first_on_the_channel() {
    let mut config = config();
    config.geometry.chips = 4;
    let mut w = World::new(&config);
    w.read(ZERO, 0, page(0, 1, 0, 0), 4096, Class::Host);
    w.read(ZERO, 1, page(1, 1, 0, 0), 4096, Class::Collection);
    w.read(ZERO, 2, page(2, 1, 0, 0), 4096, Class::Map);
    w.run_until(us(60));
    w.program(us(60), 3, page(3, 1, 0, 0), false);
    w.run();
    // The arrays end at 51, 52 and 53; all but the first wait for its data, and the program comes last.
    let data = ns(40_960);
    assert_eq!([w.end(0), w.end(2), w.end(1)], [us(51) + data, us(51) + data * 2, us(51) + data * 3]);
    assert_eq!(w.end(3), us(51) + data * 3 + us(2) + data + us(500));
}

#[test]
fn waiting_data_are_overtaken_on_the_channel_no_more_than_allowed() {
    let mut config = config();
    config.geometry.chips = 8;
    config.scheduling.overtakes_max = 2;
    let mut w = World::new(&config);
    w.read(ZERO, 0, page(0, 1, 0, 0), 4096, Class::Host);
    for id in 1..6 {
        w.read(ZERO, id, page(id as u16, 1, 0, 0), 4096, Class::Host);
    }
    w.run_until(us(20));
    w.read(us(20), 6, page(6, 1, 0, 0), 4096, Class::Collection);
    w.run();
    // The collection's data are ready at 71, when the first read's leave; two more go ahead, not three.
    let order: Vec<u32> = w.done.iter().map(|(_, d)| d.id.0).collect();
    assert_eq!(order, [0, 1, 2, 6, 3, 4, 5]);
}

#[test]
fn planes_of_one_operation_work_together() {
    let mut w = World::new(&config());
    w.read(ZERO, 0, page(0, 3, 0, 0), 8192, Class::Host);
    w.program(ZERO, 1, page(2, 3, 0, 0), false);
    w.erase(ZERO, 2, 3, 3, 0);
    w.run();
    // A command and the data of each plane, one array time.
    assert_eq!(w.end(0), us(2) + us(50) + ns(81_920));
    assert_eq!(w.end(1), us(4) + ns(81_920) + us(500));
    // The erase command waits for the program's data on its channel.
    assert_eq!(w.end(2), us(4) + ns(81_920) + us(6) + us(3000));
}

#[test]
fn cache_programs_bring_data_while_the_array_programs() {
    let mut config = config();
    let mut ends = Vec::new();
    for cache in [false, true] {
        config.scheduling.cache_program = cache;
        let mut w = World::new(&config);
        for id in 0..3 {
            w.program(ZERO, id, page(0, 1, 0, id), false);
        }
        w.run();
        ends.push([w.end(0), w.end(1), w.end(2)]);
    }
    let load = us(2) + ns(40_960);
    assert_eq!(ends[0], [load + us(500), (load + us(500)) * 2, (load + us(500)) * 3]);
    assert_eq!(ends[1], [load + us(500), load + us(1000), load + us(1500)]);
}

#[test]
fn cache_programs_load_after_waiting_for_the_channel_too() {
    let mut config = config();
    config.scheduling.cache_program = true;
    let mut w = World::new(&config);
    w.program(ZERO, 0, page(0, 1, 0, 0), false);
    w.program(ZERO, 1, page(1, 1, 0, 0), false);
    w.program(ZERO, 2, page(1, 1, 0, 1), false);
    w.run();
    let load = us(2) + ns(40_960);
    assert_eq!([w.end(0), w.end(1), w.end(2)], [load + us(500), load * 2 + us(500), load * 2 + us(1000)]);
}

#[test]
fn data_that_arrive_late_in_the_cache_register_start_the_array_late() {
    let mut config = config();
    config.scheduling.cache_program = true;
    config.timing.program = [us(10); Cell::BITS_MAX];
    let mut w = World::new(&config);
    w.program(ZERO, 0, page(0, 1, 0, 0), false);
    w.program(ZERO, 1, page(0, 1, 0, 1), false);
    w.run();
    let load = us(2) + ns(40_960);
    assert_eq!((w.end(0), w.end(1)), (load + us(10), load * 2 + us(10)));
}

#[test]
fn page_types_and_slc_mode_have_their_times() {
    let mut config = config();
    config.cell = Cell::Tlc;
    config.timing.read = [us(40), us(60), us(80), ZERO, ZERO];
    config.timing.program = [us(300), us(600), us(900), ZERO, ZERO];
    let mut w = World::new(&config);
    for n in 0..4 {
        w.program(ZERO, n, page(0, 1, 0, n), false);
    }
    w.program(ZERO, 10, page(2, 1, 0, 0), true);
    let start = w.run();
    // The mode is known after a reload, too.
    let mut image = Vec::new();
    w.nand.store().save(&mut image).unwrap();
    let geometry = *w.nand.store().geometry();
    *w.nand.store_mut() = nand::Store::load(&mut &image[..], &geometry, 0).unwrap();
    let load = us(2) + ns(40_960);
    let gaps: Vec<Time> = (1..4).map(|n| w.end(n) - w.end(n - 1)).collect();
    assert_eq!(w.end(0), load + us(300));
    assert_eq!(gaps, [load + us(600), load + us(900), load + us(300)]);
    assert_eq!(w.end(10), load + us(200));
    w.read(start, 20, page(0, 1, 0, 2), 0, Class::Host);
    w.read(start, 21, page(2, 1, 0, 0), 0, Class::Host);
    w.erase(start, 22, 2, 1, 0);
    w.run();
    assert_eq!(w.end(20) - start, us(1) + us(80));
    assert_eq!(w.end(21) - start, us(1) + us(20));
    assert_eq!(w.end(22) - start, us(21) + us(3) + us(2000));
}

#[test]
fn reads_of_the_map_go_before_those_of_the_host_and_the_rest() {
    let mut w = World::new(&config());
    w.read(ZERO, 0, page(0, 1, 0, 0), 0, Class::Collection);
    w.program(ZERO, 1, page(0, 1, 0, 0), false);
    w.read(ZERO, 2, page(0, 1, 0, 0), 0, Class::Collection);
    w.read(ZERO, 3, page(0, 1, 0, 0), 0, Class::Host);
    w.read(ZERO, 4, page(0, 1, 0, 0), 0, Class::Map);
    w.run();
    let order: Vec<u32> = w.done.iter().map(|(_, d)| d.id.0).collect();
    assert_eq!(order, [0, 4, 3, 1, 2]);
}

#[test]
fn reads_of_the_host_are_overtaken_by_those_of_the_map_no_more_than_allowed() {
    let mut config = config();
    config.scheduling.overtakes_max = 3;
    let mut w = World::new(&config);
    for id in 0..3 {
        w.read(ZERO, id, page(0, 1, 0, 0), 0, Class::Host);
    }
    for id in 10..18 {
        w.read(ZERO, id, page(0, 1, 0, 0), 0, Class::Map);
    }
    w.run();
    let order: Vec<u32> = w.done.iter().map(|(_, d)| d.id.0).collect();
    assert_eq!(order, [0, 10, 11, 12, 1, 13, 14, 15, 2, 16, 17]);
}

#[test]
fn in_order_of_arrival_nobody_overtakes() {
    let mut config = config();
    config.scheduling.policy = Policy::Fifo;
    config.scheduling.program_suspend = true;
    let mut w = World::new(&config);
    w.program(ZERO, 0, page(0, 1, 0, 0), false);
    w.program(ZERO, 1, page(0, 1, 0, 1), false);
    w.run_until(us(100));
    w.read(us(100), 2, page(0, 1, 0, 0), 0, Class::Host);
    w.run();
    let order: Vec<u32> = w.done.iter().map(|(_, d)| d.id.0).collect();
    assert_eq!(order, [0, 1, 2]);
}

#[test]
fn a_waiting_program_is_overtaken_no_more_than_allowed() {
    let mut config = config();
    config.scheduling.overtakes_max = 3;
    let mut w = World::new(&config);
    for id in 0..20 {
        w.read(ZERO, id, page(0, 1, 0, 0), 0, Class::Host);
    }
    w.program(ZERO, 100, page(0, 1, 0, 0), false);
    w.erase(ZERO, 101, 0, 1, 1);
    w.run();
    let order: Vec<u32> = w.done.iter().map(|(_, d)| d.id.0).collect();
    assert_eq!(order[..9], [0, 1, 2, 3, 100, 4, 5, 6, 101]);
}

mod suspension {
    use super::*;

    fn suspending() -> nand::Config {
        let mut config = config();
        config.scheduling.program_suspend = true;
        config.scheduling.erase_suspend = true;
        config.scheduling.suspend_latency = us(5);
        config.scheduling.resume_overhead = us(7);
        config
    }

    #[test]
    fn a_read_interrupts_an_erase() {
        let mut w = World::new(&suspending());
        w.erase(ZERO, 0, 0, 1, 0);
        w.run_until(us(1003));
        w.read(us(1003), 1, page(0, 2, 0, 0), 4096, Class::Host);
        let end = w.run();
        // Suspended at 1008 with 2000 us to go; command, array, data; then the rest and the overhead.
        let read = us(1008) + us(51) + ns(40_960);
        assert_eq!(w.end(1), read);
        assert_eq!(w.end(0), read + us(7) + us(2000));
        let stats = w.nand.die_stats(end, 0);
        assert_eq!((stats.suspensions, stats.erasing), (1, us(3000) + us(5) + us(7)));
    }

    #[test]
    fn a_read_that_comes_during_the_data_waits_for_the_array_to_begin() {
        let mut w = World::new(&suspending());
        w.program(ZERO, 0, page(0, 1, 0, 0), false);
        w.run_until(us(10));
        w.read(us(10), 1, page(0, 2, 0, 0), 0, Class::Map);
        w.run();
        let begin = us(2) + ns(40_960);
        assert_eq!(w.end(1), begin + us(5) + us(51));
        assert_eq!(w.end(0), w.end(1) + us(7) + us(500));
    }

    #[test]
    fn a_collection_read_interrupts_nothing() {
        let mut w = World::new(&suspending());
        w.erase(ZERO, 0, 0, 1, 0);
        w.run_until(us(100));
        w.read(us(100), 1, page(0, 2, 0, 0), 0, Class::Collection);
        w.run();
        assert_eq!(w.end(0), us(3003));
    }

    #[test]
    fn what_is_nearly_done_is_left_alone() {
        let mut w = World::new(&suspending());
        w.erase(ZERO, 0, 0, 1, 0);
        w.run_until(us(2998));
        w.read(us(2998), 1, page(0, 2, 0, 0), 0, Class::Host);
        w.run();
        assert_eq!((w.end(0), w.end(1)), (us(3003), us(3003 + 51)));
    }

    #[test]
    fn no_operation_is_suspended_more_often_than_allowed() {
        let mut config = suspending();
        config.scheduling.suspensions_max = 2;
        let mut w = World::new(&config);
        w.erase(ZERO, 0, 0, 1, 0);
        for n in 1..=4u64 {
            w.run_until(us(n * 200));
            w.read(us(n * 200), n as u32, page(0, 2, 0, 0), 0, Class::Host);
        }
        w.run();
        assert_eq!((w.end(1), w.end(2)), (us(256), us(456)));
        let erased = us(3003) + (us(5) + us(51) + us(7)) * 2;
        assert_eq!((w.end(0), w.end(3), w.end(4)), (erased, erased + us(51), erased + us(102)));
    }

    #[test]
    fn a_suspended_operation_is_overtaken_no_more_than_allowed() {
        let mut config = suspending();
        config.scheduling.overtakes_max = 2;
        let mut w = World::new(&config);
        w.program(ZERO, 0, page(0, 1, 0, 0), false);
        w.run_until(us(100));
        for id in 1..=5 {
            w.read(us(100), id, page(0, 2, 0, 0), 0, Class::Host);
        }
        w.run();
        let order: Vec<u32> = w.done.iter().map(|(_, d)| d.id.0).collect();
        assert_eq!(order, [1, 2, 0, 3, 4, 5]);
    }

    #[test]
    fn a_cached_program_does_not_block_suspension() {
        let mut config = suspending();
        config.scheduling.cache_program = true;
        let mut w = World::new(&config);
        w.program(ZERO, 0, page(0, 1, 0, 0), false);
        w.program(ZERO, 1, page(0, 1, 0, 1), false);
        w.run_until(us(100));
        w.read(us(100), 2, page(0, 2, 0, 0), 0, Class::Host);
        w.run();
        let load = us(2) + ns(40_960);
        // The data in the cache register make room for the read's, and are sent again while the first program goes on.
        assert_eq!(w.end(2), us(100) + us(5) + us(51));
        assert_eq!(w.end(0), w.end(2) + us(7) + us(500) - (us(100) - load));
        assert_eq!(w.end(1), w.end(0) + us(500));
    }

    #[test]
    fn a_read_waits_for_data_on_their_way_into_the_cache_register() {
        let mut config = suspending();
        config.scheduling.cache_program = true;
        let mut w = World::new(&config);
        w.program(ZERO, 0, page(0, 1, 0, 0), false);
        w.program(ZERO, 1, page(0, 1, 0, 1), false);
        w.run_until(us(50));
        w.read(us(50), 2, page(0, 2, 0, 0), 0, Class::Host);
        w.run();
        assert_eq!(w.end(2), (us(2) + ns(40_960)) * 2 + us(5) + us(51));
    }
}

#[test]
fn a_failed_decode_reads_again() {
    let mut config = config();
    config.faults.read = 1.0;
    config.ecc.retries_max = 2;
    config.ecc.decode = us(4);
    let mut w = World::new(&config);
    w.read(ZERO, 0, page(0, 1, 0, 0), 4096, Class::Host);
    let end = w.run();
    assert_eq!(w.end(0), (us(51) + ns(40_960) + us(4)) * 3);
    assert_eq!(w.done[0].1.status, Status::Uncorrectable);
    let stats = w.nand.die_stats(end, 0);
    assert_eq!((stats.reads, stats.retries), (3, 2));
}

#[test]
fn a_read_that_goes_again_goes_first() {
    let mut config = config();
    config.faults.read = 1.0;
    config.ecc.retries_max = 1;
    let mut w = World::new(&config);
    for id in 0..3 {
        w.read(ZERO, id, page(0, 1, 0, 0), 0, Class::Host);
    }
    w.run();
    assert_eq!([w.end(0), w.end(1), w.end(2)], [us(102), us(204), us(306)]);
}

#[test]
fn energy_is_power_times_the_time_of_each_part() {
    let mut w = World::new(&config());
    w.read(ZERO, 0, page(0, 3, 0, 0), 8192, Class::Host);
    w.program(ZERO, 1, page(2, 1, 0, 0), false);
    w.erase(ZERO, 2, 3, 1, 0);
    let end = w.run();
    let energy = w.nand.energy(end);
    let uw = |power, time| sim::Energy::of_power(power, time);
    assert_eq!(energy.read, uw(2 * 10, us(50)));
    assert_eq!(energy.program, uw(20, us(500)));
    assert_eq!(energy.erase, uw(30, us(3000)));
    let data = ns(81_920 + 40_960);
    assert_eq!(energy.transfer, uw(5, data) + sim::Energy::from_pj(8192 + 4096));
    assert_eq!(energy.standby, uw(1, end * 4 - us(50 + 500 + 3000)));
    // In the middle of the erase, its part so far.
    let mut w = World::new(&config());
    w.erase(ZERO, 0, 0, 1, 0);
    assert_eq!(w.nand.energy(us(103)).erase, uw(30, us(100)));
    assert_eq!(w.nand.die_stats(us(103), 0).erasing, us(100));
}

#[test]
fn a_power_cut_tears_what_the_arrays_were_at() {
    let mut config = config();
    config.scheduling.erase_suspend = true;
    let mut w = World::new(&config);
    w.program(ZERO, 0, page(0, 3, 0, 0), false);
    w.program(ZERO, 1, page(0, 1, 0, 1), false);
    w.program(ZERO, 2, page(1, 1, 0, 0), false); // Its data are still arriving.
    w.erase(ZERO, 3, 2, 1, 3);
    w.read(ZERO, 4, page(3, 1, 0, 0), 4096, Class::Host);
    w.run_until(us(90));
    w.read(us(90), 5, page(2, 1, 0, 0), 0, Class::Host); // Suspends the erase, which takes 20 us.
    w.run_until(us(119));
    let torn = w.nand.power_cut(us(120));
    let page_0 = page(0, 3, 0, 0);
    let erase = media::BlockAddr { die: 2, planes: media::PlaneMask(1), block: 3 };
    assert_eq!(torn, [Torn::Program(media::OpId(0), page_0), Torn::Erase(media::OpId(3), erase)]);
    let store = w.nand.store();
    for plane in 0..2 {
        assert_eq!(store.block(0, plane, 0).programmed, 1);
        assert!(store.block(0, plane, 0).torn);
        assert!(!store.readable(page_0, plane));
    }
    assert_eq!(store.block(1, 0, 0).programmed, 0);
    assert!(store.block(2, 0, 3).erase_torn);
    // Power returns: ids are free, the torn page is Uncorrectable, the torn block erases.
    w.queue.0 = EventQueue::new(nand::Nand::LANES);
    w.done.clear();
    w.read(us(200), 0, page_0, 4096, Class::Host);
    w.erase(us(200), 3, 2, 1, 3);
    w.run();
    assert_eq!(w.done[0].1.status, Status::Uncorrectable);
    assert!(!w.nand.store().block(2, 0, 3).erase_torn);
}

#[test]
fn a_torn_page_is_uncorrectable_also_after_a_reload() {
    for erase in [false, true] {
        let mut w = World::new(&config());
        if erase {
            w.erase(ZERO, 0, 0, 1, 0);
        } else {
            w.program(ZERO, 0, page(0, 1, 0, 0), false);
        }
        w.run_until(us(50));
        w.nand.power_cut(us(60));
        let mut image = Vec::new();
        w.nand.store().save(&mut image).unwrap();
        let mut now = us(100);
        for reload in [false, true] {
            if reload {
                let geometry = *w.nand.store().geometry();
                *w.nand.store_mut() = nand::Store::load(&mut &image[..], &geometry, 0).unwrap();
            }
            w.queue.0 = EventQueue::new(nand::Nand::LANES);
            w.done.clear();
            w.read(now, 1, page(0, 1, 0, 0), 4096, Class::Host);
            now = w.run();
            assert_eq!(w.done[0].1.status, Status::Uncorrectable, "erase {erase}, reload {reload}");
        }
    }
}

#[test]
fn ram_is_lost_with_the_power() {
    let mut config = config();
    (config.payload, config.buffers) = (nand::PayloadKind::Stamp, 2);
    let mut w = World::new(&config);
    w.nand.store_mut().buffer_mut(1).fill(7);
    w.nand.power_cut(ZERO);
    assert!(w.nand.store().buffer(1).iter().all(|byte| *byte == 0));
}

#[test]
fn a_power_cut_in_the_instant_of_a_resumption_tears_too() {
    let mut config = config();
    config.scheduling.erase_suspend = true;
    let mut w = World::new(&config);
    w.erase(ZERO, 0, 0, 1, 0);
    w.run_until(us(100));
    w.read(us(100), 1, page(0, 2, 0, 0), 0, Class::Host);
    let resumed = us(100) + us(20) + us(51);
    w.run_until(resumed);
    assert_eq!(w.end(1), resumed);
    assert_eq!(w.nand.power_cut(resumed).len(), 1);
    assert!(w.nand.store().block(0, 0, 0).erase_torn);
}

#[test]
fn the_timeline_and_the_log_tell_of_every_step() {
    let mut w = World::new(&config());
    let tracks = w.nand.tracks();
    assert_eq!(tracks.len(), 2 + 4);
    assert_eq!(tracks[1].1, "channel 1");
    assert_eq!(tracks[4].1, "die 2 (channel 1, chip 0, die 0)");
    w.nand.keep_log();
    let mut spans = Spans(EventQueue::new(nand::Nand::LANES), Vec::new());
    let read = media::ReadOp { id: media::OpId(7), page: page(2, 1, 0, 0), bytes: 4096, class: Class::Host };
    w.nand.submit_read(ZERO, read, &mut spans);
    while let Some((now, event)) = spans.0.pop() {
        w.nand.handle(now, event, &mut spans);
    }
    let end = us(51) + ns(40_960);
    assert_eq!(spans.1, [(1, "command", ZERO, us(1)), (4, "read", us(1), us(51)), (1, "data out", us(51), end)]);
    let steps: Vec<Step> = w.nand.take_log().iter().map(|e| e.step).collect();
    assert_eq!(steps, [Step::Command, Step::Array, Step::DataOut]);
}

#[test]
#[should_panic(expected = "still under way")]
fn an_id_is_used_once_at_a_time() {
    let mut w = World::new(&config());
    w.read(ZERO, 0, page(0, 1, 0, 0), 0, Class::Host);
    w.read(ZERO, 0, page(1, 1, 0, 0), 0, Class::Host);
}

#[test]
#[should_panic(expected = "are not in")]
fn an_address_lies_within_the_flash() {
    World::new(&config()).read(ZERO, 0, page(0, 4, 0, 0), 0, Class::Host);
}

#[test]
fn events_are_small() {
    assert!(size_of::<nand::Event>() <= 8);
}
