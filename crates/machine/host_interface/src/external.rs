//! A host outside the simulation: a controller that is driven through its registers and has its queues in memory that
//! the simulation does not own.
//!
//! The simulated paths of this crate know their driver; here only the controller is simulated. It is the same
//! [`device::Nvme`], reached by other means.

use std::any::Any;
use std::fmt::Debug;

use media::{Status, Tag};
use sim::{Lane, Schedule, Time};

use crate::event::{Event, Output, STEP, STEPS};

/// An access to host memory.
#[derive(Clone, Copy, Debug)]
pub struct Access<'a> {
    /// The translation layer's name for it.
    pub id: u32,
    /// Bytes that cross the link.
    pub bytes: u32,
    /// True for a write to host memory, false for a read.
    pub store: bool,
    /// The part of the map that it moves, if any.
    pub lines: Option<Lines<'a>>,
}

/// Lines of map entries in host memory.
#[derive(Clone, Copy, Debug)]
pub struct Lines<'a> {
    /// Number of their frame.
    pub frame: u32,
    /// The first line's number in the frame.
    pub first: u32,
    /// The entries: those to be written, or those that should be found.
    pub entries: &'a [u8],
}

/// A controller front end whose host is outside the simulation. Each method corresponds to the method of
/// [`HostInterface`](crate::HostInterface) with the same name.
pub trait External: Any + Debug + Send {
    /// Handles an event at its time.
    fn handle(&mut self, now: Time, event: Event, s: &mut dyn Schedule<Event>, out: &mut Vec<Output>);

    /// Accepts a write's data: the translation layer has space for it.
    fn ready(&mut self, now: Time, tag: Tag, s: &mut dyn Schedule<Event>);

    /// Accepts `bytes` more of a read's data from the translation layer.
    fn data(&mut self, now: Time, tag: Tag, bytes: u32, s: &mut dyn Schedule<Event>);

    /// Ends a command on behalf of the translation layer.
    fn complete(&mut self, now: Time, tag: Tag, status: Status, s: &mut dyn Schedule<Event>);

    /// Reads or writes host memory for the controller's own purposes.
    fn host_memory(&mut self, now: Time, access: Access<'_>, s: &mut dyn Schedule<Event>);

    /// Reports that frame `frame` of the map cache no longer needs its place in host memory.
    fn host_memory_free(&mut self, frame: u32);

    /// Reports that collection has moved `units` mapping units out of a block of a reclaim unit handle.
    fn reallocated(&mut self, _now: Time, _handle: u8, _units: u32) {}

    /// Reports that a reclaim unit handle left a block on which a program failed.
    fn handle_modified(&mut self, _now: Time, _handle: u8) {}

    /// Reports that the translation layer no longer needs the Host Memory Buffer.
    fn host_memory_released(&mut self, now: Time, s: &mut dyn Schedule<Event>);

    /// Reports where a zone append takes effect, ahead of its data; only if it is accepted does that mean anything.
    fn placed(&mut self, _: Tag, _offset: u64) {}

    /// Copies the payload of a successful read, in front of its completion, to the host.
    fn put(&mut self, tag: Tag, data: &[u8]);

    /// Fills `data` with the payload of a write that has arrived.
    fn take(&mut self, tag: Tag, data: &mut [u8]);

    /// Returns the rows of the timeline: part and name.
    fn tracks(&self) -> Vec<(String, String)>;

    /// Returns the busy time of every serial resource until `now`: part, name and time.
    fn busy(&self, now: Time) -> Vec<(&'static str, String, Time)>;

    /// Returns the names of the command queues: part and name.
    fn queues(&self) -> Vec<(String, String)>;

    /// Appends the current length of each queue.
    fn queue_lengths(&self, lengths: &mut Vec<u32>);

    /// Returns the link's utilization to the device and to the host.
    fn link(&self, now: Time) -> [link::Utilization; 2];

    /// Returns the number of interrupts sent.
    fn interrupts(&self) -> u64;

    /// Cuts the power of the controller.
    fn power_cut(&mut self, now: Time);
}

impl dyn External {
    /// Requests reach the controller through its registers, never through the simulation.
    pub(crate) fn submit(&mut self, _: Time, io: u32, _: u16, _: media::Request, _: &mut dyn Schedule<Event>) {
        panic!("request {io} of the simulation, on a controller with an external host")
    }

    /// The host's driver is not simulated, so no request is known to wait in it.
    pub(crate) fn waited(&self) -> u64 {
        0
    }
}

/// Returns the lane of [`Event::Step`] number `step`.
///
/// # Panics
/// Panics if there are fewer lanes.
pub fn step_lane(step: u8) -> Lane {
    assert!(step < STEPS, "step {step} of {STEPS}");
    Lane(STEP.0 + step)
}

/// Returns the lane of [`Event::Doorbell`].
pub const fn doorbell_lane() -> Lane {
    crate::event::DOORBELL
}

/// Returns the lane of [`Event::HostMemory`].
pub const fn host_memory_lane() -> Lane {
    crate::event::MEMORY
}
