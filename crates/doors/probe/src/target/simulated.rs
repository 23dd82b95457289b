//! A simulated machine as a probe target: in virtual time, with a drive in a given initial state.

use std::collections::BTreeMap;
use std::path::Path;

use media::{Request, SECTOR, Status};
use nand::PayloadKind;
use sim::{Streams, Time};
use storage::prepare::{Preparation, PrepareError, prepare};
use storage::{Completion, Machine};
use system::System;
use system::parts::Parts;

use crate::target::noise::{Disturbance, Noise};
use crate::target::wire::Wire;
use crate::target::{Clock, Facts, HmbSwitch, Target, TargetError, Timed};

/// Maximum queue depth: what NVMe drives commonly offer to one program.
const DEPTH_MAX: u32 = 256;
/// First request number of the disturbance.
const OTHERS: u32 = 1 << 16;

/// A simulated machine and its clock.
pub struct Simulated {
    facts: Facts,
    machine: Machine,
    now: Time,
    noise: Noise,
    disturbance: Option<Disturbance>,
    /// A failed request of the probe and its status.
    failed: Option<(u32, Status)>,
    /// Bytes of host memory that the drive had at power-on; zero if it never has any.
    hmb_bytes: u64,
    completions: Vec<Completion>,
    /// Completions that the program has not noticed yet: the time of the notice, and the request number.
    pending: Vec<(Time, u32)>,
    /// Index within the batch of each outstanding request, by request number.
    places: Vec<u32>,
    free: Vec<u32>,
}

impl Simulated {
    /// Creates the machine of `system` with a drive in the state `preparation`, loaded from the folder `cache` if it was
    /// prepared before. All random draws derive from `seed`.
    ///
    /// # Errors
    /// If the parts do not fit together, or the drive cannot be prepared.
    pub fn new(
        name: &str,
        system: &System,
        preparation: Preparation,
        seed: u64,
        cache: Option<&Path>,
    ) -> Result<Simulated, PrepareError> {
        let streams = Streams::new(seed);
        let parts = Parts::new(system, PayloadKind::None)?;
        let (store, _) = prepare(system, &parts, preparation, &streams, cache)?;
        let (nand, ftl, _) = parts.mount(store, &streams)?;
        let mut environment = BTreeMap::from([
            ("preparation".to_owned(), preparation.to_string()),
            ("seed".to_owned(), seed.to_string()),
            ("system".to_owned(), system.content_hash()),
            ("title".to_owned(), system.title.clone()),
        ]);
        environment.extend(Wire::of(system).map(|wire| ("link".to_owned(), wire.to_string())));
        let machine = Machine::new(&parts, ftl, nand);
        Ok(Simulated {
            facts: Facts {
                name: name.to_owned(),
                capacity_bytes: parts.user_bytes,
                block_bytes: SECTOR,
                writable: true,
                trims: true,
                depth_max: DEPTH_MAX,
                clock: Clock::Virtual,
                environment,
            },
            hmb_bytes: machine.host_memory_bytes(),
            machine,
            now: Time::ZERO,
            noise: Noise::none(),
            disturbance: None,
            failed: None,
            completions: Vec::new(),
            pending: Vec::new(),
            places: vec![0; DEPTH_MAX as usize],
            free: (0..DEPTH_MAX).rev().collect(),
        })
    }

    /// Adds a host that notices completions late, and another user of the drive.
    #[must_use]
    pub fn disturbed(mut self, noise: Noise, disturbance: Option<Disturbance>) -> Simulated {
        self.noise = noise;
        self.disturbance = disturbance;
        self
    }

    /// Returns the simulated time.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Returns the machine, for tests that compare findings with its actual state.
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    /// Simulates until the program notices a completion of its own, or until `until`.
    fn advance(&mut self, until: Time) {
        loop {
            let due = self.pending.iter().map(|(at, _)| *at).min().unwrap_or(Time::MAX);
            let other = self.disturbance.as_ref().map_or(Time::MAX, Disturbance::next);
            let stop = until.min(due).min(other);
            let stopped = self.machine.advance(stop, &mut self.completions);
            for end in self.completions.drain(..) {
                if end.io >= OTHERS {
                    self.disturbance.as_mut().expect("a request of its own").ended(end.io - OTHERS);
                } else {
                    if !end.status.is_ok() {
                        self.failed = Some((end.io, end.status));
                    }
                    self.pending.push((self.noise.notices(end.at), end.io));
                }
            }
            if stopped {
                continue;
            }
            assert!(stop < Time::MAX, "requests are outstanding, but the machine has no pending event");
            self.now = stop;
            match &mut self.disturbance {
                Some(disturbance) if stop == other => {
                    if let Some((io, request)) = disturbance.issue(self.facts.capacity_bytes) {
                        self.machine.submit(stop, OTHERS + io, 1, request);
                    }
                }
                _ => return,
            }
        }
    }

    fn check(&self, request: &Request) {
        let facts = &self.facts;
        let whole = request.offset.is_multiple_of(facts.block_bytes) && request.bytes.is_multiple_of(facts.block_bytes);
        assert!(whole && request.end() <= facts.capacity_bytes, "{request:?} does not fit {facts:?}");
    }
}

impl Target for Simulated {
    fn facts(&self) -> &Facts {
        &self.facts
    }

    fn run(&mut self, requests: &[Request], depth: u32, timed: &mut Vec<Timed>) -> Result<Time, TargetError> {
        assert!(depth > 0 && depth <= DEPTH_MAX, "found queue depth {depth}, expected 1 to {DEPTH_MAX}");
        timed.clear();
        let start = self.now;
        let mut under_way = 0;
        while timed.len() < requests.len() || under_way > 0 {
            while timed.len() < requests.len() && under_way < depth {
                let request = requests[timed.len()];
                self.check(&request);
                let io = self.free.pop().expect("no more under way than there are numbers");
                self.places[io as usize] = timed.len() as u32;
                self.machine.submit(self.now, io, 0, request);
                timed.push(Timed { submitted: self.now - start, ended: Time::ZERO });
                under_way += 1;
            }
            self.advance(Time::MAX);
            let now = self.now;
            let (places, free) = (&self.places, &mut self.free);
            self.pending.retain(|(at, io)| {
                if *at <= now {
                    timed[places[*io as usize] as usize].ended = now - start;
                    free.push(*io);
                    under_way -= 1;
                }
                *at > now
            });
        }
        if let Some((io, status)) = self.failed {
            let Request { op, offset, bytes, .. } = requests[self.places[io as usize] as usize];
            let (name, cause) = (self.facts.name.clone(), format!("{status:?}"));
            return Err(TargetError::Failed { name, op, offset, bytes, cause });
        }
        Ok(self.now - start)
    }

    fn wait(&mut self, idle: Time) -> Result<(), TargetError> {
        self.advance(self.now + idle);
        Ok(())
    }

    fn hmb(&mut self) -> Option<&mut dyn HmbSwitch> {
        (self.hmb_bytes > 0).then_some(self as &mut dyn HmbSwitch)
    }
}

/// Upper bound for the time in which an administrative command takes effect.
const SWITCH_TIMEOUT: Time = Time::from_s(1);
/// Interval at which the effect of an administrative command is checked.
const POLL_INTERVAL: Time = Time::from_us(100);

impl HmbSwitch for Simulated {
    fn enabled(&mut self) -> Result<bool, TargetError> {
        Ok(self.machine.host_memory_bytes() > 0)
    }

    fn enable(&mut self, on: bool) -> Result<(), TargetError> {
        if self.enabled()? == on {
            return Ok(());
        }
        let accepted = self.machine.switch_host_memory(self.now, on);
        let until = self.now + SWITCH_TIMEOUT;
        while accepted && self.enabled()? != on && self.now < until {
            self.wait(POLL_INTERVAL)?;
        }
        if self.enabled()? == on {
            return Ok(());
        }
        let cause = format!("the drive did not let its host memory be switched {}", if on { "on" } else { "off" });
        Err(TargetError::Hmb { name: self.facts.name.clone(), cause })
    }

    fn size_bytes(&mut self) -> Option<u64> {
        Some(self.hmb_bytes)
    }
}
