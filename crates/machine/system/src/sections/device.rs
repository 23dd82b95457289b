//! `[device]`: the buffers of a OneNAND.

use keys::section;

use crate::sections::onenand::OneNand;

section! {
    /// The rest of the controller.
    Device {
        /// The buffers of a OneNAND.
        table onenand: OneNand;
    }
}
