//! Write-backs: dirty pages on their way from frames to flash, because they were evicted, or early, because they are
//! cold.

use super::fetch::FetchState;
use super::messages::PAGES;
use super::{DramRequest, Hybrid, Move, Port, Purpose};

/// The phase of a write-back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Idle,
    /// Waits for a buffer.
    Unbuffered,
    /// Being read from its frame.
    ReadingOut,
    /// In its buffer, being written to flash.
    Writing,
}

/// A write-back.
#[derive(Clone, Copy, Debug)]
pub(super) struct WriteBack {
    pub page: u64,
    frame: u64,
    pub phase: Phase,
    /// The page was evicted again since; its newer write-back counts.
    superseded: bool,
    /// A fetch needs the page.
    wanted: bool,
    /// A clean waits for its end.
    cleans: bool,
}

impl WriteBack {
    pub const IDLE: WriteBack =
        WriteBack { page: 0, frame: 0, phase: Phase::Idle, superseded: false, wanted: false, cleans: false };
}

impl Hybrid {
    /// Writes `page` back from `frame`.
    pub(super) fn write_back(&mut self, page: u64, frame: u64, out: &mut impl Port) {
        if let Some(older) = self.find_write_back(page) {
            self.write_backs[older as usize].superseded = true;
        }
        let slot = self.free_write_backs.pop().expect("whoever evicts has seen to it");
        // Until the clean has passed all pages, any page may have been dirty when it began.
        let cleans = self.cleaning.is_some();
        self.awaited_write_backs += u32::from(cleans);
        self.write_backs[slot as usize] =
            WriteBack { page, frame, phase: Phase::Unbuffered, cleans, ..WriteBack::IDLE };
        self.by_page.insert(page, slot);
        self.by_frame.insert(frame, slot);
        if self.free_buffers > 0 {
            self.read_out(slot, out);
        } else {
            self.unbuffered.push_back(slot);
        }
    }

    fn read_out(&mut self, slot: u32, out: &mut impl Port) {
        self.free_buffers -= 1;
        let write_back = &mut self.write_backs[slot as usize];
        write_back.phase = Phase::ReadingOut;
        let frame = write_back.frame;
        out.dram(DramRequest {
            purpose: Purpose::ReadOut(slot),
            port: PAGES,
            write: false,
            address: frame << self.page_shift,
            bytes: self.config.page_bytes,
        });
        self.note(Move::FrameToBuffer { frame, slot }, out);
    }

    /// A page has arrived in its write-back's buffer: starts to write it to flash, releases its frame, and serves the
    /// fetch that needs it.
    pub(super) fn was_read_out(&mut self, slot: u32, out: &mut impl Port) {
        let write_back = &mut self.write_backs[slot as usize];
        assert_eq!(write_back.phase, Phase::ReadingOut, "write-back {slot} is read out");
        write_back.phase = Phase::Writing;
        let (page, frame, wanted) = (write_back.page, write_back.frame, write_back.wanted);
        self.by_frame.remove(frame, slot);
        out.write(slot, page);
        if wanted && let Some(fetch) = self.fetch_in(|fetch| fetch.state == FetchState::FromWriteBack(slot)) {
            self.take_from_buffer(fetch, slot, out);
        }
        debug_assert_eq!(
            self.blocked as usize,
            self.fetches.iter().filter(|fetch| fetch.state == FetchState::Blocked).count(),
            "fetches whose page waits until its frame is read out"
        );
        if self.blocked > 0
            && let Some(fetch) = self.fetch_in(|fetch| fetch.state == FetchState::Blocked && fetch.frame == frame)
            && !self.is_being_read_out(frame)
        {
            self.blocked -= 1;
            self.store(fetch, out);
        }
    }

    /// Ends the write-back of a page.
    pub(super) fn was_written_back(&mut self, slot: u32, out: &mut impl Port) {
        assert_eq!(self.write_backs[slot as usize].phase, Phase::Writing, "write-back {slot} ends");
        self.by_page.remove(self.write_backs[slot as usize].page, slot);
        self.awaited_write_backs -= u32::from(self.write_backs[slot as usize].cleans);
        self.write_backs[slot as usize] = WriteBack::IDLE;
        self.free_write_backs.push(slot);
        self.free_buffers += 1;
        if let Some(next) = self.unbuffered.pop_front() {
            self.read_out(next, out);
        }
        self.freed = self.is_awaited();
    }

    /// Returns the newest write-back of `page`, if there is one, and notes that a fetch needs it.
    pub(super) fn find_write_back(&mut self, page: u64) -> Option<u32> {
        if self.free_write_backs.len() == self.write_backs.len() {
            return None;
        }
        let newest = |slot: &u32| {
            let write_back = &self.write_backs[*slot as usize];
            write_back.page == page && !write_back.superseded
        };
        let slot = self.by_page.candidates(page).find(newest)?;
        self.write_backs[slot as usize].wanted = true;
        Some(slot)
    }

    /// Returns whether the content of `frame` is still to be read out.
    pub(super) fn is_being_read_out(&self, frame: u64) -> bool {
        self.by_frame.candidates(frame).any(|slot| self.write_backs[slot as usize].frame == frame)
    }

    /// After a miss of `page`, writes back a cold dirty page of its set, if a buffer is free and no more buffers are in
    /// use than there are fetches: evictions and reads have priority.
    pub(super) fn clean_cold(&mut self, page: u64, out: &mut impl Port) -> Option<u64> {
        let busy = self.config.buffers - self.free_buffers;
        let full = self.free_buffers == 0 || busy >= self.config.keys.fetches;
        if self.config.keys.cold == 0 || full || self.free_write_backs.is_empty() {
            return None;
        }
        let (cold, frame) = self.directory.clean_cold(page, self.config.keys.cold)?;
        self.stats.cleaned += 1;
        self.write_back(cold, frame, out);
        Some(cold)
    }

    /// Starts to write all dirty pages back.
    pub(super) fn start_cleaning(&mut self) {
        self.cleaning = Some(0);
        for write_back in self.write_backs.iter_mut().filter(|each| each.phase != Phase::Idle && !each.cleans) {
            write_back.cleans = true;
            self.awaited_write_backs += 1;
        }
        self.awaited_fetches += self.mark_dirty_fetches();
    }

    /// Continues to write back all dirty pages, as far as buffers are free. Each set is visited once, and its dirty pages
    /// are listed then, so that writes that go on cannot prolong a clean without end.
    pub(super) fn continue_cleaning(&mut self, out: &mut impl Port) {
        let Some(mut cursor) = self.cleaning else { return };
        while self.free_buffers > 0 && !self.free_write_backs.is_empty() {
            if let Some(page) = self.to_clean.pop() {
                if let Some(frame) = self.directory.clean(page) {
                    self.stats.cleaned += 1;
                    self.write_back(page, frame, out);
                }
            } else if self.directory.dirty_pages(cursor, &mut self.to_clean) {
                cursor += 1;
            } else {
                self.cleaning = None;
                return;
            }
        }
        self.cleaning = Some(cursor);
    }
}
