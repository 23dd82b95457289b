#!/bin/sh
# Instructions per request of a program outside the simulation, beside those of `nandram run`, counted by callgrind like in
# bench/instructions.sh: the difference of two runs over the difference of their requests. Prints a section of BENCH.md.
set -eu
cd "$(dirname "$0")/.."
target="${CARGO_TARGET_DIR:-target}"
cargo build --release --quiet -p main_memory --example run
cargo build --release --quiet -p capi
scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT
cc -O2 -std=c11 -D_GNU_SOURCE -I crates/doors/capi/include bench/stepping.c -o "$scratch/stepping" \
    "-L$target/release" -lnandram "-Wl,-rpath,$(cd "$target/release" && pwd)"
sets="flash.blocks=32 ftl.gc.start=3 ftl.over_provisioning=0.3"
changes="$(echo "$sets" | tr ' ' '\n')"

# count COMMAND...: instructions of a command.
count() {
    log="$(mktemp -p "$scratch")"
    valgrind --tool=callgrind --callgrind-out-file=/dev/null "$@" >/dev/null 2>"$log" || { cat "$log" >&2; return 1; }
    sed -n 's/.*Collected : //p' "$log"
}

# plain DEPTH REQUESTS: instructions of `nandram run`.
plain() {
    printf '[random]\nrw=randread\nbs=4k\niodepth=%s\nnorandommap\nnumber_ios=%s\n' "$1" "$2" >"$scratch/$1.$2.fio"
    # shellcheck disable=SC2086
    count "$target/release/examples/run" mqsim-ideal-map "$scratch/$1.$2.fio" fill $sets
}

short=20000 long=60000
slope() { echo $((($2 - $1) / (long - short))); }
run32="$(slope "$(plain 32 $short)" "$(plain 32 $long)")"
run1000="$(slope "$(plain 1000 $short)" "$(plain 1000 $long)")"
from_c() { count "$scratch/stepping" mqsim-ideal-map "$changes" fill "$1"; }
c32="$(slope "$(from_c $short)" "$(from_c $long)")"
from_python() { PYTHONHASHSEED=0 count .venv/bin/python bench/stepping.py mqsim-ideal-map "$changes" fill "$1"; }
python1000="$(slope "$(from_python $short)" "$(from_python $long)")"

cat <<TABLE

## A program outside the simulation

Random reads of 4 KiB on \`mqsim-ideal-map\`, filled, with \`$sets\`
(\`bench/stepping.sh\`): from C, 32 outstanding, one request submitted for each that completes; from Python, in batches of 1,000 that
complete before the next. The program's own instructions are included; those of \`nandram run\` include its generator of requests.
A figure above its limit is missed. From C a request takes about 165 instructions in the two calls with their locks, 165 for its checks,
its entry in the history, from which states are saved, and its place among the requests in progress, 220 to find its completion and
to count it in statistics, and 50 in the program; what this replaces in \`nandram run\`, the generator of requests and its statistics,
takes about 410.

| program | outstanding | \`nandram run\`, instructions | program, instructions | more | at most |
| --- | ---: | ---: | ---: | ---: | ---: |
| C (\`nandram_sim.h\`) | 32 | $run32 | $c32 | $((c32 - run32)) | 200 |
| Python, arrays of 1,000 | 1,000 | $run1000 | $python1000 | $((python1000 - run1000)) | 2,000 |
TABLE
