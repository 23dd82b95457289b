//! Behavior that depends on the place in the flash and on the contents of its registers.

mod support;

use media::Class;
use nand::{Config, Nand, Reuse, Variation};
use sim::{Streams, Time};
use support::{World, config, page};

const ZERO: Time = Time::ZERO;

fn us(us: u64) -> Time {
    Time::from_us(us)
}

fn varied(variation: Variation) -> Config {
    let mut config = config();
    config.variation = variation;
    config.timing.read_command = ZERO;
    config.timing.program_command = ZERO;
    config.geometry.pages = 11;
    config
}

/// Array time of a read of nothing, alone.
fn read_time(config: &Config, die: u16, block: u32, at: u32) -> Time {
    let mut w = World::new(config);
    w.read(ZERO, 0, page(die, 1, block, at), 0, Class::Host);
    w.run()
}

#[test]
fn dies_differ_and_stay_as_they_are() {
    let config = varied(Variation { dies: 0.1, ..Variation::default() });
    let times: Vec<Time> = (0..4).map(|die| read_time(&config, die, 0, 0)).collect();
    assert!(times.iter().all(|t| (us(45)..=us(55)).contains(t)), "{times:?}");
    assert!(times.windows(2).all(|t| t[0] != t[1]), "{times:?}");
    for (die, time) in (0..).zip(&times) {
        assert_eq!((read_time(&config, die, 3, 10), read_time(&config, die, 1, 5)), (*time, *time));
    }
    let mut w = World::new(&config);
    w.program(ZERO, 0, page(2, 1, 0, 0), false);
    let program = w.run() - Time::from_ns(40_960);
    assert_eq!(program.ps() / 10, times[2].ps(), "programs are as much slower as reads");
}

#[test]
fn word_lines_get_slower_along_the_block() {
    let config = varied(Variation { word_lines: 0.2, ..Variation::default() });
    for (at, expected) in [(0, us(40)), (5, us(50)), (8, us(56)), (10, us(60))] {
        let (time, die) = (read_time(&config, 1, 2, at), read_time(&config, 3, 0, at));
        assert_eq!(time, die);
        assert!(time.max(expected) - time.min(expected) < Time::from_ns(1), "{at}: {time}");
    }
}

#[test]
fn a_die_waits_for_the_slowest_of_its_blocks() {
    let config = varied(Variation { blocks: 0.3, ..Variation::default() });
    let of = |planes: u16| {
        let mut w = World::new(&config);
        w.read(ZERO, 0, page(0, planes, 1, 0), 0, Class::Host);
        w.run()
    };
    assert_ne!(of(1), of(2));
    assert_eq!(of(3), of(1).max(of(2)));
}

#[test]
fn no_variation_changes_no_time() {
    assert_eq!(read_time(&varied(Variation::default()), 3, 2, 9), us(50));
}

#[test]
fn dies_differ_in_their_bad_blocks() {
    let mut config = config();
    config.geometry.blocks = 4000;
    config.geometry.channels = 16;
    config.wear.factory_bad = 0.05;
    let bad = |config: &Config| -> Vec<u32> {
        let nand = Nand::new(config, &Streams::new(1));
        let of = |die| (0..4000).map(|b| u32::from(nand.store().block(die, 0, b).bad)).sum();
        (0..32).map(of).collect()
    };
    let spread = |counts: &[u32]| counts.iter().max().unwrap() - counts.iter().min().unwrap();
    let alike = bad(&config);
    config.variation.bad_blocks = 1.0;
    let unequal = bad(&config);
    // Binomial: 200 +- 14. Uniform from none to twice as many: anything up to 400.
    assert!(spread(&alike) < 90, "{alike:?}");
    assert!(spread(&unequal) > 200, "{unequal:?}");
    let mean = unequal.iter().sum::<u32>() / 32;
    assert!((130..270).contains(&mean), "{mean}");
}

#[test]
fn every_block_begins_with_the_declared_cycles() {
    let mut config = config();
    config.cycles = 700;
    let mut w = World::new(&config);
    w.erase(ZERO, 0, 0, 1, 0);
    w.run();
    let erases = |die, block| w.nand.store().block(die, 0, block).erases;
    assert_eq!((erases(0, 0), erases(0, 1), erases(3, 3)), (701, 700, 700));
}

#[test]
fn a_read_moves_whole_codewords() {
    for (codeword, bytes, moved) in
        [(1024, 1, 1024), (1024, 1024, 1024), (2048, 3000, 4096), (768, 1000, 1536), (8192, 512, 4096)]
    {
        let mut config = config();
        config.ecc.codeword_bytes = codeword;
        let mut w = World::new(&config);
        w.read(ZERO, 0, page(0, 1, 0, 0), bytes, Class::Host);
        let end = w.run();
        assert_eq!(w.nand.channel_stats(end, 0).bytes_out, moved, "{bytes} bytes in codewords of {codeword}");
        assert_eq!(end, us(51) + Time::from_ns(10 * moved));
    }
}

mod register {
    use super::*;

    fn reusing(reuse: Reuse) -> Config {
        let mut config = config();
        config.scheduling.reuse_page = reuse;
        config.scheduling.cache_read = true;
        config
    }

    #[test]
    fn queued_reads_of_a_page_are_sensed_once() {
        let once = us(51) + us(1) * 3;
        for (reuse, end) in [(Reuse::Never, us(51) * 4), (Reuse::Queued, once), (Reuse::Held, once)] {
            let mut w = World::new(&reusing(reuse));
            for id in 0..4 {
                w.read(ZERO, id, page(0, 1, 0, 2), 0, Class::Host);
            }
            assert_eq!(w.run(), end);
        }
    }

    #[test]
    fn a_controller_forgets_what_an_idle_die_holds() {
        for (reuse, end) in [(Reuse::Queued, us(151)), (Reuse::Held, us(101))] {
            let mut w = World::new(&reusing(reuse));
            w.read(ZERO, 0, page(0, 1, 0, 2), 0, Class::Host);
            w.run_until(us(100));
            w.read(us(100), 1, page(0, 1, 0, 2), 0, Class::Host);
            assert_eq!(w.run(), end);
        }
    }

    #[test]
    fn a_page_is_sensed_again_after_another_use_of_the_register() {
        let mut w = World::new(&reusing(Reuse::Held));
        w.read(ZERO, 0, page(0, 1, 0, 2), 0, Class::Host);
        w.run_until(us(100));
        w.read(us(100), 1, page(0, 1, 0, 2), 0, Class::Host);
        w.run_until(us(200));
        w.read(us(200), 2, page(0, 1, 0, 3), 0, Class::Host);
        w.run_until(us(300));
        w.program(us(300), 3, page(0, 2, 0, 0), false);
        w.run_until(us(1000));
        w.read(us(1000), 4, page(0, 1, 0, 3), 0, Class::Host);
        w.run();
        assert_eq!((w.end(1), w.end(2), w.end(4)), (us(101), us(251), us(1051)));
    }

    #[test]
    fn a_retry_senses_the_page_again() {
        let mut config = reusing(Reuse::Held);
        config.faults.read = 1.0;
        config.ecc.retries_max = 2;
        let mut w = World::new(&config);
        w.read(ZERO, 0, page(0, 1, 0, 0), 0, Class::Host);
        assert_eq!(w.run(), us(51) * 3);
    }
}
