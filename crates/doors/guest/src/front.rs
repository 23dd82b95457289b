//! The two front ends that a drive can have: an NVMe controller, or a shared buffer on the memory bus.

use host_interface::external::External;
use host_interface::{Event, Output};
use media::Status;
use sim::{Schedule, Time};
use storage::PlacementBytes;

use crate::error::DriveError;
use crate::lent::LentStatistics;
use crate::statistics::Statistics;

/// Something that the controller needs from the machine around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// A controller-level reset: [`crate::controller::Controller::reset`] after commands in progress were dropped.
    Reset,
    /// The state of translation layer and flash, for the command with this tag: [`crate::controller::Controller::health`].
    Health(u16),
    /// The states of the zones, for the command with this tag: [`crate::controller::Controller::zones`].
    Zones(u16),
    /// The state of placement, for the command with this tag:
    /// [`crate::controller::Controller::placement_state`].
    Placement(u16),
    /// The replacement of the reclaim units of `handles`, a bit each:
    /// [`crate::controller::Controller::handles_updated`] for the command with this tag.
    UpdateHandles {
        /// The command.
        tag: u16,
        /// The handles.
        handles: u16,
    },
    /// The host did not return the Host Memory Buffer: recover its contents, then
    /// [`crate::controller::Controller::host_memory_lost`] for the command with this tag.
    LoseHostMemory(u16),
    /// The host lends this many bytes.
    LendHostMemory(u64),
    /// [`crate::controller::Controller::release_held`].
    ReleaseHeld,
    /// State that outlives a power cut has changed.
    SaveState,
    /// An interrupt has been raised.
    Interrupt,
}

/// Stops the machine's event loop, so that its owner sees what the controller needs.
pub(crate) const STOP: Output = Output::Completed { io: 0, status: Status::Ok, submitted: Time::ZERO };

/// State of a front end without any that outlives a power cut.
const NO_STATE: &str = "{}";

/// A front end at its registers. Methods that only one kind needs do nothing by default.
pub(crate) trait Front: External {
    /// Reads registers.
    fn read_registers(&mut self, offset: u64, to: &mut [u8]);

    /// Writes registers at `now`.
    fn write_registers(&mut self, now: Time, offset: u64, from: &[u8], s: &mut dyn Schedule<Event>);

    /// Returns what it needs of the machine around it, in order.
    fn take_needs(&mut self) -> Vec<Need>;

    /// Returns the vectors raised since the last call.
    fn take_interrupts(&mut self) -> Vec<u16>;

    /// Performs a reset at `now`, after its commands and events were dropped. It becomes ready `recovery` later.
    fn reset(&mut self, now: Time, recovery: Time, s: &mut dyn Schedule<Event>);

    /// Returns counts and latencies of all commands.
    fn statistics(&self) -> &Statistics;

    /// Disables the Host Memory Buffer, ahead of a reset.
    fn disable_host_memory(&mut self) {}

    /// Clears registers that survive [`reset`](Self::reset).
    fn clear(&mut self) {}

    /// Returns the state that outlives a power cut; `bytes` are those since the translation layer was mounted.
    fn state(&self, _bytes: PlacementBytes) -> String {
        NO_STATE.to_owned()
    }

    /// Continues after a power cut, before which `bytes` were written and erased since the mount.
    fn mounted(&mut self, _bytes: PlacementBytes) {}

    /// Continues from a [`state`](Self::state).
    fn restore_state(&mut self, text: &str) -> Result<(), DriveError> {
        if text == NO_STATE { Ok(()) } else { Err(DriveError::State(text.chars().take(80).collect())) }
    }

    /// Returns the counts of map entries in the Host Memory Buffer, if one is used.
    fn lent_statistics(&self) -> Option<LentStatistics> {
        None
    }
}
