//! The durability that the end of a command promises.

use ftl::Ftl;
use media::{Op, Tag};
use zones::ftl::ZonedFtl;

/// The promise to the host of a command that ends successfully.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Promise {
    /// Nothing about flash: it reads, or has waited for a barrier already.
    Nothing,
    /// The drive has its data and will write them to flash.
    Written,
    /// All that it wrote is durable, which needs a barrier that was not an action.
    Durable,
}

impl Promise {
    /// Returns the promise of a command in the page-mapped layer, whose barriers are actions.
    pub(super) fn of_pages(ftl: &Ftl, tag: Tag) -> Promise {
        if ftl.op(tag) == Op::Read { Promise::Nothing } else { Promise::Written }
    }

    /// Returns the promise of a command in the layer of zones.
    pub(super) fn of_zones(ftl: &ZonedFtl, tag: Tag) -> Promise {
        if ftl.promises_durability(tag) {
            return Promise::Durable;
        }
        if ftl.op(tag) == Op::Read { Promise::Nothing } else { Promise::Written }
    }
}
