//! Replays a history.

use super::code::{Decoder, Entry};
use super::{History, Position};
use crate::simulation::Simulation;

impl History {
    /// Returns the encoded history, with the position since the last submission; `None` if it exceeded its limit.
    pub(super) fn encoded(&self) -> Option<(&[u8], Position)> {
        self.kept.as_ref().map(|kept| (kept.as_slice(), self.position))
    }
}

/// Number of entries between two calls of `watch`.
const WATCH_EVERY: u64 = 1 << 12;

/// Repeats a history on a new simulation. Returns false if `watch` ended it, and fails if it is not one of these devices.
pub(super) fn replay(
    simulation: &mut Simulation,
    history: &[u8],
    last: Position,
    watch: &mut dyn FnMut() -> bool,
) -> Result<bool, String> {
    let mut decoder = Decoder::new(history);
    let mut entries = 0_u64;
    let damaged = || "the history is damaged".to_owned();
    while let Some(entry) = decoder.next().map_err(|()| damaged())? {
        match entry {
            Entry::Submitted(at, request) => {
                simulation
                    .submit(at.unwrap_or(simulation.now()), request)
                    .map_err(|cause| format!("the history is damaged: {cause}"))?;
            }
            Entry::Advanced(position) => go_to(simulation, position).ok_or_else(damaged)?,
        }
        entries += 1;
        if entries.is_multiple_of(WATCH_EVERY) && !watch() {
            return Ok(false);
        }
    }
    go_to(simulation, last).ok_or_else(damaged)?;
    Ok(true)
}

/// Advances to a position after the last submission. Returns `None` if the simulation cannot reach it.
fn go_to(simulation: &mut Simulation, position: Position) -> Option<()> {
    let mut returned = 0;
    for _ in 0..position.stops {
        while returned < position.returned && simulation.take_ready().is_some() {
            returned += 1;
        }
        if simulation.is_idle() || !simulation.step(sim::Time::MAX) {
            return None;
        }
    }
    while returned < position.returned {
        simulation.take_ready()?;
        returned += 1;
    }
    if let Some(until) = position.until
        && (until < simulation.now() || until > crate::LATEST || simulation.step(until))
    {
        return None;
    }
    Some(())
}
