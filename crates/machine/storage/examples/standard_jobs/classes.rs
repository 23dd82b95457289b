//! Ranges that products of a class state.

/// A class of products: the presets that belong to it, who states its figures, and these.
pub struct Class {
    pub presets: &'static [&'static str],
    pub source: &'static str,
    /// Name of a job, and the range: MB/s of sequential jobs, requests a second of others.
    pub stated: &'static [(&'static str, f64, f64)],
}

pub const CLASSES: [Class; 8] = [
    Class {
        presets: &["nvme-client-tlc", "samsung-980-pro-1tb"],
        source: "PCIe 4.0 x4 client drives of 1 TB with DRAM; range of data sheets of 2020 and 2021 (Samsung 980 PRO: \
                 7,000 and 5,000 MB/s, 22,000 and 60,000 IOPS at depth 1, up to 1,000,000 at depth 32 on several queues)",
        stated: &[
            ("sequential read", 5000.0, 7000.0),
            ("sequential write", 4200.0, 5300.0),
            ("random read, depth 1", 15000.0, 22000.0),
            ("random read, depth 32", 350e3, 1000e3),
            ("random write, depth 1", 50e3, 70e3),
            ("random write, depth 32", 400e3, 1000e3),
        ],
    },
    Class {
        presets: &["nvme-enterprise-tlc"],
        source: "PCIe 4.0 x4 data-center drives of 3.84 TB, TLC, with power-loss protection; range of data sheets of 2020 to \
                 2022. Their random writes are stated in steady state",
        stated: &[
            ("sequential read", 6200.0, 7200.0),
            ("sequential write", 3000.0, 5500.0),
            ("random read, depth 1", 10e3, 16e3),
            ("random read, depth 32", 250e3, 450e3),
            ("steady writes, depth 64", 120e3, 250e3),
        ],
    },
    Class {
        presets: &["hmb-a", "hmb-b", "hmb-c"],
        source: "PCIe 3.0 client drives of 2018 without DRAM, 240 to 512 GB; range of data sheets. Their random reads are \
                 stated within the range that the host's memory maps",
        stated: &[
            ("sequential read", 1500.0, 2400.0),
            ("sequential write", 900.0, 1800.0),
            ("random read, depth 32", 100e3, 250e3),
            ("random write, depth 32", 100e3, 280e3),
        ],
    },
    Class {
        presets: &["hmb-d", "hmb-e", "hmb-f"],
        source: "PCIe 3.0 x4 client drives of 2016 to 2019 with DRAM, 256 to 512 GB; range of data sheets (Samsung 970 EVO \
                 Plus: 19,000 and 60,000 IOPS at depth 1)",
        stated: &[
            ("sequential read", 1500.0, 3500.0),
            ("sequential write", 800.0, 3200.0),
            ("random read, depth 1", 8e3, 19e3),
            ("random read, depth 32", 100e3, 480e3),
            ("random write, depth 1", 30e3, 60e3),
            ("random write, depth 32", 100e3, 550e3),
        ],
    },
    Class {
        presets: &["sata-mlc"],
        source: "SATA 6 Gb/s client drives of 256 GB, 2012 to 2018; range of data sheets (Samsung 840 PRO: 9,900 and 31,000 \
                 IOPS at depth 1, 100,000 and 90,000 at depth 32; 860 EVO: 10,000 and 42,000, 98,000 and 90,000)",
        stated: &[
            ("sequential read", 500.0, 560.0),
            ("sequential write", 400.0, 530.0),
            ("random read, depth 1", 7e3, 10e3),
            ("random read, depth 32", 85e3, 100e3),
            ("random write, depth 1", 25e3, 42e3),
            ("random write, depth 32", 70e3, 90e3),
        ],
    },
    Class {
        presets: &["ufs2", "ufs2-galaxy-s6"],
        source: "UFS 2.0 of 32 to 128 GB, 2015; range of announcements (Samsung, February 2015: 19,000 and 14,000 IOPS, 350 \
                 and 150 MB/s)",
        stated: &[
            ("sequential read", 250.0, 350.0),
            ("sequential write", 100.0, 160.0),
            ("random read, depth 32", 15e3, 20e3),
            ("random write, depth 32", 10e3, 15e3),
        ],
    },
    Class {
        presets: &["sata-ssd-southbridge", "ddrssd"],
        source: "SLC drives of 32 and 64 GB, 2007; range of announcements. `ddrssd` is no product: the same drive on a faster \
                 port",
        stated: &[("sequential read", 50.0, 100.0), ("sequential write", 28.0, 80.0)],
    },
    Class {
        presets: &["mqsim-ideal-map", "mqsim-default", "drambus"],
        source: "no product: the defaults of the simulator MQSim, and a research prototype",
        stated: &[],
    },
];

/// How far below and above a stated range is still of the class.
pub const MARGIN: f64 = 1.25;

/// The class of a preset.
pub fn class_of(preset: &str) -> &'static Class {
    CLASSES.iter().find(|class| class.presets.contains(&preset)).unwrap_or_else(|| panic!("{preset} has no class"))
}
