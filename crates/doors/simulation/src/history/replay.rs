//! Replays a history.

use super::Position;
use super::record::Record;
use crate::request::Request;
use crate::simulation::Simulation;

/// Number of entries between two calls of `watch`.
const WATCH_EVERY: usize = 1 << 12;

/// Repeats a history on a new simulation, and then advances to `last`, where `returned` completions of the present have
/// been returned. Returns false if `watch` ended it, and fails if it is not one of these devices.
pub(super) fn replay(
    simulation: &mut Simulation,
    history: &[u8],
    (last, returned): (Position, usize),
    watch: &mut dyn FnMut() -> bool,
) -> Result<bool, String> {
    let damaged = || "the history is damaged".to_owned();
    let (records, rest) = history.as_chunks();
    if !rest.is_empty() {
        return Err(damaged());
    }
    for (index, record) in records.iter().enumerate() {
        match Record::read(record).ok_or_else(damaged)? {
            Record::Submitted { at, address, bytes, handle, device, thread, op, fua, stops } => {
                go_to(simulation, Position { stops: stops.into(), until: None }).ok_or_else(damaged)?;
                let request = Request { device, op, fua, thread, address, bytes, handle };
                simulation.submit(at, request).map_err(|cause| format!("the history is damaged: {cause}"))?;
            }
            Record::Advanced(position) => go_to(simulation, position).ok_or_else(damaged)?,
        }
        if index % WATCH_EVERY == WATCH_EVERY - 1 && !watch() {
            return Ok(false);
        }
    }
    go_to(simulation, last).ok_or_else(damaged)?;
    if returned > simulation.ready.len() {
        return Err(damaged());
    }
    simulation.returned = returned;
    Ok(true)
}

/// Advances to a position after the last submission. Returns `None` if the simulation cannot reach it.
fn go_to(simulation: &mut Simulation, position: Position) -> Option<()> {
    for _ in 0..position.stops {
        simulation.next_completions(None, usize::MAX).ok()?.first()?;
    }
    let Some(until) = position.until else { return Some(()) };
    simulation.next_completions(Some(until), usize::MAX).ok()?.is_empty().then_some(())
}
