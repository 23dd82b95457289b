#!/bin/sh
# Instructions per request, counted by callgrind: the difference between a long and a short run of the same job, divided
# by the difference in requests, so that start-up and preparation cancel out. Writes BENCH.md. Needs valgrind.
#
# The drives are smaller than in the presets, so that callgrind has less to prepare: the cost of a request does not
# depend on the number of blocks. The cost of a write depends on the number of units that collection copies for it, so there
# is a row for each of several over-provisionings, with the write amplification measured between the runs.
set -eu
cd "$(dirname "$0")/.."
command -v valgrind >/dev/null || { echo "bench: valgrind is not installed (make test-system installs it)" >&2; exit 2; }
target="${CARGO_TARGET_DIR:-target}"
cargo build --release --quiet -p main_memory --example run
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

# slope NAME RW SHORT LONG PREPARATION [key=value]...: instructions per request; the two runs execute in parallel.
slope() {
    name="$1" rw="$2" short="$3" long="$4"
    shift 4
    instructions "$name" "$rw" "$short" "$@" &
    instructions "$name" "$rw" "$long" "$@"
    wait "$!"
    from="$(cat "$scratch/$name.$short.count")" to="$(cat "$scratch/$name.$long.count")"
    echo $(((to - from) / (long - short)))
}

# units NAME REQUESTS: units programmed by the translation layer, without its metadata and padding, and units written by the host.
units() {
    sed -n 's/^ *"\(programmed_host\|programmed_copy\|host_units\)": \([0-9]*\),*$/\1=\2/p' "$scratch/$1.$2.json"
}

# amplification NAME SHORT LONG: units programmed per unit written by the host, from the end of the short run to that of the long run.
amplification() {
    eval "$(units "$1" "$2")"
    programmed=$((programmed_host + programmed_copy)) written="$host_units"
    eval "$(units "$1" "$3")"
    awk "BEGIN { printf \"%.2f\", ($programmed_host + $programmed_copy - $programmed) / ($host_units - $written) }"
}

reads="flash.blocks=32 ftl.gc.start=3 ftl.over_provisioning=0.3"
# shellcheck disable=SC2086
read="$(slope read randread 50000 250000 fill $reads)"

# The same reads by location of the map: entirely in the controller, without look-ups; cached, and always found in the
# controller, or in host memory; and mostly fetched from flash into host memory, with evictions.
cached="ftl.map_cache.place=sram device.hmb.use=map"
# shellcheck disable=SC2086
near="$(slope near randread 50000 250000 fill $reads $cached ftl.map_cache.size=4MiB)"
# shellcheck disable=SC2086
hit="$(slope hit randread 50000 250000 fill $reads $cached ftl.map_cache.size=8KiB device.hmb.size=8MiB)"
# shellcheck disable=SC2086
miss="$(slope miss randread 50000 250000 fill $reads $cached ftl.map_cache.size=8KiB device.hmb.size=64KiB)"

# A small write cache and 80,000 writes before the short run ends, so that both end in steady state.
writes="flash.chips=1 flash.blocks=128 ftl.gc.start=3 device.write_cache.size=2MiB"

{ grep -q '^## Memory on a file' BENCH.md && printf '\n' && sed -n '/^## Memory on a file/,$p' BENCH.md; } >"$scratch/memory" || true
cat >BENCH.md <<TABLE
# Instructions per request

Written by \`make bench\` (\`bench/instructions.sh\`): callgrind's count, seed 1, 32 outstanding requests of 4 KiB on
\`mqsim-ideal-map\`: the difference of two runs over the difference of their requests.

| request | mapping unit | instructions | requests of the runs |
| --- | --- | ---: | --- |
| random read | 8 KiB | $read | 50,000 and 250,000 |

The reads are on a filled drive with \`$reads\`.

| random read, its entry of the map | mapping unit | instructions | more than with the whole map in the controller |
| --- | --- | ---: | ---: |
| in the controller's cache | 8 KiB | $near | $((near - read)) |
| in a Host Memory Buffer | 8 KiB | $hit | $((hit - read)) |
| in neither (97 of 100), brought from flash into a Host Memory Buffer | 8 KiB | $miss | $((miss - read)) |

The map of that drive has 393 units of 8 KiB: \`ftl.map_cache.size=4MiB\` holds all of them, \`ftl.map_cache.size=8KiB\` with
\`device.hmb.size=8MiB\` too, and with \`device.hmb.size=64KiB\` it holds nine.

Writes begin in the analytic steady state, go through a cache of 2 MiB, and include their share of garbage collection:
\`$writes\`, two units a page, planes that write
and collect by themselves. Over-provisioning is that of the 123 blocks per plane without the 5 that are free or open
(\`ftl.over_provisioning\`, of all 128, in brackets); the write amplification is that between the ends of the two runs. With
8 KiB units each write also reads the other half of its unit.

| request | mapping unit | over-provisioning | write amplification | instructions | requests of the runs |
| --- | --- | --- | ---: | ---: | --- |
TABLE

# row UNIT OVER_PROVISIONING KEY: a row for random writes.
row() {
    name="write.$1.$3"
    # shellcheck disable=SC2086
    count="$(slope "$name" randwrite 80000 160000 steady $writes "ftl.unit=$1KiB" "ftl.over_provisioning=$3")"
    factor="$(amplification "$name" 80000 160000)"
    echo "| random write | $1 KiB | $2 ($3) | $factor | $count | 80,000 and 160,000 |" >>BENCH.md
}

row 4 "7 %" 0.1135
row 4 "12.5 %" 0.1707
row 4 "28 %" 0.332
row 8 "28 %" 0.332

{
    printf '\n## DRAM\n\nOf a controller and its channel alone (`bench/dram.sh`), with what submits to it.\n\n'
    bench/dram.sh
} >>BENCH.md
{
    printf '\n## The simulated processor\n\n'
    bench/cpu.sh
} >>BENCH.md
bench/pages.sh >>BENCH.md
bench/nvmm.sh >>BENCH.md
bench/stepping.sh >>BENCH.md
# Times are specific to this machine, which must be idle.
.venv/bin/python bench/start.py >>BENCH.md
.venv/bin/python bench/sweep.py >>BENCH.md
# The section of `make bench-memory` is unchanged.
cat "$scratch/memory" >>BENCH.md
cat BENCH.md
