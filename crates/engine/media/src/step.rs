//! What a program does, step by step: instructions, and between them accesses to memory and calls of the system.

/// What a step ends with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Act {
    /// A load, which may be done before older ones are.
    #[default]
    Load,
    /// A load that waits until everything before it is done, stores included: behind a locked instruction, or of an address
    /// that was just loaded.
    OrderedLoad,
    /// A store.
    Store,
    /// The system is asked to copy bytes of a file into the program's memory. The accesses of the copy follow as steps.
    Read,
    /// The system is asked to copy bytes into a file. The accesses of the copy follow as steps.
    Write,
    /// The system is asked to make what was written to a file durable (fsync).
    Sync,
    /// The thread waits until all threads of all programs that say so have come as far: what is measured begins there.
    Begin,
}

/// Instructions that touch no memory, and then one that does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Step {
    /// Instructions before it.
    pub instructions: u32,
    /// What it is. Loads and stores are an instruction themselves.
    pub act: Act,
    /// Bytes: of an access within a line, of a call any number.
    pub bytes: u32,
    /// The first byte's virtual address.
    pub address: u64,
}

/// Where steps come from: what the threads of a workload do.
pub trait Steps {
    /// Appends the next steps of `thread` to `steps`; none where it has ended.
    fn next(&mut self, thread: u16, steps: &mut Vec<Step>);
}
