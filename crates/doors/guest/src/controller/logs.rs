//! Log pages (section 5.14.1), from the counters of controller, translation layer and flash.

use std::collections::VecDeque;

use sim::{Schedule, Time};
use storage::PlacementBytes;

use super::admin::{Course, Outcome, opcode};
use super::identify::FIRMWARE;
use super::placement::ENDURANCE_GROUP_LOG;
use super::saved::COUNTERS;
use super::{Controller, Event, Need};
use crate::entry::{Entry, Status, opcode as io};

/// Log identifiers.
const ERRORS: u8 = 0x01;
const HEALTH: u8 = 0x02;
const FIRMWARE_SLOTS: u8 = 0x03;
const CHANGED_NAMESPACES: u8 = 0x04;
const EFFECTS: u8 = 0x05;
const SANITIZE: u8 = 0x81;

/// Entries of the error log (ELPE + 1).
pub(super) const ERROR_ENTRIES: usize = 64;
/// Bytes of an entry of the error log.
const ERROR_BYTES: usize = 64;
/// Composite temperature in kelvin. Assumed: 40 degrees Celsius; there is no thermal model.
const TEMPERATURE: u16 = 313;
/// Bytes of a data unit of the health log: 1,000 sectors of 512 bytes.
const DATA_UNIT: u64 = 512_000;

/// The part of the health log that translation layer and flash supply.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Health {
    /// Spare blocks left, in percent of a new drive's.
    pub spare: u8,
    /// Percentage of the flash's rated endurance used: the mean erase count of all blocks; may exceed 100.
    pub used: u8,
    /// The drive accepts no more writes.
    pub read_only: bool,
    /// Data that was lost because flash could not be read.
    pub media_errors: u64,
    /// Bytes written and erased since the translation layer was mounted.
    pub bytes: PlacementBytes,
}

/// Counters of the controller.
#[derive(Clone, Debug, Default)]
pub(super) struct Logs {
    reads: u64,
    writes: u64,
    read_bytes: u64,
    written_bytes: u64,
    power_cycles: u64,
    unsafe_shutdowns: u64,
    busy: Time,
    busy_since: Option<Time>,
    errors: VecDeque<[u8; ERROR_BYTES]>,
    error_count: u64,
}

impl Logs {
    pub fn new() -> Logs {
        Logs { power_cycles: 1, ..Logs::default() }
    }

    /// Counts an I/O command that transfers, zeroes, compares, verifies or copies `bytes`. Assumed: a verify reads data
    /// without a command of the host, and a copy is a read and a write.
    pub fn count(&mut self, entry: &Entry, bytes: u64) {
        match entry.opcode() {
            io::READ => (self.reads, self.read_bytes) = (self.reads + 1, self.read_bytes + bytes),
            io::WRITE | io::ZONE_APPEND => {
                (self.writes, self.written_bytes) = (self.writes + 1, self.written_bytes + bytes)
            }
            io::COMPARE => (self.reads, self.read_bytes) = (self.reads + 1, self.read_bytes + bytes),
            io::VERIFY => self.read_bytes += bytes,
            io::COPY => {
                (self.reads, self.read_bytes) = (self.reads + 1, self.read_bytes + bytes);
                (self.writes, self.written_bytes) = (self.writes + 1, self.written_bytes + bytes);
            }
            _ => {}
        }
    }

    /// Records whether commands are in progress from `now` on.
    pub fn is_busy(&mut self, now: Time, busy: bool) {
        match (busy, self.busy_since) {
            (true, None) => self.busy_since = Some(now),
            (false, Some(since)) => {
                self.busy += now - since;
                self.busy_since = None;
            }
            _ => {}
        }
    }

    /// Records a power cut.
    pub fn power_cut(&mut self, is_safe: bool) {
        self.power_cycles += 1;
        self.unsafe_shutdowns += u64::from(!is_safe);
        self.busy_since = None;
    }

    /// Returns the counters that outlive a power cut, in the order of [`COUNTERS`].
    pub fn counters(&self) -> [u64; COUNTERS.len()] {
        [
            self.power_cycles,
            self.unsafe_shutdowns,
            self.reads,
            self.writes,
            self.read_bytes,
            self.written_bytes,
            self.busy.ps(),
            self.error_count,
        ]
    }

    /// Sets these counters.
    pub fn set_counters(&mut self, counters: [u64; COUNTERS.len()]) {
        let busy;
        [
            self.power_cycles,
            self.unsafe_shutdowns,
            self.reads,
            self.writes,
            self.read_bytes,
            self.written_bytes,
            busy,
            self.error_count,
        ] = counters;
        self.busy = Time::from_ps(busy);
    }

    /// Adds an entry to the error log.
    pub fn record_error(&mut self, queue: u16, entry: &Entry, status: Status) {
        self.error_count += 1;
        let mut log = [0; ERROR_BYTES];
        log[..8].copy_from_slice(&self.error_count.to_le_bytes());
        log[8..10].copy_from_slice(&queue.to_le_bytes());
        log[10..12].copy_from_slice(&entry.cid().to_le_bytes());
        log[12..14].copy_from_slice(&(status.0 << 1).to_le_bytes());
        log[14..16].copy_from_slice(&u16::MAX.to_le_bytes()); // no parameter location
        log[16..24].copy_from_slice(&entry.lba().to_le_bytes());
        log[24..28].copy_from_slice(&entry.namespace().to_le_bytes());
        self.errors.push_front(log);
        self.errors.truncate(ERROR_ENTRIES);
    }

    /// Returns the health log page.
    fn health(&self, now: Time, health: &Health) -> Vec<u8> {
        let mut page = vec![0; 512];
        let hours = |time: Time| u128::from(time.ps() / Time::from_ms(3_600_000).ps());
        page[0] = u8::from(health.spare < SPARE_THRESHOLD) | u8::from(health.read_only) << 3;
        page[1..3].copy_from_slice(&TEMPERATURE.to_le_bytes());
        (page[3], page[4], page[5]) = (health.spare, SPARE_THRESHOLD, health.used);
        let busy = self.busy + self.busy_since.map_or(Time::ZERO, |since| now - since);
        let fields = [
            u128::from(self.read_bytes.div_ceil(DATA_UNIT)),
            u128::from(self.written_bytes.div_ceil(DATA_UNIT)),
            u128::from(self.reads),
            u128::from(self.writes),
            u128::from(busy.ps() / Time::from_ms(60_000).ps()),
            u128::from(self.power_cycles),
            hours(now),
            u128::from(self.unsafe_shutdowns),
            u128::from(health.media_errors),
            u128::from(self.error_count),
        ];
        for (to, field) in page[32..].chunks_exact_mut(16).zip(fields) {
            to.copy_from_slice(&field.to_le_bytes());
        }
        page
    }

    /// Returns the Endurance Group Information log page of a group that is the whole drive of `capacity` bytes, of which
    /// `media_bytes` were programmed. The endurance estimate is not reported.
    fn endurance_group(&self, health: &Health, media_bytes: u64, capacity: u64) -> Vec<u8> {
        let mut page = vec![0; 512];
        page[0] = u8::from(health.spare < SPARE_THRESHOLD) | u8::from(health.read_only) << 3;
        (page[3], page[4], page[5]) = (health.spare, SPARE_THRESHOLD, health.used);
        let fields = [
            self.read_bytes.div_ceil(GROUP_UNIT),
            self.written_bytes.div_ceil(GROUP_UNIT),
            media_bytes.div_ceil(GROUP_UNIT),
            self.reads,
            self.writes,
            health.media_errors,
            self.error_count,
            capacity,
        ];
        for (to, field) in page[48..].chunks_exact_mut(16).zip(fields) {
            to[..8].copy_from_slice(&field.to_le_bytes());
        }
        page
    }
}

/// Bytes of a data unit of the Endurance Group Information log.
const GROUP_UNIT: u64 = 1_000_000_000;

/// Available spare below which the controller warns. Assumed: 10 %, as drives report.
const SPARE_THRESHOLD: u8 = 10;

/// Commands Supported and Effects: supported; may change logical blocks; changes a namespace's capabilities.
const SUPPORTED: u32 = 1;
pub(super) const CHANGES_BLOCKS: u32 = 1 << 1;
const CHANGES_NAMESPACE: u32 = 1 << 2;
/// Effect: changes the namespaces that exist or are attached.
const CHANGES_INVENTORY: u32 = 1 << 3;

/// I/O commands, and their effects apart from being supported.
const COMMANDS: [(u8, u32); 8] = [
    (io::FLUSH, 0),
    (io::WRITE, CHANGES_BLOCKS),
    (io::READ, 0),
    (io::WRITE_ZEROES, CHANGES_BLOCKS),
    (io::DATASET_MANAGEMENT, CHANGES_BLOCKS),
    (io::COMPARE, 0),
    (io::VERIFY, 0),
    (io::COPY, CHANGES_BLOCKS),
];

/// Returns the Commands Supported and Effects log page with these I/O commands, and those of `placement` and of the
/// management of namespaces.
fn effects(commands: Vec<(u8, u32)>, placement: bool, management_of_namespaces: bool) -> Vec<u8> {
    let mut page = vec![0; 4096];
    let admin = [
        (opcode::DELETE_SUBMISSION_QUEUE, 0),
        (opcode::CREATE_SUBMISSION_QUEUE, 0),
        (opcode::GET_LOG_PAGE, 0),
        (opcode::DELETE_COMPLETION_QUEUE, 0),
        (opcode::CREATE_COMPLETION_QUEUE, 0),
        (opcode::IDENTIFY, 0),
        (opcode::ABORT, 0),
        (opcode::SET_FEATURES, 0),
        (opcode::GET_FEATURES, 0),
        (opcode::ASYNCHRONOUS_EVENT_REQUEST, 0),
        (opcode::DOORBELL_BUFFER_CONFIG, 0),
        (opcode::FORMAT, CHANGES_BLOCKS | CHANGES_NAMESPACE),
        (opcode::SANITIZE, CHANGES_BLOCKS),
    ];
    let directives = [opcode::DIRECTIVE_SEND, opcode::DIRECTIVE_RECEIVE].map(|code| (0, code, 0));
    let management = [io::IO_MANAGEMENT_RECEIVE, io::IO_MANAGEMENT_SEND].map(|code| (1024, code, 0));
    let optional = directives.into_iter().chain(management).filter(|_| placement);
    let inventory =
        [opcode::NAMESPACE_MANAGEMENT, opcode::NAMESPACE_ATTACHMENT].map(|code| (0, code, CHANGES_INVENTORY));
    let optional = optional.chain(inventory.into_iter().filter(|_| management_of_namespaces));
    let rows = admin.into_iter().map(|(code, of)| (0, code, of)).chain(optional);
    for (table, code, effect) in rows.chain(commands.into_iter().map(|(code, of)| (1024, code, of))) {
        let at = table + 4 * usize::from(code);
        page[at..at + 4].copy_from_slice(&(SUPPORTED | effect).to_le_bytes());
    }
    page
}

impl Controller {
    /// Performs Get Log Page.
    pub(super) fn get_log_page(&mut self, now: Time, tag: u16, entry: &Entry, s: &mut dyn Schedule<Event>) -> Outcome {
        let log = entry.dword(10) as u8;
        let page = match log {
            ERRORS => {
                let mut page: Vec<u8> = self.logs.errors.iter().flatten().copied().collect();
                page.resize(ERROR_ENTRIES * ERROR_BYTES, 0);
                page
            }
            // The counters of translation layer and flash are not this controller's.
            HEALTH => {
                self.needs.push(Need::Health(tag));
                return Ok(Course::Waits);
            }
            FIRMWARE_SLOTS => {
                let mut page = vec![0; 512];
                page[0] = 1;
                page[8..16].fill(b' ');
                page[8..8 + FIRMWARE.len().min(8)].copy_from_slice(&FIRMWARE.as_bytes()[..FIRMWARE.len().min(8)]);
                page
            }
            CHANGED_NAMESPACES => {
                let changed = std::mem::take(&mut self.changed_namespaces);
                let mut page: Vec<u8> = changed.iter().flat_map(|identifier| identifier.to_le_bytes()).collect();
                page.resize(4096, 0);
                page
            }
            EFFECTS => {
                let commands = self.commands_by_set(entry, &COMMANDS)?;
                effects(commands, self.placement.is_some(), self.namespaces.is_managed())
            }
            SANITIZE => self.background.sanitize_status(),
            _ => return self.get_placement_log(now, tag, entry, s),
        };
        self.send_log(now, tag, &page, s)?;
        Ok(Course::Ends(0))
    }

    /// Sends the requested part of a log page.
    pub(super) fn send_log(
        &mut self,
        now: Time,
        tag: u16,
        page: &[u8],
        s: &mut dyn Schedule<Event>,
    ) -> Result<(), Status> {
        let entry = self.commands.of_tag(tag).entry;
        let dwords = u64::from(entry.dword(10) >> 16) | u64::from(entry.dword(11) & 0xffff) << 16;
        let (bytes, offset) = ((dwords + 1) * 4, entry.quad(12));
        if bytes > self.transfer_max || !offset.is_multiple_of(4) || offset >= page.len() as u64 {
            return Err(Status::INVALID_FIELD);
        }
        // Bytes beyond the end of a page are undefined: zeros here.
        let mut part = page[offset as usize..].to_vec();
        part.resize(bytes as usize, 0);
        self.send(now, tag, &part)?;
        // Retain Asynchronous Event (RAE) keeps the events that refer to the page.
        if entry.dword(10) >> 15 & 1 == 0 {
            self.clear_events(now, entry.dword(10) as u8, s);
        }
        Ok(())
    }

    /// Answers a request for the health log with the state of translation layer and flash.
    pub fn health(&mut self, now: Time, tag: u16, health: &Health, s: &mut dyn Schedule<Event>) {
        let page = match &self.placement {
            Some(placement) if self.commands.of_tag(tag).entry.dword(10) as u8 == ENDURANCE_GROUP_LOG => {
                let media_bytes = placement.total(health.bytes).media;
                self.logs.endurance_group(health, media_bytes, self.namespaces.capacity())
            }
            _ => self.logs.health(now, health),
        };
        match self.send_log(now, tag, &page, s) {
            Ok(()) => self.finish(now, tag, s),
            Err(status) => self.end(now, tag, status, s),
        }
    }
}
