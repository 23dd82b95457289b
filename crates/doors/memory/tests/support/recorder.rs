//! A device in DRAM that completes requests in any order and records them, to derive the file after a crash at any
//! instant.

use std::io;

use memory::device::{Device, Ended, Op, Request};
use sim::{Rng, Streams};

/// The unit at which a crash may tear a write.
const SECTOR: usize = 512;

#[derive(Clone, Debug)]
pub enum Event {
    /// A write was started.
    Started { id: u64, offset: u64, bytes: Vec<u8> },
    /// The write completed.
    Ended { id: u64 },
    /// A flush completed, which was started after the first `events` events.
    Flushed { events: usize },
}

pub struct Recorder {
    pub image: Vec<u8>,
    /// The content when recording began.
    before: Vec<u8>,
    pub events: Vec<Event>,
    pending: Vec<(Request, u64)>,
    rng: Rng,
    ids: u64,
    /// Bytes that can still be written before the file system is full.
    pub room: Option<u64>,
    /// A request that will fail: its operation, and how many of these succeed before it.
    pub failing: Option<(Op, u64)>,
    /// The range of the file that cannot be read.
    pub bad: std::ops::Range<u64>,
    pub released: u64,
}

impl Recorder {
    pub fn new(image: Vec<u8>, seed: u64) -> Recorder {
        Recorder {
            before: image.clone(),
            image,
            events: Vec::new(),
            pending: Vec::new(),
            rng: Streams::new(seed).stream("test.recorder"),
            ids: 0,
            room: None,
            failing: None,
            bad: 0..0,
            released: 0,
        }
    }

    /// Returns the file after a crash following the first `count` events: everything flushed is present, and any part
    /// of the rest.
    pub fn crashed(&self, count: usize, rng: &mut Rng) -> Vec<u8> {
        let events = &self.events[..count];
        let flushed = events.iter().rev().find_map(|event| match event {
            Event::Flushed { events } => Some(*events),
            _ => None,
        });
        let ended = |id: u64| {
            let of = |event: &Event| matches!(event, Event::Ended { id: other } if *other == id);
            self.events[..flushed.unwrap_or(0)].iter().any(of)
        };
        // One crash in four loses no write, one all unflushed writes, the others a random subset.
        let kind = rng.below(4);
        let mut image = self.before.clone();
        for event in events {
            let Event::Started { id, offset, bytes } = event else { continue };
            let into = &mut image[*offset as usize..][..bytes.len()];
            let fate = if ended(*id) || kind == 0 {
                0
            } else if kind == 1 {
                1
            } else {
                rng.below(3)
            };
            match fate {
                0 => into.copy_from_slice(bytes),
                1 => {}
                _ => {
                    for (into, from) in into.chunks_mut(SECTOR).zip(bytes.chunks(SECTOR)) {
                        if rng.chance(0.5) {
                            into.copy_from_slice(from);
                        }
                    }
                }
            }
        }
        image
    }

    fn fails(&mut self, op: Op) -> bool {
        match &mut self.failing {
            Some((kind, before)) if *kind == op && *before == 0 => {
                self.failing = None;
                true
            }
            Some((kind, before)) if *kind == op => {
                *before -= 1;
                false
            }
            _ => false,
        }
    }
}

impl Device for Recorder {
    fn start(&mut self, request: Request) {
        let mark = match request.op {
            Op::Write => {
                self.ids += 1;
                let bytes = request.buffer[..request.bytes].to_vec();
                self.events.push(Event::Started { id: self.ids, offset: request.offset, bytes });
                self.ids
            }
            _ => self.events.len() as u64,
        };
        self.pending.push((request, mark));
    }

    fn wait(&mut self) -> io::Result<Ended> {
        let at = self.rng.below(self.pending.len() as u64) as usize;
        let (mut request, mark) = self.pending.remove(at);
        let bad = request.offset < self.bad.end && request.offset + request.bytes as u64 > self.bad.start;
        if self.fails(request.op) || request.op == Op::Read && bad {
            return Ok(Ended { request, result: Err(io::Error::from_raw_os_error(5)) });
        }
        let place = request.offset as usize..request.offset as usize + request.bytes;
        let result = match request.op {
            Op::Read => {
                request.buffer[..request.bytes].copy_from_slice(&self.image[place]);
                Ok(())
            }
            Op::Write => {
                let full = self.room.is_some_and(|room| room < request.bytes as u64);
                if full {
                    Err(io::Error::from(io::ErrorKind::StorageFull))
                } else {
                    self.room = self.room.map(|room| room - request.bytes as u64);
                    self.image[place].copy_from_slice(&request.buffer[..request.bytes]);
                    self.events.push(Event::Ended { id: mark });
                    Ok(())
                }
            }
            Op::Flush => {
                self.events.push(Event::Flushed { events: mark as usize });
                Ok(())
            }
        };
        Ok(Ended { request, result })
    }

    fn is_busy(&self) -> bool {
        !self.pending.is_empty()
    }

    fn release(&mut self, offset: u64, bytes: u64) {
        // A hole reads as zeros immediately, but may be lost in a crash.
        self.ids += 1;
        let zeros = vec![0; bytes as usize];
        self.image[offset as usize..][..bytes as usize].copy_from_slice(&zeros);
        self.events.push(Event::Started { id: self.ids, offset, bytes: zeros });
        self.events.push(Event::Ended { id: self.ids });
        self.released += bytes;
    }
}
