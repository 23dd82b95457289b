//! Jobs that share a flow: each issues requests in proportion to its weight.

use crate::fio::Job;

/// The flows of a workload, one per `flow_id`.
#[derive(Clone, Debug, Default)]
pub(super) struct Flows(Vec<Flow>);

#[derive(Clone, Debug)]
struct Flow {
    id: u64,
    /// Sum of the weights of the running jobs.
    weights: u64,
    /// Sum of the requests of the running jobs.
    requests: u64,
    /// Jobs that wait for others to catch up.
    waiting: Vec<u16>,
}

/// Share of a job in a flow.
#[derive(Clone, Copy, Debug)]
pub(super) struct Share {
    flow: usize,
    weight: u64,
    requests: u64,
}

impl Flows {
    /// Returns a share in the flow that `job` names, or `None` if it names none.
    pub fn share(&mut self, job: &Job) -> Option<Share> {
        if job.flow == 0 {
            return None;
        }
        let flow = self.0.iter().position(|flow| flow.id == job.flow_id).unwrap_or_else(|| {
            self.0.push(Flow { id: job.flow_id, weights: 0, requests: 0, waiting: Vec::new() });
            self.0.len() - 1
        });
        Some(Share { flow, weight: job.flow, requests: 0 })
    }

    /// Adds a job at its start.
    pub fn join(&mut self, share: &Share) {
        self.0[share.flow].weights += share.weight;
    }

    /// Removes a job at its end. Returns the jobs that waited for it.
    pub fn leave(&mut self, share: &Share) -> Vec<u16> {
        let flow = &mut self.0[share.flow];
        flow.weights -= share.weight;
        flow.requests -= share.requests;
        std::mem::take(&mut flow.waiting)
    }

    /// Returns whether a job is not ahead of its share. This always holds for the job that is furthest behind.
    pub fn admits(&self, share: &Share) -> bool {
        let flow = &self.0[share.flow];
        u128::from(share.requests) * u128::from(flow.weights) <= u128::from(flow.requests) * u128::from(share.weight)
    }

    /// Makes a job wait until another job of its flow has issued a request or ended.
    pub fn wait(&mut self, share: &Share, job: u16) {
        self.0[share.flow].waiting.push(job);
    }

    /// Counts a request of a job. Returns the jobs that waited for it.
    pub fn count(&mut self, share: &mut Share) -> Vec<u16> {
        share.requests += 1;
        let flow = &mut self.0[share.flow];
        flow.requests += 1;
        std::mem::take(&mut flow.waiting)
    }
}
