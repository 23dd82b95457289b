//! The type of a link, and the configuration of each type.

use keys::{Conflict, Kind, Section, Value, assumed, expect, section, words};

use crate::{DdrConfig, PcieConfig, SataConfig, SharedBufferConfig, UfsConfig};

words! {
    /// Type of the link, which determines the protocol and the driver.
    LinkType {
        /// PCI Express with NVMe.
        Pcie = "pcie",
        /// Serial ATA with native command queuing, behind an AHCI host adapter.
        Sata = "sata",
        /// UFS: UniPro over M-PHY, behind a UFSHCI host controller.
        Ufs = "ufs",
        /// A DDR port of the memory controller; the device raises DQS when its data is ready.
        Ddr = "ddr",
        /// A shared buffer on the memory bus that looks like a DRAM, with its own queues.
        SharedBuffer = "shared-buffer",
        /// The bus of a OneNAND, whose buffers are read like memory.
        OneNand = "onenand",
        /// No storage.
        None = "none",
    }
}

section! {
    /// The link between host and device: its type, which chooses one of the configurations.
    #[derive(Eq)]
    Keys {
        "link.type" kind: LinkType = Kind::words(LinkType::WORDS),
            assumed("pcie", "used by current drives"),
            "Type of the link; determines protocol (NVMe, SATA NCQ, UTP, queues in a shared buffer) and driver.";

        /// PCI Express.
        table pcie: PcieConfig;
        /// Serial ATA.
        table sata: SataConfig;
        /// UniPro over M-PHY.
        table ufs: UfsConfig;
        /// A DDR port of the memory controller.
        table ddr: DdrConfig;
        /// A buffer on the memory bus.
        table shared_buffer: SharedBufferConfig;

        check types;
    }
}

/// Returns the defaults of a section's keys where `link.type` is `word`.
pub(crate) fn default_where<S: Section>(word: &'static str) -> S {
    keys::defaults::<Keys, S>(&[("link.type", Value::Word(word))])
}

/// Configuration of a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Config {
    /// PCI Express.
    Pcie(PcieConfig),
    /// Serial ATA.
    Sata(SataConfig),
    /// A buffer on the memory bus. It has no [`Link`](crate::Link); the memory model times the bus.
    SharedBuffer(SharedBufferConfig),
    /// UniPro over M-PHY. Its messages go through [`Ufs`](crate::Ufs).
    Ufs(UfsConfig),
    /// A DDR port of the memory controller.
    Ddr(DdrConfig),
}

impl Keys {
    /// Returns the configuration of a link with a driver and a controller: none for a OneNAND or without storage.
    pub fn config(&self) -> Option<Config> {
        match self.kind {
            LinkType::Pcie => Some(Config::Pcie(self.pcie.clone())),
            LinkType::Sata => Some(Config::Sata(self.sata.clone())),
            LinkType::Ufs => Some(Config::Ufs(self.ufs.clone())),
            LinkType::Ddr => Some(Config::Ddr(self.ddr.clone())),
            LinkType::SharedBuffer => Some(Config::SharedBuffer(self.shared_buffer.clone())),
            LinkType::OneNand | LinkType::None => None,
        }
    }

    /// Checks the keys that several types share.
    fn types(&self) -> Result<(), Conflict> {
        let (kind, lanes, generation) = ("link.type", "link.lanes", "link.generation");
        match self.kind {
            LinkType::Sata => {
                expect(self.sata.generation <= 3, &[generation, kind], "1 to 3 where link.type is \"sata\"")?;
            }
            LinkType::Ufs => expect(self.ufs.lanes <= 2, &[lanes, kind], "1 or 2 where link.type is \"ufs\"")?,
            LinkType::Ddr => self.ddr.port()?,
            LinkType::Pcie | LinkType::SharedBuffer | LinkType::OneNand | LinkType::None => {}
        }
        let wide = [1, 2, 4, 8, 12, 16, 32].contains(&self.pcie.lanes);
        expect(wide, &[lanes], "1, 2, 4, 8, 12, 16 or 32")?;
        let exists = self.pcie.lanes < 32 || self.pcie.generation < 6;
        expect(exists, &[lanes, generation], "at most 16 where link.generation is 6")
    }
}
