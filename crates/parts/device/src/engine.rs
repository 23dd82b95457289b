//! What every front end has: commands by tag, the processors that decode and end them, and the memory that their data
//! passes through.

use media::{Op, Request, Status, Tag};
use sim::{Dense, Schedule, Time, Track};

use crate::handling::Handler;
use crate::pool::Pool;
use crate::{Config, DECODED, ENDED, Event, Firmware};

/// No tag.
pub(crate) const NONE: u16 = u16::MAX;

/// How far a command is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Free,
    /// Taken from the host, not decoded.
    Admitted,
    /// With the translation layer.
    Running,
    /// Its end is known.
    Ended,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Command {
    pub request: Request,
    /// Bytes of its data that were not yet sent to the host or called for. (A trim moves none of what it asks for.)
    left: u64,
    /// When the last of them has left.
    sent: Time,
    pub queue: u16,
    pub cid: u16,
    /// Tag of the command that was fetched together with it; of a free place, whatever its owner keeps there.
    pub next: u16,
    pub status: Status,
    state: State,
}

/// Memory that data passes through: written, then read.
#[derive(Clone, Debug)]
struct Dram {
    port: Pool,
    rate: u64,
    /// Bytes and time of the last transfer: most are alike.
    last: (u64, Time),
}

/// Commands, processors and memory of a controller.
#[derive(Clone, Debug)]
pub(crate) struct Engine {
    commands: Dense<Command>,
    firmware: Pool,
    costs: Firmware,
    /// Decoding a command, by its kind.
    decode: [Time; 4],
    dram: Option<Dram>,
    handler: Option<Box<Handler>>,
    /// Nothing delays the end of a read behind its data: no memory of the controller, no firmware.
    direct: bool,
}

impl Engine {
    pub fn new(config: &Config) -> Engine {
        let commands = config.max_commands;
        assert!((1..=u32::from(NONE)).contains(&commands), "{commands} commands, expected 1 to 65535");
        let handler = Handler::new(&config.handling).map(Box::new);
        let delays = handler.as_ref().is_some_and(|handler| handler.delays_reads());
        let command = Command {
            request: Request::flush(),
            left: 0,
            sent: Time::ZERO,
            queue: 0,
            cid: 0,
            next: NONE,
            status: Status::Ok,
            state: State::Free,
        };
        Engine {
            // SAFETY: tags are those that were handed out, from a chain of all; a number from elsewhere goes through `index`.
            commands: unsafe { Dense::new(vec![command; commands as usize]) },
            firmware: Pool::new(config.firmware.cores),
            costs: config.firmware,
            decode: [Op::Read, Op::Write, Op::Trim, Op::Flush].map(|op| config.firmware.decode(op)),
            direct: config.dram_bandwidth.is_none() && config.firmware.complete == Time::ZERO && !delays,
            handler,
            dram: config.dram_bandwidth.map(|rate| Dram { port: Pool::new(1), rate, last: (0, Time::ZERO) }),
        }
    }

    /// Commands at a time.
    pub fn capacity(&self) -> u16 {
        self.commands.len() as u16
    }

    #[inline(always)]
    pub fn command(&self, tag: u16) -> &Command {
        &self.commands[tag as usize]
    }

    #[inline(always)]
    pub fn chain(&mut self, tag: u16, next: u16) {
        self.commands[tag as usize].next = next;
    }

    /// Takes a command in, which goes to the translation layer at once if it `runs`. Returns what was kept in
    /// [`Command::next`] before.
    #[inline(always)]
    pub fn admit(&mut self, tag: u16, queue: u16, cid: u16, request: &Request, runs: bool) -> u16 {
        let command = &mut self.commands[tag as usize];
        debug_assert!(command.state == State::Free, "tag {tag} is taken in in state {:?}", command.state);
        let kept = command.next;
        *command = Command {
            request: request.by_field(),
            left: request.bytes,
            sent: Time::ZERO,
            queue,
            cid,
            next: NONE,
            status: Status::Ok,
            state: if runs { State::Running } else { State::Admitted },
        };
        kept
    }

    /// Has a processor decode the command. True if that takes no time and no event will follow.
    #[inline]
    pub fn decode(&mut self, now: Time, tag: u16, s: &mut impl Schedule<Event>) -> bool {
        let request = self.commands[tag as usize].request;
        if self.decode_length(&request) == Time::ZERO && self.handler.is_none() {
            return true;
        }
        let at = self.decodes(now, &request, s);
        self.decoded_at(tag, at, s);
        false
    }

    /// Has a processor decode a command, a `request`, that is there at `at`. If that is later than now, nothing may be decoded or
    /// ended by a processor that is there before it. Returns when it is decoded.
    #[inline(always)]
    pub fn decodes(&mut self, at: Time, request: &Request, s: &mut impl Schedule<Event>) -> Time {
        if self.handler.is_some() {
            return self.handles(at, request.by_field(), s);
        }
        let work = self.firmware.take(at, self.decode_length(request));
        s.span(Track(work.server), name(request.op), work.from, work.to);
        work.to
    }

    /// Processor time to decode `request`.
    #[inline]
    fn decode_length(&self, request: &Request) -> Time {
        let length = self.decode[request.op as usize];
        if request.op == Op::Trim { length + self.costs.trimming(request.bytes) } else { length }
    }

    /// Like [`decodes`](Self::decodes), with the configured handling costs.
    #[inline(never)]
    fn handles(&mut self, at: Time, request: Request, s: &mut impl Schedule<Event>) -> Time {
        let length = self.decode_length(&request);
        let Some(handler) = &mut self.handler else { return at };
        let behind = handler.behind(&request);
        let work = self.firmware.take(at, length + behind);
        s.span(Track(work.server), name(request.op), work.from, work.to);
        work.to - behind + handler.wait(&request)
    }

    /// True if reads may end in a different order than their data arrive.
    pub fn reorders(&self) -> bool {
        self.handler.as_ref().is_some_and(|handler| handler.delays_reads())
    }

    /// The command is decoded at `at`: that is an event.
    #[inline(always)]
    pub fn decoded_at(&self, tag: u16, at: Time, s: &mut impl Schedule<Event>) {
        s.at(DECODED, at, Event::Decoded(tag));
    }

    /// A processor works for `length` on what is there at `at`. Returns when it is done.
    pub fn work(&mut self, at: Time, length: Time, name: &'static str, s: &mut impl Schedule<Event>) -> Time {
        let work = self.firmware.take(at, length);
        s.span(Track(work.server), name, work.from, work.to);
        work.to
    }

    /// The command's data will not move.
    pub fn abandon(&mut self, tag: u16) {
        self.commands[tag as usize].left = 0;
    }

    /// The command goes to the translation layer.
    #[inline(always)]
    pub fn run(&mut self, tag: u16) -> &Command {
        let command = &mut self.commands[tag as usize];
        if command.state != State::Admitted {
            refuse("decoded", tag, command.state);
        }
        command.state = State::Running;
        command
    }

    /// `bytes` of the command's data are to move now; returns when the controller's memory has passed them.
    #[inline(always)]
    pub fn stage(&mut self, now: Time, tag: u16, op: Op, bytes: u64, s: &mut impl Schedule<Event>) -> Time {
        let command = &mut self.commands[tag as usize];
        assert!(command.state == State::Running, "data for tag {tag} in state {:?}", command.state);
        assert!(command.request.op == op, "data of a {op:?} for tag {tag}, a {:?}", command.request.op);
        assert!(bytes <= command.left, "{bytes} bytes of data, {} are left of {:?}", command.left, command.request);
        command.left -= bytes;
        let staged = if self.handler.is_none() { now } else { self.pass_staging(now, tag, bytes, s) };
        if self.dram.is_none() { staged } else { staged.max(self.pass(now, op, bytes, s)) }
    }

    /// Sends data through the staging path, if there is one.
    #[inline(never)]
    fn pass_staging(&mut self, now: Time, tag: u16, bytes: u64, s: &mut impl Schedule<Event>) -> Time {
        let request = self.commands[tag as usize].request;
        let tracks = self.costs.cores + u32::from(self.dram.is_some());
        let Some((track, work)) = self.handler.as_mut().and_then(|h| h.stage(now, &request, bytes)) else { return now };
        s.span(Track(tracks + track), name(request.op), work.from, work.to);
        work.to
    }

    /// Data passes the controller's memory.
    #[inline(never)]
    fn pass(&mut self, now: Time, op: Op, bytes: u64, s: &mut impl Schedule<Event>) -> Time {
        let Some(dram) = &mut self.dram else { return now };
        if dram.last.0 != bytes {
            dram.last = (bytes, Time::of_transfer(2 * bytes, dram.rate));
        }
        let work = dram.port.take(now, dram.last.1);
        s.span(Track(self.costs.cores), name(op), work.from, work.to);
        work.to
    }

    /// True if all of the command's data was staged.
    #[inline]
    pub fn is_whole(&self, tag: u16) -> bool {
        self.commands[tag as usize].left == 0
    }

    /// The data that was last staged has left at `at`.
    #[inline]
    pub fn sent(&mut self, tag: u16, at: Time) {
        let command = &mut self.commands[tag as usize];
        command.sent = command.sent.max(at);
    }

    /// The translation layer is done. Returns when the host can be told.
    #[inline]
    pub fn complete(&mut self, now: Time, tag: u16, status: Status, s: &mut impl Schedule<Event>) -> Time {
        self.finish(now, tag, Time::ZERO, status, s)
    }

    /// Nothing delays the end of a read behind its data.
    #[inline(always)]
    pub fn is_direct(&self) -> bool {
        self.direct
    }

    /// The last `bytes` of a read's data, which nothing delays, have left at `at`, and the translation layer is done:
    /// [`stage`](Self::stage) and [`finish`](Self::finish) in one.
    #[inline(always)]
    pub fn deliver(&mut self, now: Time, tag: u16, bytes: u64, at: Time, status: Status) -> Time {
        let command = &mut self.commands[tag as usize];
        if command.state != State::Running || command.request.op != Op::Read {
            refuse("delivered as a read", tag, command.state);
        }
        let whole = bytes == command.left || (bytes < command.left && status != Status::Ok);
        assert!(whole, "{:?} ends with {bytes} bytes of the {} left", command.request, command.left);
        (command.left, command.state, command.status) = (command.left - bytes, State::Ended, status);
        debug_assert!(at >= now, "data that left at {at} are delivered at {now}");
        debug_assert!(self.direct, "a read is delivered past memory or firmware");
        command.sent.max(at)
    }

    /// The data that was last staged has left at `at`, and the translation layer is done: [`sent`](Self::sent) and
    /// [`complete`](Self::complete) in one.
    #[inline(always)]
    pub fn finish(&mut self, now: Time, tag: u16, at: Time, status: Status, s: &mut impl Schedule<Event>) -> Time {
        let command = &mut self.commands[tag as usize];
        assert!(command.state == State::Running, "tag {tag} completes in state {:?}", command.state);
        let whole = command.left == 0 || status != Status::Ok || command.request.op == Op::Trim;
        assert!(whole, "{:?} ends well with {} bytes left", command.request, command.left);
        command.state = State::Ended;
        command.status = status;
        let sent = command.sent.max(at).max(now);
        if self.costs.complete == Time::ZERO { sent } else { self.complete_by_firmware(now, sent, s) }
    }

    /// A processor ends a command whose data have left at `sent`. Returns when the host can be told.
    #[inline(never)]
    fn complete_by_firmware(&mut self, now: Time, sent: Time, s: &mut impl Schedule<Event>) -> Time {
        let work = self.firmware.take(now, self.costs.complete);
        s.span(Track(work.server), "complete", work.from, work.to);
        sent.max(work.to)
    }

    /// The host is to be told at `at`.
    #[inline]
    pub fn end_at(&mut self, tag: u16, at: Time, s: &mut impl Schedule<Event>) {
        s.at(ENDED, at, Event::Ended(tag));
    }

    /// The host is told; the tag is free.
    #[inline(always)]
    pub fn release(&mut self, tag: u16) -> &mut Command {
        let command = &mut self.commands[tag as usize];
        debug_assert!(command.state == State::Ended, "tag {tag} is released in state {:?}", command.state);
        command.state = State::Free;
        command
    }

    /// Commands in the controller.
    pub fn outstanding(&self) -> u32 {
        self.commands.iter().filter(|command| command.state != State::Free).count() as u32
    }

    /// Names of what shows on a timeline: processors, then memory, then paths of long requests.
    pub fn tracks(&self) -> Vec<String> {
        let firmware = (0..self.costs.cores).map(|core| format!("firmware {core}"));
        let staging = self.handler.iter().flat_map(|handler| handler.busy(Time::ZERO));
        let dram = self.dram.iter().map(|_| "dram".to_owned());
        firmware.chain(dram).chain(staging.map(|(name, _)| name.to_owned())).collect()
    }

    /// Every track and its busy time until `now`.
    pub fn busy(&self, now: Time) -> Vec<(String, Time)> {
        let dram = self.dram.iter().flat_map(|dram| dram.port.busy(now));
        let staging = self.handler.iter().flat_map(|handler| handler.busy(now)).map(|(_, busy)| busy);
        self.tracks().into_iter().zip(self.firmware.busy(now).chain(dram).chain(staging)).collect()
    }

    pub fn power_cut(&mut self, now: Time) {
        for command in &mut self.commands {
            command.state = State::Free;
        }
        self.firmware.power_cut(now);
        if let Some(dram) = &mut self.dram {
            dram.port.power_cut(now);
        }
        if let Some(handler) = &mut self.handler {
            handler.power_cut(now);
        }
    }
}

/// A command's name on a timeline.
#[inline]
fn name(op: Op) -> &'static str {
    match op {
        Op::Read => "read",
        Op::Write => "write",
        Op::Trim => "trim",
        Op::Flush => "flush",
    }
}

/// A command is not where it should be. (By value: nothing need be in memory for its sake.)
#[cold]
#[inline(never)]
fn refuse(what: &str, tag: u16, state: State) -> ! {
    panic!("tag {tag} is {what} in state {state:?}")
}

/// The tag of a command, as the translation layer knows it.
///
/// # Panics
/// If it is none of this controller's.
#[inline]
pub(crate) fn index(tag: Tag) -> u16 {
    if tag.0 >= u32::from(NONE) {
        no_command(tag.0);
    }
    tag.0 as u16
}

#[cold]
#[inline(never)]
fn no_command(tag: u32) -> ! {
    panic!("{tag} is no command of this controller")
}
