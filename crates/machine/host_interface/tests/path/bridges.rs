//! Compares a drive behind bridges with a second implementation. In it, every sector, burst, table read and message is
//! a task on a part, parts serve tasks first come first served, and tasks are processed in order of time.

use device::Buffering;
use link::ddr::{Strobe, Waiting};
use media::{Op, Request};
use proptest::prelude::*;
use sim::Time;

use crate::support::{Back, Bench, ns, plain, sata};
use host_interface::Config;

/// Numbers of the parts.
const WIRE: usize = 0;
const DMI_DOWN: usize = 1;
const DMI_UP: usize = 2;
const MEMORY: usize = 3;
const DMA: usize = 4;

/// A task: occupies a part for a given length, and starts when all listed tasks have ended and the given delays have
/// passed.
struct Task {
    on: usize,
    length: f64,
    after: Vec<(usize, f64)>,
    at: f64,
}

/// The reference machine. Times are in nanoseconds.
struct Slow<'a> {
    config: &'a Config,
    tasks: Vec<Task>,
    looks: usize,
    /// Tasks that carry a sector out of the South Bridge, and tasks that carry one on the wire, in order.
    leaves: Vec<usize>,
}

fn in_ns(time: Time) -> f64 {
    time.ps() as f64 / 1e3
}

impl Slow<'_> {
    fn new(config: &Config) -> Slow<'_> {
        Slow { config, tasks: Vec::new(), looks: 0, leaves: Vec::new() }
    }

    fn task(&mut self, on: usize, length: f64, at: f64, after: &[(usize, f64)]) -> usize {
        self.tasks.push(Task { on, length, after: after.to_vec(), at });
        self.tasks.len() - 1
    }

    fn chipset(&self) -> &host::Chipset {
        &self.config.host.chipset
    }

    fn dmi(&self, bytes: f64) -> f64 {
        bytes / self.chipset().dmi_bandwidth as f64 * 1e9
    }

    fn memory(&self, bytes: f64) -> f64 {
        bytes / self.chipset().memory.bandwidth as f64 * 1e9
    }

    fn sata_byte(&self) -> f64 {
        let link::Config::Sata(sata) = &self.config.link else { panic!("no SATA") };
        10.0 / [1.5, 3.0, 6.0][usize::from(sata.generation) - 1] * 256.0 / 254.0
    }

    /// Returns true if the table must be read for the fragment that begins at `done` bytes.
    fn table(&self, done: u64) -> bool {
        let dma = &self.chipset().dma;
        done.is_multiple_of(dma.region * u64::from(dma.entries))
    }

    /// Adds phase B from the South Bridge, after `after`. Returns its end and the delay until the data has arrived.
    fn look_south(&mut self, after: &[(usize, f64)]) -> (usize, f64) {
        let (across, wait) = (in_ns(self.chipset().dmi_latency), in_ns(self.chipset().memory.latency));
        let bytes = f64::from(self.chipset().dma.entries) * 16.0;
        self.looks += 1;
        let ask = self.task(DMI_UP, self.dmi(16.0), 0.0, after);
        let read = self.task(MEMORY, self.memory(bytes), 0.0, &[(ask, across + wait)]);
        (self.task(DMI_DOWN, self.dmi(bytes), 0.0, &[(read, 0.0)]), across)
    }

    /// Adds a transfer through the South Bridge that begins at `at`. Returns its last task on the wire and the task
    /// that ends it.
    fn south(&mut self, up: bool, bytes: u64, at: f64) -> (usize, usize) {
        let link::Config::Sata(sata) = self.config.link.clone() else { panic!("no SATA") };
        let chipset = self.chipset().clone();
        let (half, byte, across) = (in_ns(sata.handshake) / 2.0, self.sata_byte(), in_ns(chipset.dmi_latency));
        let frame = |fis: f64| 2.0 * half + byte * (fis + 12.0);
        let mut wire = self.task(WIRE, frame(28.0), at, &[]);
        let (mut done, mut last) = (0, wire);
        let mut carried: Option<usize> = None;
        while done < bytes {
            let fis = (bytes - done).min(u64::from(link::sata::DATA_MAX));
            if !up && (done > 0 || !sata.auto_activate) {
                wire = self.task(WIRE, frame(4.0), 0.0, &[(wire, 0.0)]);
            }
            wire = self.task(WIRE, half + byte * 8.0, 0.0, &[(wire, 0.0)]);
            for sector in (0..fis).step_by(512) {
                let part = (fis - sector).min(512) as f64;
                if up {
                    let mut after = vec![(wire, 0.0)];
                    let room = (chipset.dma.buffer / 512) as usize;
                    if self.leaves.len() >= room {
                        after.push((self.leaves[self.leaves.len() - room], 0.0));
                    }
                    wire = self.task(WIRE, byte * part, 0.0, &after);
                    let mut after = vec![(wire, 0.0)];
                    after.extend(self.leaves.last().map(|leaf| (*leaf, 0.0)));
                    if self.table(done + sector) {
                        after = vec![self.look_south(&after)];
                    }
                    let leaf = self.task(DMI_UP, self.dmi(part), 0.0, &after);
                    self.leaves.push(leaf);
                    last = self.task(MEMORY, self.memory(part), 0.0, &[(leaf, across)]);
                } else {
                    // The DMA has room for only the sector on the wire.
                    let mut after = vec![(carried.unwrap_or(wire), 0.0)];
                    if self.table(done + sector) {
                        after = vec![self.look_south(&after)];
                    }
                    let ask = self.task(DMI_UP, self.dmi(16.0), 0.0, &after);
                    let wait = across + in_ns(chipset.memory.latency);
                    let read = self.task(MEMORY, self.memory(part), 0.0, &[(ask, wait)]);
                    let there = self.task(DMI_DOWN, self.dmi(part), 0.0, &[(read, 0.0)]);
                    wire = self.task(WIRE, byte * part, 0.0, &[(wire, 0.0), (there, across)]);
                    carried = Some(wire);
                    last = wire;
                }
            }
            wire = self.task(WIRE, half + byte * 8.0, 0.0, &[(wire, 0.0)]);
            if !up {
                last = wire;
            }
            done += fis;
        }
        (wire, last)
    }

    /// Adds a transfer through the North Bridge that begins at `at`. Returns the last burst on the port and the task
    /// that ends it.
    fn north(&mut self, up: bool, bytes: u64, at: f64) -> (usize, usize) {
        let link::Config::Ddr(ddr) = self.config.link.clone() else { panic!("no DDR port") };
        let chipset = self.chipset().clone();
        let (latency, look) = (in_ns(chipset.memory.latency), f64::from(chipset.dma.entries) * 16.0);
        let unit = u64::from(ddr.burst_length * ddr.width);
        let burst = f64::from(ddr.burst_length) / ddr.transfers_per_s as f64 * 1e9;
        let memory = self.memory(unit as f64);
        // The strobe: at the clock edge after the data is ready, a clock of preamble.
        let clock = 2e9 / ddr.transfers_per_s as f64;
        let strobe = if up { (at / clock).ceil() * clock + clock } else { at };
        let mut last = self.task(DMA, 0.0, strobe, &[]);
        let mut sent = last;
        for done in (0..bytes).step_by(unit as usize) {
            if up {
                sent = self.task(WIRE, burst, 0.0, &[(last, 0.0)]);
                last = sent;
            }
            let mut wait = 0.0;
            if self.table(done) {
                self.looks += 1;
                last = self.task(MEMORY, self.memory(look), 0.0, &[(last, latency)]);
                wait = latency;
            }
            last = self.task(MEMORY, memory, 0.0, &[(last, if up { 0.0 } else { wait })]);
            if !up {
                sent = self.task(WIRE, burst, 0.0, &[(last, 0.0)]);
                last = sent;
            }
        }
        (sent, last)
    }

    /// Returns the end times of all tasks.
    fn ends(&self) -> Vec<f64> {
        let refresh = &self.chipset().memory;
        let (every, takes) = (in_ns(refresh.refresh_interval), in_ns(refresh.refresh));
        let mut free = [0.0f64; 5];
        let mut ends: Vec<Option<f64>> = vec![None; self.tasks.len()];
        for _ in 0..self.tasks.len() {
            let ready = |task: &Task| {
                task.after.iter().try_fold(task.at, |at, (before, lag)| ends[*before].map(|end| at.max(end + lag)))
            };
            // Choose the task that became ready first among those that can start.
            let (n, at) = (self.tasks.iter().enumerate().filter(|(n, _)| ends[*n].is_none()))
                .filter_map(|(n, task)| ready(task).map(|at| (n, at)))
                .min_by(|a, b| a.1.total_cmp(&b.1))
                .expect("no task waits for itself");
            let task = &self.tasks[n];
            let mut from = at.max(free[task.on]);
            if task.on == MEMORY && every > 0.0 {
                // Skip from refresh to refresh.
                let mut window = every;
                while window < from + task.length - 1e-6 {
                    if from < window + takes - 1e-6 {
                        from = window + takes;
                    }
                    window += every;
                }
            }
            free[task.on] = from + task.length;
            ends[n] = Some(from + task.length);
        }
        ends.into_iter().map(|end| end.expect("every task ends")).collect()
    }
}

fn bridged(link: link::Config, chipset: host::Chipset) -> Config {
    let mut config = Config { link, ..sata() };
    config.host.chipset = chipset;
    config.device.buffering = Buffering::Single;
    config
}

pub fn chipset() -> impl Strategy<Value = host::Chipset> {
    let times = (0u64..300, 0u64..300, 0u64..120);
    let dma = (prop_oneof![Just(512u64), Just(4096), Just(65_536)], 1u32..9, 1u64..9);
    (times, dma, 100u64..3_000, 500u64..8_000, any::<bool>()).prop_map(|(times, dma, dmi, memory, refreshed)| {
        host::Chipset {
            model: host::ChipsetModel::Bridges,
            front_side_bus: ns(times.0),
            dmi_bandwidth: dmi * 1_000_000,
            dmi_latency: ns(times.1),
            memory: host::MemoryConfig {
                bandwidth: memory * 1_000_000,
                latency: ns(times.2),
                refresh_interval: if refreshed { ns(7_800) } else { Time::ZERO },
                refresh: Time::from_ps(127_500),
            },
            dma: host::DmaConfig { region: dma.0, entries: dma.1, buffer: dma.2 * 512 },
        }
    })
}

pub fn link_config() -> impl Strategy<Value = link::Config> {
    let sata = (1u8..4, any::<bool>(), 0u64..900).prop_map(|(generation, auto_activate, handshake)| {
        link::Config::Sata(link::SataConfig { generation, auto_activate, handshake: ns(handshake / 2 * 2) })
    });
    let ddr = (any::<bool>(), 1u32..9, 100u64..1_700).prop_map(|(eight, cas_latency, rate)| {
        link::Config::Ddr(link::DdrConfig {
            transfers_per_s: rate * 1_000_000,
            width: 8,
            burst_length: if eight { 8 } else { 4 },
            cas_latency,
            waiting: Waiting::Released,
            ..link::DdrConfig::default()
        })
    });
    prop_oneof![sata, ddr]
}

/// Like `link_config`, with any way in which READs on a DDR port wait.
pub fn any_link_config() -> impl Strategy<Value = link::Config> {
    let waits = (any::<bool>(), 1u64..200, prop::option::of(1u64..200));
    (link_config(), waits).prop_map(|(mut link, (held, timeout, fixed))| {
        if let link::Config::Ddr(ddr) = &mut link {
            ddr.waiting = if held { Waiting::Held } else { Waiting::Released };
            ddr.timeout = Time::from_us(timeout);
            if let Some(fixed) = fixed {
                (ddr.strobe, ddr.fixed_latency) = (Strobe::Fixed, Time::from_us(fixed));
            }
        }
        link
    })
}

/// Time from a visible completion to the notification of the program.
const TOLD: f64 = 300.0 + 700.0 + 500.0;
const FLASH: f64 = 30_000.0;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// One or two requests at a time begin at their decoded times, and must end when the reference machine says.
    #[test]
    fn agree_with_a_list_of_tasks(
        chipset in chipset(),
        link in link_config(),
        sizes in prop::collection::vec(1u64..90, 1..3),
        up: bool,
    ) {
        let config = bridged(link, chipset);
        let op = if up { Op::Read } else { Op::Write };
        let back = || Back::constant(Time::from_ns(FLASH as u64));
        // The second command arrives while flash works on the first, so that it only overlaps the first's data.
        let mut asked = vec![(Time::ZERO, 0, Request::new(op, 0, sizes[0] * 512))];
        if let Some(second) = sizes.get(1) {
            let mut alone = Bench::new(&config, back());
            alone.run(&asked);
            let at = if up { Time::ZERO } else { alone.ends[0].unwrap().at - ns(20_000) };
            asked.push((at, 0, Request::new(op, 0, second * 512)));
        }
        let mut bench = Bench::new(&config, back());
        bench.run(&asked);
        let mut slow = Slow::new(&config);
        let south = matches!(config.link, link::Config::Sata(_));
        let mut seen = Vec::new();
        for (n, (at, io, request)) in bench.commands.iter().enumerate() {
            prop_assert_eq!((n, request.bytes), (*io as usize, asked[n].2.bytes));
            let begins = in_ns(*at) + if up { FLASH } else { 0.0 };
            if south && n == 0 {
                // Decoding takes 1000 ns; meanwhile the drive accepts the command.
                let accept = slow.frame_of(20.0);
                slow.task(WIRE, accept, in_ns(*at) - 1000.0, &[]);
            }
            let (wire, last) = match south {
                true => slow.south(up, request.bytes, begins),
                false => slow.north(up, request.bytes, begins),
            };
            // The drive is done with a read when all data has left, and with a write when it is in flash. It then
            // reports the end.
            let drive = if up { wire } else { last };
            let done = if up { 0.0 } else { FLASH };
            let told = match south {
                true => {
                    let status = slow.frame_of(8.0);
                    let status = slow.task(WIRE, status, 0.0, &[(drive, done)]);
                    let across = in_ns(slow.chipset().dmi_latency);
                    // The status travels between packets of the data and never waits for all of them.
                    (status, slow.dmi(16.0) + across)
                }
                false => (drive, done + slow.burst()),
            };
            seen.push((drive, done, told, last));
        }
        let ends = slow.ends();
        // A status goes between the packets of the last data and waits for half a packet. Table reads and a second
        // request's messages do the same, while the reference machine makes them wait for all of the data or none.
        let packet = slow.dmi(64.0);
        let mixed = if slow.looks > asked.len() || asked.len() > 1 { slow.looks + asked.len() } else { 0 };
        let between = packet + slow.memory(1024.0) + slow.burst() + 128.0;
        // Rounded to picoseconds, a fragment may miss the gap before a refresh that it fits into exactly.
        let refreshed = slow.chipset().memory.refresh_interval > Time::ZERO;
        let missed = if refreshed { slow.memory(512.0) + slow.burst() } else { 0.0 };
        let slack = 1.0 + packet + missed + slow.tasks.len() as f64 * 2e-3 + between * mixed as f64;
        for (n, (drive, done, told, last)) in seen.into_iter().enumerate() {
            let landed = if up { ends[last] } else { 0.0 };
            let visible = (ends[told.0] + told.1).max(landed);
            let end = in_ns(bench.ends[n].unwrap().at);
            if n == 0 {
                prop_assert!((end - visible - TOLD).abs() <= slack, "ends at {end}, expected {}", visible + TOLD);
            } else {
                prop_assert!(end + slack >= visible + TOLD, "ends at {end}, expected {}", visible + TOLD);
            }
            // The next command starts exactly when the drive is done with this one.
            if let Some((next, ..)) = bench.commands.get(n + 1) {
                let expected = ends[drive] + done;
                prop_assert!((in_ns(*next) - expected).abs() <= slack, "next at {next}, expected {expected}");
            }
        }
        // The link has carried the right number of bytes, and no part was busier than time allows.
        let bytes: u64 = asked.iter().map(|(.., request)| request.bytes).sum();
        let carried = bench.front.link(bench.now())[usize::from(up)].payload;
        prop_assert!(carried >= bytes && carried < bytes + 64 * 200, "{carried} carried for {bytes}");
        for used in bench.front.utilization(bench.now()) {
            prop_assert!(used.busy <= used.elapsed, "{:?}", used);
        }
    }
}

impl Slow<'_> {
    fn frame_of(&self, fis: f64) -> f64 {
        let link::Config::Sata(sata) = &self.config.link else { panic!("no SATA") };
        in_ns(sata.handshake) + self.sata_byte() * (fis + 12.0)
    }

    /// Returns the time of a burst on the port; zero on SATA.
    fn burst(&self) -> f64 {
        match &self.config.link {
            link::Config::Ddr(ddr) => f64::from(ddr.burst_length) / ddr.transfers_per_s as f64 * 1e9,
            _ => 0.0,
        }
    }
}

/// The host of `plain` with round numbers, so that every step can be computed by hand.
fn round() -> host::Chipset {
    host::Chipset {
        model: host::ChipsetModel::Bridges,
        front_side_bus: ns(100),
        dmi_bandwidth: 1_000_000_000,
        dmi_latency: ns(150),
        memory: host::MemoryConfig {
            bandwidth: 6_400_000_000,
            latency: ns(60),
            refresh_interval: Time::ZERO,
            refresh: Time::ZERO,
        },
        dma: host::DmaConfig { region: 65_536, entries: 4, ..host::DmaConfig::default() },
    }
}

#[test]
fn a_read_on_a_ddr_port() {
    let config = bridged(link::Config::Ddr(link::DdrConfig::default()), round());
    let mut bench = Bench::new(&config, Back::constant(ns(50_000)));
    bench.run(&[(Time::ZERO, 0, Request::new(Op::Read, 0, 65_536))]);
    // Phase A: doorbell 1000, front-side bus 100, a burst with the command, firmware 1000. C: 50 us, which ends on a clock
    // edge. A clock of preamble. Then 1,024 times D and E at 10 each, and B: 60 and one burst of memory.
    let asked = ns(1000 + 100 + 10 + 1000);
    assert_eq!(bench.commands[0].0, asked);
    let end = asked + ns(50_000 + 1024 * 20 + 60 + 10 + 1500) + Time::from_ps(2_500);
    assert_eq!(bench.ends[0].unwrap().at, end);
    let strobe = bench.front.strobe().unwrap();
    assert_eq!((strobe.answers, strobe.repeated, strobe.blocked), (1, 0, 0));
    // The READ follows the command, 1,000 ns before it is decoded.
    assert_eq!(strobe.last.read, asked - ns(1000));
    assert_eq!(strobe.last.data, asked + ns(50_000) + Time::from_ps(2_500));
}

/// Starts a read from flash and, 10 us later, a write, which the drive would accept at once. Returns when the write's
/// command reached the translation layer.
fn write_behind_a_read(ddr: link::DdrConfig) -> (Time, u64) {
    let mut config = bridged(link::Config::Ddr(ddr), round());
    config.device.buffering = Buffering::Streamed;
    let mut bench = Bench::new(&config, Back::constant(ns(200_000)));
    let (read, write) = (Request::new(Op::Read, 0, 4096), Request::new(Op::Write, 1 << 20, 4096));
    bench.run(&[(Time::ZERO, 0, read), (ns(10_000), 0, write)]);
    assert!(bench.ends.iter().all(|end| end.is_some()));
    let (at, ..) = bench.commands.iter().find(|(_, _, request)| request.op == Op::Write).unwrap();
    (*at, bench.front.strobe().unwrap().blocked)
}

#[test]
fn a_waiting_read_blocks_a_write_until_data_comes_or_time_is_out() {
    let ddr = link::DdrConfig::default;
    let decoded = ns(10_000 + 1000 + 100 + 10 + 1000);
    // Released, the write's command passes the waiting READ.
    let (at, blocked) = write_behind_a_read(link::DdrConfig { waiting: Waiting::Released, ..ddr() });
    assert_eq!((at, blocked), (decoded, 0));
    // Held, it waits for the read's data, 200 us after its command.
    let (at, blocked) = write_behind_a_read(ddr());
    assert_eq!(blocked, 1);
    assert!(at > ns(200_000) && at < ns(205_000), "{at}");
    // With a time-out of 50 us, it waits until the READ is given up: the READ followed its command at 1,110 ns.
    // Its data then waits for the next time-out.
    let (at, blocked) = write_behind_a_read(link::DdrConfig { timeout: ns(50_000), ..ddr() });
    assert_eq!((at, blocked), (ns(1_110 + 50_000 + 10 + 1000), 2));
    // Without a strobe nothing is held, and data is sampled every 50 us.
    let (at, blocked) =
        write_behind_a_read(link::DdrConfig { strobe: Strobe::Fixed, fixed_latency: ns(50_000), ..ddr() });
    assert_eq!((at, blocked), (decoded, 0));
}

#[test]
fn without_a_strobe_a_read_waits_for_the_slowest() {
    let fixed = link::DdrConfig { strobe: Strobe::Fixed, fixed_latency: ns(300_000), ..link::DdrConfig::default() };
    for (flash, reads) in [(1_000, 1), (250_000, 1), (350_000, 2)] {
        let mut bench = Bench::new(&bridged(link::Config::Ddr(fixed.clone()), round()), Back::constant(ns(flash)));
        bench.run(&[(Time::ZERO, 0, Request::new(Op::Read, 0, 4096))]);
        let strobe = bench.front.strobe().unwrap();
        assert_eq!(strobe.last.data, ns(1_110 + 300_000 * reads), "flash of {flash} ns");
        assert_eq!(strobe.repeated, reads - 1);
    }
}

#[test]
fn a_write_on_a_ddr_port() {
    let config = bridged(link::Config::Ddr(link::DdrConfig::default()), round());
    let mut bench = Bench::new(&config, Back::constant(ns(50_000)));
    bench.run(&[(Time::ZERO, 0, Request::new(Op::Write, 0, 65_536))]);
    // B, then memory latency once, then E and D alternately; C; a burst for the status.
    let end = ns(2110) + ns(60 + 10 + 60 + 1024 * 20 + 50_000 + 10 + 1500);
    assert_eq!(bench.ends[0].unwrap().at, end);
}

#[test]
fn a_command_below_the_south_bridge() {
    let sata = link::SataConfig { generation: 2, handshake: ns(400), ..Default::default() };
    let config = bridged(link::Config::Sata(sata), round());
    let mut bench = Bench::new(&config, Back::constant(ns(50_000)));
    bench.run(&[(Time::ZERO, 0, Request::new(Op::Read, 0, 512))]);
    // Doorbell, front-side bus and DMI; header of 32 and table of 128 bytes, each requested over DMI and returned.
    let fetch = |bytes: u64| 16 + 150 + 60 + bytes * 10 / 64 + bytes + 150;
    let issued = ns(1000 + 100 + 16 + 150 + fetch(32) + fetch(128));
    let frame =
        |fis: u64| Time::from_ps(((fis + 12) as f64 * 10.0 * 256.0 / 254.0 / 3e9 * 1e12).ceil() as u64) + ns(400);
    assert_eq!(bench.commands[0].0, issued + frame(20) + ns(1000));
    // A plain adapter with the same drive uses another path, without rows of the chipset.
    assert!(Bench::new(&plain(), Back::constant(ns(1))).front.tracks().iter().all(|(part, _)| part != "chipset"));
    let parts: Vec<_> = bench.front.utilization(bench.now()).into_iter().filter(|u| u.part == "chipset").collect();
    assert_eq!(parts.len(), 3);
}
