//! Calls that most events do not make.

/// Calls `act` with `of` outside the code around it, so that what it needs takes no register and no room on the stack
/// there. A closure that moves what it captures costs its caller nothing where it is not called.
#[cold]
#[inline(never)]
pub fn rarely<C: ?Sized, T>(of: &mut C, act: impl FnOnce(&mut C) -> T) -> T {
    act(of)
}
