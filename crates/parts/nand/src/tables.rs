//! The configuration in the form that the hot paths need.

use media::PageAddr;
use sim::{Dense, Time};

use crate::config::{Cell, Config, PageSpan, Policy, Reuse};
use crate::schedule::op::{HOST, MAP, Op, REST};
use crate::variation::Factors;

/// Page types of the cell, plus SLC mode; rounded up so that three bits index them.
const TYPES: usize = 8;
const SLC_TYPE: usize = Cell::BITS_MAX;

/// Changes of an operation's array time.
struct Changes {
    /// Factors by location, if they vary.
    factors: Option<Factors>,
    /// The time to sense each page number of a page of a type, if it has several.
    parts: Option<[Vec<Time>; TYPES]>,
}

pub(crate) struct Tables {
    /// Type of each page of a block.
    types: Dense<u8>,
    read: [Time; TYPES],
    program: [Time; TYPES],
    /// Changes of these times by location or part, if there are any.
    changes: Option<Box<Changes>>,
    /// The pages of the dies in a page, and planes among them.
    pub span: PageSpan,
    pub one: u64,
    pub read_command: Time,
    pub program_command: Time,
    pub erase_command: Time,
    /// Times that the data of a program crosses the channel.
    pub passes: u64,
    /// Channel time and bytes of a page on one plane of a die.
    pub page_transfer: Time,
    pub page_bytes: u64,
    transfers_per_s: u64,
    /// Bytes and time of the last transfer, since most are alike.
    last_transfer: (u64, Time),
    /// Read data is decoded after its transfer.
    pub decoded: bool,
    pub read_uw: u64,
    pub cache_read: bool,
    pub cache_program: bool,
    /// A die may start an operation while another runs: cache reads, cache programs, reads of other planes.
    pub overlaps: bool,
    /// Planes of a die read independently.
    pub independent: bool,
    /// Commands of cache reads arrive while the array reads the previous page, for reads that collection issues in
    /// sequence.
    pub sequences: bool,
    /// A read of the page in the register skips sensing...
    pub reuse_page: bool,
    /// ...unless its die has been idle since.
    pub forgets: bool,
    /// Programs or erases may be suspended.
    pub suspends: bool,
    /// The queue of a read, by `media::Class`.
    pub read_queues: [u8; 3],
    /// Bytes of a codeword: a read transfers whole codewords; and its mask, if a power of two.
    codeword: u32,
    codeword_mask: Option<u32>,
    pub dies: usize,
    blocks: u32,
    planes_mask: u16,
    plane_blocks: usize,
    die_blocks: usize,
    pub slc_pages: u32,
}

impl Tables {
    pub(crate) fn new(config: &Config, seed: u64) -> Tables {
        let (g, t, s) = (config.geometry, config.timing, config.scheduling);
        let bits = config.cell.bits();
        let parts = |times: &[Time; Cell::BITS_MAX], slc: Time| -> [Vec<Time>; TYPES] {
            // Types repeat after as many pages as there are types, however many pages a page spans.
            std::array::from_fn(|kind| {
                let part = |row: u32| times[((kind as u32 * config.span.pages + row) % bits) as usize];
                (0..config.span.pages).map(|row| if kind < SLC_TYPE { part(row) } else { slc }).collect()
            })
        };
        let whole = |parts: &[Vec<Time>; TYPES]| -> [Time; TYPES] {
            std::array::from_fn(|kind| parts[kind].iter().fold(Time::ZERO, |sum, part| sum + *part))
        };
        let spans = config.span != PageSpan::ONE;
        let read_parts = parts(&t.read, t.slc_read);
        let (read, program) = (whole(&read_parts), whole(&parts(&t.program, t.slc_program)));
        let (factors, read_parts) = (Factors::new(config, seed), spans.then_some(read_parts));
        let page_bytes = g.page_bytes / config.span.planes;
        let reads_first = s.policy == Policy::ReadsFirst;
        Tables {
            types: Dense::new((0..g.pages).map(|page| (page % bits) as u8).collect()),
            read,
            program,
            changes: (factors.is_some() || spans).then(|| Box::new(Changes { factors, parts: read_parts })),
            span: config.span,
            one: u64::from(config.span.planes),
            read_command: t.read_command,
            program_command: t.program_command * u64::from(config.span.pages),
            erase_command: t.erase_command,
            passes: u64::from(t.programming.passes()),
            page_transfer: Time::of_transfer(u64::from(page_bytes), t.transfers_per_s),
            page_bytes: u64::from(page_bytes),
            transfers_per_s: t.transfers_per_s,
            last_transfer: (0, Time::ZERO),
            decoded: config.ecc.decode > Time::ZERO || config.ecc.decode_bandwidth.is_some(),
            read_uw: config.power.read_uw,
            cache_read: s.cache_read,
            cache_program: s.cache_program,
            overlaps: s.cache_read || s.cache_program || s.independent_reads,
            independent: s.independent_reads,
            sequences: s.cache_read && !s.independent_reads && s.policy == Policy::ReadsFirst,
            reuse_page: s.reuse_page != Reuse::Never,
            forgets: s.reuse_page == Reuse::Queued,
            suspends: reads_first && (s.program_suspend || s.erase_suspend),
            read_queues: if reads_first { [HOST as u8, MAP as u8, REST as u8] } else { [REST as u8; 3] },
            codeword: config.ecc.codeword_bytes.max(1),
            codeword_mask: config.ecc.codeword_bytes.is_power_of_two().then(|| config.ecc.codeword_bytes - 1),
            dies: g.all_dies() as usize,
            blocks: g.blocks,
            planes_mask: ((1u32 << g.planes) - 1) as u16,
            plane_blocks: g.blocks as usize,
            die_blocks: g.blocks as usize * g.planes as usize,
            slc_pages: g.pages / bits,
        }
    }

    /// Returns whether such planes and such a block exist. (Dies and pages are checked by lookups.)
    #[inline]
    pub(crate) fn has(&self, page: PageAddr) -> bool {
        // At least one plane, and none beyond the last.
        (page.planes.0.wrapping_sub(1) < self.planes_mask) & (page.block < self.blocks)
    }

    /// Returns the type of a page in the cell's mode or, if `slc`, in SLC mode.
    ///
    /// # Panics
    /// If a block has no such page.
    #[inline]
    pub(crate) fn page_type(&self, page: u32, slc: bool) -> usize {
        let kind = self.types[page as usize] as usize;
        if slc { SLC_TYPE } else { kind }
    }

    /// Returns the array time of the read `op` of a page of type `kind`.
    #[inline]
    pub(crate) fn read(&self, kind: usize, op: &Op) -> Time {
        let time = self.read[kind % TYPES];
        if self.changes.is_none() { time } else { self.read_changed(time, op, kind) }
    }

    /// Returns the array time of the program `op` of a page of type `kind`.
    #[inline]
    pub(crate) fn program(&self, kind: usize, op: &Op) -> Time {
        let time = self.program[kind % TYPES];
        if self.changes.is_none() { time } else { self.by_place(time, op, kind) }
    }

    /// Returns the array time of a read of all or some page numbers of a page. Each number beyond the first has its own
    /// command.
    fn read_changed(&self, whole: Time, op: &Op, kind: usize) -> Time {
        let Some(parts) = self.changes.as_ref().and_then(|changes| changes.parts.as_ref()) else {
            return self.by_place(whole, op, kind);
        };
        let (first, end) = if op.rows.1 == 0 { (0, self.span.pages as u8) } else { op.rows };
        let rows = &parts[kind % TYPES][usize::from(first)..usize::from(end)];
        let time = rows.iter().fold(Time::ZERO, |sum, part| sum + *part);
        let commands = self.read_command * (u64::from(op.plane_count) * (rows.len() as u64 - 1));
        self.by_place(time, op, kind) + commands
    }

    #[cold]
    fn by_place(&self, time: Time, op: &Op, kind: usize) -> Time {
        let factors = self.changes.as_ref().and_then(|changes| changes.factors.as_ref());
        factors.map_or(time, |factors| factors.apply(time, op, kind == SLC_TYPE))
    }

    /// Returns the bytes transferred for a read of `bytes` from `planes` pages: whole codewords.
    #[inline]
    pub(crate) fn whole_codewords(&self, bytes: u32, planes: u64) -> u32 {
        let whole = match self.codeword_mask {
            Some(mask) => (bytes + mask) & !mask,
            None => bytes.next_multiple_of(self.codeword),
        };
        whole.min((self.page_bytes * planes) as u32)
    }

    /// Returns the channel time of `bytes`.
    #[inline]
    pub(crate) fn transfer(&mut self, bytes: u64) -> Time {
        if bytes == self.last_transfer.0 {
            self.last_transfer.1
        } else if bytes == self.page_bytes {
            // Reads of whole pages and of parts often alternate.
            self.page_transfer
        } else {
            self.last_transfer = (bytes, Time::of_transfer(bytes, self.transfers_per_s));
            self.last_transfer.1
        }
    }

    /// Returns the number, over the whole array, of an operation's block on its lowest plane.
    #[inline]
    pub(crate) fn block_of(&self, op: &Op) -> usize {
        op.die as usize * self.die_blocks
            + op.planes.0.trailing_zeros() as usize * self.plane_blocks
            + op.block as usize
    }
}
