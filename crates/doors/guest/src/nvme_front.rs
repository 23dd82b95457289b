//! The NVMe controller as a front end.

use host_interface::Event;
use sim::{Schedule, Time};
use storage::PlacementBytes;

use crate::controller::Controller;
use crate::error::DriveError;
use crate::front::{Front, Need};
use crate::lent::LentStatistics;
use crate::statistics::Statistics;

impl Front for Controller {
    fn read_registers(&mut self, offset: u64, to: &mut [u8]) {
        Controller::read_registers(self, offset, to);
    }

    fn write_registers(&mut self, now: Time, offset: u64, from: &[u8], s: &mut dyn Schedule<Event>) {
        Controller::write_registers(self, now, offset, from, s);
    }

    fn take_needs(&mut self) -> Vec<Need> {
        Controller::take_needs(self)
    }

    fn take_interrupts(&mut self) -> Vec<u16> {
        Controller::take_interrupts(self)
    }

    fn reset(&mut self, now: Time, recovery: Time, s: &mut dyn Schedule<Event>) {
        Controller::reset(self, now, recovery, s);
    }

    fn statistics(&self) -> &Statistics {
        Controller::statistics(self)
    }

    fn disable_host_memory(&mut self) {
        Controller::disable_host_memory(self);
    }

    fn clear(&mut self) {
        Controller::clear(self);
    }

    fn state(&self, bytes: PlacementBytes) -> String {
        Controller::state(self, bytes)
    }

    fn mounted(&mut self, bytes: PlacementBytes) {
        self.count_before_mount(bytes);
    }

    fn restore_state(&mut self, text: &str) -> Result<(), DriveError> {
        Controller::restore_state(self, text)
    }

    fn lent_statistics(&self) -> Option<LentStatistics> {
        Controller::lent_statistics(self)
    }
}
