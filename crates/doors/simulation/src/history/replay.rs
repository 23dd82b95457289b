//! Replays a history.

use super::Position;
use super::record::{Event, ONE, Record};
use crate::simulation::Simulation;

/// Number of entries between two calls of `watch`.
const WATCH_EVERY: usize = 1 << 12;

/// Repeats a history on a new simulation. Returns false if `watch` ended it, and fails if it is not one of these devices.
pub(super) fn replay(
    simulation: &mut Simulation,
    history: &[u8],
    last: Position,
    watch: &mut dyn FnMut() -> bool,
) -> Result<bool, String> {
    let damaged = || "the history is damaged".to_owned();
    let (records, rest) = history.as_chunks();
    if !rest.is_empty() {
        return Err(damaged());
    }
    for (index, record) in records.iter().enumerate() {
        match Record::read(record).event().ok_or_else(damaged)? {
            Event::Submitted { after_one, at, request } => {
                if after_one {
                    go_to(simulation, ONE).ok_or_else(damaged)?;
                }
                simulation.submit(at, request).map_err(|cause| format!("the history is damaged: {cause}"))?;
            }
            Event::Advanced(position) => go_to(simulation, position).ok_or_else(damaged)?,
        }
        if index % WATCH_EVERY == WATCH_EVERY - 1 && !watch() {
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
