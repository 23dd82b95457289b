//! State common to all front ends: commands by tag, the processors that decode and complete them, and the memory that
//! their data passes.

use media::{Op, Request, Status, Tag};
use sim::{Client, Dense, Schedule, Span, Time, Track};

use crate::handling::Handler;
use crate::pool::Pool;
use crate::{Config, DECODED, ENDED, Event, Firmware};

/// Marks the absence of a tag.
pub(crate) const NONE: u16 = u16::MAX;

/// State of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CommandState {
    Free,
    /// Received from the host, not yet decoded.
    Admitted,
    /// In the translation layer.
    Running,
    /// Its end time is known.
    Ended,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Command {
    pub request: Request,
    /// Bytes of its data that have not yet been sent to the host or requested from it. (A trim transfers no data.)
    left: u64,
    /// Time at which the last of them has left.
    sent: Time,
    pub queue: u16,
    pub cid: u16,
    /// Link for the owner of the free list.
    pub next: u16,
    pub status: Status,
    state: CommandState,
}

/// Memory that data passes twice: written, then read.
#[derive(Clone, Debug)]
struct Dram {
    port: Pool,
    rate: u64,
    /// Bytes and time of the last transfer, because most transfers have the same size.
    last: (u64, Time),
}

/// Commands, processors and memory of a controller.
#[derive(Clone, Debug)]
pub(crate) struct Engine {
    commands: Dense<Command>,
    firmware: Pool,
    costs: Firmware,
    /// Time to decode a command, by operation.
    decode: [Time; Op::ALL.len()],
    dram: Option<Dram>,
    handler: Option<Box<Handler>>,
    /// Data passes neither a memory nor a staging path.
    passes_nothing: bool,
}

impl Engine {
    pub fn new(config: &Config) -> Engine {
        let commands = config.max_commands;
        assert!((1..=u32::from(NONE)).contains(&commands), "{commands} commands, expected 1 to 65535");
        let handler = Handler::new(&config.handling).map(Box::new);
        let command = Command {
            request: Request::flush(),
            left: 0,
            sent: Time::ZERO,
            queue: 0,
            cid: 0,
            next: NONE,
            status: Status::Ok,
            state: CommandState::Free,
        };
        Engine {
            commands: Dense::new(vec![command; commands as usize]),
            firmware: Pool::new(config.firmware.cores),
            costs: config.firmware,
            decode: Op::ALL.map(|op| config.firmware.decode(op)),
            passes_nothing: handler.is_none() && config.dram_bandwidth.is_none(),
            handler,
            dram: config.dram_bandwidth.map(|rate| Dram { port: Pool::new(1), rate, last: (0, Time::ZERO) }),
        }
    }

    /// Returns the maximum number of commands.
    pub fn capacity(&self) -> u16 {
        self.commands.len() as u16
    }

    #[inline]
    pub fn command(&self, tag: u16) -> &Command {
        &self.commands[tag as usize]
    }

    #[inline]
    pub fn chain(&mut self, tag: u16, next: u16) {
        self.commands[tag as usize].next = next;
    }

    /// Admits a command. Returns the previous value of [`Command::next`].
    #[inline]
    pub fn admit(&mut self, tag: u16, queue: u16, cid: u16, request: Request) -> u16 {
        let command = &mut self.commands[tag as usize];
        debug_assert!(command.state == CommandState::Free, "tag {tag} is admitted in state {:?}", command.state);
        let kept = command.next;
        *command = Command {
            request,
            left: request.bytes,
            sent: Time::ZERO,
            queue,
            cid,
            next: NONE,
            status: Status::Ok,
            state: CommandState::Admitted,
        };
        kept
    }

    /// Lets a processor decode the command. Returns true if that takes no time and no event will follow.
    #[inline]
    pub fn decode(&mut self, now: Time, tag: u16, s: &mut impl Schedule<Event>) -> bool {
        let request = self.commands[tag as usize].request;
        if self.decode_length(&request) == Time::ZERO && self.handler.is_none() {
            return true;
        }
        self.decode_at(now, tag, s);
        false
    }

    /// Lets a processor decode the command, which arrives at `at`; [`Event::Decoded`] follows. If `at` is later than
    /// now, no other processor work may begin before it.
    #[inline]
    pub fn decode_at(&mut self, at: Time, tag: u16, s: &mut impl Schedule<Event>) {
        let request = self.commands[tag as usize].request;
        self.decode_request(at, tag, &request, s);
    }

    /// Like [`decode_at`](Self::decode_at), for the known request of the command.
    #[inline(always)]
    pub fn decode_request(&mut self, at: Time, tag: u16, request: &Request, s: &mut impl Schedule<Event>) {
        let decoded = if self.handler.is_some() {
            self.handles(at, tag, s)
        } else {
            let (op, length) = (request.op, self.decode_length(request));
            let work = self.firmware.take(at, length);
            s.served(Track(work.server), Client::Arriving(tag.into()), op.name(), at, work.span());
            work.to
        };
        s.at(DECODED, decoded, Event::Decoded(tag));
    }

    /// Returns the processor time to decode `request`.
    #[inline]
    fn decode_length(&self, request: &Request) -> Time {
        let length = self.decode[request.op as usize];
        if request.op == Op::Trim { length + self.costs.trimming(request.bytes) } else { length }
    }

    /// Lets a processor decode a command with the configured handling costs. Returns the end of decoding.
    #[inline(never)]
    fn handles(&mut self, at: Time, tag: u16, s: &mut impl Schedule<Event>) -> Time {
        let request = self.commands[tag as usize].request;
        let length = self.decode_length(&request);
        let Some(handler) = &mut self.handler else { return at };
        let length = length + handler.merging(&request);
        let behind = handler.behind(&request);
        let work = self.firmware.take(at, length + behind);
        let (track, name, decoded) = (Track(work.server), request.op.name(), work.to - behind);
        s.served(track, Client::Arriving(tag.into()), name, at, Span { from: work.from, to: decoded });
        if behind > Time::ZERO {
            // The command does not wait for it.
            s.span(track, name, decoded, work.to);
        }
        decoded + handler.wait(&request)
    }

    /// Returns true if reads may end in a different order than their data arrives.
    pub fn reorders(&self) -> bool {
        self.handler.as_ref().is_some_and(|handler| handler.delays_reads())
    }

    /// Occupies a processor for `length` with work for `client` that arrives at `at`. Returns its end.
    pub fn work(
        &mut self,
        at: Time,
        length: Time,
        (client, name): (Client, &'static str),
        s: &mut impl Schedule<Event>,
    ) -> Time {
        let work = self.firmware.take(at, length);
        s.served(Track(work.server), client, name, at, work.span());
        work.to
    }

    /// Drops the command's data, which will not be transferred.
    pub fn abandon(&mut self, tag: u16) {
        self.commands[tag as usize].left = 0;
    }

    /// Passes the command to the translation layer.
    #[inline]
    pub fn run(&mut self, tag: u16) -> &Command {
        let command = &mut self.commands[tag as usize];
        if command.state != CommandState::Admitted {
            refuse_decoded(tag, command);
        }
        command.state = CommandState::Running;
        command
    }

    /// Stages `bytes` of the command's data for transfer. Returns the time at which they have passed the controller's
    /// memory.
    #[inline]
    pub fn stage(&mut self, now: Time, tag: u16, op: Op, bytes: u64, s: &mut impl Schedule<Event>) -> Time {
        let command = &mut self.commands[tag as usize];
        if command.state != CommandState::Running || !stages(command.request.op, op) || bytes > command.left {
            refuse_data(tag, op, bytes, command);
        }
        command.left -= bytes;
        if self.passes_nothing { now } else { self.pass_all(now, tag, op, bytes, s) }
    }

    /// Like [`stage`](Self::stage), for the last data of a read, which ends with `status`. The time returned is not before
    /// data staged earlier has left.
    #[inline]
    pub fn stage_last(
        &mut self,
        now: Time,
        tag: u16,
        bytes: u64,
        status: Status,
        s: &mut impl Schedule<Event>,
    ) -> Time {
        let command = &mut self.commands[tag as usize];
        if command.state != CommandState::Running || command.request.op != Op::Read || bytes > command.left {
            refuse_data(tag, Op::Read, bytes, command);
        }
        command.left -= bytes;
        if command.left != 0 && status.is_ok() {
            refuse_end(tag, status, command);
        }
        (command.state, command.status) = (CommandState::Ended, status);
        let sent = command.sent;
        sent.max(if self.passes_nothing { now } else { self.pass_all(now, tag, Op::Read, bytes, s) })
    }

    /// Sends data through the staging path and the controller's memory, as far as there are any.
    fn pass_all(&mut self, now: Time, tag: u16, op: Op, bytes: u64, s: &mut impl Schedule<Event>) -> Time {
        self.pass_staging(now, tag, bytes, s).max(self.pass(now, Some(tag), op, bytes, s))
    }

    /// Sends data through the staging path, if there is one.
    fn pass_staging(&mut self, now: Time, tag: u16, bytes: u64, s: &mut impl Schedule<Event>) -> Time {
        let request = self.commands[tag as usize].request;
        let tracks = self.costs.cores + u32::from(self.dram.is_some());
        let Some((track, work)) = self.handler.as_mut().and_then(|h| h.stage(now, &request, bytes)) else { return now };
        s.served(Track(tracks + track), Client::Command(tag.into()), request.op.name(), now, work.span());
        work.to
    }

    /// Sends data through the controller's memory, for the command `tag` if there is one.
    pub fn pass(&mut self, now: Time, tag: Option<u16>, op: Op, bytes: u64, s: &mut impl Schedule<Event>) -> Time {
        let Some(dram) = &mut self.dram else { return now };
        if dram.last.0 != bytes {
            dram.last = (bytes, Time::of_transfer(2 * bytes, dram.rate));
        }
        let work = dram.port.take(now, dram.last.1);
        let track = Track(self.costs.cores);
        match tag {
            Some(tag) => s.served(track, Client::Command(tag.into()), op.name(), now, work.span()),
            None => s.span(track, op.name(), work.from, work.to),
        }
        work.to
    }

    /// Returns true if all of the command's data has been staged.
    #[inline]
    pub fn is_whole(&self, tag: u16) -> bool {
        self.commands[tag as usize].left == 0
    }

    /// Records that the data last staged has left at `at`.
    #[inline]
    pub fn sent(&mut self, tag: u16, at: Time) {
        let command = &mut self.commands[tag as usize];
        command.sent = command.sent.max(at);
    }

    /// Ends the command in the translation layer. Returns the time at which the host can be notified.
    #[inline]
    pub fn complete(&mut self, now: Time, tag: u16, status: Status, s: &mut impl Schedule<Event>) -> Time {
        let command = &mut self.commands[tag as usize];
        let whole = command.left == 0 || !status.is_ok() || !command.request.op.has_data();
        if command.state != CommandState::Running || !whole {
            refuse_end(tag, status, command);
        }
        command.state = CommandState::Ended;
        command.status = status;
        let sent = command.sent;
        self.end_of(now, tag, sent, s)
    }

    /// Returns the time at which the host can be notified of a command that ends now and whose data has left at `sent`.
    #[inline]
    pub fn end_of(&mut self, now: Time, tag: u16, sent: Time, s: &mut impl Schedule<Event>) -> Time {
        let sent = sent.max(now);
        if self.costs.complete == Time::ZERO { sent } else { self.complete_by_firmware(now, tag, sent, s) }
    }

    /// Lets a processor complete a command whose data has left at `sent`. Returns the time at which the host can be
    /// notified.
    fn complete_by_firmware(&mut self, now: Time, tag: u16, sent: Time, s: &mut impl Schedule<Event>) -> Time {
        let work = self.firmware.take(now, self.costs.complete);
        s.served(Track(work.server), Client::Command(tag.into()), "complete", now, work.span());
        sent.max(work.to)
    }

    /// Schedules the notification of the host for `at`.
    #[inline]
    pub fn end_at(&mut self, tag: u16, at: Time, s: &mut impl Schedule<Event>) {
        s.at(ENDED, at, Event::Ended(tag));
    }

    /// Frees the tag after the host has been notified.
    #[inline]
    pub fn release(&mut self, tag: u16) -> &mut Command {
        let command = &mut self.commands[tag as usize];
        debug_assert!(command.state == CommandState::Ended, "tag {tag} is released in state {:?}", command.state);
        command.state = CommandState::Free;
        command
    }

    /// Returns the number of commands in the controller.
    pub fn outstanding(&self) -> u32 {
        self.commands.iter().filter(|command| command.state != CommandState::Free).count() as u32
    }

    /// Returns the names of the timeline's rows: processors, memory, staging paths.
    pub fn tracks(&self) -> Vec<String> {
        let firmware = (0..self.costs.cores).map(|core| format!("firmware {core}"));
        let staging = self.handler.iter().flat_map(|handler| handler.busy(Time::ZERO));
        let dram = self.dram.iter().map(|_| "dram".to_owned());
        firmware.chain(dram).chain(staging.map(|(name, _)| name.to_owned())).collect()
    }

    /// Returns every row and its busy time until `now`.
    pub fn busy(&self, now: Time) -> Vec<(String, Time)> {
        let dram = self.dram.iter().flat_map(|dram| dram.port.busy(now));
        let staging = self.handler.iter().flat_map(|handler| handler.busy(now)).map(|(_, busy)| busy);
        self.tracks().into_iter().zip(self.firmware.busy(now).chain(dram).chain(staging)).collect()
    }

    pub fn power_cut(&mut self, now: Time) {
        for command in &mut self.commands {
            command.state = CommandState::Free;
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

/// Converts the translation layer's tag to the index of a command.
///
/// # Panics
/// Panics if the tag cannot belong to this controller.
#[inline]
pub(crate) fn index(tag: Tag) -> u16 {
    if tag.0 >= u32::from(NONE) {
        refuse_tag(tag);
    }
    tag.0 as u16
}

// Panics stand apart: arguments of a message that is formatted in place would be kept in memory for every request.

fn refuse_tag(tag: Tag) -> ! {
    panic!("tag {} does not belong to this controller", tag.0)
}

fn refuse_decoded(tag: u16, command: &Command) -> ! {
    panic!("tag {tag} is decoded in state {:?}", command.state)
}

/// Returns true if the data of `op` takes the way of `path`: a read, or a write.
#[inline]
fn stages(op: Op, path: Op) -> bool {
    op == path || (op == Op::Append && path == Op::Write)
}

fn refuse_data(tag: u16, op: Op, bytes: u64, command: &Command) -> ! {
    let Command { request, left, state, .. } = command;
    panic!("{bytes} bytes of data of a {op:?} for tag {tag} in state {state:?}, {left} are left of {request:?}")
}

fn refuse_end(tag: u16, status: Status, command: &Command) -> ! {
    let Command { request, left, state, .. } = command;
    panic!("tag {tag} ends with {status:?} in state {state:?}, {left} bytes are left of {request:?}")
}
