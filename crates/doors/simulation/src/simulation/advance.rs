//! Advances the clock from completion to completion.

use sim::Time;

use super::Simulation;
use crate::device::Device;
use crate::error::Error;
use crate::request::Completion;

impl Simulation {
    /// Returns the time of the next event: nothing completes earlier unless it is submitted. `None` if nothing will
    /// happen.
    ///
    /// Most events complete nothing. While completions of the present are still to be returned, this is
    /// [`now`](Self::now).
    pub fn next_event(&mut self) -> Option<Time> {
        if self.has_ready() {
            return Some(self.now);
        }
        let next = self.devices.iter_mut().map(Device::next_event).min().unwrap_or(Time::MAX);
        (next < Time::MAX).then_some(next)
    }

    /// Advances to `until` and appends all completions up to then, in order of time and, at equal times, of device.
    ///
    /// # Errors
    /// If `until` has passed.
    pub fn advance(&mut self, until: Time, completions: &mut Vec<Completion>) -> Result<(), Box<Error>> {
        loop {
            let found = self.next_completions(Some(until), usize::MAX)?;
            if found.is_empty() {
                return Ok(());
            }
            completions.extend_from_slice(found);
        }
    }

    /// Advances to the first completion, or to `until` if that is earlier, and returns the completions that one event
    /// causes. If there are more than `most`, the next call returns the others. Without `until` it advances to the next
    /// completion, and stays in the present if nothing is outstanding.
    ///
    /// A program that submits its next request when one completes continues exactly like the host of a run: its
    /// requests come before the remaining events of that time.
    ///
    /// # Errors
    /// If `until` has passed.
    pub fn next_completions(&mut self, until: Option<Time>, most: usize) -> Result<&[Completion], Box<Error>> {
        if let Some(until) = until {
            self.check_time("until", until)?;
        }
        if !self.has_ready() && (until.is_some() || self.completed < self.next_id) {
            self.step(until.unwrap_or(Time::MAX));
        }
        let left = &self.ready[self.returned..];
        let taken = &left[..left.len().min(most)];
        self.returned += taken.len();
        Ok(taken)
    }

    /// Returns whether completions of the present are still to be returned.
    #[inline]
    fn has_ready(&self) -> bool {
        self.returned < self.ready.len()
    }

    /// Advances to the first completions, at most to `until`.
    #[inline]
    fn step(&mut self, until: Time) {
        self.ready.clear();
        self.returned = 0;
        let completed = self.advance_devices(until);
        match completed {
            Some(at) => self.now = at,
            None if until < Time::MAX => self.now = until,
            None => panic!("requests are outstanding but no event is pending"),
        }
        self.completed += self.ready.len() as u64;
        self.history.stepped(completed.is_some(), self.now);
    }

    /// Advances the devices to the first completions, at most to `until`. Returns the time of the completions, if any.
    #[inline]
    fn advance_devices(&mut self, until: Time) -> Option<Time> {
        loop {
            let Some((index, limit)) = self.next_device(until) else {
                self.devices.iter_mut().for_each(|device| device.wait(until));
                return None;
            };
            let completed = self.devices[index].advance(limit, &mut self.ready);
            if completed.is_some() || self.devices.len() == 1 {
                return completed;
            }
        }
    }

    /// Returns the device that advances next, and how far: the one with the first event, to the first event of another
    /// or to `until`. At equal times devices come in order of their indices. `None` if none of several has an event until
    /// then.
    #[inline]
    fn next_device(&mut self, until: Time) -> Option<(usize, Time)> {
        if self.devices.len() == 1 {
            return Some((0, until));
        }
        let (mut next, mut first, mut limit) = (0, Time::MAX, until);
        for (index, device) in self.devices.iter_mut().enumerate() {
            let at = device.next_event();
            if at < first {
                // Events of a device with a lower index come first.
                if first < Time::MAX {
                    limit = until.min(Time::from_ps(first.ps() - 1));
                }
                (next, first) = (index, at);
            } else {
                limit = limit.min(at);
            }
        }
        (first <= until && first < Time::MAX).then_some((next, limit))
    }
}
