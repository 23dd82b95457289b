#!/usr/bin/env bash
# Host instructions per access of the simulated processor, as a Markdown table: counted by callgrind as the difference between a
# long and a short run, divided by the difference in accesses.
set -euo pipefail
cd "$(dirname "$0")/.."
target=${CARGO_TARGET_DIR:-target}

cargo build --quiet --release --package host --example cpu

count() {
    valgrind --tool=callgrind --callgrind-out-file=/dev/null --toggle-collect='*measured*' "$target/release/examples/cpu" "$1" "$2" \
        2>&1 >/dev/null | sed -n 's/.*Collected : //p'
}

cat <<TABLE
Written by \`make bench\` (\`bench/cpu.sh\`): callgrind's count, the difference of runs of 200,000 and 600,000 accesses, the
stand-in for memory included.

| accesses | instructions per access |
| --- | --- |
TABLE
while read -r name title; do
    echo "| $title | $((($(count "$name" 600000) - $(count "$name" 200000)) / 400000)) |"
done <<LIST
hits first cache, 4 instructions apart
sparse first cache, 201 instructions apart
second half of them second cache
misses memory, a third of them stores
LIST
