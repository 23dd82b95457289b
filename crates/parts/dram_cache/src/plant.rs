//! Bugs that tests plant, to see that they would be caught.

use super::Hybrid;

/// A bug that can be planted, so that the tests that must catch it can be tested.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Plant {
    /// None: the controller as it is.
    #[default]
    Nothing,
    /// Every so often a changed page leaves without being written back.
    DirtyDropped,
    /// Every so often a read of a page that is on its way is answered before the page has come.
    MergedEarly,
    /// Every so often the tag of a page that leaves stays, beside that of the page which takes its frame.
    TagKept,
}

impl Hybrid {
    /// Plants a bug, for the tests that must catch it.
    #[doc(hidden)]
    pub fn plant(&mut self, plant: Plant) {
        self.plant = plant;
    }

    /// True every third time the planted bug strikes.
    #[inline]
    pub(super) fn planted(&mut self, plant: Plant) -> bool {
        if self.plant != plant {
            return false;
        }
        self.plant_count += 1;
        self.plant_count.is_multiple_of(3)
    }
}
