//! A read-only view of a device that keeps writes in DRAM.

use std::collections::{BTreeMap, VecDeque};
use std::io;

use crate::device::{Device, Ended, Op, Request};

/// Written data by offset. Reads must use the same offsets and lengths as the writes.
pub(crate) type Written = BTreeMap<u64, Box<[u8]>>;

/// The overlay; see the module.
pub(crate) struct Overlay<D> {
    under: D,
    written: Written,
    ended: VecDeque<Ended>,
}

impl<D: Device> Overlay<D> {
    pub fn new(under: D) -> Overlay<D> {
        Overlay { under, written: BTreeMap::new(), ended: VecDeque::new() }
    }

    /// Returns the underlying device.
    pub fn under(&mut self) -> &mut D {
        &mut self.under
    }

    pub fn into_under(self) -> D {
        self.under
    }

    pub fn written(&self) -> &Written {
        &self.written
    }
}

impl<D: Device> Device for Overlay<D> {
    fn start(&mut self, mut request: Request) {
        match request.op {
            Op::Write => {
                self.written.insert(request.offset, request.buffer[..request.bytes].into());
            }
            Op::Read => match self.written.get(&request.offset) {
                Some(bytes) => request.buffer[..request.bytes].copy_from_slice(bytes),
                None => return self.under.start(request),
            },
            Op::Flush => {}
        }
        self.ended.push_back(Ended { request, result: Ok(()) });
    }

    fn wait(&mut self) -> io::Result<Ended> {
        self.ended.pop_front().map_or_else(|| self.under.wait(), Ok)
    }

    fn is_busy(&self) -> bool {
        !self.ended.is_empty() || self.under.is_busy()
    }

    fn release(&mut self, _: u64, _: u64) {}
}
