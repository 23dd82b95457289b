//! The steps of a program: instructions, memory accesses and system calls.

/// The memory access or system call that ends a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Act {
    /// A load that may complete before older ones.
    #[default]
    Load,
    /// A load that waits for everything before it, stores included: after a locked instruction, or from an address that
    /// was just loaded.
    OrderedLoad,
    /// A store.
    Store,
    /// A system call that copies bytes of a file to the program's memory. The accesses of the copy follow as steps.
    Read,
    /// A system call that copies bytes to a file. The accesses of the copy follow as steps.
    Write,
    /// A system call that makes data durable: that of a file (fsync), or of the mapped file at this address (msync). Flash
    /// as main memory keeps the state of all its pages under a token (NVMM's sync).
    Sync,
    /// A return to the last sync after a fault. Flash as main memory restores that state (NVMM's rollback); over a drive,
    /// memory is lost and files are read again.
    Rollback,
    /// A system call that makes the pages of these bytes permanent (NVMM's setperms).
    Permanent,
    /// A barrier: the thread waits for all threads of all programs that have this step. Measurement begins there.
    Begin,
}

/// Instructions without memory access, followed by an access or a system call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Step {
    /// Number of instructions before it.
    pub instructions: u32,
    /// Kind of the access or call. Loads and stores count as an instruction themselves.
    pub act: Act,
    /// Bytes: within a line for an access, any number for a call.
    pub bytes: u32,
    /// Virtual address of the first byte.
    pub address: u64,
}

/// A source of steps: the threads of a workload.
pub trait Steps {
    /// Appends the next steps of `thread` to `steps`, or none if it has ended.
    fn next(&mut self, thread: u16, steps: &mut Vec<Step>);
}
