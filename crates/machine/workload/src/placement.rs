//! Placement identifiers of a job's writes.

use sim::Rng;

use crate::fio::{Job, JobFileError};

/// Chooses the placement identifier of each write.
#[derive(Clone, Debug)]
pub(crate) struct Placement {
    /// The identifiers to choose from; empty for a job without placement.
    identifiers: Vec<u16>,
    /// Index of the next identifier, if they are used one after another.
    next: usize,
    /// Source of a random order.
    rng: Option<Rng>,
}

impl Placement {
    /// Creates the choice of `job` on a drive with `handles` reclaim unit handles (0: without placement).
    pub fn new(file: &str, job: &Job, handles: u32, rng: Rng) -> Result<Placement, JobFileError> {
        let keys = &job.placement;
        if keys.on && handles == 0 {
            let key = if job.setting("fdp").is_some() { "fdp" } else { "dataplacement" };
            let why = "found on a drive without placement, expected ftl.placement.isolation initial or persistent";
            return Err(job.error(file, key, why));
        }
        if let Some(index) = keys.indices.iter().find(|index| u32::from(**index) >= handles) {
            let why = format!("found index {index}, expected less than the drive's {handles} reclaim unit handles");
            return Err(job.error(file, "plids", &why));
        }
        let identifiers = match (keys.on, keys.indices.is_empty()) {
            (false, _) => Vec::new(),
            (true, true) => (0..handles as u16).collect(),
            (true, false) => keys.indices.clone(),
        };
        Ok(Placement { identifiers, next: 0, rng: keys.random.then_some(rng) })
    }

    /// Returns true if writes carry identifiers.
    pub fn is_on(&self) -> bool {
        !self.identifiers.is_empty()
    }

    /// Returns the identifier of the next write; 0 without placement.
    pub fn draw(&mut self) -> u16 {
        if self.identifiers.len() < 2 {
            return self.identifiers.first().copied().unwrap_or(0);
        }
        if let Some(rng) = &mut self.rng {
            return self.identifiers[rng.below(self.identifiers.len() as u64) as usize];
        }
        let at = self.next;
        self.next = (at + 1) % self.identifiers.len();
        self.identifiers[at]
    }
}
