//! Solutions of the policy modules: the rate of collection, and the victims.

/// The result of a policy module.
pub(crate) struct Victims {
    /// Collections per closed block while the host writes as many units as it owns: `occupancy * WA`.
    pub turnover: f64,
    /// Fraction of victims with `i` valid units.
    pub valid: Vec<f64>,
}
