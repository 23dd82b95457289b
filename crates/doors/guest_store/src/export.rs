//! The contents of a drive as a plain image.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use guest::Options;
use media::{Op, Request, Status};
use storage::fast::Fast;
use system::System;
use system::parts::Translation;

use crate::open::{open_flash, streams};
use crate::{Mode, StoreError};

/// Bytes per read.
const STEP: u64 = 64 << 10;

/// Mounts the drive in the store at `path` and writes what its host would read to a sparse file `image`. The store does
/// not change.
///
/// # Errors
/// Fails if the store cannot be opened, or the image not be written.
pub fn export(system: &System, options: &Options, path: &Path, image: &Path) -> Result<(), StoreError> {
    let (parts, fresh) = guest::Drive::parts_and_flash(system, options)?;
    let (mut store, _locked) = open_flash(system, &parts, fresh, path, Mode::Open)?;
    let (mut layer, _) =
        Translation::mount(&parts, &store, &streams(options)).map_err(|error| StoreError::Drive(error.into()))?;
    let fail = || StoreError::io(image, "the image cannot be written");
    let file = File::create(image).map_err(fail())?;
    let parts_end = [parts.user_bytes, parts.user_bytes + parts.conventional_bytes()];
    file.set_len(parts_end[1]).map_err(fail())?;
    let mut fast = Fast::new(&mut layer, &mut store);
    fast.start();
    let mut at = 0;
    // No read crosses from the zones to a conventional part.
    for end in parts_end {
        while at < end {
            let bytes = STEP.min(end - at);
            if fast.request(Request::new(Op::Read, at, bytes)) != Status::Ok {
                let error = std::io::Error::other(format!("the drive cannot read {bytes} bytes at {at}"));
                return Err(StoreError::Io { path: path.to_owned(), doing: "cannot be exported", error });
            }
            if fast.data().iter().any(|byte| *byte != 0) {
                file.write_all_at(fast.data(), at).map_err(fail())?;
            }
            at += bytes;
        }
    }
    file.sync_data().map_err(fail())
}
