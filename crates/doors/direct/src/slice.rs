//! Scheduling: the length of a thread's time slices.

/// `struct sched_attr` of `linux/sched/types.h`, in its first version.
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

/// The requested slice in nanoseconds, the minimum that the kernel accepts.
const SLICE: u64 = 100_000;

/// Requests short time slices for the calling thread, so that it is scheduled soon after it wakes up. Intended for
/// threads that do little work at a time while others wait for them; the thread's share of CPU time does not change.
/// Kernels before 6.12 ignore the request, and threads with other scheduling policies are left unchanged.
pub fn request_short_slices() {
    let mut now = Attributes::default();
    let bytes = size_of::<Attributes>();
    // SAFETY: The kernel writes at most as many bytes as it is given; thread 0 is the calling thread.
    let known = unsafe { libc::syscall(libc::SYS_sched_getattr, 0, &raw mut now, bytes, 0) };
    if known != 0 || now.policy != libc::SCHED_OTHER as u32 {
        return;
    }
    now.size = bytes as u32;
    now.runtime = SLICE;
    // SAFETY: The kernel reads a structure whose size is in its first field.
    let _ = unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const now, 0) };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attributes() -> Attributes {
        let mut now = Attributes::default();
        // SAFETY: See `request_short_slices`.
        let known = unsafe { libc::syscall(libc::SYS_sched_getattr, 0, &raw mut now, size_of::<Attributes>(), 0) };
        assert_eq!(known, 0);
        now
    }

    #[test]
    fn only_the_slice_changes_and_only_on_kernels_that_support_it() {
        let before = attributes();
        request_short_slices();
        let after = attributes();
        assert_eq!((after.policy, after.nice, after.priority), (before.policy, before.nice, before.priority));
        assert!([before.runtime, SLICE].contains(&after.runtime), "{} ns", after.runtime);
    }
}
