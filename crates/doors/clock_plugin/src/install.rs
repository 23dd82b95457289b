//! The interface of QEMU plug-ins, version 7, as far as it is used.

use std::ffi::{CStr, c_char, c_int};
use std::path::Path;

use guest_clock::Channel;

use crate::halts;
use crate::qemu::Functions;
use crate::registers;
use crate::timer::Plugin;

/// Version of the interface. QEMU checks that it supports this version.
const VERSION: c_int = 7;

/// Version that this plug-in was built for.
#[unsafe(no_mangle)]
pub static qemu_plugin_version: c_int = VERSION;

/// `qemu_info_t`.
#[repr(C)]
#[derive(Debug)]
pub struct Info {
    target_name: *const c_char,
    version_min: c_int,
    version_cur: c_int,
    system_emulation: bool,
    smp_vcpus: c_int,
    max_vcpus: c_int,
}

/// Starts the plug-in: `-plugin libclock_plugin.so,channel=PATH`. Returns nonzero for an error.
///
/// # Safety
/// QEMU calls this once, with `argc` strings in `argv`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qemu_plugin_install(
    id: u64,
    info: *const Info,
    argc: c_int,
    argv: *const *const c_char,
) -> c_int {
    // SAFETY: QEMU passes an initialized structure.
    let info = unsafe { &*info };
    let arguments = (0..usize::try_from(argc).unwrap_or(0)).map(|at| {
        // SAFETY: `argv` has `argc` strings, each with a zero at its end.
        unsafe { CStr::from_ptr(*argv.add(at)) }.to_string_lossy().into_owned()
    });
    match start(id, info, arguments) {
        Ok(()) => 0,
        Err(message) => {
            eprintln!("nandram clock plug-in: {message}");
            1
        }
    }
}

/// Checks the arguments and the emulator, and starts.
fn start(id: u64, info: &Info, arguments: impl Iterator<Item = String>) -> Result<(), String> {
    let mut channel = None;
    for argument in arguments {
        match argument.split_once('=') {
            Some(("channel", path)) => channel = Some(path.to_owned()),
            _ => return Err(format!("found argument `{argument}`, expected channel=PATH")),
        }
    }
    let Some(channel) = channel else { return Err("found no channel, expected channel=PATH".to_owned()) };
    if !info.system_emulation {
        return Err("found an emulator of programs, expected one of systems".to_owned());
    }
    if info.smp_vcpus != 1 {
        return Err(format!("found {} processors, expected -smp 1: time is exact for one only", info.smp_vcpus));
    }
    let refuse =
        |absent: Vec<&str>| format!("this QEMU does not export {}: expected QEMU 11.1.3 of Debian", absent.join(", "));
    let functions = Functions::find().map_err(refuse)?;
    let regions = registers::Functions::find().map_err(refuse)?;
    let halts = halts::Functions::find().map_err(refuse)?;
    let channel = Channel::open(Path::new(&channel)).map_err(|error| format!("channel {error}"))?;
    Plugin::start(functions, regions, channel)?;
    halts.install(id);
    Ok(())
}
