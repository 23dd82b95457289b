//! Instructions that halt the processor.
//!
//! QEMU's main loop skips idle time: once the processor is halted, it moves the clock on to the next timer. The processor's
//! thread marks the processor as halted first, and counts the last instructions a moment later. If the main loop looks in
//! between, as happens on a busy machine, it moves the clock too far, by these instructions. Work that is queued before the
//! processor halts keeps it from being idle, and the thread takes this work after it has counted.

use std::ffi::{c_int, c_uint, c_void};
use std::mem::transmute;
use std::ptr;
use std::sync::OnceLock;

use crate::qemu::symbols;

/// Bytes of the longer instruction.
const BYTES: usize = 3;
const HLT: u8 = 0xf4;
const MWAIT: [u8; BYTES] = [0x0f, 0x01, 0xc9];
/// `QEMU_PLUGIN_CB_NO_REGS`.
const NO_REGISTERS: c_int = 0;

type Work = unsafe extern "C" fn(*mut c_void, *mut c_void);
type OnTranslation = unsafe extern "C" fn(*mut c_void, *mut c_void);
type OnExecution = unsafe extern "C" fn(c_uint, *mut c_void);

type GetCpu = unsafe extern "C" fn(c_int) -> *mut c_void;
type RunOnCpu = unsafe extern "C" fn(*mut c_void, Work, *mut c_void);
type WhenTranslated = unsafe extern "C" fn(u64, OnTranslation, *mut c_void);
type Instructions = unsafe extern "C" fn(*const c_void) -> usize;
type Instruction = unsafe extern "C" fn(*const c_void, usize) -> *mut c_void;
type InstructionData = unsafe extern "C" fn(*const c_void, *mut u8, usize) -> usize;
type WhenExecuted = unsafe extern "C" fn(*mut c_void, OnExecution, c_int, *mut c_void);

/// The functions of QEMU for translated instructions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Functions {
    get_cpu: GetCpu,
    run_on_cpu: RunOnCpu,
    when_translated: WhenTranslated,
    instructions: Instructions,
    instruction: Instruction,
    instruction_data: InstructionData,
    when_executed: WhenExecuted,
}

static FUNCTIONS: OnceLock<Functions> = OnceLock::new();

impl Functions {
    /// Finds all functions.
    ///
    /// # Errors
    /// Fails with the names of the functions that this QEMU does not export.
    pub fn find() -> Result<Functions, Vec<&'static str>> {
        let [get, run, translated, count, at, data, executed] = symbols([
            c"qemu_get_cpu",
            c"async_run_on_cpu",
            c"qemu_plugin_register_vcpu_tb_trans_cb",
            c"qemu_plugin_tb_n_insns",
            c"qemu_plugin_tb_get_insn",
            c"qemu_plugin_insn_data",
            c"qemu_plugin_register_vcpu_insn_exec_cb",
        ])?;
        // SAFETY: QEMU 11.1 exports functions with these names and types, and none of the addresses is zero.
        unsafe {
            Ok(Functions {
                get_cpu: transmute::<*mut c_void, GetCpu>(get),
                run_on_cpu: transmute::<*mut c_void, RunOnCpu>(run),
                when_translated: transmute::<*mut c_void, WhenTranslated>(translated),
                instructions: transmute::<*mut c_void, Instructions>(count),
                instruction: transmute::<*mut c_void, Instruction>(at),
                instruction_data: transmute::<*mut c_void, InstructionData>(data),
                when_executed: transmute::<*mut c_void, WhenExecuted>(executed),
            })
        }
    }

    /// Keeps idle time from being skipped before the instructions are counted, in the plug-in `id`.
    ///
    /// # Panics
    /// Panics if called twice.
    pub fn install(self, id: u64) {
        FUNCTIONS.set(self).expect("installed once");
        // SAFETY: `translated` has the type that version 7 of the interface calls.
        unsafe { (self.when_translated)(id, translated, ptr::null_mut()) };
    }
}

/// Returns whether an instruction with these first bytes halts the processor.
fn halts(bytes: &[u8]) -> bool {
    bytes == [HLT] || bytes == MWAIT
}

/// Finds the instructions that halt in a block which QEMU translates.
unsafe extern "C" fn translated(block: *mut c_void, _: *mut c_void) {
    let functions = FUNCTIONS.get().expect("set before QEMU calls");
    // SAFETY: QEMU passes a block of instructions.
    for at in 0..unsafe { (functions.instructions)(block) } {
        let mut bytes = [0; BYTES];
        // SAFETY: an instruction of this block.
        let instruction = unsafe { (functions.instruction)(block, at) };
        // SAFETY: as above; QEMU writes at most as many bytes as are given.
        let length = unsafe { (functions.instruction_data)(instruction, bytes.as_mut_ptr(), BYTES) };
        if halts(&bytes[..length.min(BYTES)]) {
            // SAFETY: as above, and `halting` has the type that QEMU calls.
            unsafe { (functions.when_executed)(instruction, halting, NO_REGISTERS, ptr::null_mut()) };
        }
    }
}

/// The processor is about to halt, in the processor's thread.
unsafe extern "C" fn halting(processor: c_uint, _: *mut c_void) {
    let functions = FUNCTIONS.get().expect("set before QEMU calls");
    // SAFETY: QEMU looks the only processor up.
    let cpu = unsafe { (functions.get_cpu)(processor as c_int) };
    // SAFETY: a processor, and a function that may be called at any time.
    unsafe { (functions.run_on_cpu)(cpu, nothing, ptr::null_mut()) };
}

unsafe extern "C" fn nothing(_: *mut c_void, _: *mut c_void) {}
