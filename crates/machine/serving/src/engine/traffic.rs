//! Copies between the tiers.

use sim::{Serial, Time};

use super::Server;
use super::agenda::{Copied, Event};
use crate::blocks::{Action, Key};
use crate::config::Reuse;
use crate::drives::Use;

/// Purpose of a group of drive requests.
#[derive(Clone, Copy, Debug)]
pub(super) enum Purpose {
    /// The block with this number of a sequence.
    Fetch(u32, u32),
    /// An evicted block.
    Offload(Key),
    /// The weights of the step in progress.
    Weights,
}

/// The link between host and GPUs, in each direction.
#[derive(Default)]
pub(super) struct HostLink {
    to_gpu: Serial,
    to_host: Serial,
}

impl Server {
    /// Performs the consequences of evictions. Returns the time at which the evicted blocks have left the GPU.
    pub(super) fn perform(&mut self, actions: &[Action]) -> Time {
        let (bytes, mut ready) = (self.config.block_bytes(), self.now);
        for action in actions {
            match action {
                Action::ToHost(_) => {
                    ready = self.cross_to_host(bytes);
                    self.tally.flow.gpu_to_host += bytes;
                }
                Action::ToDrive(key, slot) => {
                    if self.config.tiers.host == 0 {
                        // Through the staging memory.
                        ready = self.cross_to_host(bytes);
                    }
                    self.tally.flow.to_drive += bytes;
                    let group = self.drives.block(self.now, Use::Offload, *slot);
                    self.groups.insert(group, Purpose::Offload(*key));
                }
                Action::Dropped(_) => self.tally.dropped += 1,
            }
        }
        debug_assert!(self.config.tiers.reuse != Reuse::Recompute || self.tally.flow.to_drive == 0);
        ready
    }

    /// Takes note of a group of drive requests that has ended.
    pub(super) fn group_ended(&mut self, group: u64) {
        match self.groups.remove(&group).expect("a group in progress") {
            Purpose::Fetch(id, at) => {
                let to = self.cross_to_gpu(self.config.block_bytes());
                self.agenda.add(to, Event::Copied(id, Copied::FromDrive(at)));
            }
            Purpose::Offload(key) => self.blocks.written(key),
            Purpose::Weights => self.weights_read(),
        }
    }

    /// Sends bytes to the GPUs. Returns the time of their arrival.
    pub(super) fn cross_to_gpu(&mut self, bytes: u64) -> Time {
        let length = Time::of_transfer(bytes, self.config.tiers.link);
        self.tally.link_busy[0] += length;
        self.link.to_gpu.take(self.now, length).to
    }

    fn cross_to_host(&mut self, bytes: u64) -> Time {
        let length = Time::of_transfer(bytes, self.config.tiers.link);
        self.tally.link_busy[1] += length;
        self.link.to_host.take(self.now, length).to
    }
}
