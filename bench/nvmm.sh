#!/bin/sh
# Instructions a request of the NVMM controller, as a Markdown table: callgrind's count, the difference of a long and a
# short run over the difference of their requests. Needs valgrind.
set -eu
cd "$(dirname "$0")/.."
command -v valgrind >/dev/null || { echo "bench: valgrind is not installed (make test-system installs it)" >&2; exit 2; }
cargo build --release --quiet -p nvmm --example requests
requests="${CARGO_TARGET_DIR:-target}/release/examples/requests"

# instructions KIND REQUESTS: instructions of one run.
instructions() {
    valgrind --tool=callgrind --callgrind-out-file=/dev/null "$requests" "$1" "$2" 2>&1 >/dev/null | sed -n 's/.*Collected : //p'
}

cat <<'TABLE'

## The NVMM controller

Written by `make bench` (`bench/nvmm.sh`): callgrind's count, the difference of runs of 10,000 and 30,000 requests
(`crates/nvmm/examples/requests.rs`): one segment of 8 KB of a random page, one at a time, over flash that ends everything at
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
