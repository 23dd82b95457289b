//! The papers' claims and the experiments that test them: the files of the folders `claims/` and `experiments/` at
//! build time, which `nandram.papers` reads.

macro_rules! files {
    ($($path:literal),* $(,)?) => {
        &[$( ($path, include_str!(concat!("../../../../", $path))) ),*]
    };
}

/// Paths and contents. The order of the claims here determines the order of the papers.
pub const FILES: &[(&str, &str)] = files![
    "claims/ddrssd.toml",
    "claims/drambus.toml",
    "claims/h3.toml",
    "claims/hmb.toml",
    "claims/nvmm.toml",
    "claims/ssd_crosscheck.toml",
    "claims/xip.toml",
    "experiments/ddrssd.toml",
    "experiments/drambus.toml",
    "experiments/h3.toml",
    "experiments/hmb.toml",
    "experiments/nvmm.toml",
    "experiments/ssd_crosscheck.toml",
    "experiments/xip.toml",
];
