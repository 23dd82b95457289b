//! How long a thread runs at a time.

/// Of `linux/sched/types.h`, in its first version.
#[repr(C)]
#[derive(Default)]
struct Attributes {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    runtime: u64,
    deadline: u64,
    period: u64,
}

/// Nanoseconds: the shortest that may be asked for.
const SLICE: u64 = 100_000;

/// Asks for the calling thread to run for a short time at a time, and therefore soon when it is woken: for one that others wait for, and
/// that does little at a time. Its share of the processors is the same. Kernels before 6.12 do not know of it, and threads of other policies
/// than the usual one stay as they are.
pub fn ask_for_short_slices() {
    let mut now = Attributes::default();
    let bytes = size_of::<Attributes>();
    // SAFETY: The kernel writes as many bytes as it is told there are; 0 is the calling thread.
    let known = unsafe { libc::syscall(libc::SYS_sched_getattr, 0, &raw mut now, bytes, 0) };
    if known != 0 || now.policy != libc::SCHED_OTHER as u32 {
        return;
    }
    now.size = bytes as u32;
    now.runtime = SLICE;
    // SAFETY: The kernel reads a structure of the size that is in it.
    let _ = unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const now, 0) };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attributes() -> Attributes {
        let mut now = Attributes::default();
        // SAFETY: As above.
        let known = unsafe { libc::syscall(libc::SYS_sched_getattr, 0, &raw mut now, size_of::<Attributes>(), 0) };
        assert_eq!(known, 0);
        now
    }

    #[test]
    fn slices_are_short_where_the_kernel_has_them_and_all_else_is_as_it_was() {
        let before = attributes();
        ask_for_short_slices();
        let after = attributes();
        assert_eq!((after.policy, after.nice, after.priority), (before.policy, before.nice, before.priority));
        assert!([before.runtime, SLICE].contains(&after.runtime), "{} ns", after.runtime);
    }
}
