//! A GPU as a roofline: a step takes the longer of its arithmetic and its memory traffic.
//!
//! Several GPUs share each layer (tensor parallelism). Assumed: the work divides evenly and their communication is
//! free, so that N GPUs are one with N times the rates and the memory.

use sim::Time;

use crate::model::Model;

/// A GPU's data sheet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gpu {
    /// Peak dense floating-point operations per second.
    pub flops: f64,
    /// Memory bandwidth in bytes per second.
    pub bandwidth: f64,
    /// Memory in bytes.
    pub memory: u64,
    /// Power in microwatts while a step runs.
    pub power_uw: u64,
    /// Power in microwatts between steps.
    pub idle_uw: u64,
}

/// A named GPU and the source of its figures.
pub struct DataSheet {
    /// Name in `gpu.name`.
    pub name: &'static str,
    /// The figures.
    pub gpu: Gpu,
    /// Their source.
    pub source: &'static str,
}

/// Idle power of every named GPU, a tenth of its maximum. Assumed: makers do not publish it; 50 to 100 W are plausible.
const fn sheet(name: &'static str, tflops: f64, gb_s: f64, gb: u64, watts: u64, source: &'static str) -> DataSheet {
    let gpu = Gpu {
        flops: tflops * 1e12,
        bandwidth: gb_s * 1e9,
        memory: gb * 1_000_000_000,
        power_uw: watts * 1_000_000,
        idle_uw: watts * 100_000,
    };
    DataSheet { name, gpu, source }
}

/// The named GPUs, with dense BF16 rates.
pub const DATA_SHEETS: [DataSheet; 3] = [
    sheet("a100-80gb", 312.0, 2039.0, 80, 400, "NVIDIA A100 data sheet: SXM, 80 GB, BF16 without sparsity"),
    sheet("h100-sxm", 989.4, 3350.0, 80, 700, "NVIDIA H100 data sheet: SXM, BF16, half the rate with sparsity"),
    sheet("b200", 2250.0, 8000.0, 180, 1000, "NVIDIA Blackwell figures of HGX B200: BF16, half the rate with sparsity"),
];

/// The work of a step.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Work {
    /// Tokens computed: prefill and decode.
    pub tokens: u64,
    /// Sum over the computed tokens of their context lengths, in tokens.
    pub attended: u64,
    /// Sum over the sequences in the step of the tokens whose keys and values are read.
    pub context: u64,
}

/// The rates of all GPUs together, after efficiency.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Roofline {
    /// Floating-point operations per second.
    pub flops: f64,
    /// Bytes per second.
    pub bandwidth: f64,
}

impl Roofline {
    /// Returns the time of a step that reads `weights` bytes of weights from GPU memory.
    pub fn step(&self, model: &Model, work: &Work, weights: u64) -> Time {
        let flops = work.tokens as f64 * model.flops_per_token() + work.attended as f64 * model.attention_flops();
        // Each sequence reads its context once, and every computed token writes its keys and values.
        let kv = (work.context + work.tokens) as f64 * model.kv_bytes_per_token() as f64;
        let (arithmetic, memory) = (flops / self.flops, (weights as f64 + kv) / self.bandwidth);
        Time::from_secs_f64(arithmetic.max(memory))
    }

    /// Returns the time to compute `tokens` tokens that follow `before` tokens, bound by arithmetic.
    pub fn prefill(&self, model: &Model, before: u64, tokens: u64) -> Time {
        let attended = tokens * before + tokens * (tokens + 1) / 2;
        let flops = tokens as f64 * model.flops_per_token() + attended as f64 * model.attention_flops();
        Time::from_secs_f64(flops / self.flops)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::PUBLISHED;

    #[test]
    fn decode_is_bound_by_bandwidth_and_prefill_by_arithmetic() {
        let (model, gpu) = (PUBLISHED[0].model, DATA_SHEETS[1].gpu);
        let roof = Roofline { flops: gpu.flops, bandwidth: gpu.bandwidth };
        let decode = Work { tokens: 1, attended: 1000, context: 1000 };
        let expected = (model.weight_bytes() + 1001 * model.kv_bytes_per_token()) as f64 / gpu.bandwidth;
        assert_eq!(roof.step(&model, &decode, model.weight_bytes()), Time::from_secs_f64(expected));
        let prefill = Work { tokens: 4096, attended: 4096 * 4097 / 2, context: 4096 };
        assert_eq!(roof.step(&model, &prefill, model.weight_bytes()), roof.prefill(&model, 0, 4096));
    }
}
