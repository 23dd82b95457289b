//! Identify (section 5.15): the controller, its namespaces, and their lists.

use device::nvme::MEMORY_PAGE;
use sim::Time;

use super::Controller;
use super::admin::{Course, Outcome};
use super::events::REQUESTS_MAX;
use super::io::copy;
use super::logs::ERROR_ENTRIES;
use super::namespaces::{ALL, FORMATS, Namespace};
use super::placement;
use super::registers::VERSION;
use crate::entry::{Entry, Status};

/// Bytes of every data structure.
const BYTES: usize = 4096;

/// Names that the controller reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Model number: ASCII, at most 40 characters; longer text is cut.
    pub model: String,
    /// Serial number: ASCII, at most 20 characters; longer text is cut.
    pub serial: String,
}

/// PCI vendor of the function. Assumed: no vendor is assigned to a simulated drive; drivers have no quirks for this
/// one.
pub(crate) const VENDOR: u16 = 0x1234;
/// Firmware revision: that of this program.
pub(super) const FIRMWARE: &str = env!("CARGO_PKG_VERSION");
/// Composite temperature thresholds in kelvin. Assumed: 70 and 80 degrees Celsius, as client drives report.
const WARNING_TEMPERATURE: u16 = 343;
const CRITICAL_TEMPERATURE: u16 = 353;

/// A data structure under construction.
pub(super) struct Page(Vec<u8>);

impl Page {
    pub fn new() -> Page {
        Page(vec![0; BYTES])
    }

    pub fn put<const N: usize>(&mut self, at: usize, bytes: [u8; N]) {
        self.0[at..at + N].copy_from_slice(&bytes);
    }

    /// Writes ASCII text, padded with spaces.
    fn text(&mut self, at: usize, bytes: usize, text: &str) {
        let field = &mut self.0[at..at + bytes];
        field.fill(b' ');
        let printable = text.bytes().map(|byte| if byte.is_ascii_graphic() { byte } else { b' ' });
        for (to, byte) in field.iter_mut().zip(printable) {
            *to = byte;
        }
    }
}

/// Returns the recommended arbitration burst (RAB), a power of two that feature 01h takes as well: there 7 is no limit.
fn recommended_burst(commands: Option<u32>) -> u8 {
    commands.map_or(7, |commands| commands.ilog2() as u8)
}

impl Controller {
    /// Performs Identify.
    pub(super) fn identify(&mut self, now: Time, tag: u16, entry: &Entry) -> Outcome {
        let namespace = entry.namespace();
        let page = match entry.dword(10) & 0xff {
            0x00 => self.identify_namespace(namespace)?,
            0x01 => self.identify_controller(),
            0x02 => self.list_namespaces(namespace)?,
            0x03 => self.describe_namespace(namespace)?,
            0x10..=0x13 => self.identify_managed(entry)?,
            0x19 if self.placement.is_some() => Page(self.list_endurance_groups(entry.dword(11) as u16)),
            _ => self.identify_by_set(entry)?,
        };
        self.send(now, tag, &page.0)?;
        Ok(Course::Ends(0))
    }

    /// Returns the Identify Controller data structure. These fields are 0 on purpose:
    ///
    /// | fields | meaning of 0 |
    /// | --- | --- |
    /// | IEEE | no OUI is assigned to a simulated drive |
    /// | CMIC, CNTLID, NSETIDMAX, ANA fields | one port and one controller; no NVM sets |
    /// | ENDGIDMAX | no endurance groups, except with placement |
    /// | FGUID, CRDT1 to CRDT3, RRLS, MEC | no such identifier, retry delay, recovery level or enclosure |
    /// | NPSS, APSTA, HCTMA, MNTMT, MXTMT | one power state, no thermal management by the host |
    /// | AVSCC, NVSCC | no vendor-specific commands |
    /// | MTFA, FWUG | no activation of firmware without a reset |
    /// | RPMBS, EDSTT, DSTO, PELS | no replay-protected block, self-test or persistent event log |
    /// | KAS | no keep-alive, which is meant for fabrics |
    /// | MAXCMD | no limit apart from the queues; only fabrics must report one |
    /// | ACWU | a fused Compare and Write of a single block, wherever it is; more in a mapping unit |
    /// | NWPC | no write protection |
    /// | FNA | a format or a secure erase applies to one namespace |
    /// | AWUN, AWUPF | single blocks, wherever they are, are written atomically; more in a [mapping unit](Self::atomicity) |
    fn identify_controller(&self) -> Page {
        let mut page = Page::new();
        let transfer = (self.transfer_max / MEMORY_PAGE).ilog2() as u8;
        page.put(0, VENDOR.to_le_bytes());
        page.put(2, VENDOR.to_le_bytes());
        page.text(4, 20, &self.identity.serial);
        page.text(24, 40, &self.identity.model);
        page.text(64, 8, FIRMWARE);
        page.put(72, [recommended_burst(self.arbitration_burst)]); // RAB
        page.put(77, [transfer]); // MDTS
        page.put(80, VERSION.to_le_bytes());
        page.put(84, 1_000_000u32.to_le_bytes()); // RTD3R, in us
        page.put(88, 1_000_000u32.to_le_bytes()); // RTD3E
        page.put(92, (1u32 << 8).to_le_bytes()); // OAES: namespace attribute notices
        page.put(96, 1u32.to_le_bytes()); // CTRATT: 128-bit host identifiers
        page.put(111, [1]); // CNTRLTYPE: I/O controller
        // OACS: Format NVM, Doorbell Buffer Config, Namespace Management.
        page.put(256, (1u16 << 1 | 1 << 8 | u16::from(self.namespaces.is_managed()) << 3).to_le_bytes());
        page.put(258, [3, REQUESTS_MAX as u8 - 1]); // ACL, AERL
        page.put(260, [0b11]); // FRMW: one slot, read-only
        page.put(261, [0b110]); // LPA: commands supported and effects, extended data
        page.put(262, [ERROR_ENTRIES as u8 - 1]); // ELPE
        page.put(266, WARNING_TEMPERATURE.to_le_bytes());
        page.put(268, CRITICAL_TEMPERATURE.to_le_bytes());
        let memory = self.host_memory.identify();
        page.put(272, memory.hmpre.to_le_bytes());
        page.put(276, memory.hmmin.to_le_bytes());
        page.put(280, self.namespaces.capacity().to_le_bytes()); // TNVMCAP
        page.put(296, self.namespaces.unallocated().to_le_bytes()); // UNVMCAP
        page.put(328, 0b11u32.to_le_bytes()); // SANICAP: crypto erase, block erase
        page.put(332, memory.hmminds.to_le_bytes());
        page.put(336, memory.hmmaxd.to_le_bytes());
        page.put(512, [0x66, 0x44]); // SQES, CQES
        page.put(516, self.namespaces.count().to_le_bytes()); // NN
        // ONCS: Compare, DSM, select, timestamp, Verify; without zones Write Zeroes and Copy.
        let (optional, formats) = if self.has_zones() { (0, 0) } else { (1 << 3 | 1 << 8, copy::FORMATS) };
        page.put(520, (1u16 | 1 << 2 | 1 << 4 | 1 << 6 | 1 << 7 | optional).to_le_bytes());
        page.put(522, u16::from(self.has_pairs()).to_le_bytes()); // FUSES: Compare and Write
        page.put(525, [u8::from(self.has_write_cache) | 0b110]); // VWC: flush of all namespaces
        page.put(534, formats.to_le_bytes()); // OCFS
        page.put(540, self.namespaces.count().to_le_bytes()); // MNAN
        page.put(536, 1u32.to_le_bytes()); // SGLS: any alignment
        let name = format!(
            "nqn.2014.08.org.nvmexpress:{VENDOR:04x}{VENDOR:04x}{:20}{:40}",
            self.identity.serial, self.identity.model
        );
        let name = &name.as_bytes()[..name.len().min(223)];
        page.0[768..768 + name.len()].copy_from_slice(name); // SUBNQN
        page.put(2048, 850u16.to_le_bytes()); // Power state 0: 8.5 W (assumed)
        if self.placement.is_some() {
            placement::put_controller(&mut page.0);
        }
        page
    }

    /// Returns the Identify Namespace data structure. 0 on purpose are MC, DPC and DPS (no metadata, no protection), NMIC
    /// and RESCAP (one controller), FPI (no progress of formats), NABO (namespaces begin with a mapping unit), NOIOB (no
    /// boundary), the identifiers of ANA groups, NVM sets and endurance groups, and EUI64 (NGUID identifies the namespace).
    fn identify_namespace(&self, identifier: u32) -> Result<Page, Status> {
        if identifier == ALL {
            let mut page = Page::new();
            // The capabilities common to all namespaces.
            self.put_formats(&mut page, &FORMATS[usize::from(self.has_zones())..], 0);
            return Ok(page);
        }
        // The data structure of an inactive namespace is 0.
        match (self.active(identifier), self.namespaces.get(identifier)) {
            (Some(namespace), _) => Ok(self.describe(identifier, namespace)),
            (None, None) if self.absent(identifier) == Status::INVALID_NAMESPACE => Err(Status::INVALID_NAMESPACE),
            _ => Ok(Page::new()),
        }
    }

    /// Returns the Identify Namespace data structure of a namespace, active or not. NUSE is the whole capacity, since there
    /// is no thin provisioning (NSFEAT).
    pub(super) fn describe(&self, identifier: u32, namespace: &Namespace) -> Page {
        let mut page = Page::new();
        for field in [0, 8, 16] {
            page.put(field, namespace.blocks().to_le_bytes()); // NSZE, NCAP, NUSE
        }
        let atomic = self.atomicity(namespace);
        page.put(24, [1 << 4 | u8::from(atomic.is_some()) << 1]); // NSFEAT: NPWG to NOWS, NAWUN to NABSPF
        for field in [34, 36, 38, 40, 44] {
            page.put(field, atomic.unwrap_or(0).to_le_bytes()); // NAWUN, NAWUPF, NACWU, NABSN, NABSPF
        }
        page.put(33, [0b1001]); // DLFEAT: deallocated blocks read as zeros, Write Zeroes deallocates
        page.put(48, self.namespaces.allocated(namespace.bytes).to_le_bytes()); // NVMCAP
        let unit = ((self.unit >> namespace.shift()).max(1) - 1) as u16;
        for field in [64, 66, 68, 70] {
            page.put(field, unit.to_le_bytes()); // NPWG, NPWA, NPDG, NPDA
        }
        if !self.has_zones() {
            let (one, all) = self.copy_limits(namespace);
            page.put(74, one.to_le_bytes()); // MSSRL
            page.put(76, all.to_le_bytes()); // MCL
            page.put(80, [copy::RANGES_MAX as u8 - 1]); // MSRC
        }
        page.put(104, self.unique(identifier)); // NGUID
        let (formats, current) = namespace.formats();
        self.put_formats(&mut page, formats, current as u8);
        if self.placement.is_some() {
            placement::put_namespace(&mut page.0);
        }
        page
    }

    /// Returns the logical blocks, less one, that are written atomically unless they cross a multiple of their number:
    /// those of a mapping unit. The write cache takes a unit at once and flash programs it at once, so that a read, and a
    /// power cut, finds the whole write or nothing. `None` where no more than a block is promised.
    pub(super) fn atomicity(&self, namespace: &Namespace) -> Option<u16> {
        let blocks = self.unit >> namespace.shift();
        (blocks > 1 && !namespace.is_zoned).then(|| blocks as u16 - 1)
    }

    fn put_formats(&self, page: &mut Page, formats: &[u8], current: u8) {
        page.put(25, [formats.len() as u8 - 1, current]); // NLBAF, FLBAS
        for (at, shift) in (128..).step_by(4).zip(formats.iter().copied()) {
            // Blocks as large as a mapping unit perform best.
            let is_best = 1 << shift >= self.unit.min(4096);
            page.put(at, (u32::from(shift) << 16 | u32::from(!is_best) << 25).to_le_bytes());
        }
    }

    /// Returns a globally unique identifier (NGUID): a hash of the serial number, the number of the namespace's creation,
    /// and the namespace.
    fn unique(&self, identifier: u32) -> [u8; 16] {
        // FNV-1a, 64 bits.
        let hash = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        let serial = self.identity.serial.bytes().fold(0xcbf2_9ce4_8422_2325, hash);
        let mut unique = [0; 16];
        unique[..8].copy_from_slice(&serial.to_be_bytes());
        let creation = self.namespaces.get(identifier).map_or(0, |namespace| namespace.creation);
        unique[8..12].copy_from_slice(&creation.to_be_bytes());
        unique[12..].copy_from_slice(&identifier.to_be_bytes());
        unique
    }

    /// Returns the list of namespace identifiers greater than `after`.
    fn list_namespaces(&self, after: u32) -> Result<Page, Status> {
        self.list_where(after, |_| true)
    }

    /// Returns the list of the active namespaces that `selects` accepts, with identifiers greater than `after`.
    pub(super) fn list_where(&self, after: u32, selects: impl Fn(&Namespace) -> bool) -> Result<Page, Status> {
        self.list_of(after, |identifier| self.active(identifier).is_some_and(&selects))
    }

    /// Returns the list of the identifiers greater than `after` that `selects` accepts.
    pub(super) fn list_of(&self, after: u32, selects: impl Fn(u32) -> bool) -> Result<Page, Status> {
        if after >= ALL - 1 {
            return Err(Status::INVALID_NAMESPACE);
        }
        let mut page = Page::new();
        let selected = (after + 1..=self.namespaces.count()).filter(|identifier| selects(*identifier));
        for (to, identifier) in page.0.chunks_exact_mut(4).zip(selected) {
            to.copy_from_slice(&identifier.to_le_bytes());
        }
        Ok(page)
    }

    /// Returns the Namespace Identification Descriptor list: the NGUID, and the command set if there are several.
    fn describe_namespace(&self, identifier: u32) -> Result<Page, Status> {
        self.active(identifier).ok_or_else(|| self.absent(identifier))?;
        let mut page = Page::new();
        page.put(0, [2, 16, 0, 0]); // NIDT: NGUID, NIDL
        page.put(4, self.unique(identifier));
        if let Some(set) = self.describe_set(identifier) {
            page.put(20, set);
        }
        Ok(page)
    }
}
