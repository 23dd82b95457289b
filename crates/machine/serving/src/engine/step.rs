//! Steps of the GPUs: one token for every sequence that decodes, and chunks of prompts up to the budget.

use sim::Time;

use super::Server;
use super::agenda::Event;
use super::sequence::{GpuBlock, SequenceState};
use super::traffic::Purpose;
use crate::config::WeightSource;
use crate::gpu::Work;
use crate::results::tally::Finished;

/// A step in progress.
pub(super) struct Step {
    /// The sequences and the number of tokens computed of each.
    parts: Vec<(u32, u64)>,
    pub(super) started: Time,
    computed: bool,
    /// Streamed weights are still being read from the drives.
    reads_weights: bool,
}

impl Server {
    /// Starts a step if the GPUs are idle and there is something to compute.
    pub(super) fn start_step(&mut self) {
        if self.step.is_some() {
            return;
        }
        let mut ready = self.now;
        let mut parts = Vec::new();
        // A sequence that is preempted for another one leaves `running`.
        for id in self.running.clone() {
            let sequence = &self.sequences[id as usize];
            let decodes = sequence.state == SequenceState::Running && sequence.decodes();
            if decodes && let Some(at) = self.make_room(id) {
                ready = ready.max(at);
            }
        }
        let is_running = |id: &u32| self.sequences[*id as usize].state == SequenceState::Running;
        let decodes = |id: &u32| self.sequences[*id as usize].decodes();
        parts.extend(self.running.iter().filter(|id| is_running(id) && decodes(id)).map(|id| (*id, 1)));
        let mut budget = self.config.scheduler.step_tokens.saturating_sub(parts.len() as u64);
        for id in self.running.iter().filter(|id| is_running(id) && !decodes(id)) {
            let sequence = &self.sequences[*id as usize];
            let tokens = (sequence.known() - sequence.computed).min(budget);
            if tokens > 0 {
                parts.push((*id, tokens));
                budget -= tokens;
            }
        }
        if parts.is_empty() {
            return;
        }
        let mut work = Work::default();
        for (id, tokens) in &parts {
            let before = self.sequences[*id as usize].computed;
            work.tokens += tokens;
            work.attended += tokens * before + tokens * (tokens + 1) / 2;
            work.context += before;
        }
        self.begin_step(parts, &work, ready);
    }

    fn begin_step(&mut self, parts: Vec<(u32, u64)>, work: &Work, ready: Time) {
        let streamed = self.config.streamed_bytes();
        // Weights that come from elsewhere are read from GPU memory like the others once they have arrived.
        let mut end = ready + self.roofline.step(&self.config.model, work, self.config.model.weight_bytes());
        let mut reads_weights = false;
        if streamed > 0 {
            // Layer by layer: the link, the drives and the GPUs work at the same time.
            end = end.max(self.cross_to_gpu(streamed));
            self.tally.flow.weights += streamed;
            if self.config.weights.source == WeightSource::Drive {
                let group = self.drives.weights(self.now);
                self.groups.insert(group, Purpose::Weights);
                reads_weights = true;
            }
        }
        self.tally.steps += 1;
        self.tally.computed += work.tokens;
        self.step = Some(Step { parts, started: self.now, computed: false, reads_weights });
        self.agenda.add(end, Event::Step);
    }

    /// Reserves the block for the next token of `id` if it needs one, and returns when it is free. Preempts sequences,
    /// last admitted first, for lack of room.
    fn make_room(&mut self, id: u32) -> Option<Time> {
        let block = self.config.scheduler.block;
        let sequence = &self.sequences[id as usize];
        if sequence.known().div_ceil(block) <= sequence.held.len() as u64 {
            return Some(self.now);
        }
        loop {
            let mut actions = Vec::new();
            if self.blocks.reserve(1, &mut actions) {
                self.sequences[id as usize].held.push(GpuBlock::Private);
                return Some(self.perform(&actions));
            }
            let is_running = |id: &&u32| self.sequences[**id as usize].state == SequenceState::Running;
            let victim = *self.running.iter().rev().find(is_running).expect("at least the sequence itself");
            self.preempt(victim);
            if victim == id {
                return None;
            }
        }
    }

    /// Gives back the blocks of a sequence, which waits to be admitted again before all others.
    fn preempt(&mut self, id: u32) {
        self.tally.preempted += 1;
        self.blocked = false;
        self.give_back(id);
        let sequence = &mut self.sequences[id as usize];
        (sequence.state, sequence.computed) = (SequenceState::Waiting, 0);
        self.running.retain(|other| *other != id);
        self.waiting.push_front(id);
    }

    /// Gives back the blocks of a sequence, its last first, so that a prefix outlives what follows it.
    fn give_back(&mut self, id: u32) {
        let held = std::mem::take(&mut self.sequences[id as usize].held);
        let private = held.iter().filter(|each| **each == GpuBlock::Private).count() as u64;
        self.blocks.free_private(private);
        for each in held.iter().rev() {
            if let GpuBlock::Shared(key) = each {
                self.blocks.release(*key);
            }
        }
    }

    /// Takes note that the GPUs have computed the step.
    pub(super) fn step_computed(&mut self) {
        self.step.as_mut().expect("a step in progress").computed = true;
        self.end_step();
    }

    /// Takes note that the streamed weights of the step have been read.
    pub(super) fn weights_read(&mut self) {
        self.step.as_mut().expect("a step in progress").reads_weights = false;
        self.end_step();
    }

    fn end_step(&mut self) {
        let Some(step) = self.step.take_if(|step| step.computed && !step.reads_weights) else { return };
        self.tally.gpu_busy += self.now - step.started;
        // Sequences give blocks back, or share blocks that others can use.
        self.blocked = false;
        let block = self.config.scheduler.block;
        for (id, tokens) in step.parts {
            let before = self.sequences[id as usize].computed;
            let after = before + tokens;
            self.sequences[id as usize].computed = after;
            for index in before / block..after / block {
                self.share(id, index);
            }
            if after == self.sequences[id as usize].known() {
                self.generate(id);
            }
        }
    }

    /// Shares a block that has become full.
    fn share(&mut self, id: u32, index: u64) {
        let key = self.key_of(id, index);
        if self.blocks.publish(key) {
            self.sequences[id as usize].held[index as usize] = GpuBlock::Shared(key);
        }
    }

    /// Generates a token of a sequence.
    fn generate(&mut self, id: u32) {
        let now = self.now;
        self.tally.generated += 1;
        let sequence = &mut self.sequences[id as usize];
        sequence.generated += 1;
        let first = *sequence.first.get_or_insert(now);
        if sequence.generated < sequence.request.output {
            return;
        }
        let request = sequence.request.clone();
        let finished = Finished { request: request.clone(), first, last: now, hits: sequence.hits.unwrap_or_default() };
        self.tally.finish(finished, &self.config.load);
        self.give_back(id);
        self.running.retain(|other| *other != id);
        self.free.push(id);
        self.expect_turn(&request);
    }
}
