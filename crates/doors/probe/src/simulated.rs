//! A simulated machine as a target: in virtual time, with a drive in the state that it is to be probed in.

use std::collections::BTreeMap;
use std::path::Path;

use media::{Request, SECTOR, Status};
use nand::PayloadKind;
use sim::{Streams, Time};
use storage::prepare::{Preparation, PrepareError, prepare};
use storage::{Completion, Machine};
use system::System;
use system::parts::Parts;

use crate::noise::{Disturbance, Noise};
use crate::target::{Clock, Facts, HmbSwitch, Target, TargetError, Timed};
use crate::wire::Wire;

/// Requests that may be under way at once: as many as NVMe drives commonly queue for one program.
const DEPTH_MAX: u32 = 256;
/// Request numbers from here on are those of the disturbance.
const OTHERS: u32 = 1 << 16;

/// A machine and its clock.
pub struct Simulated {
    facts: Facts,
    machine: Machine,
    now: Time,
    noise: Noise,
    disturbance: Option<Disturbance>,
    /// A request of the probe's failed.
    failed: Option<(u32, Status)>,
    /// Bytes of the host's memory that the drive had when it was switched on; zero if it never has any.
    hmb_bytes: u64,
    completions: Vec<Completion>,
    /// Ends that the machine has told, and that the program learns of later: when, and the number of the request.
    told: Vec<(Time, u32)>,
    /// The requests under way, by their number: their place in the batch.
    places: Vec<u32>,
    free: Vec<u32>,
}

impl Simulated {
    /// The machine of `system` over a drive prepared so, from the folder `cache` if it was prepared before; every
    /// random draw is from `seed`.
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
        environment.extend(Wire::of(&system.link).map(|wire| ("link".to_owned(), wire.to_string())));
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
            told: Vec::new(),
            places: vec![0; DEPTH_MAX as usize],
            free: (0..DEPTH_MAX).rev().collect(),
        })
    }

    /// The same, in a host that notices ends late, and not alone on its drive.
    #[must_use]
    pub fn disturbed(mut self, noise: Noise, disturbance: Option<Disturbance>) -> Simulated {
        self.noise = noise;
        self.disturbance = disturbance;
        self
    }

    /// The simulated time.
    pub fn now(&self) -> Time {
        self.now
    }

    /// The machine, for a judge who may look inside.
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    /// Goes on until the program learns of an end of its own, or to `until`.
    fn advance(&mut self, until: Time) {
        loop {
            let due = self.told.iter().map(|(at, _)| *at).min().unwrap_or(Time::MAX);
            let other = self.disturbance.as_ref().map_or(Time::MAX, Disturbance::next);
            let stop = until.min(due).min(other);
            let stopped = self.machine.advance(stop, &mut self.completions);
            for end in self.completions.drain(..) {
                if end.io >= OTHERS {
                    self.disturbance.as_mut().expect("a request of its own").ended(end.io - OTHERS);
                } else {
                    if end.status != Status::Ok {
                        self.failed = Some((end.io, end.status));
                    }
                    self.told.push((self.noise.notices(end.at), end.io));
                }
            }
            if stopped {
                continue;
            }
            assert!(stop < Time::MAX, "requests wait for an end, and nothing is under way");
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
        assert!(depth > 0 && depth <= DEPTH_MAX, "{depth} requests under way, expected 1 to {DEPTH_MAX}");
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
            self.told.retain(|(at, io)| {
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

/// A command of the host's administrator takes effect within this, or never.
const SWITCHED_WITHIN: Time = Time::from_s(1);
/// How often it is looked at whether it has.
const LOOK_EVERY: Time = Time::from_us(100);

impl HmbSwitch for Simulated {
    fn enabled(&mut self) -> Result<bool, TargetError> {
        Ok(self.machine.host_memory_bytes() > 0)
    }

    fn enable(&mut self, on: bool) -> Result<(), TargetError> {
        if self.enabled()? == on {
            return Ok(());
        }
        let asked = self.machine.switch_host_memory(self.now, on);
        let until = self.now + SWITCHED_WITHIN;
        while asked && self.enabled()? != on && self.now < until {
            self.wait(LOOK_EVERY)?;
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
