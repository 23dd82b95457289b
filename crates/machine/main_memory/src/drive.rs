//! Files and swap space on a drive: the kernel that manages memory over them, and the simulated drive.

use std::path::Path;

use host::cpu::{Effects, Kernel, PAGE};
use host::linux::{Area, AreaKind, Linux};
use media::{Op, Request, Status, Step};
use nand::PayloadKind;
use serde_json::{Map, Value, json};
use sim::{Energy, Histogram, Streams, Time};
use workload::program::{Backing, InitialState, Programs};

use super::run::{MemoryError, World};
use storage::prepare::{Preparation, prepare};
use storage::{Completion, Machine};
use system::System;
use system::parts::Parts;

/// The programs' regions as the kernel manages them.
pub(super) fn areas(programs: &Programs) -> Vec<Area> {
    let kind = |backing| match backing {
        Backing::Anonymous => AreaKind::Anonymous,
        Backing::Mapped => AreaKind::Mapped,
        Backing::File => AreaKind::File,
    };
    let area = |region: &workload::program::Region| Area {
        first: region.base / PAGE,
        pages: region.bytes.div_ceil(PAGE),
        kind: kind(region.backing),
    };
    programs.regions().iter().map(area).collect()
}

/// A kernel and its drive.
pub struct Drive {
    linux: Linux,
    drive: Machine,
    ended: Vec<Completion>,
    /// The drive's counters when measuring began.
    begun: (ftl::Stats, Energy),
}

impl Drive {
    /// Creates a kernel for `programs`, with empty memory, over a filled drive.
    ///
    /// # Errors
    /// If the drive's configuration is invalid, or the drive is too small.
    pub fn new(
        system: &System,
        programs: &Programs,
        streams: &Streams,
        cache: Option<&Path>,
    ) -> Result<Drive, MemoryError> {
        let frames = (system.usable_memory() / PAGE) as u32;
        let mut linux = Linux::new(system.kernel, frames, areas(programs), programs.threads(), streams);
        for region in programs.regions() {
            let (first, pages) = (region.base / PAGE, region.bytes.div_ceil(PAGE));
            match region.initial {
                InitialState::Existing => {}
                InitialState::Written => linux.was_written(first, pages),
                InitialState::Allocated => linux.is_allocated(first, pages),
            }
        }
        let parts = Parts::new(system, PayloadKind::None)?;
        let wanted = linux.drive_pages() * PAGE;
        if wanted > parts.user_bytes {
            let (wanted, found) = (wanted.next_multiple_of(1 << 20), parts.user_bytes & !((1 << 20) - 1));
            let show = sim::units::show_size;
            return Err(MemoryError::Drive { found: show(found), wanted: show(wanted) });
        }
        let (store, _) = prepare(system, &parts, Preparation::Filled, streams, cache)?;
        let (nand, ftl, _) = parts.mount(store, streams)?;
        Ok(Drive { linux, drive: Machine::new(&parts, ftl, nand), ended: Vec::new(), begun: Default::default() })
    }

    fn energy_until(&self, end: Time) -> Energy {
        self.drive.nand().energy(end.max(self.drive.now())).total()
    }

    fn hand_over(&mut self, now: Time) {
        for command in self.linux.commands.drain(..) {
            let request = match command.op {
                Op::Flush => Request::flush(),
                op => Request::new(op, command.page * PAGE, u64::from(command.pages) * PAGE),
            };
            self.drive.submit(now, command.id, 0, request);
        }
    }
}

impl Kernel for Drive {
    fn translate(&mut self, thread: u16, page: u64, store: bool) -> Option<u64> {
        self.linux.translate(thread, page, store)
    }
    fn fault(&mut self, now: Time, thread: u16, page: u64, store: bool) -> Option<Time> {
        self.linux.fault(now, thread, page, store)
    }
    fn call(&mut self, now: Time, thread: u16, step: &Step) -> Option<Time> {
        self.linux.call(now, thread, step)
    }
}

impl World for Drive {
    fn next_event(&self) -> Option<Time> {
        let (linux, drive) = (self.linux.next_event(), self.drive.next_event());
        linux.into_iter().chain(drive).min()
    }

    fn advance(&mut self, now: Time) {
        while self.drive.next_event().is_some_and(|at| at <= now) {
            self.drive.advance(now, &mut self.ended);
            for end in self.ended.drain(..) {
                assert_eq!(end.status, Status::Ok, "a drive without faults failed a command");
                self.linux.done(end.at, end.io);
            }
        }
        self.linux.advance(now);
        self.hand_over(now);
    }

    fn effects(&mut self) -> &mut Effects {
        &mut self.linux.effects
    }

    fn accessed(&mut self, thread: u16, _: Time) {
        unreachable!("the times of steps include accesses to the kernel's memory, as of thread {thread}")
    }

    fn called(&mut self, thread: u16, _: Time) {
        unreachable!("the kernel serves the calls of thread {thread}")
    }

    fn begin(&mut self, now: Time) {
        self.linux.reset_stats();
        self.begun = (self.drive.ftl().stats(), self.energy_until(now));
    }

    fn energy(&self, end: Time) -> Option<(Energy, Energy)> {
        let whole_run = self.energy_until(end);
        Some((whole_run - self.begun.1, whole_run))
    }

    fn report(&mut self, end: Time) -> (Map<String, Value>, Map<String, Value>) {
        let stats = self.linux.stats();
        let spread = |h: &Histogram| json!({ "mean": h.mean_ns(), "stddev": h.stddev_ns(), "N": h.count() });
        let whole_run = (self.drive.ftl().stats(), self.energy_until(end));
        let window = (whole_run.0.since(&self.begun.0), whole_run.1 - self.begun.1);
        let software = stats.access.mean_ns() - stats.hardware.mean_ns();
        let linux = json!({
            "major_faults": stats.major_faults,
            "minor_faults": stats.minor_faults,
            "calls": stats.calls,
            "pages_read": stats.pages_read,
            "pages_swapped_in": stats.pages_swapped_in,
            "pages_written": stats.pages_written,
            "pages_swapped_out": stats.pages_swapped_out,
            "commands": stats.commands,
            "sync_ns": spread(&stats.sync),
            "access_ns": spread(&stats.access),
            "hardware_ns": spread(&stats.hardware),
            "software_ns": if stats.major_faults > 0 { software } else { 0.0 },
        });
        let drive = |(ftl, energy): (ftl::Stats, Energy)| {
            json!({
                "host_units": ftl.host_units,
                "host_reads": ftl.host_reads,
                "write_amplification": ftl.write_amplification(),
                "energy_j": energy.joules(),
            })
        };
        let mut all = Map::new();
        all.insert("linux".to_owned(), linux);
        all.insert("drive".to_owned(), drive(window));
        let whole_run = Map::from_iter([("drive".to_owned(), drive(whole_run))]);
        (all, whole_run)
    }
}
