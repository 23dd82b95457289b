//! The clock and the timer, on behalf of the drive.

use std::ffi::c_void;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use guest_clock::{Channel, Due, Gone};

use crate::qemu::{Device, Functions, Processor, Timer};

/// The plug-in's state, which lives as long as the process: QEMU calls back until its end.
pub(crate) struct Plugin {
    functions: Functions,
    channel: Channel,
    processor: OnceLock<Processor>,
    timer: OnceLock<Timer>,
    device: OnceLock<Device>,
    /// Interrupts that are due later, while the guest sleeps.
    held: Mutex<Option<Due>>,
}

static PLUGIN: OnceLock<Plugin> = OnceLock::new();

impl Plugin {
    /// Starts to serve the drive at the other end of `channel`.
    ///
    /// # Errors
    /// Fails if the plug-in is loaded twice, or no thread can be created.
    pub fn start(functions: Functions, channel: Channel) -> Result<(), String> {
        let plugin = Plugin {
            functions,
            channel,
            processor: OnceLock::new(),
            timer: OnceLock::new(),
            device: OnceLock::new(),
            held: Mutex::new(None),
        };
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
    let arm = |next| {
        let timer = plugin.timer.get_or_init(|| Timer::new(functions, timer_fires));
        match &mut *plugin.held() {
            Some(held) => held.next = next,
            None => timer.arm(functions, next),
        }
    };
    while plugin.channel.serve_clock(now, arm) == Ok(()) {}
}

/// Handles the timer's time, with the processor stopped: the drive does its work, or interrupts that it announced are due.
unsafe extern "C" fn timer_fires(_: *mut c_void) {
    let plugin = PLUGIN.get().expect("set before the timer is created");
    let now = plugin.functions.now();
    let held = plugin.held().take();
    let due = match held {
        Some(due) => due,
        None => match plugin.channel.fire(now, plugin.functions.asleep_until(now)) {
            Ok(due) => due,
            Err(Gone) => return eprintln!("nandram clock plug-in: the drive's server is gone"),
        },
    };
    if due.vectors != 0 && due.at > now {
        plugin.arm(Some(due.at));
        *plugin.held() = Some(due);
        return;
    }
    plugin.raise(due.vectors);
    if due.next.is_some() {
        plugin.arm(due.next);
    }
}

impl Plugin {
    fn held(&self) -> MutexGuard<'_, Option<Due>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn arm(&self, next: Option<u64>) {
        self.timer.get().expect("it fires").arm(&self.functions, next);
    }

    /// Raises interrupts, one bit each.
    fn raise(&self, vectors: u128) {
        if vectors == 0 {
            return;
        }
        let Some(device) = self.device.get().copied().or_else(|| self.functions.device()) else {
            return eprintln!("nandram clock plug-in: found no vfio-user-pci device, or several, expected one");
        };
        // The search goes through all objects of the machine.
        let device = *self.device.get_or_init(|| device);
        for vector in (0..u128::BITS as u16).filter(|vector| vectors >> vector & 1 == 1) {
            self.functions.raise(device, vector);
        }
    }
}
