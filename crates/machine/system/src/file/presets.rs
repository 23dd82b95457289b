//! Systems included in the program: the files of the folder `systems/` at build time.

use std::sync::LazyLock;

use crate::file::layer::Layer;
use crate::key::table::TITLE;
use keys::Value;

macro_rules! files {
    ($($name:literal),* $(,)?) => {
        &[$( ($name, include_str!(concat!("../../../../../systems/", $name, ".toml"))) ),*]
    };
}

/// Name and text of each preset, in the order of listings.
const FILES: &[(&str, &str)] = files![
    "nvme-client-tlc",
    "nvme-client-hmb",
    "nvme-enterprise-tlc",
    "nvme-enterprise-gen5",
    "nvme-qlc-61tb",
    "samsung-980-pro-1tb",
    "wd-zn540",
    "sata-mlc",
    "mqsim-ideal-map",
    "mqsim-default",
    "ufs2",
    "ufs2-galaxy-s6",
    "ufs4",
    "sata-ssd-southbridge",
    "ddrssd",
    "drambus",
    "hmb-a",
    "hmb-b",
    "hmb-c",
    "hmb-d",
    "hmb-e",
    "hmb-f",
    "onenand-xip",
    "dram-only",
    "dram-ddr5",
    "dram-hbm4",
    "dram-ssd",
    "nvmm",
    "nvmm-slc",
    "nvmm-slc2",
    "nvmm-slc4",
    "nvmm-slc8",
    "nvmm-pcm",
    "nvmm-pcm-optimistic",
    "cxl-ssd",
    "hbf",
    "hbf-accelerator",
    "hbf-2026",
];

static TITLES: LazyLock<Vec<(&'static str, String)>> = LazyLock::new(|| {
    let title = |name: &str, text: &str| {
        let layer = Layer::parse(&format!("{name}.toml"), text).unwrap_or_else(|error| panic!("{error}"));
        match layer.values.get(&TITLE) {
            Some((Value::Text(title), _)) => title.clone(),
            _ => panic!("the preset {name} has no title"),
        }
    };
    FILES.iter().map(|(name, text)| (*name, title(name, text))).collect()
});

static LISTED: LazyLock<Vec<(&'static str, &'static str)>> =
    LazyLock::new(|| TITLES.iter().map(|(name, title)| (*name, title.as_str())).collect());

/// Returns name and title of each preset.
pub fn presets() -> &'static [(&'static str, &'static str)] {
    &LISTED
}

/// Returns the text of a preset's file.
pub fn preset(name: &str) -> Option<&'static str> {
    FILES.iter().find(|(file, _)| *file == name).map(|(_, text)| *text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_in_systems_is_a_preset() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../systems");
        let mut there: Vec<String> = std::fs::read_dir(folder)
            .expect("the folder exists")
            .map(|entry| entry.expect("a readable entry").file_name().to_string_lossy().into_owned())
            .filter_map(|name| name.strip_suffix(".toml").map(str::to_owned))
            .collect();
        there.sort();
        let mut listed: Vec<&str> = presets().iter().map(|(name, _)| *name).collect();
        listed.sort();
        assert_eq!(there, listed);
    }
}
