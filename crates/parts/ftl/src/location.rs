//! Locations of logical units in 32 bits.

/// A location in one word: nowhere, in flash, or in a buffer. A map lookup thus also finds cached data, without an
/// additional hash table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Location(u32);

/// A decoded [`Location`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecodedLocation {
    /// Never written, or trimmed.
    Nowhere,
    /// Physical unit number in flash.
    Flash(u32),
    /// Buffer number.
    Buffer(u32),
}

impl Location {
    /// Never written, or trimmed.
    pub const NOWHERE: Location = Location(0);

    /// Marks an entry that follows a rule; never the value of a map entry. See [`touched`](crate::map::touched).
    pub(crate) const UNTOUCHED: Location = Location(u32::MAX);

    /// Returns the location of physical unit `unit` in flash.
    #[inline]
    pub const fn flash(unit: u32) -> Location {
        Location(unit + 1)
    }

    /// Returns the physical unit of a location known to be in flash.
    #[inline]
    pub const fn flash_unit(self) -> u32 {
        self.0 - 1
    }

    /// Returns the location of buffer `buffer`.
    #[inline]
    pub const fn buffer(buffer: u32) -> Location {
        Location(u32::MAX - 1 - buffer)
    }

    /// Returns the word: zero for nowhere, the physical unit plus one for flash.
    #[inline]
    pub(crate) const fn raw(self) -> u32 {
        self.0
    }

    /// Decodes the location; `buffers` is the number of buffers, which occupy the top of the number range.
    #[inline]
    pub const fn place(self, buffers: u32) -> DecodedLocation {
        if self.0 == 0 {
            DecodedLocation::Nowhere
        } else if self.0 > u32::MAX - 1 - buffers {
            DecodedLocation::Buffer(u32::MAX - 1 - self.0)
        } else {
            DecodedLocation::Flash(self.0 - 1)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_location_is_one_of_three_things() {
        let buffers = 10;
        assert_eq!(Location::NOWHERE.place(buffers), DecodedLocation::Nowhere);
        assert_eq!(Location::flash(0).place(buffers), DecodedLocation::Flash(0));
        assert_eq!(Location::flash(u32::MAX - 12).place(buffers), DecodedLocation::Flash(u32::MAX - 12));
        assert_eq!(Location::buffer(0).place(buffers), DecodedLocation::Buffer(0));
        assert_eq!(Location::buffer(9).place(buffers), DecodedLocation::Buffer(9));
        assert_eq!(size_of::<Location>(), 4);
    }
}
