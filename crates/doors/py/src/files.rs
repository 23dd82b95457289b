//! Papers' claims and the experiments that test them: the files of the folders `claims/` and `experiments/`, as they
//! are at build time. `nandram.papers` reads them.

macro_rules! files {
    ($($path:literal),* $(,)?) => {
        &[$( ($path, include_str!(concat!("../../../../", $path))) ),*]
    };
}

/// Path and text. The papers are listed in the order of their claims here.
pub const FILES: &[(&str, &str)] = files![
    "claims/ddrssd.toml",
    "claims/drambus.toml",
    "claims/hmb.toml",
    "claims/nvmm.toml",
    "claims/ssd_crosscheck.toml",
    "claims/xip.toml",
    "experiments/ddrssd.toml",
    "experiments/drambus.toml",
    "experiments/hmb.toml",
    "experiments/nvmm.toml",
    "experiments/ssd_crosscheck.toml",
    "experiments/xip.toml",
];
