#!/bin/sh
# Instructions per page request, as a Markdown table: counted by callgrind as the difference between a long and a short
# run, divided by the difference in requests. Needs valgrind.
set -eu
cd "$(dirname "$0")/.."
command -v valgrind >/dev/null || { echo "bench: valgrind is not installed (make test-system installs it)" >&2; exit 2; }
cargo build --release --quiet -p pager --example pages
pages="${CARGO_TARGET_DIR:-target}/release/examples/pages"

# instructions POLICY REQUESTS: instructions of one run.
instructions() {
    valgrind --tool=callgrind --callgrind-out-file=/dev/null "$pages" "$1" "$2" 2>&1 >/dev/null | sed -n 's/.*Collected : //p'
}

cat <<'TABLE'

## Page requests

Written by `make bench` (`bench/pages.sh`): callgrind's count, the difference of runs of 100,000 and 300,000 requests
(`crates/parts/pager/examples/pages.rs`): the page trace of djpeg for ARM at -O2, over and over; 4 KB of SRAM, two buffers. MIN
includes finding the next uses.

| policy | instructions |
| --- | ---: |
TABLE

# row NAME POLICY
row() {
    from="$(instructions "$2" 100000)" to="$(instructions "$2" 300000)"
    echo "| $1 | $(((to - from) / 200000)) |"
}

row LRU lru
row FIFO fifo
row CLOCK clock
row 2Q 2q
row ARC arc
row S3-FIFO s3-fifo
row MIN min
row "PM-XIP(8,4)" pm-xip
row "rent or buy" rent-or-buy
row "LRU at every SRAM size" stack
row "PM-XIP at all 1025 thresholds of a window of 1024" thresholds

"${PYTHON:-.venv/bin/python}" bench/paging.py
