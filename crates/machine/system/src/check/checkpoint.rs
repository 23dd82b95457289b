//! Checkpoints of the map: checks that the map is held whole, and written in no other way.

use crate::System;
use crate::error::SystemError;

const PAGES: &str = "ftl.checkpoint.pages";

pub(super) fn check(s: &System) -> Result<(), SystemError> {
    if s.ftl.checkpoint.pages == 0 {
        return Ok(());
    }
    let cached = "0 where only a part of the map is cached: its pages are written when they leave the cache";
    s.expect(s.ftl.map_cache.size.is_none(), &[PAGES, "ftl.map_cache.size"], cached)?;
    let parity = "0 where stripes have parity, which would not cover the pages of the map";
    s.expect(s.ftl.parity.stripe.is_none(), &[PAGES, "ftl.parity.stripe"], parity)
}
