//! Values of keys, with where they come from.

use crate::error::Place;
use keys::{Basis, Key, Value};

/// The value of a key, the position that sets it, and its basis.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// The key.
    pub key: &'static Key,
    /// Its value.
    pub value: Value,
    /// Position of the assignment; `None` for a default.
    pub place: Option<Place>,
    /// Basis of the value; `None` if the file that sets it does not state one.
    pub basis: Option<Basis>,
    /// Whether the key applies. If another key makes it meaningless (lanes of a SATA link), it has its default.
    pub applies: bool,
    /// Whether an extended file set it, so that its basis may refer to another product.
    pub inherited: bool,
    /// Number of the file in the chain that set it, from 1; 0 if none did.
    pub(crate) layer: usize,
    /// Whether a file states the basis.
    pub(crate) stated: bool,
}
