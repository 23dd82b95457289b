//! Submits requests: checks them, adds them to the history and passes them to their devices.

use sim::Time;

use super::{DEVICES_MAX, Simulation};
use crate::error::Error;
use crate::request::Request;

impl Simulation {
    /// Submits a request at `at`, now or later, and returns its number. Numbers count submissions from 0.
    ///
    /// Requests of one time are submitted in the order of these calls.
    ///
    /// # Errors
    /// If the request is invalid, `at` has passed, or too many requests are outstanding.
    pub fn submit(&mut self, at: Time, request: Request) -> Result<u64, Box<Error>> {
        self.check_time("at", at)?;
        let number = usize::from(request.device);
        let Some(device) = self.devices.get_mut(number) else { return Err(self.no_device(number)) };
        let Some(units) = device.units(&request) else { return Err(device.refusal(&request)) };
        if units > device.room() {
            return Err(device.full(units.into()));
        }
        let id = self.next_id;
        self.next_id += 1;
        self.history.submitted(at, &request);
        device.submit(at, id, &request, units);
        Ok(id)
    }

    /// Submits several requests, each with its time, and returns the number of the first; the others follow. All are
    /// submitted, or none.
    ///
    /// # Errors
    /// If a request is invalid or its time has passed ([`Error::InBatch`] names the first), or too many requests are
    /// outstanding.
    pub fn submit_all<I>(&mut self, requests: I) -> Result<u64, Box<Error>>
    where
        I: IntoIterator<Item = (Time, Request)> + Clone,
    {
        let first = self.next_id;
        self.check_all(requests.clone().into_iter())?;
        for (at, request) in requests {
            self.submit(at, request).expect("the request was checked");
        }
        Ok(first)
    }

    /// Checks whether all of several requests would be accepted.
    fn check_all(&self, requests: impl Iterator<Item = (Time, Request)>) -> Result<(), Box<Error>> {
        let mut more = [0_u64; DEVICES_MAX];
        for (index, (at, request)) in requests.enumerate() {
            match self.check(at, &request) {
                Ok(units) => more[usize::from(request.device)] += u64::from(units),
                Err(cause) => return Err(Error::InBatch { index, cause }.into()),
            }
        }
        match self.devices.iter().zip(more).find(|(device, more)| *more > device.room().into()) {
            Some((device, more)) => Err(device.full(more)),
            None => Ok(()),
        }
    }

    /// Checks all of a request but the room for it. Returns what it counts towards the limit of outstanding requests.
    #[inline]
    fn check(&self, at: Time, request: &Request) -> Result<u32, Box<Error>> {
        self.check_time("at", at)?;
        let device = self.device(request.device.into())?;
        device.units(request).ok_or_else(|| device.refusal(request))
    }
}
