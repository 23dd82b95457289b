#!/bin/sh
# Instructions per request of the DRAM model: counted by callgrind as the difference between a long and a short run,
# divided by the difference in requests. Prints the rows of a Markdown table. Needs valgrind.
set -eu
cd "$(dirname "$0")/.."
command -v valgrind >/dev/null || { echo "bench: valgrind is not installed (make test-system installs it)" >&2; exit 2; }
target="${CARGO_TARGET_DIR:-target}"
cargo build --release --quiet -p dram --example bench
scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT

# instructions PRESET PATTERN REQUESTS: instructions of one run.
instructions() {
    log="$scratch/$1.$2.$3"
    valgrind --tool=callgrind --callgrind-out-file=/dev/null --toggle-collect='*measured*' "$target/release/examples/bench" "$1" "$2" "$3" \
        >/dev/null 2>"$log" || { cat "$log" >&2; return 1; }
    sed -n 's/.*Collected : //p' "$log"
}

# row WHAT PRESET PATTERN: a row of the table.
row() {
    short="$(instructions "$2" "$3" 20000)"
    long="$(instructions "$2" "$3" 60000)"
    echo "| $1 | $2 | $(((long - short) / 40000)) | 20,000 and 60,000 |"
}

echo "| DRAM request | preset | instructions | requests of the runs |"
echo "| --- | --- | ---: | --- |"
for preset in DDR3-1600 DDR4-2400 DDR5-4800; do
    row "random read of 64 B, 64 outstanding" "$preset" random
    row "random read of 64 B, one outstanding" "$preset" chase
    row "sequential read of 64 B, 64 outstanding" "$preset" sequential
done
row "random, two reads to one write, 64 outstanding" DDR4-2400 mixed
row "random read of 64 B (two bursts), 64 outstanding" LPDDR3-1600 random
row "read of 4 KiB through two channels, eight outstanding" DDR4-2400 dma
row "read of 4 KiB through two channels, eight outstanding, driven by \`next_done\`" DDR4-2400 pages
row "read of 4 KiB through two channels, eight outstanding, driven by \`next_done\`" DDR3-1600 pages
row "read of 4 KiB through two channels, one outstanding, driven by \`next_done\`" DDR4-2400 page
row "read of 4 KiB through two channels, one outstanding, driven by \`next_done\`" DDR3-1600 page
