//! Pages that were read ahead, or are being read.

use std::collections::BTreeMap;

use media::{BlockAddr, PageAddr, PlaneMask};

/// A page of one plane: die, block, page, plane.
type Place = (u16, u32, u32, u32);

/// Returns the pages of each plane of `page`.
fn places(page: PageAddr) -> impl Iterator<Item = Place> {
    page.planes.iter().map(move |plane| (page.die, page.block, page.page, plane))
}

/// Whether pages are in the controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// All pages are.
    Here,
    /// All pages will be once the reads in progress have ended.
    Coming,
    /// At least one page is missing.
    Absent,
}

/// The state of a frame.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Frame {
    Free,
    Loading,
    Full(Place),
}

/// Frames of memory for a page each. A page is immutable until its block is erased, so one that is here is what the flash
/// holds, wherever its data has been moved since.
pub(crate) struct Pages {
    frames: Vec<Frame>,
    /// The frame to be used next: the pages here the longest make room.
    next: usize,
    by_place: BTreeMap<Place, usize>,
}

impl Pages {
    pub(crate) fn new(count: usize) -> Pages {
        Pages { frames: vec![Frame::Free; count], next: 0, by_place: BTreeMap::new() }
    }

    /// Finds `page`, on all its planes.
    pub(crate) fn find(&self, page: PageAddr) -> Found {
        let mut found = Found::Here;
        for place in places(page) {
            match self.by_place.get(&place).map(|frame| self.frames[*frame]) {
                None | Some(Frame::Free) => return Found::Absent,
                Some(Frame::Loading) => found = Found::Coming,
                Some(Frame::Full(_)) => {}
            }
        }
        found
    }

    /// Returns the planes of `page` whose page is neither here nor being read.
    pub(crate) fn missing(&self, page: PageAddr) -> PlaneMask {
        let missing = places(page).filter(|place| !self.by_place.contains_key(place));
        PlaneMask(missing.fold(0, |mask, (.., plane)| mask | 1 << plane))
    }

    /// Takes frames for `page`, which is about to be read. Returns false, and takes none, if too many pages are being read.
    pub(crate) fn begin(&mut self, page: PageAddr) -> bool {
        debug_assert_eq!(self.missing(page), page.planes, "a part of {page:?} is here");
        let wanted = page.planes.count() as usize;
        let free: Vec<usize> = (0..self.frames.len())
            .map(|offset| (self.next + offset) % self.frames.len())
            .take_while(|frame| !matches!(self.frames[*frame], Frame::Loading))
            .take(wanted)
            .collect();
        if free.len() < wanted {
            return false;
        }
        for (frame, place) in free.into_iter().zip(places(page)) {
            if let Frame::Full(old) = std::mem::replace(&mut self.frames[frame], Frame::Loading) {
                self.by_place.remove(&old);
            }
            self.by_place.insert(place, frame);
            self.next = (frame + 1) % self.frames.len();
        }
        true
    }

    /// Ends the read of `page`: it is here, or could not be read.
    pub(crate) fn end(&mut self, page: PageAddr, read: bool) {
        for place in places(page) {
            let frame = self.by_place[&place];
            if read {
                self.frames[frame] = Frame::Full(place);
            } else {
                self.drop(place);
            }
        }
    }

    /// Forgets the pages of an erased block.
    pub(crate) fn erase(&mut self, block: BlockAddr) {
        let (die, number) = (block.die, block.block);
        let here: Vec<Place> = self
            .by_place
            .range((die, number, 0, 0)..=(die, number, u32::MAX, u32::MAX))
            .map(|(place, _)| *place)
            .collect();
        for place in here {
            if block.planes.0 >> place.3 & 1 == 1 {
                self.drop(place);
            }
        }
    }

    fn drop(&mut self, place: Place) {
        if let Some(frame) = self.by_place.remove(&place) {
            self.frames[frame] = Frame::Free;
        }
    }

    pub(crate) fn clear(&mut self) {
        self.frames.fill(Frame::Free);
        self.by_place.clear();
    }
}
