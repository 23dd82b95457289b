//! Known bounds: what a die or a channel can do in its time, and how near a saturated array comes to it.

mod support;

use media::{Class, Geometry, OpId, ReadOp};
use nand::{Cell, Config, Nand};
use sim::{EventQueue, Rng, Streams, Time};
use support::{Queue, config, page};

/// The reference drive: 8 channels of 4 chips of 2 dies, 333 MT/s, 75 us reads, 8 KiB pages.
fn reference() -> Config {
    let mut c = config();
    c.geometry = Geometry {
        channels: 8,
        chips: 4,
        dies: 2,
        planes: 2,
        blocks: 64,
        pages: 64,
        page_bytes: 8192,
        unit_bytes: 8192,
    };
    c.timing.read = [Time::from_us(75); Cell::BITS_MAX];
    c.timing.transfers_per_s = 333_000_000;
    c.timing.read_command = Time::from_ns(100);
    c
}

struct Run {
    seconds: f64,
    mean_us: f64,
    nand: Nand,
    end: Time,
}

/// Closed loop: `depth` random reads of `bytes` outstanding, `count` in all, over the first `dies` dies.
fn random_reads(config: &Config, dies: u64, depth: u32, bytes: u32, count: u32) -> Run {
    let mut nand = Nand::new(config, &Streams::new(1));
    let mut queue = Queue(EventQueue::new(Nand::LANES));
    let mut rng: Rng = Streams::new(5).stream("traffic");
    let mut begun = vec![Time::ZERO; depth as usize];
    let (mut asked, mut ended, mut sum, mut now) = (0, 0, 0.0, Time::ZERO);
    let mut ask = |nand: &mut Nand, queue: &mut Queue, now: Time, id: u32, rng: &mut Rng| {
        let g = &config.geometry;
        let (die, plane) = (rng.below(dies) as u16, 1 << rng.below(u64::from(g.planes)));
        let at = page(die, plane, rng.below(u64::from(g.blocks)) as u32, rng.below(u64::from(g.pages)) as u32);
        begun[id as usize] = now;
        nand.submit_read(now, ReadOp { id: OpId(id), page: at, bytes, class: Class::Host }, queue);
        begun[id as usize]
    };
    let mut begun_at = vec![Time::ZERO; depth as usize];
    for id in 0..depth {
        begun_at[id as usize] = ask(&mut nand, &mut queue, now, id, &mut rng);
        asked += 1;
    }
    while ended < count {
        let (at, event) = queue.0.pop().expect("reads are outstanding");
        now = at;
        if let Some(d) = nand.handle(now, event, &mut queue) {
            ended += 1;
            sum += (now - begun_at[d.id.0 as usize]).us_f64();
            if asked < count + depth {
                begun_at[d.id.0 as usize] = ask(&mut nand, &mut queue, now, d.id.0, &mut rng);
                asked += 1;
            }
        }
    }
    nand.assert_bounds(now);
    Run { seconds: now.secs_f64(), mean_us: sum / f64::from(ended), nand, end: now }
}

#[test]
fn the_channel_is_the_bound_where_it_is_slower() {
    // A page takes 24.6 us on the channel; eight dies deliver more than one channel can carry.
    let config = reference();
    let run = random_reads(&config, 64, 1024, 8192, 60_000);
    let transfer = 8192.0 / 333e6 + 100e-9;
    let bound = 8.0 / transfer;
    let rate = 60_000.0 / run.seconds;
    assert!(rate <= bound * 1.001, "{rate} of {bound}");
    assert!(rate >= 0.98 * bound, "{rate} of {bound}");
    for channel in 0..8 {
        let busy = run.nand.channel_stats(run.end, channel).busy;
        assert!(busy.secs_f64() / run.seconds > 0.97);
    }
}

#[test]
fn the_die_is_the_bound_where_it_is_slower() {
    // A codeword of 512 bytes leaves in 1.5 us: a die is busy for 76.6 us a read, and each channel for a sixth of its time.
    let mut config = reference();
    config.geometry.chips = 2;
    config.ecc.codeword_bytes = 512;
    let run = random_reads(&config, 32, 2048, 512, 100_000);
    let read = 75e-6 + 512.0 / 333e6 + 100e-9;
    let bound = 32.0 / read;
    let rate = 100_000.0 / run.seconds;
    // Dies of a channel meet there: queueing for the bus costs each read a part of a transfer.
    assert!(rate <= bound * 1.001, "{rate} of {bound}");
    assert!(rate >= 0.98 * bound, "{rate} of {bound}");
}

#[test]
fn cache_reads_hide_the_transfer() {
    // One die alone: without the cache register its time is the sum, with it the longer of both parts.
    let mut config = reference();
    let whole = 1.0 / (75e-6 + 8192.0 / 333e6 + 100e-9);
    let rate = 5_000.0 / random_reads(&config, 1, 8, 8192, 5_000).seconds;
    assert!((rate / whole - 1.0).abs() < 0.001, "{rate} of {whole}");
    config.scheduling.cache_read = true;
    let array = 1.0 / (75e-6 + 100e-9);
    let rate = 5_000.0 / random_reads(&config, 1, 8, 8192, 5_000).seconds;
    assert!(rate >= 0.98 * array && rate <= array * 1.001, "{rate} of {array}");
}

#[test]
fn closed_loops_obey_littles_law() {
    let config = reference();
    for depth in [1, 32, 256] {
        let run = random_reads(&config, 64, depth, 4096, 50_000);
        println!("depth {depth}: {} us", run.mean_us);
        let law = f64::from(depth) * run.seconds / 50_000.0 * 1e6;
        // But for the reads still under way at the end.
        assert!(
            (run.mean_us / law - 1.0).abs() < 2.0 * f64::from(depth) / 50_000.0 + 1e-6,
            "{depth}: {} {law}",
            run.mean_us
        );
        if depth == 1 {
            assert!((run.mean_us - (75.0 + 0.1 + 4096.0 / 333.0)).abs() < 0.01, "{}", run.mean_us);
        }
    }
}
