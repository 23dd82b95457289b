//! Identify by I/O command set (CNS 05h to 08h and 1Ch), and the command set in descriptor lists.

use super::{ALL_SETS, NVM, Shape, ZONED};
use crate::controller::Controller;
use crate::controller::identify::Page;
use crate::controller::namespaces::ALL;
use crate::entry::{Entry, Status};

/// Byte of the first LBA format extension, in the zoned Identify Namespace data structure.
const FORMAT_EXTENSIONS: usize = 2816;
/// Namespace identifier type of a command set, in a descriptor list.
const COMMAND_SET: u8 = 4;

impl Controller {
    /// Returns the data structure of an Identify command whose CNS value depends on a command set.
    ///
    /// # Errors
    /// Fails with the status of the command: all on a controller without zones, which has one command set.
    pub(in crate::controller) fn identify_by_set(&self, entry: &Entry) -> Result<Page, Status> {
        let (identifier, set) = (entry.namespace(), (entry.dword(11) >> 24) as u8);
        if !self.has_zones() || set != NVM && set != ZONED {
            return Err(Status::INVALID_FIELD);
        }
        match entry.dword(10) & 0xff {
            0x05 => self.identify_namespace_by_set(identifier, set),
            // ZASL is 0: appends may be as large as any transfer. Of the NVM command set no limits are reported.
            0x06 => Ok(Page::new()),
            0x07 => self.list_by_set(identifier, set),
            0x08 => self.identify_any_namespace(identifier),
            0x1c => Ok(self.identify_sets()),
            _ => Err(Status::INVALID_FIELD),
        }
    }

    /// Returns the Identify Namespace data structure of one command set. That of the NVM command set is 0: no storage
    /// tags and no extended formats.
    fn identify_namespace_by_set(&self, identifier: u32, set: u8) -> Result<Page, Status> {
        if identifier == ALL && set == NVM {
            return Ok(Page::new());
        }
        let namespace = self.active(identifier).ok_or(Status::INVALID_NAMESPACE)?;
        match (set, namespace.is_zoned, self.zones) {
            // The zoned command set includes that of NVM.
            (NVM, ..) => Ok(Page::new()),
            (_, true, Some(shape)) => Ok(identify_zones(&shape)),
            _ => Err(Status::INVALID_FIELD),
        }
    }

    /// Returns the list of namespaces of a command set with identifiers greater than `after`.
    fn list_by_set(&self, after: u32, set: u8) -> Result<Page, Status> {
        self.list_where(after, |namespace| namespace.is_zoned == (set == ZONED))
    }

    /// Returns the Identify Namespace data structure that all command sets share. Only NSTAT is not 0: the namespace is
    /// ready.
    fn identify_any_namespace(&self, identifier: u32) -> Result<Page, Status> {
        self.active(identifier).ok_or(Status::INVALID_NAMESPACE)?;
        let mut page = Page::new();
        page.put(14, [1]);
        Ok(page)
    }

    /// Returns the only combination of command sets: NVM and zoned.
    fn identify_sets(&self) -> Page {
        let mut page = Page::new();
        page.put(0, (1u64 << NVM | 1 << ZONED).to_le_bytes());
        page
    }

    /// Returns the descriptor of a namespace's command set, on a controller with more than one.
    pub(in crate::controller) fn describe_set(&self, identifier: u32) -> Option<[u8; 5]> {
        let namespace = self.active(identifier)?;
        let set = if namespace.is_zoned { ZONED } else { NVM };
        self.has_zones().then_some([COMMAND_SET, 1, 0, 0, set])
    }

    /// Returns the command sets that a host can choose with CC.CSS, as bits of CAP.CSS beyond the NVM command set.
    pub(in crate::controller) fn more_sets(&self) -> u64 {
        u64::from(self.has_zones()) << ALL_SETS
    }
}

/// Returns the Identify Namespace data structure of a namespace with zones. 0 on purpose are ZOC (one capacity for all
/// zones, which change without a command only to read only), RRL and FRL (no recommended limits), and ZDES (no descriptor
/// extensions).
fn identify_zones(shape: &Shape) -> Page {
    let mut page = Page::new();
    // Numbers less one; all ones for no limit.
    let limit = |most: Option<u32>| most.map_or(u32::MAX, |most| most - 1);
    page.put(2, 1u16.to_le_bytes()); // OZCS: reads may cross zones
    page.put(4, limit(shape.active_max).to_le_bytes()); // MAR
    page.put(8, limit(shape.open_max).to_le_bytes()); // MOR
    page.put(FORMAT_EXTENSIONS, shape.size.to_le_bytes()); // ZSZE
    page
}
