//! Performance ranges stated for classes of products.

/// A class of products: its presets, the source of its figures, and the figures.
pub struct Class {
    pub presets: &'static [&'static str],
    pub source: &'static str,
    /// Name of a job, and its range: MB/s for sequential jobs, requests per second for others.
    pub stated: &'static [(&'static str, f64, f64)],
}

pub const CLASSES: [Class; 12] = [
    Class {
        presets: &["nvme-client-tlc", "samsung-980-pro-1tb"],
        source: "PCIe 4.0 x4 client drives of 1 TB with DRAM, as their makers state them from 2019 to 2021: Corsair \
                 MP600 4,950 and 4,250 MB/s, 680,000 and 600,000 IOPS; Sabrent Rocket 4.0 5,000 and 4,400 MB/s, \
                 750,000 IOPS; WD SN850 7,000 and 5,300 MB/s; Samsung 980 PRO 7,000 and 5,000 MB/s, 22,000 and \
                 60,000 IOPS at depth 1, up to 1,000,000 at depth 32 on several queues. Assumed: the lower ends at \
                 depth 1 (65 us of read, 20 us of write), and of random jobs at depth 32 on one queue (32 reads in \
                 90 us)",
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
        presets: &["nvme-client-hmb"],
        source: "PCIe 3.0 x4 client drives of 1 TB without DRAM, as Samsung states the 980 of 2021: 3,500 and 3,000 \
                 MB/s, 17,000 and 54,000 IOPS at depth 1, up to 500,000 and 480,000 at depth 32 on several queues, \
                 within the range that the host's memory maps",
        stated: &[
            ("sequential read", 3500.0, 3500.0),
            ("sequential write", 3000.0, 3000.0),
            ("random read, depth 1", 17e3, 17e3),
            ("random read, depth 32", 500e3, 500e3),
            ("random write, depth 1", 54e3, 54e3),
            ("random write, depth 32", 480e3, 480e3),
        ],
    },
    Class {
        presets: &["nvme-enterprise-tlc"],
        source: "PCIe 4.0 x4 data-center drives of TLC for mixed use with power-loss protection, as Kioxia announced \
                 them in 2020: CM6 6,900 and 4,200 MB/s, up to 350,000 random writes a second in steady state, and \
                 CD6 6,200 and 4,000 MB/s, 250,000. Assumed: random reads on one queue (60 to 100 us at depth 1; 32 \
                 concurrent reads in 70 to 130 us)",
        stated: &[
            ("sequential read", 6200.0, 6900.0),
            ("sequential write", 4000.0, 4200.0),
            ("random read, depth 1", 10e3, 16e3),
            ("random read, depth 32", 250e3, 450e3),
            ("steady writes, depth 64", 250e3, 350e3),
        ],
    },
    Class {
        presets: &["nvme-enterprise-gen5"],
        source: "PCIe 5.0 x4 data-center drives of TLC for reads of 7.68 TB, as Micron compared them in 2024: its 9550 \
                 PRO 14,000 and 10,000 MB/s, 400,000 random writes a second in steady state, 60 us of typical read \
                 latency; Kioxia CM7-R 14,000 and 6,750 MB/s, 300,000; Samsung PM1743 14,000 and 6,000 MB/s, \
                 300,000. Up to 3.3 million random reads a second, from many processors",
        stated: &[
            ("sequential read", 14000.0, 14000.0),
            ("sequential write", 6000.0, 10000.0),
            ("random read, depth 1", 16.7e3, 16.7e3),
            ("steady writes, depth 64", 300e3, 400e3),
        ],
    },
    Class {
        presets: &["nvme-qlc-61tb"],
        source: "PCIe 4.0 x4 data-center drives of QLC with units of 16 KiB: Solidigm states 7,000 and 3,300 MB/s, \
                 1,005,000 reads of 4 KiB and 38,000 writes of 16 KiB a second for the D5-P5336 of 61.44 TB (2023); \
                 Samsung 7,500 and 3,000 MB/s, 45,000 writes of 16 KiB for the BM1743 of 122.88 TB (2024)",
        stated: &[
            ("sequential read", 7000.0, 7500.0),
            ("sequential write", 3000.0, 3300.0),
            ("steady writes, depth 64", 38e3, 45e3),
        ],
    },
    Class {
        presets: &["hmb-a", "hmb-b", "hmb-c"],
        source: "PCIe 3.0 client drives of 2018 without DRAM. Toshiba states 1,600 and 1,050 to 1,100 MB/s, 130,000 to \
                 150,000 and 110,000 IOPS for the RC100 of 240 and 480 GB, which has two lanes, and reads within \
                 the range that the host's memory maps. Assumed: the upper ends, of drives with four lanes (1.5 \
                 times the RC100's bandwidth, 1.7 and 2.5 times its IOPS), and the lower ends (0.75 to 0.95 of the RC100)",
        stated: &[
            ("sequential read", 1500.0, 2400.0),
            ("sequential write", 900.0, 1800.0),
            ("random read, depth 32", 100e3, 250e3),
            ("random write, depth 32", 100e3, 280e3),
        ],
    },
    Class {
        presets: &["hmb-d", "hmb-e", "hmb-f"],
        source: "PCIe 3.0 x4 client drives of 2016 to 2019 with DRAM. Upper ends as Samsung states them: 970 EVO Plus \
                 of 500 GB 3,500 and 3,200 MB/s, 19,000 and 60,000 IOPS at depth 1, 480,000 and 550,000 at depth \
                 32; 970 PRO of 512 GB 3,500 and 2,300 MB/s, 370,000 and 500,000 IOPS. Assumed: the lower ends, a fifth to a half of these",
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
        source: "SATA 6 Gb/s client drives of 256 GB, 2012 to 2018, as Samsung states them: 840 PRO 540 and 520 MB/s, \
                 9,900 and 31,000 IOPS at depth 1, 100,000 and 90,000 at depth 32; 850 EVO 10,000 and 40,000 at \
                 depth 1; 860 EVO 10,000 and 42,000, 98,000 and 90,000. Assumed: the lower ends, up to a third below",
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
        source: "UFS 2.0 of 32 to 128 GB. Upper ends as Samsung announced in February 2015: 19,000 and 14,000 IOPS, 350 \
                 and 150 MB/s. Assumed: the lower ends, a fifth to a third below",
        stated: &[
            ("sequential read", 250.0, 350.0),
            ("sequential write", 100.0, 160.0),
            ("random read, depth 32", 15e3, 20e3),
            ("random write, depth 32", 10e3, 15e3),
        ],
    },
    Class {
        presets: &["ufs4"],
        source: "UFS 4.0, as Samsung announced it in May 2022: 4,200 and 2,800 MB/s",
        stated: &[("sequential read", 4200.0, 4200.0), ("sequential write", 2800.0, 2800.0)],
    },
    Class {
        presets: &["sata-ssd-southbridge", "ddrssd"],
        source: "SLC drives of 32 and 64 GB, as announced in 2007: Samsung 57 and 32, 64 and 45, 100 and 80 MB/s; \
                 SanDisk 62 MB/s. The lower end is what a tester found for the first one, 50 and 29 MB/s (Tom's \
                 Hardware, January 2007). `ddrssd` is no product: the same drive on a faster port",
        stated: &[("sequential read", 50.0, 100.0), ("sequential write", 28.0, 80.0)],
    },
    Class {
        presets: &["mqsim-ideal-map", "mqsim-default", "drambus"],
        source: "no product: the defaults of the simulator MQSim, and a research prototype",
        stated: &[],
    },
];

/// Factor by which a figure may lie below or above a stated range and still count as inside.
pub const MARGIN: f64 = 1.25;

/// Returns the class of a preset.
pub fn class_of(preset: &str) -> &'static Class {
    CLASSES.iter().find(|class| class.presets.contains(&preset)).unwrap_or_else(|| panic!("{preset} has no class"))
}
