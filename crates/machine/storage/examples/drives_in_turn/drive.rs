//! A drive of the target.

use media::Request;
use sim::Time;
use storage::Machine;
use storage::counters::Counters;
use system::{System, SystemError};

/// Loads a system at 1/`part` of its size, with the same over-provisioning. The blocks have few pages, so that there are
/// many superblocks, and erases are shorter by the same factor. Everything else keeps its size, such as the write cache.
///
/// # Errors
/// If the system cannot be loaded or does not shrink.
pub fn shrunk(name: &str, sets: &[(&str, &str)], part: u64) -> Result<System, Box<SystemError>> {
    let whole = System::load(name, sets)?;
    if part == 1 {
        return Ok(whole);
    }
    let flash = &whole.flash;
    let (pages, blocks) = (u64::from(flash.pages), u64::from(flash.blocks));
    let (few_pages, few_blocks) = ((pages * 2 / part).max(1), blocks / 2);
    let units = whole.user_bytes / whole.ftl.unit;
    let few_units = (u128::from(units) * u128::from(few_blocks * few_pages) / u128::from(blocks * pages)) as u64;
    let shorter = |time: Time| format!("{}ns", time.ns() * few_pages / pages);
    let values = [
        ("flash.pages", few_pages.to_string()),
        ("flash.blocks", few_blocks.to_string()),
        ("ftl.capacity", format!("{}B", few_units * whole.ftl.unit)),
        ("ftl.slc_cache.size", format!("{}B", whole.ftl.slc_cache.size / part)),
        ("flash.erase", shorter(flash.timing.erase)),
        ("flash.slc_erase", shorter(flash.timing.slc_erase)),
    ];
    let changes = values.iter().map(|(key, value)| (*key, value.as_str()));
    let all: Vec<(&str, &str)> = sets.iter().copied().chain(changes).collect();
    Ok(System::load(name, &all)?)
}

/// A drive and its outstanding requests.
pub struct Drive {
    /// The drive behind a host of its own.
    pub machine: Machine,
    /// Job and time of submission of each outstanding request.
    outstanding: Vec<(u16, Time)>,
    free: Vec<u32>,
    /// Counters at the start of the measured part.
    pub begin: Option<Counters>,
}

impl Drive {
    /// Creates a drive without outstanding requests.
    pub fn new(machine: Machine) -> Drive {
        Drive { machine, outstanding: Vec::new(), free: Vec::new(), begin: None }
    }

    /// Submits a request of `job` at `now`.
    pub fn submit(&mut self, now: Time, job: u16, request: Request) {
        let io = self.free.pop().unwrap_or_else(|| {
            self.outstanding.push((0, Time::ZERO));
            self.outstanding.len() as u32 - 1
        });
        self.outstanding[io as usize] = (job, now);
        self.machine.submit(now, io, job, request);
    }

    /// Ends request `io`. Returns its job and the time of its submission.
    pub fn end(&mut self, io: u32) -> (u16, Time) {
        self.free.push(io);
        self.outstanding[io as usize]
    }
}
