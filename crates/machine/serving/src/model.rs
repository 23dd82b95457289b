//! Shapes of language models: decoders with grouped-query attention.

/// Shape of a model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Model {
    /// Number of parameters.
    pub parameters: u64,
    /// Number of layers.
    pub layers: u64,
    /// Query heads per layer.
    pub heads: u64,
    /// Key and value heads per layer.
    pub kv_heads: u64,
    /// Dimension of a head.
    pub head_dim: u64,
    /// Bits of a stored weight.
    pub weight_bits: u64,
    /// Bits of a stored key or value.
    pub kv_bits: u64,
}

/// A published model: its name, shape and source.
pub struct Published {
    /// Name in `model.name`.
    pub name: &'static str,
    /// Its shape.
    pub model: Model,
    /// Source of the numbers.
    pub source: &'static str,
}

const SOURCE: &str = "Llama Team, The Llama 3 Herd of Models (arXiv:2407.21783), Table 3; parameters and BF16 weights \
                      as in the model card";

const fn llama(name: &'static str, parameters: u64, layers: u64, heads: u64) -> Published {
    let model = Model { parameters, layers, heads, kv_heads: 8, head_dim: 128, weight_bits: 16, kv_bits: 16 };
    Published { name, model, source: SOURCE }
}

/// The published models.
pub const PUBLISHED: [Published; 3] = [
    llama("llama-3-8b", 8_030_000_000, 32, 32),
    llama("llama-3-70b", 70_600_000_000, 80, 64),
    llama("llama-3-405b", 405_000_000_000, 126, 128),
];

impl Model {
    /// Returns the bytes of all weights.
    pub fn weight_bytes(&self) -> u64 {
        (u128::from(self.parameters) * u128::from(self.weight_bits) / 8) as u64
    }

    /// Returns the bytes of keys and values that a token adds across all layers.
    pub fn kv_bytes_per_token(&self) -> u64 {
        2 * self.layers * self.kv_heads * self.head_dim * self.kv_bits / 8
    }

    /// Returns the floating-point operations of one token: a multiply and an add per parameter.
    pub fn flops_per_token(&self) -> f64 {
        2.0 * self.parameters as f64
    }

    /// Returns the operations of attention for one token per token of its context: scores and weighted values, each a
    /// multiply and an add per element of every query head.
    pub fn attention_flops(&self) -> f64 {
        4.0 * (self.layers * self.heads * self.head_dim) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kv_bytes_follow_from_the_published_shapes() {
        let kib = PUBLISHED.map(|each| each.model.kv_bytes_per_token() / 1024);
        // 8B: 2 x 32 layers x 8 heads x 128 x 2 bytes.
        assert_eq!(kib, [128, 320, 504]);
    }

    #[test]
    fn kv_of_the_largest_model_at_a_million_tokens_is_the_published_540_gb() {
        // The H3 study (IEEE CAL 2026) gives 540 GB for Llama-3.1-405B at one million (2^20) tokens.
        let bytes = PUBLISHED[2].model.kv_bytes_per_token() << 20;
        assert!((bytes as f64 / 540e9 - 1.0).abs() < 0.01, "{bytes}");
    }
}
