//! The host link of a target: from sysfs for a drive, from the system file for a simulated one.

use system::{LinkType, System};

/// Gigatransfers per second and lane, by PCI Express generation (PCIe Base Specification 6.0).
const GIGATRANSFERS: [&str; 6] = ["2.5", "5.0", "8.0", "16.0", "32.0", "64.0"];

/// A host link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wire {
    /// PCI Express, with NVMe.
    Pcie { generation: usize, lanes: u32 },
    /// Serial ATA, with native command queuing.
    Sata { revision: u32 },
}

impl Wire {
    /// Returns the link of a simulated machine; `None` for link types that a model cannot have.
    pub(crate) fn of(system: &System) -> Option<Wire> {
        let link = &system.link;
        match link.kind {
            LinkType::Pcie if link.pcie.bandwidth.is_none() => {
                Some(Wire::Pcie { generation: usize::from(link.pcie.generation), lanes: link.pcie.lanes.into() })
            }
            LinkType::Sata => Some(Wire::Sata { revision: link.sata.generation.into() }),
            _ => None,
        }
    }

    /// Parses the sysfs attributes of a PCIe device, such as `8.0 GT/s PCIe` and `4`.
    pub(crate) fn pcie(speed: &str, width: &str) -> Option<Wire> {
        let rate = speed.split_whitespace().next()?;
        let generation =
            GIGATRANSFERS.iter().position(|each| *each == rate || each.trim_end_matches(".0") == rate)? + 1;
        let lanes = width.trim().parse().ok().filter(|lanes: &u32| lanes.is_power_of_two() && *lanes <= 16)?;
        Some(Wire::Pcie { generation, lanes })
    }

    /// Parses the output of [`Display`](std::fmt::Display).
    pub(crate) fn parse(text: &str) -> Option<Wire> {
        match text.split_once(" x") {
            Some((speed, lanes)) => Wire::pcie(speed, lanes),
            None => {
                let revision =
                    text.strip_prefix("SATA ")?.parse().ok().filter(|revision| (1..=3).contains(revision))?;
                Some(Wire::Sata { revision })
            }
        }
    }

    /// Returns the `[link]` table of a system file.
    pub(crate) fn table(self) -> String {
        match self {
            Wire::Pcie { generation, lanes } => {
                format!("[link]\ntype = \"pcie\"\ngeneration = {generation}\nlanes = {lanes}\n")
            }
            Wire::Sata { revision } => format!("[link]\ntype = \"sata\"\ngeneration = {revision}\n"),
        }
    }
}

impl std::fmt::Display for Wire {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Wire::Pcie { generation, lanes } => write!(f, "{} GT/s PCIe x{lanes}", GIGATRANSFERS[generation - 1]),
            Wire::Sata { revision } => write!(f, "SATA {revision}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn displayed_links_are_parsed() {
        let pcie = (1..=6).flat_map(|generation| [1, 2, 4, 16].map(|lanes| Wire::Pcie { generation, lanes }));
        for wire in pcie.chain((1..=3).map(|revision| Wire::Sata { revision })) {
            assert_eq!(Wire::parse(&wire.to_string()), Some(wire), "{wire}");
        }
    }

    #[test]
    fn kernel_attributes_are_parsed_and_others_rejected() {
        assert_eq!(Wire::pcie("8.0 GT/s PCIe", "4"), Some(Wire::Pcie { generation: 3, lanes: 4 }));
        assert_eq!(Wire::pcie("16 GT/s", "2"), Some(Wire::Pcie { generation: 4, lanes: 2 }));
        assert_eq!(Wire::pcie("Unknown", "4"), None);
        assert_eq!(Wire::pcie("8.0 GT/s PCIe", "0"), None);
        for text in ["", "SATA", "SATA 9", "USB 3", "8.0 GT/s PCIe x", "8.0 GT/s PCIe x3"] {
            assert_eq!(Wire::parse(text), None, "{text}");
        }
    }
}
