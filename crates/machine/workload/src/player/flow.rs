//! Jobs that share a flow: each keeps its requests in proportion to its weight.

use crate::fio::Job;

/// The flows of a workload, by their `flow_id`.
#[derive(Clone, Debug, Default)]
pub(super) struct Flows(Vec<Flow>);

#[derive(Clone, Debug)]
struct Flow {
    id: u64,
    /// Of the jobs that have begun and not ended: their weights, and their requests.
    weights: u64,
    requests: u64,
    /// Jobs that wait for others to catch up.
    held: Vec<u16>,
}

/// A job's place in a flow.
#[derive(Clone, Copy, Debug)]
pub(super) struct Share {
    flow: usize,
    weight: u64,
    requests: u64,
}

impl Flows {
    /// A place in the flow that `job` names, if it has one.
    pub fn share(&mut self, job: &Job) -> Option<Share> {
        if job.flow == 0 {
            return None;
        }
        let flow = self.0.iter().position(|flow| flow.id == job.flow_id).unwrap_or_else(|| {
            self.0.push(Flow { id: job.flow_id, weights: 0, requests: 0, held: Vec::new() });
            self.0.len() - 1
        });
        Some(Share { flow, weight: job.flow, requests: 0 })
    }

    /// A job begins.
    pub fn join(&mut self, share: &Share) {
        self.0[share.flow].weights += share.weight;
    }

    /// A job has ended; those that it held up go on.
    pub fn leave(&mut self, share: &Share) -> Vec<u16> {
        let flow = &mut self.0[share.flow];
        flow.weights -= share.weight;
        flow.requests -= share.requests;
        std::mem::take(&mut flow.held)
    }

    /// Whether a job is not ahead of its share. The one that is furthest behind never is.
    pub fn admits(&self, share: &Share) -> bool {
        let flow = &self.0[share.flow];
        u128::from(share.requests) * u128::from(flow.weights) <= u128::from(flow.requests) * u128::from(share.weight)
    }

    /// A job waits until another of its flow has issued a request or ended.
    pub fn hold(&mut self, share: &Share, job: u16) {
        self.0[share.flow].held.push(job);
    }

    /// A job issues a request; those that it held up look again.
    pub fn count(&mut self, share: &mut Share) -> Vec<u16> {
        share.requests += 1;
        let flow = &mut self.0[share.flow];
        flow.requests += 1;
        std::mem::take(&mut flow.held)
    }
}
