#!/bin/sh
# Runs an executable of tests under valgrind if it is named here: a runner for `cargo test --workspace`, which uses what is already
# built. It names code that indexes without checks in
# optimized builds, the tests of indices beyond tables, and code that uses io_uring or ioctl.
case $(basename "${1%/deps/*}")/$(basename "$1") in
debug/probe-* | debug/block-*)
    set -- "$@" block::engine requests:: files:: ;;
debug/memory-* | debug/files-* | debug/concurrent_readers-*)
    set -- "$@" disk:: without_io_uring reopening_restores areas_are a_reader_keeps a_backup_is ;;
debug/direct-* | debug/loop_device-* | release/sim-* | release/ftl-* | release/histories-* | release/power_cuts-* | release/indices_beyond_tables-*) ;;
debug/* | release/*) exit 0 ;;
*)
    echo "tests/valgrind.sh: found $1, expected an executable in debug/deps or release/deps" >&2
    exit 2 ;;
esac
exec valgrind --quiet --error-exitcode=9 "$@"
