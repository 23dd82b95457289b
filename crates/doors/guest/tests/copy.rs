//! Copy, and histories of all commands that change data against an array of bytes, with power cuts.

mod support;

use std::collections::HashSet;

use guest::{NamespaceConfig, Options};
use sim::{Rng, Streams, Time};
use support::{Command, DATA, Done, Host, SMALL, pattern, system};

const SIZE_LIMIT: u16 = 0x183;

/// Blocks of the largest copy: those of the largest transfer of the drive.
const LIMIT: u32 = 128;

fn host() -> Host {
    Host::attached(&system("", &SMALL), &Options::default())
}

/// Returns a Copy of the ranges of first block and count to `to`, with its list at `DATA`.
fn copy(host: &mut Host, sources: &[(u64, u32)], to: u64) -> Command {
    let mut list = vec![0; sources.len() * 32];
    for (range, (first, blocks)) in list.chunks_exact_mut(32).zip(sources) {
        range[8..16].copy_from_slice(&first.to_le_bytes());
        range[16..18].copy_from_slice(&(*blocks as u16).wrapping_sub(1).to_le_bytes());
    }
    host.store(DATA, &list);
    let dwords = [to as u32, (to >> 32) as u32, sources.len() as u32 - 1, 0, 0, 0];
    Command { opcode: 0x19, namespace: 1, prp: [DATA, DATA + 0x1000], dwords, ..Command::default() }
}

fn copied(host: &mut Host, sources: &[(u64, u32)], to: u64) -> Done {
    let command = copy(host, sources, to);
    host.run(1, command)
}

#[test]
fn ranges_arrive_in_their_order() {
    let mut host = host();
    let data = pattern(7, 65_536);
    host.write_blocks(0, &data);
    let ranges = [(5, 3), (100, 17), (5, 1), (64, 40), (0, 1)];
    assert_eq!(copied(&mut host, &ranges, 301).status, 0);
    let expected: Vec<u8> = ranges
        .iter()
        .flat_map(|(first, count)| &data[*first as usize * 512..][..*count as usize * 512])
        .copied()
        .collect();
    assert_eq!(host.read_blocks(301, 62).1, expected);
    // 128 ranges of a block, of blocks that were never written, too.
    let many: Vec<(u64, u32)> = (0..128).map(|i| (255 - 2 * i % 256, 1)).collect();
    assert_eq!(copied(&mut host, &many, 1000).status, 0);
    let zeros = vec![0; 65_536];
    let source = [data.clone(), zeros].concat();
    let expected: Vec<u8> =
        many.iter().flat_map(|(first, _)| &source[*first as usize * 512..][..512]).copied().collect();
    assert_eq!(host.read_blocks(1000, 128).1, expected);
    assert_eq!(host.read_blocks(0, 128).1, data, "sources are unchanged");
}

#[test]
fn a_destination_that_overlaps_the_source_receives_what_it_held_before() {
    let mut host = host();
    for to in [0u64, 1, 3, 8, 20, 63] {
        let data = pattern(to, 65_536);
        host.write_blocks(0, &data);
        assert_eq!(copied(&mut host, &[(10, 40), (4, 20)], to).status, 0);
        let mut expected = data.clone();
        expected.copy_within(10 * 512..50 * 512, to as usize * 512);
        expected[(to as usize + 40) * 512..(to as usize + 60) * 512].copy_from_slice(&data[4 * 512..24 * 512]);
        assert_eq!(host.read_blocks(0, 128).1, expected, "to {to}");
    }
}

#[test]
fn limits_are_those_of_identify_and_wrong_fields_have_their_status() {
    let mut host = host();
    let (controller, namespace) = (host.identify(1, 0), host.identify(0, 1));
    assert_eq!((controller[521] & 1, &controller[534..536]), (1, &[1, 0][..]), "ONCS and OCFS");
    assert_eq!(u32::from(u16::from_le_bytes([namespace[74], namespace[75]])), LIMIT, "MSSRL");
    assert_eq!(namespace[76..80], LIMIT.to_le_bytes(), "MCL");
    assert_eq!(namespace[80], 127, "MSRC");
    assert_eq!(host.log(5, 4, 1024 + 4 * 0x19).expect("the effects")[0], 0b11, "it changes blocks");
    assert_eq!(copied(&mut host, &[(0, LIMIT)], 200).status, 0);
    for (ranges, to, status) in [
        (vec![(0, LIMIT + 1)], 200, SIZE_LIMIT),
        (vec![(0, 65_536)], 200, SIZE_LIMIT),
        (vec![(0, LIMIT), (0, 1)], 200, SIZE_LIMIT),
        (vec![(0, 1); 129], 200, SIZE_LIMIT),
        (vec![(0, 1), (1 << 40, 1)], 200, 0x80),
        (vec![(u64::MAX, 1)], 200, 0x80),
        (vec![(0, 2)], (1 << 40) - 1, 0x80),
    ] {
        let done = copied(&mut host, &ranges, to);
        assert_eq!((done.status, done.result), (status, 0), "{} ranges to {to}", ranges.len());
    }
    let good = copy(&mut host, &[(0, 8)], 200);
    for (command, status) in [
        (Command { namespace: 2, ..good }, 0x02),
        (Command { namespace: 33, ..good }, 0x0b),
        (Command { dwords: [200, 0, 1 << 8, 0, 0, 0], ..good }, 0x02),
        (Command { dwords: [200, 0, 2 << 8, 0, 0, 0], ..good }, 0x02),
        (Command { prp: [DATA + 2, 0], ..good }, 0x13),
        (Command { prp: [1 << 60, 0], ..good }, 0x04),
        (Command { flags: 3 << 6, ..good }, 0x02),
        (good, 0),
    ] {
        assert_eq!(host.run(1, command).status, status, "{command:x?}");
    }
}

#[test]
fn a_copy_takes_the_reads_and_the_write_of_flash_and_moves_only_its_list() {
    let sets = [("flash.read", "50us"), ("flash.program", "1ms")];
    let mut host = Host::attached(&system("", &[&SMALL[..], &sets].concat()), &Options::default());
    host.write_blocks(0, &pattern(1, 65_536));
    host.flush();
    host.drive.power_cut(host.now).expect("the parts of the drive");
    host.attach(1);
    let payload = |host: &Host| host.drive.machine().external().link(host.now).map(|way| way.payload);
    let (before, command) = (payload(&host), copy(&mut host, &[(0, 8), (64, 8), (32, 8)], 512));
    let done = host.run(1, command);
    let crossed: [u64; 2] = std::array::from_fn(|way| payload(&host)[way] - before[way]);
    let reads = Time::from_us(150);
    assert!(done.status == 0 && done.latency > reads && done.latency < reads * 2, "three reads, in turn: {done:?}");
    assert!(crossed[0] >= 64 + 96 && crossed.iter().all(|bytes| *bytes < 512), "entry and list: {crossed:?}");
    // With Force Unit Access it is in flash when it ends.
    let mut command = copy(&mut host, &[(0, 8)], 1024);
    command.dwords[2] |= 1 << 30;
    let done = host.run(1, command);
    assert!(done.status == 0 && done.latency > Time::from_us(1050), "{done:?}");
    host.drive.power_cut(host.now).expect("the parts of the drive");
    host.attach(1);
    assert_eq!(host.read_blocks(1024, 8).1, pattern(1, 4096));
}

#[test]
fn atomic_units_are_mapping_units() {
    for (unit, [small, large]) in [("4KiB", [7u16, 0]), ("16KiB", [31, 3]), ("512B", [0, 0])] {
        let sets = [("ftl.unit", unit), ("flash.page", "16KiB")];
        let namespaces =
            vec![NamespaceConfig { bytes: 1 << 20, block: 512 }, NamespaceConfig { bytes: 1 << 20, block: 4096 }];
        let options = Options { namespaces, ..Options::default() };
        let mut host = Host::attached(&system("", &[&SMALL[..], &sets].concat()), &options);
        assert_eq!(host.identify(1, 0)[526..530], [0; 4], "AWUN and AWUPF hold for blocks anywhere");
        for (namespace, expected) in [(1, small), (2, large)] {
            let page = host.identify(0, namespace);
            let field = |at: usize| u16::from_le_bytes([page[at], page[at + 1]]);
            assert_eq!(page[24] >> 1 & 1 == 1, expected > 0, "NSABP of {namespace} with {unit}");
            assert_eq!([34, 36, 40, 42, 44].map(field), [expected, expected, expected, 0, expected], "{unit}");
        }
    }
}

/// Blocks of the histories, and of a mapping unit.
const BLOCKS: u64 = 320;
const UNIT: usize = 4096;

/// The drive as an array of bytes. Each mapping unit also has the contents that a power cut may leave: those since it was
/// last known to be durable, each as a whole.
struct Oracle {
    bytes: Vec<u8>,
    versions: Vec<Vec<Vec<u8>>>,
}

impl Oracle {
    fn new(bytes: Vec<u8>) -> Oracle {
        let versions = bytes.chunks(UNIT).map(|unit| vec![unit.to_vec()]).collect();
        Oracle { bytes, versions }
    }

    fn write(&mut self, block: u64, data: &[u8]) {
        self.bytes[block as usize * 512..][..data.len()].copy_from_slice(data);
        for (unit, versions) in self.bytes.chunks(UNIT).zip(&mut self.versions) {
            if versions.last().is_none_or(|last| last != unit) {
                versions.push(unit.to_vec());
            }
        }
    }

    fn at(&self, (block, blocks): (u64, u32)) -> &[u8] {
        &self.bytes[block as usize * 512..][..blocks as usize * 512]
    }
}

/// Reads all blocks of a history.
fn read_all(host: &mut Host) -> Vec<u8> {
    let step = u64::from(LIMIT / 2);
    (0..BLOCKS / step).flat_map(|i| host.read_blocks(i * step, LIMIT / 2).1).collect()
}

fn range(rng: &mut Rng, blocks_max: u32) -> (u64, u32) {
    let blocks = 1 + rng.below(u64::from(blocks_max)) as u32;
    (rng.below(BLOCKS - u64::from(blocks) + 1), blocks)
}

/// Draws a command that changes data, with its data in memory. Returns it and its effect: first block and data.
fn change(rng: &mut Rng, host: &mut Host, oracle: &Oracle, seed: u64) -> (Command, u64, Vec<u8>) {
    let (first, blocks) = range(rng, 24);
    match rng.below(6) {
        0..=2 => {
            let data = pattern(seed, blocks as usize * 512);
            host.store(DATA, &data);
            let mut write = host.transfer(1, first, blocks, 512);
            write.dwords[2] |= u32::from(rng.below(5) == 0) << 30;
            (write, first, data)
        }
        3 => {
            let zeroes = Command { opcode: 8, prp: [0; 2], ..host.transfer(8, first, blocks, 512) };
            (zeroes, first, vec![0; blocks as usize * 512])
        }
        _ => {
            let sources: Vec<(u64, u32)> = (0..=rng.below(4)).map(|_| range(rng, 16)).collect();
            let data = sources.iter().flat_map(|source| oracle.at(*source)).copied().collect::<Vec<u8>>();
            let to = rng.below(BLOCKS - data.len() as u64 / 512 + 1);
            (copy(host, &sources, to), to, data)
        }
    }
}

/// Plays a history. Returns how many units a power cut left older than the last write.
fn play(seed: u64, steps: u32) -> usize {
    let mut rng = Streams::new(seed).stream("history");
    let mut host = host();
    let mut oracle = Oracle::new(vec![0; BLOCKS as usize * 512]);
    let mut lost = 0;
    for step in 0..steps {
        match rng.below(16) {
            0..=7 => {
                let (command, first, data) = change(&mut rng, &mut host, &oracle, seed * 1000 + u64::from(step));
                let ends = rng.below(12) > 0;
                oracle.write(first, &data);
                if ends {
                    let done = host.run(1, command);
                    assert_eq!(done.status, 0, "seed {seed}, step {step}: {command:x?}");
                    continue;
                }
                // Power is cut while it is under way.
                host.submit(1, &[command]);
                let time = Time::from_ns(rng.below(400_000));
                host.wait(time);
                lost += cut(&mut host, &mut oracle, seed);
            }
            8..=10 => {
                let place = range(&mut rng, LIMIT);
                let mut data = oracle.at(place).to_vec();
                let changed = rng.below(2) as u8;
                let at = rng.below(data.len() as u64) as usize;
                data[at] ^= changed;
                host.store(DATA, &data);
                let command = host.transfer(5, place.0, place.1, 512);
                let expected = if changed == 1 { 0x285 } else { 0 };
                assert_eq!(host.run(1, command).status, expected, "seed {seed}, step {step}");
            }
            11 => {
                let (first, blocks) = range(&mut rng, 256);
                let command = Command { opcode: 0xc, prp: [0; 2], ..host.transfer(0xc, first, blocks, 512) };
                assert_eq!(host.run(1, command).status, 0, "seed {seed}, step {step}");
            }
            12 | 13 => {
                let place = range(&mut rng, LIMIT);
                assert_eq!(host.read_blocks(place.0, place.1).1, oracle.at(place), "seed {seed}, step {step}");
            }
            14 => {
                assert_eq!(host.flush().status, 0);
                oracle = Oracle::new(oracle.bytes);
            }
            _ => lost += cut(&mut host, &mut oracle, seed),
        }
    }
    assert_eq!(read_all(&mut host), oracle.bytes, "seed {seed}");
    lost
}

/// Cuts the power. Each unit must then hold one of its versions as a whole.
fn cut(host: &mut Host, oracle: &mut Oracle, seed: u64) -> usize {
    host.drive.power_cut(host.now).expect("the parts of the drive");
    host.attach(1);
    let found = read_all(host);
    let mut older = 0;
    for (at, (unit, versions)) in found.chunks(UNIT).zip(&oracle.versions).enumerate() {
        let version = versions.iter().rposition(|version| version == unit);
        let version = version.unwrap_or_else(|| panic!("seed {seed}: unit {at} is a mixture of its versions"));
        older += usize::from(version + 1 < versions.len());
    }
    *oracle = Oracle::new(found);
    older
}

#[test]
fn random_histories_with_power_cuts_agree_with_an_array_of_bytes() {
    let older: usize = (0..60).map(|seed| play(seed, 120)).sum();
    assert!(older > 200, "power cuts lost only {older} versions, so they tested little");
}

#[test]
fn a_write_of_several_units_can_tear_between_them_but_never_within() {
    // A cut at many instants of one write: each unit is old or new. One die programs four pages in turn.
    let sets = [("flash.channels", "1"), ("flash.chips", "1"), ("flash.planes", "1"), ("flash.blocks", "160")];
    let system = system("", &[&SMALL[..], &sets].concat());
    let mut found = HashSet::new();
    for at in 0..120u64 {
        let mut host = Host::attached(&system, &Options::default());
        host.write_blocks(0, &pattern(1, 65_536));
        host.flush();
        host.store(DATA, &pattern(2, 65_536));
        let mut write = host.transfer(1, 0, 128, 512);
        write.dwords[2] |= 1 << 30;
        host.submit(1, &[write]);
        host.wait(Time::from_us(at * 50));
        host.drive.power_cut(host.now).expect("the parts of the drive");
        host.attach(1);
        let data = host.read_blocks(0, 128).1;
        let (old, new) = (pattern(1, 65_536), pattern(2, 65_536));
        let is_new = data.chunks(UNIT).zip(old.chunks(UNIT)).zip(new.chunks(UNIT)).map(|((unit, old), new)| {
            assert!(unit == old || unit == new, "a torn unit after {at}");
            unit == new
        });
        let new = is_new.filter(|is_new| *is_new).count();
        found.insert(new);
    }
    assert!(found.contains(&0) && found.contains(&16) && found.len() > 2, "{found:?}");
}
