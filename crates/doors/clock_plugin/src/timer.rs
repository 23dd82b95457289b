//! The clock and the timer, on behalf of the drive.

use std::ffi::c_void;
use std::sync::OnceLock;

use guest_clock::{Channel, Due, Gone};

use crate::qemu::{Functions, Processor, Timer};

/// The plug-in's state, which lives as long as the process: QEMU calls back until its end.
pub(crate) struct Plugin {
    functions: Functions,
    channel: Channel,
    processor: OnceLock<Processor>,
    timer: OnceLock<Timer>,
}

static PLUGIN: OnceLock<Plugin> = OnceLock::new();

impl Plugin {
    /// Starts to serve the drive at the other end of `channel`.
    ///
    /// # Errors
    /// Fails if the plug-in is loaded twice, or no thread can be created.
    pub fn start(functions: Functions, channel: Channel) -> Result<(), String> {
        let plugin = Plugin { functions, channel, processor: OnceLock::new(), timer: OnceLock::new() };
        PLUGIN.set(plugin).map_err(|_| "found it loaded twice, expected one -plugin for one drive".to_owned())?;
        let clock = std::thread::Builder::new().name("nandram clock".to_owned());
        clock.spawn(serve_clock).map(|_| ()).map_err(|error| error.to_string())
    }
}

/// Records the guest's processor, in its thread.
pub(crate) extern "C" fn processor_begins(_: u32, _: *mut c_void) {
    if let Some(plugin) = PLUGIN.get()
        && let Some(processor) = plugin.functions.processor()
    {
        // Only the first processor's accesses are exact.
        let _ = plugin.processor.set(processor);
    }
}

/// Answers the drive's requests until it is gone.
fn serve_clock() {
    let plugin = PLUGIN.get().expect("set before the thread starts");
    let functions = &plugin.functions;
    let now = || functions.now_of(plugin.processor.get().copied());
    // QEMU creates its clocks after it has loaded plug-ins, and machines access devices after that.
    let arm = |next| plugin.timer.get_or_init(|| Timer::new(functions, timer_fires)).arm(functions, next);
    while plugin.channel.serve_clock(now, arm) == Ok(()) {}
}

/// Handles the timer's time: the drive does its work while the processor is stopped.
unsafe extern "C" fn timer_fires(_: *mut c_void) {
    let plugin = PLUGIN.get().expect("set before the timer is created");
    let functions = &plugin.functions;
    match plugin.channel.fire(functions.now()) {
        Ok(Due { vectors, next }) => {
            if vectors != 0 {
                let device = functions.device();
                let Some(device) = device else {
                    eprintln!("nandram clock plug-in: found no vfio-user-pci device, or several, expected one");
                    return;
                };
                (0..u128::BITS as u16).filter(|vector| vectors >> vector & 1 == 1).for_each(|vector| {
                    functions.raise(device, vector);
                });
            }
            if let (Some(timer), Some(_)) = (plugin.timer.get(), next) {
                timer.arm(functions, next);
            }
        }
        Err(Gone) => eprintln!("nandram clock plug-in: the drive's server is gone"),
    }
}
