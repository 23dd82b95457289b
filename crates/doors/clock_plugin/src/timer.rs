//! The clock, the timer and the registers, on behalf of the drive.

use std::ffi::{c_uint, c_void};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use guest_clock::{Access, Channel, Due};

use crate::qemu::{Device, Functions, Timer};
use crate::registers;

/// The plug-in's state, which lives as long as the process: QEMU calls back until its end.
pub(crate) struct Plugin {
    functions: Functions,
    regions: registers::Functions,
    channel: Channel,
    timer: OnceLock<Timer>,
    device: OnceLock<Device>,
    /// Not locked while the drive is called.
    state: Mutex<TimerState>,
}

#[derive(Default)]
struct TimerState {
    /// The drive's next time.
    next: Option<u64>,
    /// Interrupts that are due later, while the guest sleeps.
    held: Option<Due>,
}

static PLUGIN: OnceLock<Plugin> = OnceLock::new();

impl Plugin {
    /// Starts to serve the drive at the other end of `channel`.
    ///
    /// # Errors
    /// Fails if the plug-in is loaded twice, or no thread can be created.
    pub fn start(functions: Functions, regions: registers::Functions, channel: Channel) -> Result<(), String> {
        let (timer, device, state) = Default::default();
        let plugin = Plugin { functions, regions, channel, timer, device, state };
        PLUGIN.set(plugin).map_err(|_| "found it loaded twice, expected one -plugin for one drive".to_owned())?;
        regions.when_machine_is_done(machine_is_done);
        let thread = std::thread::Builder::new().name("nandram timer".to_owned());
        thread.spawn(serve_timer).map(|_| ()).map_err(|error| error.to_string())
    }

    fn get() -> &'static Plugin {
        PLUGIN.get().expect("set before QEMU calls")
    }

    fn state(&self) -> MutexGuard<'_, TimerState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Arms the timer for the drive's next time, if that has changed and no interrupt is held.
    fn arm(&self, next: Option<u64>) {
        let mut state = self.state();
        let has_changed = state.next != next;
        state.next = next;
        match &mut state.held {
            Some(held) => held.next = next,
            None if has_changed => self.set_timer(next),
            None => {}
        }
    }

    fn set_timer(&self, at: Option<u64>) {
        // QEMU creates its clocks after it has loaded plug-ins, and machines access devices after that.
        self.timer.get_or_init(|| Timer::new(&self.functions, timer_fires)).arm(&self.functions, at);
    }

    /// Passes an access on, in the thread of the guest's processor.
    fn access(&self, offset: u64, bytes: c_uint, write: Option<u64>) -> u64 {
        let access = Access { offset, bytes: bytes as usize, write };
        match self.channel.access(self.functions.now(), access) {
            Ok(answer) => {
                self.arm(answer.next);
                answer.value
            }
            Err(_) => end("the drive's server is gone"),
        }
    }

    /// Handles the timer's time `now`: the drive does its work, or interrupts that it announced are due.
    fn fire(&self, now: u64) {
        let held = self.state().held.take();
        let due = match held {
            Some(due) => due,
            None => match self.channel.fire(now, self.functions.asleep_until(now)) {
                Ok(due) => due,
                Err(_) => end("the drive's server is gone"),
            },
        };
        let mut state = self.state();
        state.next = due.next;
        if due.vectors != 0 && due.at > now {
            state.held = Some(due);
            return self.set_timer(Some(due.at));
        }
        self.raise(due.vectors);
        if due.next.is_some() {
            self.set_timer(due.next);
        }
    }

    /// Raises interrupts, one bit each.
    fn raise(&self, vectors: u128) {
        let Some(device) = self.device.get() else { return };
        for vector in (0..u128::BITS as u16).filter(|vector| vectors >> vector & 1 == 1) {
            self.functions.raise(*device, vector);
        }
    }
}

/// Arms the timer at the drive's request until the drive is gone.
fn serve_timer() {
    let plugin = Plugin::get();
    while plugin.channel.serve_timer(|next| plugin.arm(next)) == Ok(()) {}
}

/// Takes over the registers of the drive's device.
unsafe extern "C" fn machine_is_done(_: *mut c_void, _: *mut c_void) {
    let plugin = Plugin::get();
    let Some(device) = plugin.functions.device() else {
        end("found no vfio-user-pci device, or several, expected one")
    };
    if let Err(error) = plugin.regions.install(*plugin.device.get_or_init(|| device), read_register, write_register) {
        end(&error)
    }
}

/// The processor waits for the result.
unsafe extern "C" fn read_register(_: *mut c_void, offset: u64, bytes: c_uint) -> u64 {
    Plugin::get().access(offset, bytes, None)
}

/// The processor waits for the end.
unsafe extern "C" fn write_register(_: *mut c_void, offset: u64, value: u64, bytes: c_uint) {
    Plugin::get().access(offset, bytes, Some(value));
}

/// The timer's time has come, with the processor stopped.
unsafe extern "C" fn timer_fires(_: *mut c_void) {
    let plugin = Plugin::get();
    plugin.fire(plugin.functions.now());
}

/// Ends QEMU. The guest's processor waits, so that QEMU cannot end by itself.
fn end(reason: &str) -> ! {
    eprintln!("nandram clock plug-in: {reason}");
    // SAFETY: ends the process at once; QEMU's files need no flush.
    unsafe { libc::_exit(1) }
}
