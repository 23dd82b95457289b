//! Pages of the geometry that span several pages of the dies.

mod support;

use media::{Class, OpId, PageAddr, PlaneMask, ReadOp};
use nand::{Cell, Config, PageSpan, Reuse};
use sim::Time;
use support::{World, config, page};

/// One page of 4 KiB on the channel.
const DATA: Time = Time::from_ns(40_960);

const fn us(us: u64) -> Time {
    Time::from_us(us)
}

/// Units of four pages: on two planes, at two page numbers. TLC, whose types take different times.
fn spanning() -> Config {
    let mut config = config();
    config.cell = Cell::Tlc;
    config.span = PageSpan { planes: 2, pages: 2 };
    config.geometry.planes = 1;
    config.geometry.page_bytes = 16_384;
    config.geometry.unit_bytes = 16_384;
    config.timing.read = [us(50), us(60), us(70), us(0), us(0)];
    config.timing.program = [us(500), us(600), us(700), us(0), us(0)];
    config
}

/// The end of a read of `bytes` bytes from byte `from` of page `number` on, submitted at time zero.
fn part(config: &Config, number: u32, from: u32, bytes: u32) -> (World, Time) {
    let mut w = World::new(config);
    submit(&mut w, 0, number, from, bytes);
    w.run();
    let end = w.end(0);
    (w, end)
}

fn submit(w: &mut World, id: u32, number: u32, from: u32, bytes: u32) {
    let at = PageAddr { die: 0, planes: PlaneMask(1), block: 0, page: number };
    let op = ReadOp { id: OpId(id), page: at, bytes, class: Class::Host };
    w.asked.insert(id, support::Asked::Read(op));
    w.nand.submit_part(Time::ZERO, op, from, &mut w.queue);
}

#[test]
fn a_read_of_a_part_senses_the_page_that_holds_it() {
    // The first page of the geometry has types 0 and 1, the second 2 and 0, the third 1 and 2.
    for (number, row, array) in [(0, 0, 50), (0, 1, 60), (1, 0, 70), (1, 1, 50), (2, 0, 60), (2, 1, 70)] {
        let (w, end) = part(&spanning(), number, row * 8192, 4096);
        assert_eq!(end, us(1 + array) + DATA, "page {number}, row {row}");
        assert_eq!(w.nand.energy(end).read, sim::Energy::of_power(10, us(array)), "one plane senses");
    }
    let (w, end) = part(&spanning(), 0, 0, 8192);
    assert_eq!(end, us(2 + 50) + DATA * 2, "both planes at once, a command each");
    assert_eq!(w.nand.energy(end).read, sim::Energy::of_power(20, us(50)));
}

#[test]
fn a_whole_unit_is_read_at_one_page_number_after_another() {
    let (_, end) = part(&spanning(), 0, 0, 16_384);
    assert_eq!(end, us(2 + 50 + 2 + 60) + DATA * 4);
    let mut w = World::new(&spanning());
    w.read(Time::ZERO, 0, page(0, 1, 0, 0), 16_384, Class::Collection);
    w.run();
    assert_eq!(w.end(0), end, "collection reads units whole");
}

#[test]
fn a_whole_unit_is_programmed_at_one_page_number_after_another() {
    let mut w = World::new(&spanning());
    for (id, number) in [0, 1, 2].into_iter().enumerate() {
        w.program(us(10_000 * id as u64), id as u32, page(0, 1, 0, number), false);
        w.run();
    }
    for (id, array) in [(0, 500 + 600), (1, 700 + 500), (2, 600 + 700)] {
        assert_eq!(w.end(id), us(10_000 * u64::from(id) + 2 * 4 + array) + DATA * 4);
    }
}

#[test]
fn the_register_serves_another_read_of_the_same_part_alone() {
    let config = |reuse| {
        let mut config = spanning();
        config.scheduling.reuse_page = reuse;
        config
    };
    let both = |reuse, from: u32| {
        let mut w = World::new(&config(reuse));
        submit(&mut w, 0, 0, 0, 4096);
        submit(&mut w, 1, 0, from, 4096);
        w.run();
        w.end(1)
    };
    assert!(both(Reuse::Held, 0) + us(49) < both(Reuse::Never, 0), "the second senses nothing");
    assert_eq!(both(Reuse::Held, 4096), both(Reuse::Never, 4096), "the page of the other plane is sensed");
}

#[test]
fn planes_of_one_unit_read_at_the_same_time_where_planes_are_independent() {
    let both = |independent| {
        let mut config = spanning();
        config.scheduling.independent_reads = independent;
        let mut w = World::new(&config);
        submit(&mut w, 0, 0, 0, 4096);
        submit(&mut w, 1, 0, 12_288, 4096);
        w.run();
        w.end(1)
    };
    assert!(both(true) + us(40) < both(false));
}

#[test]
#[should_panic(expected = "are not in")]
fn a_part_beyond_the_page_is_refused() {
    part(&spanning(), 0, 12_288, 8192);
}

#[test]
fn five_bits_per_cell_have_five_page_types() {
    let mut plc = config();
    plc.cell = Cell::Plc;
    plc.timing.read = [us(100), us(200), us(300), us(400), us(500)];
    for number in 0..5u32 {
        let mut w = World::new(&plc);
        w.read(Time::ZERO, 0, page(0, 1, 0, number), 4096, Class::Host);
        w.run();
        assert_eq!(w.end(0), us(1 + 100 * u64::from(number + 1)) + DATA);
    }
    let mut w = World::new(&plc);
    w.program(Time::ZERO, 0, page(0, 1, 0, 0), true);
    w.run();
    assert_eq!(w.end(0), us(2 + 200) + DATA, "SLC mode has a time of its own");
}

#[test]
fn two_passes_take_the_data_twice() {
    let mut two = config();
    two.timing.programming = nand::Programming::TwoPass;
    let end = |config: &Config| {
        let mut w = World::new(config);
        w.program(Time::ZERO, 0, page(0, 1, 0, 0), false);
        w.run();
        (w.end(0), w.nand.channel_stats(w.end(0), 0).bytes_in)
    };
    let ((one, bytes), (both, again)) = (end(&config()), end(&two));
    assert_eq!(both - one, us(2) + DATA, "a command and the data once more; the array's time is that of both passes");
    assert_eq!((bytes, again), (4096, 8192));
}

#[test]
fn spans_that_do_not_fit_are_named() {
    let fault = |planes, pages| {
        let mut config = spanning();
        config.span = PageSpan { planes, pages };
        config.fault()
    };
    assert_eq!(fault(2, 2), None);
    assert_eq!(fault(17, 1).as_deref(), Some("pages of 16384 bytes on 17 of 17 planes"));
    assert_eq!(fault(3, 1).as_deref(), Some("pages of 16384 bytes on 3 of 3 planes"));
    let mut long = config();
    long.geometry.pages = 65_537;
    assert_eq!(long.fault().as_deref(), Some("65537 pages per block, expected at most 65536"));
}
