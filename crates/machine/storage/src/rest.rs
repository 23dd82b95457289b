//! Whether a trace leaves a drive the time to rest, so that the steady state it would have left is that of a rested drive.

use sim::Time;
use workload::{Replay, Workload};

use system::System;

/// What a reader of the results should know.
pub(crate) const NOTE: &str =
    "the trace leaves time to fold and to collect: the steady drive is one that has rested (precondition: rested)";

/// True if `workload` replays a trace by its times, and its pauses suffice to copy all that it writes: once to fold it, and
/// as often again as collection does.
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
    // Copies for each unit written under uniform random writes, roughly: once more where half of the flash is spare.
    let copies = 1.0 + 0.5 / spare.max(0.01);
    paused * copy_bandwidth(system) >= copies * pauses.written as f64
}

/// Bytes a second that the dies program with all their bits a cell.
fn copy_bandwidth(system: &System) -> f64 {
    let flash = &system.flash;
    let program = flash.program.iter().map(|time| time.secs_f64()).sum::<f64>() / flash.program.len() as f64;
    let planes = if system.ftl.multi_plane { u64::from(flash.planes) } else { 1 };
    (u64::from(system.geometry().all_dies()) * planes * flash.page) as f64 / program
}
