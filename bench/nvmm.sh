#!/bin/sh
# Instructions per request of the NVMM controller, as a Markdown table: counted by callgrind as the difference between a
# long and a short run, divided by the difference in requests. Needs valgrind.
set -eu
cd "$(dirname "$0")/.."
command -v valgrind >/dev/null || { echo "bench: valgrind is not installed (make test-system installs it)" >&2; exit 2; }
cargo build --release --quiet -p nvmm --example requests
cargo build --release --quiet -p main_memory --example memory
requests="${CARGO_TARGET_DIR:-target}/release/examples/requests"
memory="${CARGO_TARGET_DIR:-target}/release/examples/memory"

# instructions KIND REQUESTS: instructions of one run.
instructions() {
    valgrind --tool=callgrind --callgrind-out-file=/dev/null "$requests" "$1" "$2" 2>&1 >/dev/null | sed -n 's/.*Collected : //p'
}

cat <<'TABLE'

## The NVMM controller

Written by `make bench` (`bench/nvmm.sh`): callgrind's count, the difference of runs of 10,000 and 30,000 requests
(`crates/parts/nvmm/examples/requests.rs`): one segment of 8 KB of a random page, one at a time, over flash that ends everything at
once; what ends it is included, and a write's share of collection and commits.

| request | instructions |
| --- | ---: |
TABLE

# row NAME KIND
row() {
    from="$(instructions "$2" 10000)" to="$(instructions "$2" 30000)"
    echo "| $1 | $(((to - from) / 20000)) |"
}

row "read of a segment" read
row "write of a segment" write

cat <<'TABLE'

## Flash behind DRAM

Written by `make bench` (`bench/nvmm.sh`): callgrind's count, the difference of runs of 10,000 and 30,000 random reads of 64
bytes over that of their reads (`crates/machine/main_memory/examples/memory.rs`): 8 GiB of SLC on eight channels, full, behind 512 MiB of
DDR3-1600 on two, 16 ways, tags of 1,024 sets in the controller. All DRAM commands, the page table, the flash and who asks are
in it.

| read | outstanding | page | instructions |
| --- | ---: | ---: | ---: |
TABLE

# line KIND READS PAGE: instructions of one run.
line() {
    valgrind --tool=callgrind --callgrind-out-file=/dev/null --toggle-collect='*measured*' "$memory" "$@" 2>&1 >/dev/null |
        sed -n 's/.*Collected : //p'
}

# each KIND PAGE: instructions per read.
each() {
    from="$(line "$1" 10000 "$2")" to="$(line "$1" 30000 "$2")"
    echo "$(((to - from) / 20000))"
}

# line_row NAME KIND OUTSTANDING PAGE
line_row() {
    echo "| $1 | $3 | $4 B | $(each "$2" "$4") |"
}

line_row "in DRAM, its tags in the controller" lone 1 4096
line_row "in DRAM, its tags in the controller" hit 32 4096
line_row "in DRAM, its tags mostly too" tags 32 4096
line_row "in flash" miss 32 4096
line_row "in flash" miss 32 8192
