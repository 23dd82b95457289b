#!/bin/sh
# Runs an executable of tests under valgrind, as a runner for `cargo test --workspace`, which uses what is already built. Code that
# indexes without checks in optimized builds, or that uses io_uring, ioctl or userfaultfd, is worth the time; the rest is skipped.
case $(basename "${1%/deps/*}")/$(basename "$1") in
debug/probe-* | debug/block-*)
    set -- "$@" block::engine requests:: files:: ;;
debug/memory-* | debug/files-* | debug/concurrent_readers-*)
    set -- "$@" disk:: without_io_uring reopening_restores areas_are a_reader_keeps a_backup_is ;;
debug/direct-* | debug/loop_device-* | release/sim-* | release/ftl-* | release/histories-* | release/power_cuts-*) ;;
*) exit 0 ;;
esac
exec valgrind --quiet --error-exitcode=9 "$@"
