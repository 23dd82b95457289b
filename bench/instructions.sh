#!/bin/sh
# Instructions a request, counted by callgrind: the difference of a long and a short run of the same job over the
# difference of their requests, so that start-up and preparation drop out. Writes BENCH.md. Needs valgrind.
#
# Blocks a plane are fewer than the presets have, at the same or a stated over-provisioning, so that callgrind has
# less to prepare: what a request costs does not depend on the number of blocks.
set -eu
cd "$(dirname "$0")/.."
command -v valgrind >/dev/null || { echo "bench: valgrind is not installed (make test-system installs it)" >&2; exit 2; }
target="${CARGO_TARGET_DIR:-target}"
cargo build --release --quiet -p machine --example run
scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT

# instructions NAME RW REQUESTS PREPARATION [key=value]...: instructions of one run.
instructions() {
    name="$1" rw="$2" requests="$3" preparation="$4"
    shift 4
    job="$scratch/$name.$requests"
    printf '[global]\nbs=4k\niodepth=32\nnorandommap\nnumber_ios=%s\n[%s]\nrw=%s\n' "$requests" "$rw" "$rw" >"$job.fio"
    valgrind --tool=callgrind --callgrind-out-file=/dev/null "$target/release/examples/run" mqsim-ideal-map "$job.fio" \
        "$preparation" "$@" >"$job.json" 2>"$job.log" || { cat "$job.log" >&2; return 1; }
    sed -n 's/.*Collected : //p' "$job.log" >"$job.count"
}

# slope NAME RW SHORT LONG PREPARATION [key=value]...: instructions a request; the two runs at a time.
slope() {
    name="$1" rw="$2" short="$3" long="$4"
    shift 4
    instructions "$name" "$rw" "$short" "$@" &
    instructions "$name" "$rw" "$long" "$@"
    wait "$!"
    from="$(cat "$scratch/$name.$short.count")" to="$(cat "$scratch/$name.$long.count")"
    echo $(((to - from) / (long - short)))
}

# What any job on the scaled drives has.
scaled="flash.blocks=32 ftl.gc.start=2 ftl.over_provisioning=0.3"
# A small write cache, so that the short run fills it and both end in steady state.
writes="$scaled device.write_cache.size=2MiB"
# shellcheck disable=SC2086
read="$(slope read randread 50000 250000 fill $scaled)"
# shellcheck disable=SC2086
write="$(slope write randwrite 60000 140000 steady $writes ftl.unit=4KiB)"
# shellcheck disable=SC2086
write8="$(slope write8 randwrite 60000 120000 steady $writes)"

cat >BENCH.md <<TABLE
# Instructions a request

Written by \`make bench\` (\`bench/instructions.sh\`): callgrind's count, seed 1, 32 outstanding requests of 4 KiB on
\`mqsim-ideal-map\` with \`$scaled\`: the difference of
two runs over the difference of their requests. Writes begin in the analytic steady state, with a write cache of 2 MiB,
and include their share of garbage collection.

| request | mapping unit | instructions | requests of the runs |
| --- | --- | ---: | --- |
| random read | 8 KiB | $read | 50,000 and 250,000 |
| random write | 4 KiB | $write | 60,000 and 140,000 |
| random write, each with a read of the other half of its unit | 8 KiB | $write8 | 60,000 and 120,000 |
TABLE
cat BENCH.md
