//! Decides whether a trace gives a drive time to rest, in which case its steady state is that of a rested drive.

use sim::Time;
use workload::{Replay, Workload};

use system::System;

/// Note for the reader of the results.
pub(crate) const NOTE: &str =
    "the trace leaves time to fold and to collect: the steady drive is one that has rested (precondition: rested)";

/// Returns true if `workload` replays a trace by its timestamps and its pauses are long enough to copy all the data it
/// writes: once to fold it, and as many times as collection copies it.
pub(crate) fn rests(system: &System, workload: &Workload, replay: Replay) -> bool {
    let factor = match replay {
        Replay::OpenLoop => 1.0,
        Replay::Scaled(factor) => factor,
        Replay::ClosedLoop { .. } => return false,
    };
    let Some(pauses) = workload.pauses() else { return false };
    let idle = system.ftl.gc.idle.secs_f64();
    let paused = pauses.beyond(Time::from_secs_f64(idle / factor)).secs_f64() * factor;
    let spare = (system.raw_bytes - system.user_bytes) as f64 / system.user_bytes as f64;
    // Rough number of copies of each unit under uniform random writes: one for folding, and one more where half of the
    // flash is spare.
    let copies = 1.0 + 0.5 / spare.max(0.01);
    paused * copy_bandwidth(system) >= copies * pauses.written as f64
}

/// Returns the bytes per second that the dies program at their full number of bits per cell.
fn copy_bandwidth(system: &System) -> f64 {
    let flash = &system.flash;
    let types = flash.cell.bits() as usize;
    let program = flash.timing.program[..types].iter().map(|time| time.secs_f64()).sum::<f64>() / types as f64;
    let planes = if system.ftl.multi_plane { u64::from(flash.planes) } else { 1 };
    (u64::from(system.geometry().all_dies()) * planes * flash.page) as f64 / program
}
